//! What the stages behind parsing still have to do, and when that is so much that large inputs wait.
//!
//! Inputs leave a queue in the order in which they came. Full queues of tens of megabytes, or buckets that wait
//! to be encoded, would hold up a small request for seconds behind somebody's bulk load. So large inputs wait
//! in parsing, where small ones overtake them, and the queues behind it stay short.

use std::fmt;
use std::sync::Arc;

use super::meter::StatusOf;
use crate::hot::store::HotStore;

/// Bytes in the queues behind parsing at which large inputs wait: enough for every stage to be busy.
const QUEUED: u64 = 8 << 20;
/// Bytes of text in the open buckets of a set at which small inputs wait too, while buckets that are not
/// encoded yet have reached `maxRolledBuckets`.
const OPEN: u64 = 64 << 20;
/// Buckets above `maxRolledBuckets` at which they wait, too: small ones roll meanwhile, by time or on request.
const MORE_ROLLED: usize = 2;

/// See the module.
#[derive(Clone)]
pub(crate) struct Backlog {
    queues: Vec<StatusOf>,
    hot: Arc<HotStore>,
    set: u16,
    max_rolled: usize,
}

impl fmt::Debug for Backlog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backlog").field("set", &self.set).finish_non_exhaustive()
    }
}

impl Backlog {
    /// Of a set: the queues behind parsing, and its buckets.
    pub(crate) fn new(
        queues: Vec<StatusOf>,
        hot: Arc<HotStore>,
        set: u16,
        max_rolled: usize,
    ) -> Self {
        Self { queues, hot, set, max_rolled }
    }

    /// Whether large inputs wait.
    pub(crate) fn is_long(&self) -> bool {
        self.rolled() >= self.max_rolled
            || self.queues.iter().map(|queue| queue().bytes).sum::<u64>() >= QUEUED
    }

    /// Whether nothing more is taken into memory.
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
