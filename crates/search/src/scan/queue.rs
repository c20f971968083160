//! The work of a scan as pieces that its partitions take from one queue.
//!
//! Buckets are opened a few at a time, so that their first reads overlap, and cut into pieces, so that
//! one large bucket keeps every partition busy. Pieces come newest first.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::error::Result;
use futures::future::try_join_all;
use model::BucketEntry;
use tokio::sync::Notify;

use super::unit::{Opened, Unit};

/// Buckets opened at the same time, at most.
const OPEN_TOGETHER: usize = 8;

/// A part of a bucket, and how much of the bucket is left.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) opened: Opened,
    left: Arc<AtomicUsize>,
}

impl Piece {
    /// Notes that the piece is done; true if it was the last of its bucket.
    pub(super) fn finish(&self) -> bool {
        self.left.fetch_sub(1, SeqCst) == 1
    }
}

/// Buckets to open, and pieces of opened ones.
#[derive(Debug)]
pub(super) struct Queue {
    units: Vec<Unit>,
    partitions: usize,
    next: AtomicUsize,
    pieces: Mutex<VecDeque<Piece>>,
    opening: AtomicUsize,
    changed: Notify,
}

/// Says that buckets are being opened, also when whoever opened them went away.
struct Opening<'a>(&'a Queue);

impl<'a> Opening<'a> {
    fn begin(queue: &'a Queue) -> Self {
        queue.opening.fetch_add(1, SeqCst);
        Self(queue)
    }
}

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        self.0.opening.fetch_sub(1, SeqCst);
        self.0.changed.notify_waiters();
    }
}

impl Queue {
    pub(super) fn new(units: Vec<Unit>, partitions: usize) -> Self {
        Self {
            units,
            partitions,
            next: AtomicUsize::new(0),
            pieces: Mutex::default(),
            opening: AtomicUsize::new(0),
            changed: Notify::new(),
        }
    }

    /// A queue without the stored buckets that pass a test, and those; `None` if there are none. Only
    /// before anything was taken.
    pub(super) fn without(
        &self,
        test: impl Fn(&BucketEntry) -> bool,
    ) -> Option<(Self, Vec<Arc<BucketEntry>>)> {
        let (mut taken, mut rest) = (Vec::new(), Vec::new());
        for unit in &self.units {
            match unit {
                Unit::Stored(entry) if test(entry) => taken.push(Arc::clone(entry)),
                unit => rest.push(unit.clone()),
            }
        }
        (!taken.is_empty()).then(|| (Self::new(rest, self.partitions), taken))
    }

    pub(super) fn buckets(&self) -> usize {
        self.units.len()
    }

    /// The next piece; `None` when there will be no more. `open` cuts a bucket into pieces.
    pub(super) async fn next<F>(&self, open: impl Fn(Unit) -> F) -> Result<Option<Piece>>
    where
        F: Future<Output = Result<Vec<Opened>>>,
    {
        loop {
            let mut changed = pin!(self.changed.notified());
            // From here on no change is missed.
            changed.as_mut().enable();
            if let Some(piece) = self.pop() {
                return Ok(Some(piece));
            }
            let units = self.take_units();
            if !units.is_empty() {
                let _opening = Opening::begin(self);
                let opened = try_join_all(units.iter().cloned().map(&open)).await?;
                opened.into_iter().for_each(|pieces| self.push(pieces));
            } else if self.opening.load(SeqCst) > 0 {
                changed.await;
            } else {
                // Whoever was opening may have pushed between the look and the count.
                return Ok(self.pop());
            }
        }
    }

    fn pop(&self) -> Option<Piece> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    fn push(&self, parts: Vec<Opened>) {
        let left = Arc::new(AtomicUsize::new(parts.len()));
        let pieces = parts.into_iter().map(|opened| Piece { opened, left: Arc::clone(&left) });
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner).extend(pieces);
    }

    /// This partition's share of what is left to open, but not too many at once.
    fn take_units(&self) -> &[Unit] {
        let left = self.units.len().saturating_sub(self.next.load(SeqCst));
        let share = left.div_ceil(self.partitions.max(1)).clamp(1, OPEN_TOGETHER);
        let from = self.next.fetch_add(share, SeqCst).min(self.units.len());
        &self.units[from..(from + share).min(self.units.len())]
    }
}
