//! Open buckets: footers, summaries and index directories that the next search will need again.

use std::sync::{Arc, Mutex, PoisonError};

use bucket::BucketReader;
use datafusion::error::{DataFusionError, Result};
use hashbrown::HashMap;
use knowledge::Knowledge;
use model::{BucketEntry, BucketId, BucketSummary};
use object_store::ObjectStore;
use object_store::path::Path;

/// Opens buckets through the cache and keeps the readers, the least recently used leaving first.
#[derive(Debug)]
pub(crate) struct Readers {
    store: Arc<dyn ObjectStore>,
    knowledge: Arc<Knowledge>,
    capacity: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    tick: u64,
    readers: HashMap<BucketId, (u64, Arc<BucketReader>)>,
}

impl Readers {
    pub(crate) fn new(
        store: Arc<dyn ObjectStore>,
        knowledge: Arc<Knowledge>,
        capacity: usize,
    ) -> Self {
        Self { store, knowledge, capacity: capacity.max(1), open: Mutex::default() }
    }

    pub(crate) async fn open(&self, entry: &BucketEntry) -> Result<Arc<BucketReader>> {
        if let Some(reader) = self.lookup(entry.id) {
            return Ok(reader);
        }
        let path = Path::from(entry.path.as_str());
        let opened = BucketReader::open(Arc::clone(&self.store), &path, entry.size).await;
        let reader = Arc::new(opened.map_err(|error| {
            let (bucket, message) = (entry.path.clone(), error.to_string());
            DataFusionError::External(Box::new(crate::Error::Bucket { bucket, message }))
        })?);
        self.keep(entry.id, Arc::clone(&reader));
        Ok(reader)
    }

    /// Whether today's extraction rules are those that made the bucket's field columns.
    pub(crate) fn rules_hold(&self, summary: &BucketSummary) -> bool {
        summary
            .rules
            .iter()
            .all(|(sourcetype, made_by)| self.knowledge.fingerprint(sourcetype) == *made_by)
    }

    fn lookup(&self, id: BucketId) -> Option<Arc<BucketReader>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.tick += 1;
        let tick = open.tick;
        let (used, reader) = open.readers.get_mut(&id)?;
        *used = tick;
        Some(Arc::clone(reader))
    }

    fn keep(&self, id: BucketId, reader: Arc<BucketReader>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.readers.len() >= self.capacity {
            let oldest = open.readers.iter().min_by_key(|(_, (used, _))| *used).map(|(id, _)| *id);
            oldest.and_then(|id| open.readers.remove(&id));
        }
        open.tick += 1;
        let tick = open.tick;
        open.readers.insert(id, (tick, reader));
    }
}
