//! The acknowledgement of one input: completed when every part of it is.
//!
//! An input is split into parts (batches); each part carries an [`AckShare`]. The sender's wait ends
//! when the last share is dropped. A share that is dropped without having been completed, for any reason,
//! fails the input: an event that is lost on the way is never acknowledged. If its events are in the journal,
//! the error says so, because the next start has them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use inputs::{Acknowledgement, BatchId, Durability, Error, Findings, Receipt};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::channels::InFlight;

#[derive(Debug)]
struct InputAck {
    events: AtomicU64,
    bytes: AtomicU64,
    pending: AtomicU64,
    /// When the input arrived.
    began: Instant,
    findings: Mutex<Findings>,
    failure: Mutex<Option<Error>>,
    /// The input's number, if its sender gave one.
    batch: Option<InFlight>,
    done: Mutex<Option<oneshot::Sender<Result<Receipt, Error>>>>,
}

impl InputAck {
    fn fail(&self, error: Error) {
        let mut failure = self.failure.lock();
        // The first one is told, but only if all parts are in the journal, the sender may hear that they are.
        if matches!(*failure, None | Some(Error::Unacknowledged)) {
            *failure = Some(error);
        }
    }
}

impl Drop for InputAck {
    fn drop(&mut self) {
        let failure = self.failure.get_mut().take();
        let receipt = Receipt {
            events: *self.events.get_mut(),
            bytes: *self.bytes.get_mut(),
            pending: *self.pending.get_mut(),
            findings: *self.findings.get_mut(),
        };
        // Released before the answer: a sender that learns of a failure may retry the same number at once.
        drop(self.batch.take());
        let done = self.done.get_mut().take();
        if let Some(done) = done {
            // Sending fails if the sender has disconnected; then nobody needs the answer.
            let _ = done.send(failure.map_or(Ok(receipt), Err));
        }
    }
}

/// A part's share of the acknowledgement of its input.
#[derive(Debug)]
pub(crate) struct AckShare {
    input: Option<Arc<InputAck>>,
    /// Whether the events of the part are in the journal.
    is_journaled: bool,
}

/// An acknowledgement that waits until a part is in object storage.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) share: AckShare,
    pub(crate) events: u64,
    pub(crate) bytes: u64,
}

impl Waiting {
    /// Creates the acknowledgement of events that are in the journal.
    pub(crate) fn of_journaled(mut share: AckShare, events: u64, bytes: u64) -> Self {
        share.is_journaled = true;
        Self { share, events, bytes }
    }

    /// Fails the input, because this process ends, and its events are only in the journal.
    pub(crate) fn give_up(self) {
        self.share.fail(Error::Unacknowledged);
    }
}

impl AckShare {
    /// Returns the first share of a new input, and the acknowledgement that receives its outcome.
    pub(crate) fn new() -> (Self, Acknowledgement) {
        Self::of(None)
    }

    /// Returns the first share of an input that its sender has numbered.
    pub(crate) fn of_batch(batch: InFlight) -> (Self, Acknowledgement) {
        Self::of(Some(batch))
    }

    fn of(batch: Option<InFlight>) -> (Self, Acknowledgement) {
        let (done, outcome) = Acknowledgement::new();
        let input = InputAck {
            events: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            pending: AtomicU64::new(0),
            began: Instant::now(),
            findings: Mutex::default(),
            failure: Mutex::new(None),
            batch,
            done: Mutex::new(Some(done)),
        };
        (Self { input: Some(Arc::new(input)), is_journaled: false }, outcome)
    }

    /// Returns a share that nobody waits for.
    pub(crate) const fn unattended() -> Self {
        Self { input: None, is_journaled: false }
    }

    /// Returns the batch number of the input, if it has one: then its parts are stored together or not at
    /// all.
    pub(crate) fn batch(&self) -> Option<BatchId> {
        Some(self.input.as_ref()?.batch.as_ref()?.id)
    }

    /// Returns the time since the input arrived, if a sender waits for it.
    pub(crate) fn age(&self) -> Option<Duration> {
        self.input.as_ref().map(|input| input.began.elapsed())
    }

    /// Returns the number of open shares of the input. Once only the caller holds a share, no more parts
    /// can arrive, and the outcomes of the others are visible.
    pub(crate) fn holders(&self) -> usize {
        let holders = self.input.as_ref().map_or(0, Arc::strong_count);
        std::sync::atomic::fence(Ordering::Acquire);
        holders
    }

    /// Whether a part of the input has already failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.input.as_ref().is_some_and(|input| input.failure.lock().is_some())
    }

    /// Returns another share of the same input.
    pub(crate) fn another(&self) -> Self {
        Self { input: self.input.clone(), is_journaled: self.is_journaled }
    }

    /// Completes the part: `events` with `bytes` of text are durable.
    pub(crate) fn complete(mut self, events: u64, bytes: u64) {
        if let Some(input) = self.input.take() {
            input.events.fetch_add(events, Ordering::Relaxed);
            input.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Completes the part at this durability level.
    pub(crate) fn complete_as(self, durability: Durability, events: u64, bytes: u64) {
        self.note(&Findings { durability: Some(durability), ..Findings::default() });
        self.complete(events, bytes);
    }

    /// Records how many bytes of the stream wait for the rest of their event.
    pub(crate) fn set_pending(&self, bytes: u64) {
        if let Some(input) = &self.input {
            input.pending.store(bytes, Ordering::Relaxed);
        }
    }

    /// Records the findings about the events of a part.
    pub(crate) fn note(&self, findings: &Findings) {
        if let Some(input) = &self.input {
            input.findings.lock().add(findings);
        }
    }

    /// Fails the part, and with it the input.
    pub(crate) fn fail(mut self, error: Error) {
        if let Some(input) = self.input.take() {
            input.fail(error);
        }
    }
}

impl Drop for AckShare {
    fn drop(&mut self) {
        if let Some(input) = self.input.take() {
            let is_kept = self.is_journaled;
            input.fail(if is_kept { Error::Unacknowledged } else { Error::Abandoned });
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_input_is_acknowledged_when_its_last_part_is_completed() {
        let (share, outcome) = AckShare::new();
        let other = share.another();
        share.complete(2, 20);
        let outcome = tokio::spawn(outcome.wait());
        tokio::task::yield_now().await;
        assert!(!outcome.is_finished());
        other.complete(1, 5);
        let receipt = outcome.await.unwrap().unwrap();
        assert_eq!((receipt.events, receipt.bytes), (3, 25));
    }

    #[tokio::test]
    async fn a_part_that_is_dropped_fails_its_input() {
        let (share, outcome) = AckShare::new();
        drop(share.another());
        share.complete(1, 1);
        assert!(matches!(outcome.wait().await, Err(Error::Abandoned)));
    }

    #[tokio::test]
    async fn an_input_is_only_reported_as_journaled_if_all_its_parts_are() {
        let (share, outcome) = AckShare::new();
        let lost = share.another();
        Waiting::of_journaled(share, 1, 1).give_up();
        lost.another().fail(Error::Closed);
        drop(lost);
        assert!(matches!(outcome.wait().await, Err(Error::Closed)));
    }

    #[tokio::test]
    async fn a_part_that_is_in_the_journal_is_not_reported_as_lost() {
        let (share, outcome) = AckShare::new();
        drop(Waiting::of_journaled(share, 1, 1));
        assert!(matches!(outcome.wait().await, Err(Error::Unacknowledged)));
    }
}
