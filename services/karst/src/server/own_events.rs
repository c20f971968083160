//! The events that this process writes about itself: collects them in intervals and hands them to its own
//! ingest, which every process has, whatever its roles.
//!
//! Guarantees: nobody waits for own events; each interval is indexed once, as a whole; what waits to be
//! indexed has a limit, and what is dropped is counted. Own events go through the pipeline as others do, so
//! they are in the throughput, but not in the licence usage. How many there are does not depend on how many
//! there were before.

mod collect;
mod observed;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ingest::{IndexCatalog, Ingest};
use inputs::{BatchId, CutEvents, Input, MissingTime, OriginRef, StreamKey};
use introspection::{OwnEvent, Points, Settings};
use model::IndexName;
use runtime::Shutdown;
use tokio::time::Instant;

use collect::Due;
pub(crate) use collect::{Collector, Sources};
pub(crate) use observed::Observed;

use super::access_log::AccessLog;

/// Bytes of own events that may wait while nothing is taken in; the oldest go first.
const MAX_PENDING: usize = 4 << 20;
/// Time for which own events wait for space in the first queue.
const ROOM: Duration = Duration::from_secs(5);
/// Time-out of making own events durable.
const DURABLE: Duration = Duration::from_secs(5);
/// Time-out of the last own events at a stop.
const END: Duration = Duration::from_secs(3);

/// The running task.
#[derive(Debug)]
pub(crate) struct OwnEvents {
    tasks: Shutdown,
    /// The number of collected events that are not indexed yet.
    waiting: Arc<AtomicUsize>,
    access: AccessLog,
}

/// The destination of own events.
#[derive(Debug)]
pub(crate) struct To {
    pub(crate) ingest: Arc<Ingest>,
    pub(crate) indexes: Arc<IndexCatalog>,
    pub(crate) host: String,
}

impl OwnEvents {
    /// Starts to write own events, unless the settings disable them.
    pub(crate) fn start(settings: &Settings, collector: Collector, to: To) -> Self {
        let (tasks, access) = (Shutdown::new(), collector.access_log());
        let writer = Writer::new(to);
        let waiting = Arc::clone(&writer.waiting);
        if !settings.metrics.disabled {
            access.open();
            tasks.spawn(writer.run(collector, Timetable::new(settings), tasks.clone()));
        }
        Self { tasks, waiting, access }
    }

    /// Writes about the time since the last interval, and ends. Says how many events are lost.
    pub(crate) async fn close(self) {
        let ended = self.tasks.finish(END).await;
        let lost = self.waiting.load(Ordering::Relaxed) + self.access.close();
        if let Err(error) = ended {
            tracing::warn!(%error, lost, "the last events about this process are not written");
        } else if lost > 0 {
            tracing::warn!(lost, "the last events about this process are not written");
        }
    }
}

/// The next time of each kind of event; `None` for never.
#[derive(Debug)]
struct Timetable {
    periods: [Option<Duration>; 3],
    next: [Option<Instant>; 3],
}

impl Timetable {
    fn new(settings: &Settings) -> Self {
        let Settings { metrics, resources, disk_objects } = settings;
        let periods = [
            Some(metrics.interval),
            (!resources.disabled).then_some(resources.period),
            (!disk_objects.disabled).then_some(disk_objects.period),
        ];
        // The sizes of indexes are available soon after a start, not only after ten minutes.
        let first = |period: Duration| Instant::now() + period.min(metrics.interval);
        Self { periods, next: periods.map(|period| period.map(first)) }
    }

    fn next(&self) -> Instant {
        let next = self.next.iter().flatten().min();
        next.copied().unwrap_or_else(|| Instant::now() + Duration::from_secs(3_600))
    }

    /// Returns the kinds that are due now, and schedules them again after their period.
    fn take(&mut self) -> Due {
        let now = Instant::now();
        let mut due = [false; 3];
        for ((next, period), due) in self.next.iter_mut().zip(self.periods).zip(&mut due) {
            if let (Some(at), Some(period)) = (*next, period)
                && at <= now
            {
                *due = true;
                // Intervals that were missed are not made up for.
                *next = Some(Some(at + period).filter(|at| *at > now).unwrap_or(now + period));
            }
        }
        let [metrics, resources, disk_objects] = due;
        Due { metrics, resources, disk_objects }
    }
}

/// The events of an interval, and their number: sent again, they are not indexed again.
#[derive(Debug)]
struct Interval {
    number: u64,
    events: Vec<OwnEvent>,
    bytes: usize,
}

#[derive(Debug)]
struct Writer {
    to: To,
    /// Names the numbers of this process.
    channel: uuid::Uuid,
    next: u64,
    pending: VecDeque<Interval>,
    /// The number of their events.
    waiting: Arc<AtomicUsize>,
    dropped: u64,
    is_refused: bool,
}

impl Writer {
    fn new(to: To) -> Self {
        let channel = runtime::random::uuid();
        let (pending, waiting) = (VecDeque::new(), Arc::default());
        Self { to, channel, next: 1, pending, waiting, dropped: 0, is_refused: false }
    }

    async fn run(mut self, mut collector: Collector, mut timetable: Timetable, tasks: Shutdown) {
        loop {
            let stops = tokio::select! {
                () = tasks.stopped() => true,
                () = tokio::time::sleep_until(timetable.next()) => false,
            };
            let mut due = timetable.take();
            // Counts since the last interval are not lost by a stop.
            due.metrics |= stops;
            // While nothing is taken in, requests wait in their own log: they would displace the events
            // that say why. At a stop, all that waits is tried once more.
            let access = due.metrics && (stops || self.pending.is_empty());
            let dropped = self.dropped;
            let collected = tokio::task::spawn_blocking(move || {
                let events = collector.collect(due, access, dropped);
                (collector, events)
            });
            let Ok((back, events)) = collected.await else { return };
            collector = back;
            self.keep(events, if stops { usize::MAX } else { MAX_PENDING });
            self.deliver().await;
            if stops {
                return;
            }
        }
    }

    /// Adds an interval, and drops the oldest ones above `limit` bytes.
    fn keep(&mut self, events: Vec<OwnEvent>, limit: usize) {
        let size =
            |event: &OwnEvent| event.text.len() + event.points.as_ref().map_or(0, Points::bytes);
        let bytes = events.iter().map(size).sum();
        self.pending.push_back(Interval { number: self.next, events, bytes });
        self.next += 1;
        let waiting = |pending: &VecDeque<Interval>| {
            pending.iter().map(|interval| interval.bytes).sum::<usize>()
        };
        while waiting(&self.pending) > limit
            && let Some(oldest) = self.pending.pop_front()
        {
            self.dropped += oldest.events.len() as u64;
        }
        self.count();
    }

    fn count(&self) {
        let events: usize = self.pending.iter().map(|interval| interval.events.len()).sum();
        self.waiting.store(events, Ordering::Relaxed);
    }

    /// Sends the waiting events. If they are refused, they continue to wait.
    async fn deliver(&mut self) {
        while let Some(interval) = self.pending.front() {
            if let Some(input) = self.input(interval)
                && let Err(error) = self.submit(interval.number, input).await
            {
                // Said once: each warning is an own event, too.
                if !std::mem::replace(&mut self.is_refused, true) {
                    tracing::warn!(%error, "events about this process wait to be indexed");
                }
                return;
            }
            self.is_refused = false;
            self.pending.pop_front();
            self.count();
        }
    }

    async fn submit(&self, number: u64, input: Input) -> Result<(), inputs::Error> {
        let id = BatchId { channel: self.channel, sequence: number, settled: number };
        let outcome = self.to.ingest.deliver(id, input, ROOM).await?;
        match tokio::time::timeout(DURABLE, outcome.wait()).await {
            Ok(outcome) => outcome.map(drop),
            // With ackLevel = remote, object storage does not answer: the events are in the journal on the
            // disk.
            Err(_) => Ok(()),
        }
    }

    /// The events of an interval, for indexes that exist.
    fn input(&self, interval: &Interval) -> Option<Input> {
        let mut events = CutEvents::new(MissingTime::Now);
        for event in &interval.events {
            let Ok(index) = IndexName::new(event.log.index()) else { continue };
            if !self.to.indexes.contains(&index) {
                continue;
            }
            let origin = OriginRef {
                index: &index,
                host: &self.to.host,
                source: event.log.source(),
                sourcetype: Some(event.log.sourcetype()),
            };
            // They are far smaller than the limit of an input.
            let _ = events.push(origin, Some(event.time), event.text.as_bytes());
        }
        self.push_points(interval, &mut events);
        let stream = StreamKey("own-events".into());
        (!events.is_empty()).then_some(Input::Events { stream, events })
    }

    /// Adds the data points of an interval, unless their index is disabled.
    fn push_points(&self, interval: &Interval, events: &mut CutEvents) {
        let Ok(index) = IndexName::new(Points::INDEX) else { return };
        if !self.to.indexes.contains(&index) {
            return;
        }
        for event in &interval.events {
            let Some(points) = &event.points else { continue };
            let origin = OriginRef {
                index: &index,
                host: &self.to.host,
                source: event.log.source(),
                sourcetype: Some(Points::SOURCETYPE),
            };
            if events.push(origin, Some(event.time), Points::TEXT.as_bytes()) {
                for (name, value) in points.fields() {
                    events.push_field(name.into(), value);
                }
            }
        }
    }
}
