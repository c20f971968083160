//! The state of a running search for its previews: batches per partition, with a size limit.

use arrow::array::RecordBatch;
use datafusion::error::DataFusionError;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

/// The progress of the kept state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// The number of changes so far.
    Grows(u64),
    /// The state has ended and does not change.
    Over,
}

/// The batches from which a preview is computed.
#[derive(Debug)]
pub(crate) struct PreviewState {
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

impl PreviewState {
    pub(super) fn new(partitions: usize, limit: usize) -> Self {
        Self {
            partitions: (0..partitions).map(|_| Mutex::default()).collect(),
            limit,
            progress: watch::Sender::new(Progress::Grows(0)),
            on_end: watch::Sender::new(None),
        }
    }

    /// Waits until the state has changed. Returns false once it has ended.
    pub(crate) async fn grows(&self, seen: &mut u64) -> bool {
        let mut progress = self.progress.subscribe();
        let before = *seen;
        // `self` holds the sender, so waiting cannot fail.
        let now = progress.wait_for(|now| *now != Progress::Grows(before)).await;
        match now.map(|now| *now) {
            Ok(Progress::Grows(changes)) => {
                *seen = changes;
                true
            }
            Ok(Progress::Over) | Err(_) => false,
        }
    }

    /// Whether the state can still change.
    pub(crate) fn is_open(&self) -> bool {
        *self.progress.borrow() != Progress::Over
    }

    /// Returns why the state ended before the search, if it did.
    pub(crate) fn why_ended(&self) -> Option<String> {
        self.on_end.borrow().clone()
    }

    /// Returns the kept batches by partition.
    pub(super) fn batches(&self) -> Vec<Vec<RecordBatch>> {
        (0..self.partitions.len()).map(|at| self.lock(at).batches.clone()).collect()
    }

    /// Returns the kept batches of a partition.
    pub(super) fn of(&self, partition: usize) -> Vec<RecordBatch> {
        self.lock(partition).batches.clone()
    }

    /// Returns the number of rows and bytes kept for a partition.
    pub(super) fn size(&self, partition: usize) -> (usize, usize) {
        let partition = self.lock(partition);
        (partition.batches.iter().map(RecordBatch::num_rows).sum(), partition.bytes)
    }

    /// Adds batches to a partition.
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

    /// Replaces the batches of a partition and notifies waiting readers.
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

    /// Returns all kept batches.
    pub(crate) fn all(&self) -> Vec<RecordBatch> {
        self.batches().into_iter().flatten().collect()
    }

    /// Replaces the batches of a partition.
    pub(super) fn replace(&self, partition: usize, batches: Vec<RecordBatch>) {
        let mut at = self.lock(partition);
        at.bytes = batches.iter().map(RecordBatch::get_array_memory_size).sum();
        at.batches = batches;
    }

    /// Whether all partitions together are within the limit.
    pub(super) fn is_within_limit(&self) -> bool {
        let bytes: usize = (0..self.partitions.len()).map(|at| self.lock(at).bytes).sum();
        bytes <= self.limit
    }

    /// Returns the limit in bytes, for messages.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Marks a partition as read to its end. The state ends after the last partition.
    pub(crate) fn finish(&self, partition: usize) {
        self.lock(partition).is_done = true;
        if (0..self.partitions.len()).all(|at| self.lock(at).is_done) {
            self.clear();
        }
    }

    /// Ends the state, with a reason.
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

    /// Ends the state because of an error, with a message in terms of searches instead of the engine.
    pub(super) fn end_by(&self, error: DataFusionError) {
        self.end(format!("previews ended: {}", plan::Error::from(error)));
    }

    /// Drops all batches.
    pub(crate) fn clear(&self) {
        self.close();
        (0..self.partitions.len()).for_each(|at| drop(self.take(at)));
    }

    fn close(&self) {
        self.progress.send_replace(Progress::Over);
    }

    /// Takes the batches of a partition, which its operator passes on.
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
        let kept = PreviewState::new(1, 1 << 20);
        kept.end_by(DataFusionError::ResourcesExhausted(reason.to_owned()));
        let why = kept.why_ended().unwrap();
        assert!(why.starts_with("previews ended: grouping rows (stats, "), "{why}");
        assert!(why.contains("max_mem_usage_mb") && !why.contains("Aggregate"), "{why}");
    }
}
