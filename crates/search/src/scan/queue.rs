//! The work of a scan as pieces that its partitions take from one queue.
//!
//! Buckets are opened ahead of the partitions, many side by side, so that a search of thousands of buckets
//! far away does not wait for one after the other; and cut into pieces, so that one large bucket keeps
//! every partition busy. Pieces come in the order of their buckets. What is open and not taken is bounded by
//! a window.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use datafusion::error::{DataFusionError, Result};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::unit::{Opened, Stored, Unit};

/// Maximum number of buckets that are being opened, or are open and not taken yet.
const WINDOW: usize = 64;

/// The initial value of this maximum, because the first buckets may be enough. Each bucket without a piece
/// widens it by one, so it doubles as long as no rows are found.
const FIRST_WINDOW: usize = 8;

/// A part of a bucket, with the number of remaining parts.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) opened: Opened,
    left: Arc<AtomicUsize>,
    /// Whether the piece is the only one of its bucket.
    pub(super) alone: bool,
}

impl Piece {
    /// Marks the piece as done. Returns true if it was the last one of its bucket.
    pub(super) fn finish(&self) -> bool {
        self.left.fetch_sub(1, SeqCst) == 1
    }
}

/// Buckets to open, and pieces of opened ones.
#[derive(Debug)]
pub(super) struct Queue {
    units: Vec<Unit>,
    partitions: usize,
    state: Mutex<State>,
    changed: Notify,
}

/// The progress of opening buckets.
#[derive(Debug)]
struct State {
    /// Index of the next bucket to open.
    next: usize,
    opening: usize,
    /// Pieces that have not been taken, by the index of their bucket.
    ready: BTreeMap<usize, VecDeque<Piece>>,
    window: usize,
    failed: Option<DataFusionError>,
}

impl State {
    /// Takes the first piece.
    fn pop(&mut self) -> Option<Piece> {
        let mut first = self.ready.first_entry()?;
        let piece = first.get_mut().pop_front();
        if first.get().is_empty() {
            first.remove();
        }
        piece
    }

    /// Whether no more pieces will come, given that no bucket is left to open.
    fn is_done(&self) -> bool {
        self.opening == 0 && self.ready.is_empty() && self.failed.is_none()
    }

    /// Returns the indexes of the buckets to open now, of this total number.
    fn begin(&mut self, units: usize) -> Range<usize> {
        let room = self.window.saturating_sub(self.opening + self.ready.len());
        let from = self.next;
        self.next = (from + room).min(units);
        self.opening += self.next - from;
        from..self.next
    }

    fn end(&mut self, place: usize, parts: Vec<Opened>) {
        if parts.is_empty() {
            self.window = (self.window + 1).min(WINDOW);
            return;
        }
        let left = Arc::new(AtomicUsize::new(parts.len()));
        let alone = parts.len() == 1;
        let piece = |opened| Piece { opened, left: Arc::clone(&left), alone };
        let pieces = parts.into_iter().map(piece);
        self.ready.insert(place, pieces.collect());
    }
}

/// A bucket that is being opened. On drop, its waiters are notified.
struct Opening {
    queue: Arc<Queue>,
    place: usize,
    result: Option<Result<Vec<Opened>>>,
}

impl Opening {
    async fn run(mut self, opened: impl Future<Output = Result<Vec<Opened>>>) {
        self.result = Some(opened.await);
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        let lost = || Err(DataFusionError::Internal("opening a bucket was aborted".to_owned()));
        let mut state = self.queue.state.lock();
        state.opening -= 1;
        match self.result.take().unwrap_or_else(lost) {
            Ok(parts) => state.end(self.place, parts),
            Err(error) => state.failed = Some(error),
        }
        drop(state);
        self.queue.changed.notify_waiters();
    }
}

impl Queue {
    pub(super) fn new(units: Vec<Unit>, partitions: usize) -> Self {
        let state = State {
            next: 0,
            opening: 0,
            ready: BTreeMap::new(),
            window: FIRST_WINDOW,
            failed: None,
        };
        Self { units, partitions, state: Mutex::new(state), changed: Notify::new() }
    }

    /// Splits off the stored buckets that pass a test. Returns the remaining queue and those buckets; `None`
    /// if there are none. Must be called before any piece is taken.
    pub(super) fn without(&self, test: impl Fn(&Stored) -> bool) -> Option<(Self, Vec<Stored>)> {
        let (mut taken, mut rest) = (Vec::new(), Vec::new());
        for unit in &self.units {
            match unit {
                Unit::Stored(stored) if test(stored) => taken.push(stored.clone()),
                unit => rest.push(unit.clone()),
            }
        }
        (!taken.is_empty()).then(|| (Self::new(rest, self.partitions), taken))
    }

    pub(super) fn units(&self) -> &[Unit] {
        &self.units
    }

    pub(super) fn buckets(&self) -> usize {
        self.units.len()
    }

    /// Returns the number of events of all buckets.
    pub(super) fn rows(&self) -> u64 {
        self.units.iter().map(Unit::rows).sum()
    }

    /// Notes that every bucket will be read, so that the initial maximum need not apply.
    pub(super) fn will_be_emptied(&self) {
        self.state.lock().window = WINDOW;
    }

    /// Returns the next piece; `None` if there are no more. `open` cuts a bucket into pieces, in a task of
    /// its own, whichever partition takes them.
    pub(super) async fn next<F>(self: &Arc<Self>, open: impl Fn(Unit) -> F) -> Result<Option<Piece>>
    where
        F: Future<Output = Result<Vec<Opened>>> + Send + 'static,
    {
        loop {
            let mut changed = pin!(self.changed.notified());
            // Changes after this point are not missed.
            changed.as_mut().enable();
            let (piece, places) = {
                let mut state = self.state.lock();
                if let Some(error) = state.failed.take() {
                    return Err(error);
                }
                (state.pop(), state.begin(self.units.len()))
            };
            let all_are_open = places.is_empty();
            for place in places {
                let opening = Opening { queue: Arc::clone(self), place, result: None };
                runtime::detached(opening.run(open(self.units[place].clone())));
            }
            if piece.is_some() {
                return Ok(piece);
            }
            if all_are_open && self.state.lock().is_done() {
                return Ok(None);
            }
            changed.await;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use model::IndexName;

    use super::*;

    fn units(count: usize) -> Vec<Unit> {
        let unit = || {
            Unit::Hot(bucket::HotBucket {
                id: model::BucketId(uuid::Uuid::nil()),
                index: IndexName::new("main").unwrap(),
                rows: 0,
                first_time: model::EventTime(0),
                last_time: model::EventTime(0),
                raw_bytes: 0,
                batches: Vec::new(),
                stored: None,
                owner: None,
                elsewhere: None,
            })
        };
        (0..count).map(|_| unit()).collect()
    }

    fn rows(piece: Option<Piece>) -> Option<u64> {
        piece.map(|piece| match piece.opened {
            Opened::Counted(rows) => rows,
            _ => 0,
        })
    }

    #[test]
    fn more_are_opened_at_a_time_while_nothing_is_found() {
        let mut state = Queue::new(Vec::new(), 1).state.into_inner();
        let mut windows = Vec::new();
        let mut opened = 0;
        while opened < 300 {
            let places = state.begin(300);
            windows.push(places.len());
            for place in places {
                state.opening -= 1;
                state.end(place, Vec::new());
                opened += 1;
            }
        }
        assert_eq!(windows, [8, 16, 32, 64, 64, 64, 52]);
    }

    #[test]
    fn nothing_is_opened_ahead_of_a_full_window() {
        let mut state = Queue::new(Vec::new(), 1).state.into_inner();
        assert_eq!(state.begin(100), 0..8);
        for place in [5, 3] {
            state.opening -= 1;
            state.end(place, vec![Opened::Counted(place as u64), Opened::Counted(0)]);
        }
        assert_eq!(state.begin(100), 8..8);
        assert_eq!(rows(state.pop()), Some(3), "the first bucket first");
        assert_eq!(state.begin(100), 8..8, "a piece of it is left");
        state.pop();
        assert_eq!(state.begin(100), 8..9);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn every_piece_is_taken_once_by_whoever_comes() {
        let queue = Arc::new(Queue::new(units(200), 2));
        let count = Arc::new(AtomicUsize::new(0));
        let take = || {
            let (queue, count) = (Arc::clone(&queue), Arc::clone(&count));
            tokio::spawn(async move {
                let mut sum = 0;
                let open = |_| {
                    let number = count.fetch_add(1, SeqCst);
                    async move { Ok(vec![Opened::Counted(1); number % 3]) }
                };
                while let Some(rows) = rows(queue.next(open).await.unwrap()) {
                    sum += rows;
                }
                sum
            })
        };
        let (first, second) = (take(), take());
        assert_eq!(first.await.unwrap() + second.await.unwrap(), 199);
    }

    #[tokio::test]
    async fn a_bucket_that_cannot_be_opened_fails_the_scan() {
        let queue = Arc::new(Queue::new(units(3), 1));
        let failing = |_| async { Err(DataFusionError::Internal("no".to_owned())) };
        assert!(queue.next(failing).await.is_err());
        let queue = Arc::new(Queue::new(units(3), 1));
        let breaking = |_| async { panic!("as expected") };
        let error = queue.next(breaking).await.unwrap_err().to_string();
        assert!(error.contains("aborted"), "{error}");
    }
}
