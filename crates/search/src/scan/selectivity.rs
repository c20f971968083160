//! The share of rows that pass the filters over small stored columns, as the scan has seen it.
//!
//! The term index predicts this share for filters with words. For others (`status>=500`, `host!=a*`, SQL
//! comparisons) it is measured: on a sample before the first large read, and on all rows afterwards, so that
//! the decision follows the data. Which filters are over small columns depends on the bucket, so each set of
//! filters has its own share: there are few, as most buckets of an index leave the same filters. A wrong
//! share costs time only: the filters are the same in both ways.

use bucket::{Found, GranuleSet};
use hashbrown::HashMap;
use parking_lot::Mutex;

/// Matching rows per granule up to which small columns are tested first (docs/decisions/0009).
const SPARSE_ROWS: u64 = 32;

/// The number of rows of a granule of default size, to which [`SPARSE_ROWS`] refers.
const GRANULE_ROWS: u64 = 1_024;

/// Number of rows from which on a share counts: four granules of default size, whose pages are fetched in one
/// round of requests.
const SAMPLE_ROWS: usize = 4_096;

/// Number of rows after which the older half of the observations loses half of its weight: about a piece.
const REMEMBERED_ROWS: u64 = 1 << 17;

/// Ratio of the sizes of remaining and tested columns above which a test can save more than it costs.
const GAIN: u64 = 4;

/// The rows that each set of filters over small columns has seen. The partitions of a scan share it.
#[derive(Debug, Default)]
pub(super) struct Selectivity(Mutex<HashMap<Vec<usize>, Seen>>);

#[derive(Debug, Default)]
struct Seen {
    rows: u64,
    passed: u64,
}

impl Selectivity {
    /// Adds rows that the filters have seen, and those of them that passed.
    pub(super) fn add(&self, filters: &[usize], rows: usize, passed: usize) {
        let mut sets = self.0.lock();
        let seen = sets.entry_ref(filters).or_default();
        seen.rows += rows as u64;
        seen.passed += passed as u64;
        if seen.rows > REMEMBERED_ROWS {
            seen.rows /= 2;
            seen.passed /= 2;
        }
    }

    /// Whether so few rows pass that testing first pays off; `None` if too few rows have been seen.
    pub(super) fn is_sparse(&self, filters: &[usize]) -> Option<bool> {
        let sets = self.0.lock();
        let seen = sets.get(filters).filter(|seen| seen.rows >= SAMPLE_ROWS as u64)?;
        Some(seen.passed * GRANULE_ROWS <= seen.rows * SPARSE_ROWS)
    }
}

/// Whether so few rows match that testing first pays off, according to the term index.
pub(super) fn are_few(found: &Found) -> bool {
    found.rows <= found.granules.len() as u64 * SPARSE_ROWS
}

/// Whether a test that reads columns of `tested` bytes, before columns of `rest` bytes, may save enough. Both
/// are sizes of decompressed pages.
pub(super) fn may_gain(tested: u64, rest: u64) -> bool {
    rest > tested.saturating_mul(GAIN)
}

/// Splits granules into a sample, spread over all of them, and the remaining ones. `None` if there are too
/// few for that to be worthwhile: they are read without a test, which measures the share as well.
pub(super) fn sampled(
    granules: &GranuleSet,
    granule_rows: usize,
) -> Option<(GranuleSet, GranuleSet)> {
    let size = SAMPLE_ROWS.div_ceil(granule_rows.max(1));
    if granules.len() <= size.saturating_mul(2) {
        return None;
    }
    let step = granules.len() / size;
    let mut sample = GranuleSet::none(granules.granules());
    let mut rest = granules.clone();
    for granule in granules.iter().step_by(step).take(size) {
        sample.insert(granule);
        rest.remove(granule);
    }
    Some((sample, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_known_after_a_sample_and_follows_the_data() {
        let seen = Selectivity::default();
        seen.add(&[0], SAMPLE_ROWS - 1, 0);
        assert_eq!(seen.is_sparse(&[0]), None);
        seen.add(&[0], 1, 1);
        assert_eq!(seen.is_sparse(&[0]), Some(true));
        for _ in 0..100 {
            seen.add(&[0], 8_192, 8_192);
        }
        assert_eq!(seen.is_sparse(&[0]), Some(false));
        for _ in 0..200 {
            seen.add(&[0], 8_192, 1);
        }
        assert_eq!(seen.is_sparse(&[0]), Some(true));
    }

    #[test]
    fn each_set_of_filters_has_its_own_share() {
        let seen = Selectivity::default();
        for _ in 0..10 {
            seen.add(&[0, 1], 8_192, 8);
            seen.add(&[0], 8_192, 8_000);
        }
        assert_eq!(seen.is_sparse(&[0, 1]), Some(true));
        assert_eq!(seen.is_sparse(&[0]), Some(false));
        assert_eq!(seen.is_sparse(&[1]), None);
    }

    #[test]
    fn up_to_32_rows_of_1024_are_few() {
        for (passed, is_sparse) in [(0, true), (128, true), (129, false), (4_096, false)] {
            let seen = Selectivity::default();
            seen.add(&[0], SAMPLE_ROWS, passed);
            assert_eq!(seen.is_sparse(&[0]), Some(is_sparse), "{passed}");
        }
    }

    #[test]
    fn a_sample_and_the_rest_are_all_granules() {
        let mut granules = GranuleSet::none(300);
        (0..300).filter(|at| at % 3 > 0).for_each(|at| granules.insert(at));
        let Some((sample, rest)) = sampled(&granules, 1_024) else { panic!("200 are enough") };
        assert_eq!((sample.len(), rest.len()), (4, 196));
        assert_eq!(sample.iter().collect::<Vec<_>>(), [1, 76, 151, 226]);
        let mut both = sample;
        both.union(&rest);
        assert_eq!(both, granules);
        assert!(sampled(&granules, 20).is_none(), "205 granules of 20 rows are a sample");
    }

    #[test]
    fn a_test_gains_by_large_columns_only() {
        assert!(may_gain(1_000, 300_000));
        assert!(!may_gain(1_000, 0) && !may_gain(1_000, 4_000));
    }
}
