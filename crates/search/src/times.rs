//! The durations of the phases of a search. Phases that run in several partitions in parallel add up, so a
//! sum may exceed the run time of the search.

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
    /// Planning, from the text to a logical plan.
    Plan,
    /// Waiting for a turn.
    Queue,
    /// Selecting buckets: catalog, time ranges, summaries.
    Prune,
    /// Reading footers and directories of buckets.
    Open,
    /// Selecting granules with the term index.
    Terms,
    /// Waiting for the bytes of columns.
    Read,
    /// Decoding bytes into columns.
    Decode,
    /// Filtering rows by time and conditions.
    Filter,
    /// Extracting fields from the text of events.
    Extract,
    /// Making previews.
    Preview,
    /// Work after the last row was read.
    Finalize,
}

impl Phase {
    /// All phases except the last.
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

    /// Returns the name in the inspector.
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
    /// The time of the last filtering, in nanoseconds since the start.
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
    /// Adds a duration to a phase and counts an execution.
    pub(crate) fn add(&self, phase: Phase, time: Duration) {
        self.more(phase, time);
        self.times[phase as usize].fetch_add(1, Relaxed);
    }

    /// Adds a duration to a phase without counting another execution.
    pub(crate) fn more(&self, phase: Phase, time: Duration) {
        self.nanos[phase as usize].fetch_add(nanos(time), Relaxed);
        if phase == Phase::Filter {
            self.last_rows.fetch_max(nanos(self.began.elapsed()), Relaxed);
        }
    }

    /// Returns the nanoseconds and the number of executions of each phase.
    pub(crate) fn all(&self) -> Vec<(u64, u64)> {
        let pairs = self.nanos.iter().zip(&self.times);
        pairs.map(|(nanos, times)| (nanos.load(Relaxed), times.load(Relaxed))).collect()
    }

    /// Adds the durations of a part of the search, except for phases that only the search head has.
    pub(crate) fn add_all(&self, others: &[(u64, u64)]) {
        let whole = [Phase::Plan, Phase::Queue, Phase::Finalize];
        for phase in Phase::READING.into_iter().filter(|phase| !whole.contains(phase)) {
            if let Some((nanos, times)) = others.get(phase as usize) {
                self.nanos[phase as usize].fetch_add(*nanos, Relaxed);
                self.times[phase as usize].fetch_add(*times, Relaxed);
            }
        }
    }

    /// Marks the end of the search: the time since the last row counts as finalizing.
    pub(crate) fn end(&self) {
        let last = Duration::from_nanos(self.last_rows.load(Relaxed));
        if !last.is_zero() {
            self.add(Phase::Finalize, self.began.elapsed().saturating_sub(last));
        }
    }

    /// Counts the time until the guard is dropped as a phase.
    pub(crate) fn during(&self, phase: Phase) -> impl Drop + '_ {
        PhaseTimer { times: self, phase, start: Instant::now() }
    }

    /// Returns the duration and the number of executions of a phase.
    pub(crate) fn of(&self, phase: Phase) -> (Duration, u64) {
        let spent = |phase: Phase| self.nanos[phase as usize].load(Relaxed);
        let spent = match phase {
            // Extraction happens within filtering.
            Phase::Filter => spent(phase).saturating_sub(spent(Phase::Extract)),
            phase => spent(phase),
        };
        (Duration::from_nanos(spent), self.times[phase as usize].load(Relaxed))
    }

    /// Measures a stream of stored rows: computing, and waiting for bytes.
    pub(crate) fn reading<T: Send + 'static>(
        self: &Arc<Self>,
        rows: BoxStream<'static, T>,
    ) -> BoxStream<'static, T> {
        Reading { rows, times: Arc::clone(self), waits: None }.boxed()
    }
}

/// Returns the phases of a part of a search, from the numbers that it has reported ([`PhaseTimes::all`]).
pub(crate) fn of_part(times: &[(u64, u64)]) -> Vec<(Phase, Duration, u64)> {
    let spent = |phase: Phase| times.get(phase as usize).copied().unwrap_or_default();
    let all = Phase::READING.into_iter().map(|phase| {
        let (nanos, count) = spent(phase);
        // Extraction happens within filtering.
        let inner = if phase == Phase::Filter { spent(Phase::Extract).0 } else { 0 };
        (phase, Duration::from_nanos(nanos.saturating_sub(inner)), count)
    });
    all.filter(|(_, _, count)| *count > 0).collect()
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

struct PhaseTimer<'a> {
    times: &'a PhaseTimes,
    phase: Phase,
    start: Instant,
}

impl Drop for PhaseTimer<'_> {
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
    /// Changes the value.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        change(&mut self.0.lock())
    }

    /// Returns the current value.
    pub(crate) fn now(&self) -> T {
        self.change(|value| value.clone())
    }
}
