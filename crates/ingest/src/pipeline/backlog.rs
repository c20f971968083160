//! The backlog of the stages behind parsing, and the point at which large inputs wait for it.
//!
//! Inputs leave a queue in the order of their arrival. Full queues of tens of megabytes, or buckets that wait
//! to be encoded, would delay a small request behind a bulk load by seconds. So large inputs wait in parsing,
//! where small ones overtake them, and the queues behind it stay short.

use std::fmt;
use std::sync::Arc;

use super::meter::StatusOf;
use crate::hot::store::HotStore;
use crate::set::SetId;

/// Bytes in the queues behind parsing above which large inputs wait: enough to keep every stage busy.
const QUEUED: u64 = 8 << 20;
/// Bytes of text in the open buckets of a set above which small inputs wait too, once the number of buckets
/// that are not encoded yet has reached `maxRolledBuckets`.
const OPEN: u64 = 64 << 20;
/// Number of buckets above `maxRolledBuckets` at which small inputs wait too: small buckets roll meanwhile,
/// by time or on request.
const MORE_ROLLED: usize = 2;

/// See the module.
#[derive(Clone)]
pub(crate) struct Backlog {
    queues: Vec<StatusOf>,
    hot: Arc<HotStore>,
    set: SetId,
    max_rolled: usize,
}

impl fmt::Debug for Backlog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backlog").field("set", &self.set).finish_non_exhaustive()
    }
}

impl Backlog {
    /// Creates the backlog of a set from the queues behind parsing and its buckets.
    pub(crate) fn new(
        queues: Vec<StatusOf>,
        hot: Arc<HotStore>,
        set: SetId,
        max_rolled: usize,
    ) -> Self {
        Self { queues, hot, set, max_rolled }
    }

    /// Whether large inputs must wait.
    pub(crate) fn is_long(&self) -> bool {
        self.rolled() >= self.max_rolled
            || self.queues.iter().map(|queue| queue().bytes).sum::<u64>() >= QUEUED
    }

    /// Whether small inputs must wait too.
    pub(crate) fn is_full(&self) -> bool {
        match self.rolled().checked_sub(self.max_rolled) {
            Some(more) => more >= MORE_ROLLED || self.hot.open_bytes(self.set) >= OPEN,
            None => false,
        }
    }

    fn rolled(&self) -> usize {
        self.hot.rolled_count(self.set)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use model::{
        EventBatchBuilder, EventTime, IndexName, IndexerId, JournalPosition, Lane, Origin, StreamId,
    };

    use super::*;
    use crate::hot::rows::Rows;
    use crate::pipeline::queue::QueueStatus;

    fn stream() -> StreamId {
        let (indexer, index) = (IndexerId(uuid::Uuid::nil()), IndexName::new("main").unwrap());
        StreamId { indexer, set: 0, index, lane: Lane::FIRST }
    }

    fn append(hot: &HotStore, bytes: u64) {
        let StreamId { index, .. } = stream();
        let mut builder = EventBatchBuilder::new(index.clone(), 0);
        let origin = Origin { index, host: "h".into(), source: "s".into(), sourcetype: "t".into() };
        let text = "x".repeat(usize::try_from(bytes).unwrap());
        builder.push(&Arc::new(origin), EventTime(0), &text);
        hot.append(&stream(), Rows::new(builder.finish(), 0), JournalPosition(1), EventTime(0));
    }

    #[test]
    fn large_inputs_wait_before_small_ones_do() {
        let (hot, queued) = (Arc::new(HotStore::new()), Arc::new(AtomicU64::new(0)));
        let bytes = Arc::clone(&queued);
        let queue: StatusOf =
            Arc::new(move || QueueStatus { bytes: bytes.load(Relaxed), ..QueueStatus::default() });
        let backlog = Backlog::new(vec![queue], Arc::clone(&hot), SetId::of(&stream()), 2);
        let state = || (backlog.is_long(), backlog.is_full());
        let roll = || {
            append(&hot, 10);
            hot.roll(&stream()).unwrap()
        };

        queued.store(QUEUED, Relaxed);
        assert_eq!(state(), (true, false), "queues never make small inputs wait");
        queued.store(QUEUED - 1, Relaxed);
        let first = roll();
        assert_eq!(state(), (false, false));
        let _second = roll();
        assert_eq!(state(), (true, false), "buckets wait to be encoded");
        append(&hot, OPEN);
        assert_eq!(state(), (true, true), "much has come meanwhile");
        hot.remove(&first);
        assert_eq!(state(), (false, false));
        hot.roll(&stream()).unwrap();
        assert_eq!(state(), (true, false));
        roll();
        let last = roll();
        assert_eq!(state(), (true, true), "buckets have rolled meanwhile");
        hot.remove(&last);
        assert_eq!(state(), (true, false));
    }
}
