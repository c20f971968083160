//! Indexing: gives events their arrival time and their place in the journal, and prepares both the
//! journal's bytes and the rows of the hot bucket, so that the thread that syncs does nothing else.

use std::sync::Arc;

use super::messages::{Indexed, IndexedRecord, Typed};
use super::queue::Queue;
use crate::hot::rows::Rows;
use crate::journal::{Codec, Encoder};
use crate::set::{Arrivals, SetState};

/// See the module.
pub(crate) struct Indexing {
    pub(crate) from: Arc<Queue<Typed>>,
    pub(crate) to: Arc<Queue<Indexed>>,
    pub(crate) set: Arc<SetState>,
    pub(crate) arrivals: Arc<Arrivals>,
    pub(crate) codec: Codec,
}

impl Indexing {
    /// Works until the queue is closed and empty.
    pub(crate) fn run(self) {
        let mut encoder = Encoder::new(self.codec);
        while let Some(typed) = self.from.pop() {
            let (item, size) = match typed {
                Typed::Order(order, share) => (Indexed::Order(order, share), 64),
                Typed::Batch { batch, quarantine, share } => {
                    let now = self.set.clock.now().0;
                    let first = self.arrivals.reserve(now, batch.rows());
                    let position = self.set.next_position();
                    let stream = self.set.id.stream(&batch.index, quarantine);
                    let bytes = encoder.batch(&batch, first, quarantine, position);
                    let rows = Rows::new(batch, first);
                    let size = (rows.raw_bytes() + bytes.len()) as u64;
                    let record = IndexedRecord { stream, position, bytes, rows, share };
                    (Indexed::Record(Box::new(record)), size)
                }
            };
            if self.to.push(item, size).is_err() {
                tracing::debug!("the journal has ended before indexing");
            }
        }
        self.to.close();
    }
}
