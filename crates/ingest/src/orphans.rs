//! Objects that belong to no bucket.

use std::sync::Arc;
use std::time::Duration;

use catalog::{Catalog, Commit, Discarded, Snapshot};
use foldhash::HashSet;
use model::{BucketId, EventTime, JournalPosition, TimeRange};
use object_store::{ObjectStore, ObjectStoreExt};
use runtime::{Clock, Shutdown};

/// The planned objects of a set that are kept without a bucket: those from before a rebuild of the catalog,
/// which may not have been able to read them. They may be all there is of their events.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept {
    /// The end of the journal at the first start after the rebuild.
    pub(crate) upto: JournalPosition,
    /// The time of the rebuild; `None` if an earlier release made it.
    pub(crate) at: Option<EventTime>,
}

/// Maximum difference between the clocks of an indexer and of the machine of a rebuild, in seconds.
const SKEW: u64 = 3600;

impl Kept {
    /// Whether a bucket that was planned up to a position is one of them. The records of the journal from
    /// before the rebuild may be planned again after it: the time of the ID tells.
    pub(crate) fn has(&self, position: JournalPosition, bucket: BucketId) -> bool {
        let is_later = || {
            let at = u64::try_from(self.at?.0 / 1_000_000).ok()?;
            let (planned, _) = bucket.0.get_timestamp()?.to_unix();
            Some(planned > at.saturating_add(SKEW))
        };
        position <= self.upto && !is_later().unwrap_or(false)
    }
}

/// Removes the objects that buckets have from a list of those that a journal names. The catalog may have been
/// rebuilt from the objects, with lower journal positions than before.
pub(crate) fn without_those_of_buckets(paths: &mut Vec<String>, snapshot: &Snapshot) {
    if paths.is_empty() {
        return;
    }
    let named: HashSet<&str> = paths.iter().map(String::as_str).collect();
    let known = snapshot.overlapping(&[], &TimeRange::ALL).map(|bucket| bucket.path());
    let known: HashSet<String> = known.filter(|path| named.contains(path.as_str())).collect();
    paths.retain(|path| !known.contains(path));
}

/// Logs how many of the objects that a journal names are in no bucket, and are kept because the catalog was
/// rebuilt since.
pub(crate) fn report_kept(mut paths: Vec<String>, snapshot: &Snapshot) {
    without_those_of_buckets(&mut paths, snapshot);
    if let Some(first) = paths.first() {
        tracing::info!(
            objects = paths.len(), first = %first,
            "objects that the journal names, if they are there, are kept without a bucket: the catalog was \
             rebuilt, and may not have been able to read them"
        );
    }
}

/// Deletes objects that a crash left between upload and commit. In a cluster the leading control plane
/// deletes them, because an indexer need not have the permission.
#[derive(Debug)]
pub(crate) struct Orphans {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) retry: (Duration, Duration),
    pub(crate) shutdown: Shutdown,
}

impl Orphans {
    pub(crate) async fn delete(self, paths: Vec<String>) {
        if paths.is_empty() {
            return;
        }
        if self.catalog.follows() {
            return self.hand_over(paths).await;
        }
        let (mut pause, longest) = self.retry;
        for path in paths {
            let location = object_store::path::Path::from(path.as_str());
            loop {
                match self.store.delete(&location).await {
                    Ok(()) | Err(object_store::Error::NotFound { .. }) => break,
                    Err(error) => {
                        tracing::warn!(%path, %error, "cannot delete an object that was not committed");
                    }
                }
                if !self.shutdown.sleep(pause).await {
                    return;
                }
                pause = (pause * 2).min(longest);
            }
        }
    }

    /// Adds the objects to the catalog's list of discarded objects.
    async fn hand_over(&self, paths: Vec<String>) {
        let now = self.clock.now();
        let discarded = |path| Discarded { path, delete_after: now };
        let discard: Vec<Discarded> = paths.into_iter().map(discarded).collect();
        let (mut pause, longest) = self.retry;
        loop {
            let commit = Commit { discard: discard.clone(), ..Commit::default() };
            let Err(error) = self.catalog.commit(commit).await else { return };
            tracing::warn!(%error, "objects that were not committed are not listed for deletion yet");
            if !self.shutdown.sleep(pause).await {
                return;
            }
            pause = (pause * 2).min(longest);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use model::{BucketEntry, BucketState, BucketSummary, IndexName};
    use object_store::memory::InMemory;
    use runtime::SystemClock;
    use uuid::{NoContext, Timestamp, Uuid};

    use super::*;

    #[tokio::test]
    async fn the_object_of_a_bucket_is_not_deleted_whatever_a_journal_says() {
        let (store, settings) = (Arc::new(InMemory::new()), catalog::Settings::default());
        let clock = Arc::new(SystemClock);
        let catalog = Catalog::open(store, "catalog", settings, clock).await.unwrap();
        let (id, index) = (BucketId(Uuid::from_u128(9)), IndexName::new("main").unwrap());
        let path = id.object_path(&index, "20261020");
        let summary = Arc::new(BucketSummary::bare(1, EventTime(1), EventTime(1)));
        let (size, state) = (3, BucketState::Warm);
        let entry = BucketEntry { id, index, path: path.clone(), size, state, summary };
        catalog.commit(Commit { add: vec![entry], ..Commit::default() }).await.unwrap();
        let other = "buckets/main/20261020/other.parquet".to_owned();
        let mut named = vec![path, other.clone()];
        without_those_of_buckets(&mut named, &catalog.snapshot());
        assert_eq!(named, [other]);
    }

    #[test]
    fn objects_that_were_planned_after_a_rebuild_are_not_kept() {
        let planned =
            |seconds: u64| BucketId(Uuid::new_v7(Timestamp::from_unix(NoContext, seconds, 0)));
        let (upto, at) = (JournalPosition(7), 1_900_000_000);
        let kept = Kept { upto, at: Some(EventTime(1_900_000_000_000_000)) };
        assert!(kept.has(upto, planned(at - 1)) && !kept.has(JournalPosition(8), planned(at - 1)));
        assert!(kept.has(upto, planned(at + SKEW)), "the clock of the indexer may be ahead");
        assert!(!kept.has(upto, planned(at + SKEW + 1)));
        assert!(kept.has(upto, BucketId(Uuid::from_u128(1))), "an ID without a time");
        let earlier = Kept { at: None, ..kept };
        assert!(earlier.has(upto, planned(at + SKEW + 1)));
    }
}
