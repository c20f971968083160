//! Choice of the buckets of an index that are frozen now: a pure function of the catalog.

use model::{BucketHeader, BucketState, EventTime};

use crate::Keep;

/// Why a bucket is frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    Age,
    Size,
}

impl Reason {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Age => "age",
            Self::Size => "size",
        }
    }
}

/// Returns the buckets to freeze; the input is sorted, oldest first. Thawed buckets neither count nor are
/// frozen.
pub(crate) fn due(
    buckets: impl Iterator<Item = BucketHeader> + Clone,
    now: EventTime,
    keep: Keep,
) -> Vec<(BucketHeader, Reason)> {
    let period = i64::try_from(keep.period.as_micros()).unwrap_or(i64::MAX);
    let border = now.0.saturating_sub(period);
    let warm = buckets.filter(|bucket| bucket.state == BucketState::Warm);
    let mut total: u64 = match keep.total {
        0 => 0,
        _ => warm.clone().map(|bucket| bucket.size).sum(),
    };
    let mut due = Vec::new();
    for bucket in warm {
        let reason = if bucket.last_time.0 < border {
            Reason::Age
        } else if keep.total > 0 && total > keep.total {
            Reason::Size
        } else {
            break;
        };
        total = total.saturating_sub(bucket.size);
        due.push((bucket, reason));
    }
    due
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::super::tests::bucket;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn buckets_whose_newest_event_is_too_old_go() {
        let buckets = [bucket(1, 0, 10, 100), bucket(2, 0, 5_000, 100)];
        let keep = Keep { period: HOUR, total: 0 };
        assert_eq!(frozen(&buckets, 3_600, keep), []);
        assert_eq!(frozen(&buckets, 3_611, keep), [(1, Reason::Age)]);
        assert_eq!(frozen(&buckets, 9_000, keep), [(1, Reason::Age), (2, Reason::Age)]);
    }

    #[test]
    fn the_oldest_go_until_the_index_fits() {
        let buckets = [bucket(1, 0, 30, 100), bucket(2, 0, 10, 100), bucket(3, 0, 20, 100)];
        let keep = |total| Keep { period: HOUR, total };
        assert_eq!(frozen(&buckets, 40, keep(300)), []);
        assert_eq!(frozen(&buckets, 40, keep(299)), [(2, Reason::Size)]);
        assert_eq!(frozen(&buckets, 40, keep(100)), [(2, Reason::Size), (3, Reason::Size)]);
    }

    #[test]
    fn thawed_buckets_stay() {
        let mut thawed = (*bucket(1, 0, 10, 1_000)).clone();
        thawed.state = BucketState::Thawed;
        let buckets = [Arc::new(thawed), bucket(2, 0, 1_000_000, 10)];
        assert_eq!(frozen(&buckets, 1_000_000, Keep { period: HOUR, total: 500 }), []);
    }

    fn frozen(buckets: &[Arc<BucketHeader>], now: i64, keep: Keep) -> Vec<(u128, Reason)> {
        let mut sorted = buckets.to_vec();
        sorted.sort_by_key(|bucket| bucket.last_time);
        let sorted = sorted.iter().map(|bucket| BucketHeader::clone(bucket));
        let due = due(sorted, EventTime(now * 1_000_000), keep);
        due.iter().map(|(bucket, reason)| (bucket.id.0.as_u128(), *reason)).collect()
    }
}
