//! Slices of a scan: streams that end after a while and go on when the scan is executed again, so that an
//! aggregation above hands over what it has so far.
//!
//! Guarantees: every batch is in exactly one slice; a slice has at least one batch unless the partition
//! is at its end, so a scan that waits is not cut at all. While the search is paused, no slice is cut: what
//! is made of one takes a processor for a while.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use datafusion::error::Result;
use futures::Stream;
use futures::stream::{BoxStream, StreamExt};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Sleep;

use crate::control::ScanControl;

type Batches = BoxStream<'static, Result<RecordBatch>>;

/// The state of the rows of a partition.
enum Rows {
    NotBegun,
    /// Parked between two slices.
    Aside(Batches),
    /// In use by a slice.
    Lent,
    AtEnd,
}

struct Partition {
    rows: Rows,
    length: Duration,
    /// Time when the last slice ended.
    cut: Option<Instant>,
}

/// The slices of the partitions of a scan.
pub(crate) struct Slices {
    control: Arc<ScanControl>,
    stopped: AtomicBool,
    partitions: Vec<Mutex<Partition>>,
}

impl fmt::Debug for Slices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slices").field("partitions", &self.partitions.len()).finish_non_exhaustive()
    }
}

impl Slices {
    pub(crate) fn new(control: Arc<ScanControl>, partitions: usize, length: Duration) -> Self {
        let partition = || Mutex::new(Partition { rows: Rows::NotBegun, length, cut: None });
        let partitions = (0..partitions).map(|_| partition()).collect();
        Self { control, stopped: AtomicBool::new(false), partitions }
    }

    /// Returns the control of the search.
    pub(crate) fn control(&self) -> &ScanControl {
        &self.control
    }

    /// Disables slicing: from now on, a slice ends with its partition.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    /// Whether the partition has been read to its end.
    pub(crate) fn is_at_end(&self, partition: usize) -> bool {
        matches!(self.lock(partition).rows, Rows::AtEnd)
    }

    /// Sets the duration of the next slices of a partition.
    pub(crate) fn set_length(&self, partition: usize, length: Duration) {
        self.lock(partition).length = length;
    }

    /// Returns the time since the last slice of the partition ended.
    pub(crate) fn since_cut(&self, partition: usize) -> Duration {
        self.lock(partition).cut.map_or(Duration::ZERO, |cut| cut.elapsed())
    }

    /// Returns the next slice of a partition; `begin` starts its stream of rows.
    pub(super) fn next(
        self: &Arc<Self>,
        partition: usize,
        begin: impl FnOnce() -> Batches,
    ) -> Batches {
        let mut at = self.lock(partition);
        let length = at.length;
        let rows = match std::mem::replace(&mut at.rows, Rows::Lent) {
            Rows::NotBegun => Some(begin()),
            Rows::Aside(rows) => Some(rows),
            Rows::Lent => None,
            Rows::AtEnd => {
                at.rows = Rows::AtEnd;
                None
            }
        };
        drop(at);
        let slices = Arc::clone(self);
        Slice { slices, partition, rows, length, began: None, wake: None }.boxed()
    }

    fn cuts(&self) -> bool {
        let is_wanted = self.control.wants_previews() && !self.control.is_paused();
        is_wanted && !self.stopped.load(Relaxed)
    }

    fn give_back(&self, partition: usize, rows: Rows) {
        let mut at = self.lock(partition);
        at.rows = rows;
        at.cut = Some(Instant::now());
    }

    fn lock(&self, partition: usize) -> MutexGuard<'_, Partition> {
        self.partitions[partition].lock()
    }
}

struct Slice {
    slices: Arc<Slices>,
    partition: usize,
    rows: Option<Batches>,
    length: Duration,
    /// Time of its first batch.
    began: Option<Instant>,
    /// Timer that ends the slice while it waits for a batch.
    wake: Option<Pin<Box<Sleep>>>,
}

impl Slice {
    fn is_over(&self) -> bool {
        self.began.is_some_and(|began| began.elapsed() >= self.length) && self.slices.cuts()
    }

    /// Whether the time is up while the slice waits.
    fn ends_waiting(&mut self, context: &mut Context<'_>) -> bool {
        let Some(began) = self.began.filter(|_| self.slices.cuts()) else { return false };
        let until = tokio::time::Instant::from_std(began + self.length);
        let wake = self.wake.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        wake.as_mut().poll(context).is_ready() && self.is_over()
    }

    fn set_aside(&mut self) {
        if let Some(rows) = self.rows.take() {
            self.slices.give_back(self.partition, Rows::Aside(rows));
        }
    }
}

impl Stream for Slice {
    type Item = Result<RecordBatch>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.is_over() {
            this.set_aside();
        }
        let Some(rows) = &mut this.rows else { return Poll::Ready(None) };
        match rows.poll_next_unpin(context) {
            Poll::Ready(Some(batch)) => {
                this.began.get_or_insert_with(Instant::now);
                Poll::Ready(Some(batch))
            }
            Poll::Ready(None) => {
                this.rows = None;
                this.slices.give_back(this.partition, Rows::AtEnd);
                Poll::Ready(None)
            }
            Poll::Pending if this.ends_waiting(context) => {
                this.set_aside();
                Poll::Ready(None)
            }
            Poll::Pending => Poll::Pending,
        }
    }
}
