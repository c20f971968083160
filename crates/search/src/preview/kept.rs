//! What is kept of a running search for its previews: batches per partition, within a bound.

use arrow::array::RecordBatch;
use datafusion::error::DataFusionError;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

/// How far a search is with what is kept of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// So many changes.
    Grows(u64),
    /// Nothing more is kept.
    Over,
}

/// Batches of which a preview can be made.
#[derive(Debug)]
pub(crate) struct Kept {
    partitions: Vec<Mutex<Partition>>,
    limit: usize,
    progress: watch::Sender<Progress>,
    on_end: watch::Sender<Option<String>>,
}

#[derive(Debug, Default)]
struct Partition {
    batches: Vec<RecordBatch>,
    bytes: usize,
    is_done: bool,
}

impl Kept {
    pub(super) fn new(partitions: usize, limit: usize) -> Self {
        Self {
            partitions: (0..partitions).map(|_| Mutex::default()).collect(),
            limit,
            progress: watch::Sender::new(Progress::Grows(0)),
            on_end: watch::Sender::new(None),
        }
    }

    /// Waits until there is more than before; false once nothing more will be kept.
    pub(crate) async fn grows(&self, seen: &mut u64) -> bool {
        let mut progress = self.progress.subscribe();
        let before = *seen;
        // The sender lives in self, so waiting cannot fail.
        let now = progress.wait_for(|now| *now != Progress::Grows(before)).await;
        match now.map(|now| *now) {
            Ok(Progress::Grows(changes)) => {
                *seen = changes;
                true
            }
            Ok(Progress::Over) | Err(_) => false,
        }
    }

    /// Whether more is kept.
    pub(crate) fn is_open(&self) -> bool {
        *self.progress.borrow() != Progress::Over
    }

    /// Why it ended before the search did, if it did.
    pub(crate) fn why_ended(&self) -> Option<String> {
        self.on_end.borrow().clone()
    }

    /// What is kept, by partition.
    pub(super) fn batches(&self) -> Vec<Vec<RecordBatch>> {
        (0..self.partitions.len()).map(|at| self.lock(at).batches.clone()).collect()
    }

    /// What is kept of a partition.
    pub(super) fn of(&self, partition: usize) -> Vec<RecordBatch> {
        self.lock(partition).batches.clone()
    }

    /// Rows and bytes kept of a partition.
    pub(super) fn size(&self, partition: usize) -> (usize, usize) {
        let partition = self.lock(partition);
        (partition.batches.iter().map(RecordBatch::num_rows).sum(), partition.bytes)
    }

    /// Keeps more of a partition.
    pub(super) fn add(&self, partition: usize, batches: Vec<RecordBatch>) {
        let mut at = self.lock(partition);
        at.bytes += batches.iter().map(RecordBatch::get_array_memory_size).sum::<usize>();
        at.batches.extend(batches);
        drop(at);
        self.progress.send_if_modified(|progress| match progress {
            Progress::Grows(changes) => {
                *changes += 1;
                true
            }
            Progress::Over => false,
        });
    }

    /// Keeps this of a partition in place of what is kept, and tells that there is more to see.
    pub(crate) fn put(&self, partition: usize, batches: Vec<RecordBatch>) {
        if !self.is_open() {
            return;
        }
        self.replace(partition, batches);
        if !self.is_within_limit() {
            let limit = self.limit;
            self.end(format!(
                "previews ended: their intermediate data takes more than {limit} bytes (preview_memory_mb)"
            ));
            return self.clear();
        }
        self.add(partition, Vec::new());
    }

    /// All that is kept.
    pub(crate) fn all(&self) -> Vec<RecordBatch> {
        self.batches().into_iter().flatten().collect()
    }

    /// Keeps this of a partition in place of what is kept.
    pub(super) fn replace(&self, partition: usize, batches: Vec<RecordBatch>) {
        let mut at = self.lock(partition);
        at.bytes = batches.iter().map(RecordBatch::get_array_memory_size).sum();
        at.batches = batches;
    }

    /// Whether all partitions together are within the bound.
    pub(super) fn is_within_limit(&self) -> bool {
        let bytes: usize = (0..self.partitions.len()).map(|at| self.lock(at).bytes).sum();
        bytes <= self.limit
    }

    /// The bound, for messages.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Notes that a partition has been read to its end; after the last one nothing is kept.
    pub(crate) fn finish(&self, partition: usize) {
        self.lock(partition).is_done = true;
        if (0..self.partitions.len()).all(|at| self.lock(at).is_done) {
            self.clear();
        }
    }

    /// Keeps nothing more, and says why.
    pub(crate) fn end(&self, why: String) {
        let first = |known: &mut Option<String>| {
            let is_first = known.is_none();
            known.get_or_insert(why);
            is_first
        };
        if self.is_open() {
            self.on_end.send_if_modified(first);
        }
        self.close();
    }

    /// Keeps nothing more because of an error, which is said in words of searches, not of the engine.
    pub(super) fn end_by(&self, error: DataFusionError) {
        self.end(format!("previews ended: {}", plan::Error::from(error)));
    }

    /// Lets go of everything.
    pub(crate) fn clear(&self) {
        self.close();
        (0..self.partitions.len()).for_each(|at| drop(self.take(at)));
    }

    fn close(&self) {
        self.progress.send_replace(Progress::Over);
    }

    /// Lets go of what is kept of a partition, which its operator hands on.
    pub(super) fn take(&self, partition: usize) -> Vec<RecordBatch> {
        let mut at = self.lock(partition);
        at.bytes = 0;
        std::mem::take(&mut at.batches)
    }

    fn lock(&self, partition: usize) -> MutexGuard<'_, Partition> {
        self.partitions[partition].lock()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn previews_that_end_for_memory_say_what_took_it_in_words_of_searches() {
        let reason = "Failed to reserve memory for sort during spill: Resources exhausted: Failed to \
                      allocate additional 384.0 KB for GroupedHashAggregateStream[0] (count(1))";
        let kept = Kept::new(1, 1 << 20);
        kept.end_by(DataFusionError::ResourcesExhausted(reason.to_owned()));
        let why = kept.why_ended().unwrap();
        assert!(why.starts_with("previews ended: grouping rows (stats, "), "{why}");
        assert!(why.contains("max_mem_usage_mb") && !why.contains("Aggregate"), "{why}");
    }
}
