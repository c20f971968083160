//! metrics.log: a line per group and series, about the interval since the previous lines.

mod curves;
mod karst;
mod queues;
mod thruput;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use cache::{CacheCurve, CacheStats};
use ingest::{Status, Window};
use model::EventTime;

use crate::counters::Span;
use crate::{Counters, OwnEvent, Proc, StoredIndex};

/// Properties of the process that do not change while it runs.
#[derive(Debug, Clone, Default)]
pub struct Instance {
    /// Its display name.
    pub name: String,
    /// Its identity.
    pub guid: String,
    /// Its roles.
    pub roles: Vec<&'static str>,
    /// The version of the program.
    pub version: &'static str,
    /// Its start time.
    pub started: EventTime,
    /// Number of processors.
    pub cpus: usize,
    /// Size of the cache in memory, in bytes.
    pub dram_bytes: u64,
    /// Size of the cache on disk, in bytes.
    pub nvme_bytes: u64,
}

/// Numbers of searches at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Concurrency {
    /// Running searches, including exports and SQL queries.
    pub running: u64,
    /// Searches waiting to be started.
    pub queued: u64,
    /// Maximum number of concurrent searches.
    pub limit: u64,
    /// Running jobs, by user.
    pub by_user: BTreeMap<String, u64>,
}

/// The values at one time.
#[derive(Debug, Default)]
pub struct Sample {
    /// The time.
    pub time: EventTime,
    /// All metrics of the process.
    pub counters: Counters,
    /// The work of ingest since the previous sample.
    pub window: Window,
    /// The current state of ingest.
    pub status: Status,
    /// Reads of the cache since the start of the process.
    pub cache: CacheStats,
    /// Estimates of these reads with other sizes of the cache, by pool.
    pub curves: Vec<CacheCurve>,
    /// Searches.
    pub concurrency: Concurrency,
    /// Indexes in object storage, if this process is the leader of the catalog.
    pub indexes: Option<Vec<StoredIndex>>,
    /// Time taken to collect the sample.
    pub collect: Duration,
    /// Own events since the start of the process that could not be indexed.
    pub dropped: u64,
    /// Lines of splunkd_access.log that were left out, since the start.
    pub access_dropped: u64,
}

/// Values of the previous sample.
#[derive(Debug, Default)]
struct Before {
    time: EventTime,
    counters: Counters,
    queues: HashMap<(u16, &'static str), (u64, u64, Duration)>,
    threads: BTreeMap<String, f64>,
    forwarders: HashMap<u64, (u64, u64)>,
    cache: CacheStats,
    committed: u64,
    failures: u64,
}

/// Writes the log.
#[derive(Debug)]
pub struct MetricsLog {
    instance: Instance,
    max_series: usize,
    proc: Proc,
    before: Before,
    curves: curves::Curves,
    /// Bytes indexed since the start.
    total_bytes: u64,
    /// Number and bytes of the events written in the previous interval.
    written: (u64, u64),
}

/// Values shared by the parts of the log.
struct About<'a> {
    time: EventTime,
    /// Seconds since the previous sample.
    seconds: f64,
    span: Span<'a>,
    max_series: usize,
}

impl MetricsLog {
    /// A log without previous values.
    #[must_use]
    pub fn new(instance: Instance, max_series: usize, proc: Proc) -> Self {
        let before = Before { time: instance.started, ..Before::default() };
        let curves = curves::Curves::default();
        Self { instance, max_series, proc, before, curves, total_bytes: 0, written: (0, 0) }
    }

    /// The lines for a sample.
    pub fn events(&mut self, sample: &Sample) -> Vec<OwnEvent> {
        let threads = self.proc.threads();
        let before = &self.before;
        let about = About {
            time: sample.time,
            seconds: (sample.time.seconds() - before.time.seconds()).max(0.001),
            span: Span { before: &before.counters, now: &sample.counters },
            max_series: self.max_series,
        };
        let mut events = Vec::new();
        thruput::series(&about, &sample.window.tallied, &mut events);
        let bytes = thruput::bytes(&sample.window.tallied);
        self.total_bytes += bytes;
        let since_start = (sample.time.seconds() - self.instance.started.seconds()).max(0.001);
        let totals = thruput::Totals {
            bytes: self.total_bytes,
            seconds: since_start,
            load: self.proc.load(),
        };
        events.push(thruput::total(&about, &sample.window.tallied, &totals));
        for queue in &sample.window.queues {
            let known = before.queues.get(&(queue.set, queue.stage)).copied().unwrap_or_default();
            events.push(queues::queue(&about, queue, known));
            events.push(queues::pipeline(&about, queue, known, (&threads, &before.threads)));
        }
        queues::forwarders(&about, &sample.window.forwarders, &before.forwarders, &mut events);
        karst::searches(&about, &sample.concurrency, &mut events);
        let sizes = (self.instance.dram_bytes, self.instance.nvme_bytes);
        karst::cache(&about, (&sample.cache, &before.cache), sizes, &mut events);
        self.curves.lines(sample.time, &sample.curves, &mut events);
        karst::store(&about, &mut events);
        let uploads = &sample.status.uploads;
        let done = (
            uploads.committed.saturating_sub(before.committed),
            uploads.failures.saturating_sub(before.failures),
        );
        events.push(karst::uploads(&about, &sample.status, done));
        events.push(karst::journal(&about, &sample.status));
        karst::replicas(&about, &mut events);
        karst::visibility(&about, &sample.window.tallied, &mut events);
        karst::buckets(&about, &sample.status, sample.indexes.as_deref(), &mut events);
        events.push(karst::catalog(&about));
        karst::http(&about, &mut events);
        events.push(karst::instance(&about, &self.instance));
        events.push(karst::own_events(&about, self.written, sample));
        self.before = Before {
            time: sample.time,
            counters: sample.counters.clone(),
            queues: queues::passed(&sample.window.queues),
            threads,
            forwarders: queues::sent(&sample.window.forwarders),
            cache: sample.cache,
            committed: uploads.committed,
            failures: uploads.failures,
        };
        events
    }

    /// Records what was written to all logs in this interval, for the next sample.
    pub fn note(&mut self, events: &[OwnEvent]) {
        let bytes = events.iter().map(|event| event.text.len() as u64).sum();
        self.written = (events.len() as u64, bytes);
    }
}

#[cfg(test)]
mod tests;
