//! Choice of the small buckets that are merged now: a pure function of the buckets of one index.
//!
//! Buckets that are adjacent in time are merged while the result stays within the size and the time span of a
//! bucket. The result must be at least twice as large as its largest member, so that an event is rewritten
//! only a few times, however small the buckets are in which it arrives.

use std::sync::Arc;

use model::BucketHeader;

/// The limits of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MergeLimits {
    /// Maximum raw text of the result, in bytes; buckets with at least half of it are not merged.
    pub(crate) max_bytes: u64,
    /// Maximum time span of the result, in microseconds, unless a single member has more.
    pub(crate) max_span: i64,
    /// Minimum number of members, unless the result is half of the largest.
    pub(crate) min_buckets: usize,
}

impl MergeLimits {
    /// Whether a bucket may be merged with others.
    pub(crate) fn is_small(&self, bucket: &BucketHeader) -> bool {
        bucket.raw_bytes < self.max_bytes / 2
    }
}

/// Returns the groups to merge, each in order of time. The buckets must be mergeable.
pub(crate) fn plan(
    buckets: &[Arc<BucketHeader>],
    limits: MergeLimits,
) -> Vec<Vec<Arc<BucketHeader>>> {
    let mut candidates: Vec<_> =
        buckets.iter().filter(|bucket| limits.is_small(bucket)).cloned().collect();
    candidates.sort_by_key(|bucket| (bucket.last_time, bucket.id));
    let mut groups = Vec::new();
    let mut run: Vec<Arc<BucketHeader>> = Vec::new();
    for bucket in candidates {
        if !run.is_empty() && !fits(&run, &bucket, limits) {
            accept_or_split(&run, limits, &mut groups);
            run.clear();
        }
        run.push(bucket);
    }
    accept_or_split(&run, limits, &mut groups);
    groups
}

fn bytes(run: &[Arc<BucketHeader>]) -> u64 {
    run.iter().map(|bucket| bucket.raw_bytes).sum()
}

fn fits(run: &[Arc<BucketHeader>], next: &BucketHeader, limits: MergeLimits) -> bool {
    let first = run.iter().map(|bucket| bucket.first_time).min();
    let last = run.iter().map(|bucket| bucket.last_time).max();
    let (Some(first), Some(last)) = (first, last) else { return true };
    let span = last.max(next.last_time).0.saturating_sub(first.min(next.first_time).0);
    bytes(run) + next.raw_bytes <= limits.max_bytes && span <= limits.max_span
}

/// Accepts the run if merging it is worthwhile; otherwise tries the runs before and after its largest member.
fn accept_or_split(
    run: &[Arc<BucketHeader>],
    limits: MergeLimits,
    groups: &mut Vec<Vec<Arc<BucketHeader>>>,
) {
    let total = bytes(run);
    let largest = run.iter().enumerate().max_by_key(|(_, bucket)| bucket.raw_bytes);
    let Some((at, largest)) = largest.filter(|_| run.len() > 1) else { return };
    if total < largest.raw_bytes.saturating_mul(2) {
        accept_or_split(&run[..at], limits, groups);
        accept_or_split(&run[at + 1..], limits, groups);
    } else if run.len() >= limits.min_buckets || total >= limits.max_bytes / 2 {
        groups.push(run.to_vec());
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::bucket;
    use super::*;

    const LIMITS: MergeLimits =
        MergeLimits { max_bytes: 100, max_span: 1_000_000_000, min_buckets: 3 };

    #[test]
    fn small_neighbours_are_joined_up_to_the_size_of_a_bucket() {
        let buckets: Vec<_> = (0..10).map(|at| sized(at, at as i64, 30)).collect();
        assert_eq!(planned(&buckets), [vec![0, 1, 2], vec![3, 4, 5], vec![6, 7, 8]]);
    }

    #[test]
    fn few_small_ones_wait_for_more() {
        assert_eq!(planned(&[sized(1, 1, 5), sized(2, 2, 5)]), Vec::<Vec<u128>>::new());
        assert_eq!(planned(&[sized(1, 1, 5), sized(2, 2, 5), sized(3, 3, 5)]), [[1, 2, 3]]);
        assert_eq!(planned(&[sized(1, 1, 30), sized(2, 2, 30)]), [[1, 2]]);
    }

    #[test]
    fn large_ones_are_left_alone() {
        let buckets = [sized(1, 1, 50), sized(2, 2, 5), sized(3, 3, 5), sized(4, 4, 99)];
        assert_eq!(planned(&buckets), Vec::<Vec<u128>>::new());
    }

    #[test]
    fn distant_times_are_not_joined() {
        let far = |at: u128| sized(at, 100_000 + at as i64, 10);
        let buckets = [sized(1, 1, 10), far(2), far(3), far(4), sized(5, 900_000, 10)];
        assert_eq!(planned(&buckets), [[2, 3, 4]]);
    }

    #[test]
    fn a_merge_at_least_doubles_its_largest_member() {
        let mut buckets = vec![sized(0, 5, 45)];
        buckets.extend((1..=4).map(|at| sized(at, at as i64 * 2, 3)));
        // 45 + 4 * 3 does not justify writing the 45 again.
        assert_eq!(planned(&buckets), Vec::<Vec<u128>>::new());
        buckets.extend((5..=8).map(|at| sized(at, at as i64 * 2, 3)));
        assert_eq!(planned(&buckets), [[3, 4, 5, 6, 7, 8]]);
    }

    fn sized(id: u128, second: i64, raw: u64) -> Arc<BucketHeader> {
        bucket(id, second, second, raw)
    }

    fn planned(buckets: &[Arc<BucketHeader>]) -> Vec<Vec<u128>> {
        let groups = plan(buckets, LIMITS);
        groups.iter().map(|group| group.iter().map(|b| b.id.0.as_u128()).collect()).collect()
    }
}
