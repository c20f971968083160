//! Indexing: assigns events their arrival time and journal position, and prepares both the bytes of the
//! journal and the rows of the hot bucket, so that the thread that syncs has no other work.

use std::sync::Arc;

use model::{EventBatch, Lane};

use super::messages::{Indexed, IndexedRecord, Typed};
use super::queue::Queue;
use super::spans::divide;
use crate::ack::AckShare;
use crate::hot::limits::HotLimits;
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
    pub(crate) limits: Arc<HotLimits>,
}

impl Indexing {
    /// Runs until the queue is closed and empty.
    pub(crate) fn run(self) {
        let mut encoder = Encoder::new(self.codec);
        while let Some(typed) = self.from.pop() {
            match typed {
                Typed::Order(order, share) => self.send(Indexed::Order(order, share), 64),
                Typed::Batch { batch, quarantine: true, share } => {
                    self.index(&mut encoder, batch, Lane::QUARANTINE, share);
                }
                Typed::Batch { batch, quarantine: false, share } => {
                    let max_span = self.limits.lanes(&batch.index).max_span;
                    let mut parts = divide(batch, max_span);
                    let last = parts.pop();
                    // The choice among the ordinary lanes is made when the rows reach the hot buckets.
                    for part in parts {
                        self.index(&mut encoder, part, Lane::FIRST, share.another());
                    }
                    if let Some(last) = last {
                        self.index(&mut encoder, last, Lane::FIRST, share);
                    }
                }
            }
        }
        self.to.close();
    }

    fn index(&self, encoder: &mut Encoder, batch: EventBatch, lane: Lane, share: AckShare) {
        let now = self.set.clock.now().0;
        let first = self.arrivals.reserve(now, batch.rows());
        let position = self.set.next_position();
        let stream = self.set.id.stream(&batch.index, lane);
        let bytes = encoder.batch(&batch, first, lane, position);
        let rows = Rows::new(batch, first);
        let size = (rows.raw_bytes() + bytes.len()) as u64;
        let record = IndexedRecord { stream, position, bytes, rows, share };
        self.send(Indexed::Record(Box::new(record)), size);
    }

    fn send(&self, item: Indexed, size: u64) {
        if self.to.push(item, size).is_err() {
            tracing::debug!("the journal has ended before indexing");
        }
    }
}
