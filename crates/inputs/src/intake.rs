//! Handing over a stream without waiting for each acknowledgement.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::{Acknowledgement, Error, Input, Receipt, Sink};

/// Unacknowledged inputs a stream may have: enough to read on during an fsync.
const IN_FLIGHT: usize = 16;

/// The inputs of a stream in order, with their acknowledgements.
#[derive(Debug)]
pub(crate) struct Intake {
    sink: Arc<dyn Sink>,
    waiting: VecDeque<Acknowledgement>,
    /// Events and bytes acknowledged; `pending` is that of the last input.
    pub(crate) total: Receipt,
    pub(crate) acknowledged_inputs: u64,
}

impl Intake {
    pub(crate) fn new(sink: Arc<dyn Sink>) -> Self {
        let waiting = VecDeque::with_capacity(IN_FLIGHT);
        Self { sink, waiting, total: Receipt::default(), acknowledged_inputs: 0 }
    }

    /// Hands over the next input, waiting for room as long as it takes.
    pub(crate) async fn push(&mut self, input: Input) -> Result<(), Error> {
        if self.waiting.len() >= IN_FLIGHT {
            self.settle_one().await?;
        }
        self.waiting.push_back(self.sink.enqueue(input, Duration::MAX).await?);
        Ok(())
    }

    async fn settle_one(&mut self) -> Result<(), Error> {
        let Some(oldest) = self.waiting.pop_front() else { return Ok(()) };
        let receipt = oldest.wait().await?;
        self.total.events += receipt.events;
        self.total.bytes += receipt.bytes;
        self.total.pending = receipt.pending;
        self.total.findings.add(&receipt.findings);
        self.acknowledged_inputs += 1;
        Ok(())
    }

    /// Waits until everything handed over is acknowledged.
    pub(crate) async fn settle(&mut self) -> Result<(), Error> {
        while !self.waiting.is_empty() {
            self.settle_one().await?;
        }
        Ok(())
    }
}
