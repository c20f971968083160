//! Buckets that the archive of their index has refused. They are tried again after some time: if there are
//! many, each attempt costs requests, and may copy the whole bucket.
//!
//! Guarantees: a refusal is forgotten when the archive or the retention of the index changes, and when its
//! bucket is not due any more. Leaves to others: which errors concern one bucket.

use std::time::{Duration, Instant};

use foldhash::{HashMap, HashSet};
use model::{BucketId, IndexName};
use parking_lot::Mutex;

use crate::{Error, Keep};

/// Time after which a bucket is tried again. Somebody has to remove an object of the archive in between, and
/// a bucket that stays an hour longer does no harm.
const RETRY: Duration = Duration::from_secs(3600);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Refused(Mutex<HashMap<IndexName, OfIndex>>);

/// The refusals of an index.
#[derive(Debug)]
struct OfIndex {
    /// `coldToFrozenDir`.
    place: Option<String>,
    keep: Keep,
    buckets: HashMap<BucketId, (Instant, Error)>,
}

impl Refused {
    /// Forgets refusals of buckets that are not due, and all of an index with other settings.
    pub(super) fn retain(
        &self,
        index: &IndexName,
        (place, keep): (Option<&str>, Keep),
        due: impl Iterator<Item = BucketId>,
    ) {
        let mut all = self.0.lock();
        let Some(of_index) = all.get_mut(index) else { return };
        if of_index.place.as_deref() == place && of_index.keep == keep {
            let due: HashSet<BucketId> = due.collect();
            of_index.buckets.retain(|bucket, _| due.contains(bucket));
        } else {
            of_index.buckets.clear();
        }
        if of_index.buckets.is_empty() {
            all.remove(index);
        }
    }

    /// Returns the error of a bucket that is not tried again yet.
    pub(super) fn recent(&self, index: &IndexName, bucket: BucketId) -> Option<Error> {
        let all = self.0.lock();
        let (at, error) = all.get(index)?.buckets.get(&bucket)?;
        (at.elapsed() < RETRY).then(|| error.clone())
    }

    /// Notes that a bucket was refused by the archive at `place`.
    pub(super) fn note(
        &self,
        index: &IndexName,
        (place, keep): (Option<&str>, Keep),
        (bucket, error): (BucketId, Error),
    ) {
        let mut all = self.0.lock();
        let of_index = all.entry(index.clone()).or_insert_with(|| OfIndex {
            place: place.map(str::to_owned),
            keep,
            buckets: HashMap::default(),
        });
        of_index.buckets.insert(bucket, (Instant::now(), error));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_holds_until_the_settings_change_or_the_bucket_is_gone() {
        let index = IndexName::new("main").unwrap();
        let [a, b] = [1, 2].map(|number| BucketId(uuid::Uuid::from_u128(number)));
        let keep = Keep { period: Duration::from_secs(9), total: 0 };
        let refused = Refused::default();
        let refuse = |bucket, reason: &str| {
            let error = Error::Archive { place: "x".to_owned(), reason: reason.to_owned() };
            refused.note(&index, (Some("x"), keep), (bucket, error));
        };
        let is_recent = |bucket| refused.recent(&index, bucket).is_some();
        refuse(a, "no");
        refuse(b, "no");
        refused.retain(&index, (Some("x"), keep), [a].into_iter());
        assert!(is_recent(a) && !is_recent(b), "b was merged");
        refused.retain(&index, (Some("y"), keep), [a].into_iter());
        assert!(!is_recent(a), "another archive");
        refuse(a, "no");
        let longer = Keep { period: Duration::from_secs(10), ..keep };
        refused.retain(&index, (Some("x"), longer), [a].into_iter());
        assert!(!is_recent(a), "another retention");
    }
}
