//! The rows of stored buckets that passed the costly filters of earlier searches: one bit per row.
//!
//! Guarantees: an entry is the result of a filter for all rows of a granule, and the filter is known by what
//! it computes, so that a search that finds the entry would compute the same. Buckets do not change. The
//! memory is limited: the filter that was not used for longest is dropped first. Which filters are remembered
//! is left to `work`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::buffer::BooleanBuffer;
use bucket::GranuleSet;
use exprs::identity::Identity;
use metrics::{counter, gauge};
use model::BucketId;
use parking_lot::Mutex;
use runtime::metrics as names;

/// Size of an entry of a map besides its value, about.
const ENTRY: usize = 64;

/// The passing rows of granules.
pub(super) type OfGranules = Vec<(usize, BooleanBuffer)>;

/// The memory of all searches; see the module documentation.
#[derive(Debug)]
pub(crate) struct PassedRows {
    /// Maximum size in bytes.
    most: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    tick: u64,
    bytes: usize,
    filters: HashMap<Arc<[Identity]>, OfFilter>,
}

#[derive(Debug, Default)]
struct OfFilter {
    used: u64,
    bytes: usize,
    buckets: HashMap<BucketId, HashMap<usize, BooleanBuffer>>,
}

/// What is known of the granules of a bucket.
#[derive(Debug)]
pub(super) struct Found {
    /// The passing rows of granules, in ascending order.
    pub(super) known: OfGranules,
    /// The other granules.
    pub(super) missing: GranuleSet,
}

impl PassedRows {
    /// Creates an empty memory of this maximum size in bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, kept: Mutex::default() }
    }

    /// Whether anything can be remembered.
    pub(super) fn is_on(&self) -> bool {
        self.most > 0
    }

    /// Returns the rows of some granules of a bucket that pass a filter.
    pub(super) fn get(
        &self,
        filter: &Arc<[Identity]>,
        bucket: BucketId,
        granules: &GranuleSet,
    ) -> Found {
        let mut known = Vec::new();
        let mut missing = granules.clone();
        let mut kept = self.kept.lock();
        kept.tick += 1;
        let tick = kept.tick;
        if let Some(of_filter) = kept.filters.get_mut(filter) {
            of_filter.used = tick;
            if let Some(of_bucket) = of_filter.buckets.get(&bucket) {
                for granule in granules.iter() {
                    if let Some(rows) = of_bucket.get(&granule) {
                        known.push((granule, rows.clone()));
                        missing.remove(granule);
                    }
                }
            }
        }
        drop(kept);
        counter!(names::FILTER_GRANULES, "kind" => "known").increment(known.len() as u64);
        counter!(names::FILTER_GRANULES, "kind" => "tested").increment(missing.len() as u64);
        Found { known, missing }
    }

    /// Remembers the passing rows of granules.
    pub(super) fn keep(&self, filter: &Arc<[Identity]>, bucket: BucketId, rows: &OfGranules) {
        let mut kept = self.kept.lock();
        kept.tick += 1;
        let tick = kept.tick;
        let mut more = 0;
        let of_filter = kept.filters.entry(Arc::clone(filter)).or_insert_with(|| {
            let bytes = ENTRY + filter.iter().map(Identity::bytes).sum::<usize>();
            more += bytes;
            OfFilter { used: tick, bytes, buckets: HashMap::new() }
        });
        of_filter.used = tick;
        let of_bucket = of_filter.buckets.entry(bucket).or_default();
        for (granule, rows) in rows {
            // Another search may have tested it meanwhile.
            if of_bucket.insert(*granule, rows.clone()).is_none() {
                let bytes = ENTRY + rows.len().div_ceil(8);
                of_filter.bytes += bytes;
                more += bytes;
            }
        }
        kept.bytes += more;
        while kept.bytes > self.most {
            let oldest = kept.filters.iter().min_by_key(|(_, of_filter)| of_filter.used);
            let Some(oldest) = oldest.map(|(filter, _)| Arc::clone(filter)) else { break };
            let dropped = kept.filters.remove(&oldest).map_or(0, |of_filter| of_filter.bytes);
            kept.bytes = kept.bytes.saturating_sub(dropped);
        }
        gauge!(names::FILTER_BYTES).set(kept.bytes as f64);
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType;

    use super::*;

    const GRANULES: usize = 10;

    fn filter(name: &str) -> Arc<[Identity]> {
        Arc::from([Identity::stored(name, &DataType::Utf8View)])
    }

    fn bucket(number: u128) -> BucketId {
        BucketId(uuid::Uuid::from_u128(number))
    }

    fn rows(granule: usize) -> BooleanBuffer {
        BooleanBuffer::collect_bool(1024, |row| row % (granule + 2) == 0)
    }

    fn of(granules: &[usize]) -> OfGranules {
        granules.iter().map(|granule| (*granule, rows(*granule))).collect()
    }

    fn known(passed: &PassedRows, name: &str, bucket: BucketId) -> Vec<usize> {
        let all = GranuleSet::all(GRANULES);
        let Found { known, missing } = passed.get(&filter(name), bucket, &all);
        for (granule, found) in &known {
            assert_eq!(*found, rows(*granule));
            assert!(!missing.contains(*granule));
        }
        assert_eq!(known.len() + missing.len(), GRANULES);
        known.into_iter().map(|(granule, _)| granule).collect()
    }

    #[test]
    fn rows_are_known_for_the_filter_and_the_bucket_only() {
        let passed = PassedRows::new(1 << 20);
        let (one, other) = (bucket(1), bucket(2));
        passed.keep(&filter("a"), one, &of(&[7, 1, 3]));
        passed.keep(&filter("a"), other, &of(&[2]));
        assert_eq!(known(&passed, "a", one), [1, 3, 7]);
        assert_eq!(known(&passed, "a", other), [2]);
        assert!(known(&passed, "b", one).is_empty());
        passed.keep(&filter("a"), one, &of(&[3, 4]));
        assert_eq!(known(&passed, "a", one), [1, 3, 4, 7]);
    }

    #[test]
    fn the_filter_that_was_not_used_for_longest_is_dropped() {
        let size = GRANULES * (ENTRY + 1024 / 8);
        let passed = PassedRows::new(3 * size);
        let bucket = bucket(1);
        let all: Vec<usize> = (0..GRANULES).collect();
        for name in ["a", "b"] {
            passed.keep(&filter(name), bucket, &of(&all));
        }
        assert_eq!(known(&passed, "a", bucket).len(), GRANULES);
        passed.keep(&filter("c"), bucket, &of(&all));
        assert!(known(&passed, "b", bucket).is_empty());
        for name in ["a", "c"] {
            assert_eq!(known(&passed, name, bucket).len(), GRANULES, "{name}");
        }
        assert!(passed.kept.lock().bytes <= 3 * size);
    }

    #[test]
    fn rows_that_do_not_fit_are_not_kept() {
        let passed = PassedRows::new(100);
        let bucket = bucket(1);
        passed.keep(&filter("a"), bucket, &of(&[1, 2]));
        assert!(known(&passed, "a", bucket).is_empty());
        assert_eq!(passed.kept.lock().bytes, 0);
        assert!(!PassedRows::new(0).is_on());
    }
}
