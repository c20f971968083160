//! Inputs of a file that are not safe yet.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::{Acknowledgement, Error, Input, Note, Sink};

/// Inputs of one file that wait for an acknowledgement at most: enough to read on during an fsync.
const MOST: usize = 16;

/// Handed-over inputs of one file, in order, each with the place in the file where it ends.
#[derive(Debug, Default)]
pub(crate) struct Flight {
    waiting: VecDeque<(Acknowledgement, u64)>,
}

impl Flight {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Hands an input over, waiting for room as long as it takes; tells up to where the file is
    /// safe when that became known.
    pub(crate) async fn push(
        &mut self,
        sink: &Arc<dyn Sink>,
        (input, note): (Input, Option<Note>),
        end: u64,
    ) -> Result<Option<u64>, Error> {
        let safe = if self.waiting.len() >= MOST { self.settle_one().await? } else { None };
        let acknowledgement = match note {
            Some(note) => sink.enqueue_noted(input, note, Duration::MAX).await?,
            None => sink.enqueue(input, Duration::MAX).await?,
        };
        self.waiting.push_back((acknowledgement, end));
        Ok(safe)
    }

    async fn settle_one(&mut self) -> Result<Option<u64>, Error> {
        let Some((oldest, end)) = self.waiting.pop_front() else { return Ok(None) };
        let receipt = oldest.wait().await?;
        Ok(Some(end.saturating_sub(receipt.pending)))
    }

    /// Waits until everything handed over is acknowledged.
    pub(crate) async fn settle(&mut self) -> Result<Option<u64>, Error> {
        let mut safe = None;
        while !self.waiting.is_empty() {
            safe = self.settle_one().await?.or(safe);
        }
        self.waiting.shrink_to(0);
        Ok(safe)
    }

    /// Stops waiting for pending inputs.
    pub(crate) fn forget(&mut self) {
        self.waiting = VecDeque::new();
    }
}
