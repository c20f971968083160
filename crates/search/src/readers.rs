//! A cache of open buckets: their footers, summaries and index directories.

use std::sync::Arc;

use arrow::error::ArrowError;
use bucket::BucketReader;
use datafusion::error::{DataFusionError, Result};
use hashbrown::HashMap;
use knowledge::Knowledge;
use model::{BucketHeader, BucketId};
use object_store::ObjectStore;
use object_store::path::Path;
use parking_lot::Mutex;

/// Opens buckets and caches the readers with least-recently-used eviction.
#[derive(Debug)]
pub(crate) struct Readers {
    capacity: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    tick: u64,
    readers: HashMap<BucketId, (u64, BucketReader)>,
}

impl Readers {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), open: Mutex::default() }
    }

    /// Returns an open bucket that reads through the given store, which counts the reads of one search.
    pub(crate) async fn open(
        &self,
        entry: &BucketHeader,
        store: &Arc<dyn ObjectStore>,
    ) -> Result<Arc<BucketReader>> {
        if let Some(reader) = self.lookup(entry.id) {
            return Ok(Arc::new(reader.through(Arc::clone(store))));
        }
        let path = Path::from(entry.path());
        let opened = BucketReader::open(Arc::clone(store), &path, entry.size).await;
        let reader = opened.map_err(|error| unreadable(entry, error))?;
        self.keep(entry.id, reader.clone());
        Ok(Arc::new(reader))
    }

    fn lookup(&self, id: BucketId) -> Option<BucketReader> {
        let mut open = self.open.lock();
        open.tick += 1;
        let tick = open.tick;
        let (used, reader) = open.readers.get_mut(&id)?;
        *used = tick;
        Some(reader.clone())
    }

    fn keep(&self, id: BucketId, reader: BucketReader) {
        let mut open = self.open.lock();
        if open.readers.len() >= self.capacity {
            let oldest = open.readers.iter().min_by_key(|(_, (used, _))| *used).map(|(id, _)| *id);
            oldest.and_then(|id| open.readers.remove(&id));
        }
        open.tick += 1;
        let tick = open.tick;
        open.readers.insert(id, (tick, reader));
    }
}

/// Returns the error of a scan that could not read a bucket. The error of a filter stays what it is: it is
/// about the query and its values.
pub(crate) fn unreadable(entry: &BucketHeader, error: bucket::Error) -> DataFusionError {
    match error {
        bucket::Error::Test { source: ArrowError::ExternalError(error) } => {
            match error.downcast::<DataFusionError>() {
                Ok(error) => *error,
                Err(error) => DataFusionError::External(error),
            }
        }
        bucket::Error::Test { source } => source.into(),
        error => DataFusionError::External(Box::new(crate::Error::unreadable(entry, &error))),
    }
}

/// Whether the field columns of a bucket were extracted with these rules. `made_by` has the fingerprint of
/// the rules per source type of the bucket.
pub(crate) fn rules_hold(knowledge: &Knowledge, made_by: &[(String, u64)]) -> bool {
    made_by.iter().all(|(sourcetype, made_by)| knowledge.fingerprint(sourcetype) == *made_by)
}
