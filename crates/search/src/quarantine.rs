//! The quarantine of damaged buckets, which searches skip and report.
//!
//! A bucket comes here by hand or because a search met damage in it: then the cache drops what it has of the
//! object, the whole object is read once more, past the cache, and only if that fails too the bucket is put
//! into quarantine. If it is whole, what was damaged was in the cache, and the search reads it again.
//!
//! The list is in the catalog, so it holds over restarts and until somebody releases the bucket. It holds for
//! all processes: one whose object store is not that of the catalog adds nothing to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bucket::BucketReader;
use catalog::{Catalog, OtherStore, Snapshot};
use model::{BucketHeader, BucketId, IndexName};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use runtime::{Clock, metrics as names};
use serde::{Deserialize, Serialize};

use crate::error::is_damage;
use crate::{Error, Objects};

/// The kind of these documents in the catalog.
const KIND: &str = "quarantine";

/// A quarantined bucket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantined {
    /// Id of the bucket.
    pub id: BucketId,
    /// Its index.
    pub index: IndexName,
    /// Path of its object.
    pub path: String,
    /// Number of its events, which searches miss.
    pub events: u64,
    /// Reason for the quarantine.
    pub reason: String,
    /// User who quarantined the bucket; `None` if a search did.
    pub by: Option<String>,
    /// Time of the quarantine in epoch seconds.
    pub since: i64,
}

impl Quarantined {
    /// Returns the message of a search that skips the bucket.
    #[must_use]
    pub fn message(&self) -> String {
        let Self { id, index, events, .. } = self;
        format!(
            "The results are incomplete: bucket {id} of index {index} is quarantined, {events} events are \
             missing."
        )
    }
}

/// Returns the quarantined buckets that are in the catalog.
#[must_use]
pub fn quarantined(snapshot: &Snapshot) -> BTreeMap<BucketId, Quarantined> {
    let documents = snapshot.documents(KIND);
    let read = documents.into_iter().filter_map(|document| {
        let found: Quarantined = serde_json::from_value((*document.json).clone()).ok()?;
        snapshot.contains(&found.index, found.id).then_some((found.id, found))
    });
    read.collect()
}

/// The diagnosis of a bucket that a search could not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finding {
    /// The bucket has been quarantined.
    Quarantined,
    /// The object is intact, and its cached blocks have been dropped: a retry succeeds.
    Whole,
    /// The state of the object could not be determined.
    Unknown,
}

/// Adds buckets to the quarantine and removes them.
#[derive(Clone)]
pub struct Quarantine {
    catalog: Catalog,
    objects: Arc<dyn Objects>,
    clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for Quarantine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Quarantine").field("objects", &self.objects).finish_non_exhaustive()
    }
}

impl Quarantine {
    pub(crate) fn new(catalog: Catalog, objects: Arc<dyn Objects>, clock: Arc<dyn Clock>) -> Self {
        Self { catalog, objects, clock }
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.catalog.snapshot()
    }

    /// Quarantines a bucket.
    ///
    /// # Errors
    /// The catalog cannot be written.
    pub async fn put(
        &self,
        entry: &BucketHeader,
        reason: &str,
        by: Option<&str>,
    ) -> Result<Quarantined, Error> {
        let bucket = Quarantined {
            id: entry.id,
            index: entry.index.clone(),
            path: entry.path(),
            events: entry.rows,
            reason: reason.to_owned(),
            by: by.map(str::to_owned),
            since: self.clock.now().0 / 1_000_000,
        };
        let content = serde_json::to_value(&bucket).map_err(|e| Error::Internal(e.to_string()))?;
        let put = self.catalog.put_document(KIND, &entry.id.to_string(), content).await;
        put.map_err(|error| failed(entry, &error))?;
        tracing::error!(
            bucket = %entry.id, index = %entry.index, events = entry.rows, reason,
            "bucket is quarantined: searches leave it out"
        );
        metrics::counter!(names::QUARANTINED).increment(1);
        Ok(bucket)
    }

    /// Releases a bucket from quarantine and drops its cached blocks, which may be damaged. Returns false if
    /// it was not in quarantine.
    ///
    /// # Errors
    /// The catalog cannot be written.
    pub async fn release(&self, entry: &BucketHeader) -> Result<bool, Error> {
        let name = entry.id.to_string();
        if self.catalog.snapshot().document(KIND, &name).is_none() {
            return Ok(false);
        }
        self.objects.forget(&entry.path(), entry.size);
        let deleted = self.catalog.delete_document(KIND, &name).await;
        deleted.map_err(|error| Error::Internal(error.to_string()))?;
        tracing::warn!(bucket = name, "bucket is released from quarantine");
        Ok(true)
    }

    /// Diagnoses a bucket that a search could not read. If the object is damaged, the bucket is quarantined,
    /// and the search may continue without it.
    pub(crate) async fn confirm(&self, entry: &BucketHeader, error: &Error) -> Finding {
        let Error::Bucket { damaged, message, .. } = error else { return Finding::Unknown };
        let snapshot = self.catalog.snapshot();
        if !snapshot.contains(&entry.index, entry.id) {
            // The bucket was merged or frozen meanwhile, so its object was removed deliberately.
            return Finding::Unknown;
        }
        if *damaged {
            // The cache must not keep damaged blocks after a repair of the object.
            self.objects.forget(&entry.path(), entry.size);
        }
        if snapshot.document(KIND, &entry.id.to_string()).is_some() {
            return Finding::Quarantined;
        }
        let Some(store) = self.objects.direct() else { return Finding::Unknown };
        let again = match damaged {
            true => verify(&store, entry).await,
            // Probably the store is unreachable, or the object is truncated; stores report both in different
            // ways.
            false => look_at(&store, entry).await,
        };
        let Err(again) = again else {
            if !damaged {
                return Finding::Unknown;
            }
            tracing::warn!(
                bucket = %entry.id, index = %entry.index, error = message,
                "bucket could not be read, but object storage has it whole: the cache has dropped it"
            );
            return Finding::Whole;
        };
        if !is_damage(&again) || !is_of_catalog(&store, &snapshot, entry).await {
            return Finding::Unknown;
        }
        let reason = Error::unreadable(entry, &again).to_string();
        match self.put(entry, &reason, None).await {
            Ok(_) => Finding::Quarantined,
            Err(error) => {
                tracing::error!(bucket = %entry.id, %error, "bucket could not be quarantined");
                Finding::Unknown
            }
        }
    }
}

/// Whether the object store belongs to the catalog. A bucket that is missing in another store is not damaged.
async fn is_of_catalog(
    store: &Arc<dyn ObjectStore>,
    snapshot: &Snapshot,
    entry: &BucketHeader,
) -> bool {
    let why = match OtherStore::find(store.as_ref(), snapshot).await {
        Ok(None) => return true,
        Ok(Some(other)) => format!("this object store is not that of the cluster ({other})"),
        Err(error) => error.to_string(),
    };
    tracing::error!(
        bucket = %entry.id, index = %entry.index, why,
        "bucket is not quarantined, because it was not looked for in the object store of the cluster"
    );
    false
}

/// Checks that the object exists and has its original size.
async fn look_at(store: &Arc<dyn ObjectStore>, entry: &BucketHeader) -> Result<(), bucket::Error> {
    let (path, expected) = (entry.path(), entry.size);
    match store.head(&Path::from(path.as_str())).await {
        Ok(meta) if meta.size == expected => Ok(()),
        Ok(meta) => {
            let reason = format!("it has {} bytes, {expected} were written", meta.size);
            Err(bucket::Error::Corrupt { path, section: "object", reason })
        }
        Err(source) => Err(bucket::Error::Store { path, source }),
    }
}

async fn verify(store: &Arc<dyn ObjectStore>, entry: &BucketHeader) -> Result<(), bucket::Error> {
    look_at(store, entry).await?;
    let path = Path::from(entry.path());
    let reader = BucketReader::open(Arc::clone(store), &path, entry.size).await?;
    reader.verify().await
}

fn failed(entry: &BucketHeader, error: &catalog::Error) -> Error {
    let (bucket, message) = (entry.path(), error.to_string());
    Error::Bucket { bucket, message, damaged: false }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use cache::SearchReads;
    use catalog::{Commit, Settings};
    use model::{BucketEntry, BucketState, BucketSummary, EventTime};
    use object_store::memory::InMemory;
    use runtime::SystemClock;
    use uuid::Uuid;

    use super::*;

    /// A store without a cache.
    #[derive(Debug)]
    struct Direct(Arc<dyn ObjectStore>);

    impl Objects for Direct {
        fn counted(&self, _: &Arc<SearchReads>) -> Arc<dyn ObjectStore> {
            Arc::clone(&self.0)
        }

        fn direct(&self) -> Option<Arc<dyn ObjectStore>> {
            Some(Arc::clone(&self.0))
        }
    }

    fn entry() -> BucketEntry {
        let (id, time) = (BucketId(Uuid::from_u128(1)), EventTime(1));
        let index = IndexName::new("main").unwrap();
        BucketEntry {
            id,
            path: id.object_path(&index, "20261120"),
            index,
            size: 1000,
            state: BucketState::Warm,
            summary: Arc::new(BucketSummary::bare(10, time, time)),
        }
    }

    #[tokio::test]
    async fn a_bucket_that_is_missing_in_another_object_store_is_not_quarantined() {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let opening =
            Catalog::open(Arc::clone(&store), "catalog", Settings::default(), Arc::clone(&clock));
        let catalog = opening.await.unwrap();
        catalog.identify(store.as_ref()).await.unwrap();
        let add = vec![entry()];
        catalog.commit(Commit { add, ..Commit::default() }).await.unwrap();
        let header = catalog.snapshot().bucket(entry().id).unwrap();
        let error = Error::Bucket {
            bucket: header.path(),
            message: "it is not there".to_owned(),
            damaged: true,
        };
        let other: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        for (store, finding) in [(other, Finding::Unknown), (store, Finding::Quarantined)] {
            let objects = Arc::new(Direct(store));
            let quarantine = Quarantine::new(catalog.clone(), objects, Arc::clone(&clock));
            assert_eq!(quarantine.confirm(&header, &error).await, finding);
            let is_quarantined = finding == Finding::Quarantined;
            assert_eq!(quarantined(&catalog.snapshot()).len(), usize::from(is_quarantined));
        }
    }
}
