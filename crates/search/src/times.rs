//! How long the phases of a search took. Phases that run in several partitions side by side add up, so
//! that a sum may be more than the search's own time.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures::Stream;
use futures::stream::{BoxStream, StreamExt};
use parking_lot::Mutex;

/// A phase of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// From text to a logical plan.
    Plan,
    /// Waiting for its turn.
    Queue,
    /// Which buckets: catalog, time ranges, summaries.
    Prune,
    /// Footers and directories of buckets.
    Open,
    /// Which granules: the term index.
    Terms,
    /// Waiting for the bytes of columns.
    Read,
    /// From bytes to columns.
    Decode,
    /// Which rows: time, conditions.
    Filter,
    /// Fields out of the text of events.
    Extract,
    /// Previews of the result.
    Preview,
    /// What follows the last row that was read.
    Finalize,
}

impl Phase {
    /// All but the last.
    pub(crate) const READING: [Self; 10] = [
        Self::Plan,
        Self::Queue,
        Self::Prune,
        Self::Open,
        Self::Terms,
        Self::Read,
        Self::Decode,
        Self::Filter,
        Self::Extract,
        Self::Preview,
    ];

    /// Its name in the inspector.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Queue => "queue",
            Self::Prune => "prune",
            Self::Open => "open",
            Self::Terms => "terms",
            Self::Read => "read",
            Self::Decode => "decode",
            Self::Filter => "filter",
            Self::Extract => "extract",
            Self::Preview => "preview",
            Self::Finalize => "finalize",
        }
    }
}

/// Time spent in each phase.
#[derive(Debug)]
pub(crate) struct PhaseTimes {
    began: Instant,
    /// When rows were last filtered, in nanoseconds since then.
    last_rows: AtomicU64,
    nanos: [AtomicU64; Phase::READING.len() + 1],
    times: [AtomicU64; Phase::READING.len() + 1],
}

impl Default for PhaseTimes {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            last_rows: AtomicU64::new(0),
            nanos: Default::default(),
            times: Default::default(),
        }
    }
}

impl PhaseTimes {
    /// Adds time to a phase, as one more time that it was gone through.
    pub(crate) fn add(&self, phase: Phase, time: Duration) {
        self.more(phase, time);
        self.times[phase as usize].fetch_add(1, Relaxed);
    }

    /// Adds time to a phase that is gone through already.
    pub(crate) fn more(&self, phase: Phase, time: Duration) {
        self.nanos[phase as usize].fetch_add(nanos(time), Relaxed);
        if phase == Phase::Filter {
            self.last_rows.fetch_max(nanos(self.began.elapsed()), Relaxed);
        }
    }

    /// Nanoseconds in each phase, and how often it was gone through.
    pub(crate) fn all(&self) -> Vec<(u64, u64)> {
        let pairs = self.nanos.iter().zip(&self.times);
        pairs.map(|(nanos, times)| (nanos.load(Relaxed), times.load(Relaxed))).collect()
    }

    /// Adds those of a part of the search, but for what only the whole of it goes through.
    pub(crate) fn add_all(&self, others: &[(u64, u64)]) {
        let whole = [Phase::Plan, Phase::Queue, Phase::Finalize];
        for phase in Phase::READING.into_iter().filter(|phase| !whole.contains(phase)) {
            if let Some((nanos, times)) = others.get(phase as usize) {
                self.nanos[phase as usize].fetch_add(*nanos, Relaxed);
                self.times[phase as usize].fetch_add(*times, Relaxed);
            }
        }
    }

    /// Notes that the search is at its end: what followed the last row was finalizing.
    pub(crate) fn end(&self) {
        let last = Duration::from_nanos(self.last_rows.load(Relaxed));
        if !last.is_zero() {
            self.add(Phase::Finalize, self.began.elapsed().saturating_sub(last));
        }
    }

    /// Counts the time until the guard goes as a phase.
    pub(crate) fn during(&self, phase: Phase) -> impl Drop + '_ {
        During { times: self, phase, start: Instant::now() }
    }

    /// The time so far, and how often the phase was gone through.
    pub(crate) fn of(&self, phase: Phase) -> (Duration, u64) {
        let spent = |phase: Phase| self.nanos[phase as usize].load(Relaxed);
        let spent = match phase {
            // Rows are extracted from while they are filtered.
            Phase::Filter => spent(phase).saturating_sub(spent(Phase::Extract)),
            phase => spent(phase),
        };
        (Duration::from_nanos(spent), self.times[phase as usize].load(Relaxed))
    }

    /// Counts the time that a stream of stored rows takes: working on them, and waiting for their bytes.
    pub(crate) fn reading<T: Send + 'static>(
        self: &Arc<Self>,
        rows: BoxStream<'static, T>,
    ) -> BoxStream<'static, T> {
        Reading { rows, times: Arc::clone(self), waits: None }.boxed()
    }
}

/// The phases that a part of a search has gone through, by what it has told of them ([`PhaseTimes::all`]).
pub(crate) fn of_part(times: &[(u64, u64)]) -> Vec<(Phase, Duration, u64)> {
    let spent = |phase: Phase| times.get(phase as usize).copied().unwrap_or_default();
    let all = Phase::READING.into_iter().map(|phase| {
        let (nanos, count) = spent(phase);
        // Rows are extracted from while they are filtered.
        let inner = if phase == Phase::Filter { spent(Phase::Extract).0 } else { 0 };
        (phase, Duration::from_nanos(nanos.saturating_sub(inner)), count)
    });
    all.filter(|(_, _, count)| *count > 0).collect()
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

struct During<'a> {
    times: &'a PhaseTimes,
    phase: Phase,
    start: Instant,
}

impl Drop for During<'_> {
    fn drop(&mut self) {
        self.times.add(self.phase, self.start.elapsed());
    }
}

struct Reading<T> {
    rows: BoxStream<'static, T>,
    times: Arc<PhaseTimes>,
    waits: Option<Instant>,
}

impl<T> Stream for Reading<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let this = self.get_mut();
        let start = Instant::now();
        if let Some(since) = this.waits.take() {
            this.times.add(Phase::Read, start - since);
        }
        let polled = this.rows.poll_next_unpin(context);
        match &polled {
            Poll::Pending => {
                this.times.more(Phase::Decode, start.elapsed());
                this.waits = Some(Instant::now());
            }
            Poll::Ready(_) => this.times.add(Phase::Decode, start.elapsed()),
        }
        polled
    }
}

/// A value that the running search publishes and that status requests read.
#[derive(Debug, Default)]
pub(crate) struct Published<T>(Mutex<T>);

impl<T: Clone> Published<T> {
    /// Changes it.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        change(&mut self.0.lock())
    }

    /// What it is now.
    pub(crate) fn now(&self) -> T {
        self.change(|value| value.clone())
    }
}
