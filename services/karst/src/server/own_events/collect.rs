//! Collects own events: asks the parts of the server for the numbers that they count anyway.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use cache::CachedStore;
use catalog::Catalog;
use ingest::{Ingest, Tallied};
use introspection::{
    Concurrency, Counters, Instance, License, MetricsLog, OwnEvent, Proc, ResourceUsage,
    RunningSearch, Sample, Settings, StoredIndex, disk_objects,
};
use model::EventTime;
use runtime::Clock;
use search::SearchService;

use super::super::access_log::AccessLog;
use super::super::identity::write_once;
use super::super::log_file::LogFile;
use super::super::logs;
use super::super::views::MetricsText;
use super::observed::Observed;

/// The kinds of events that are due.
#[derive(Debug, Clone, Copy)]
pub(super) struct Due {
    pub(super) metrics: bool,
    pub(super) resources: bool,
    pub(super) disk_objects: bool,
}

/// The sources of the numbers.
#[derive(Debug)]
pub(crate) struct Sources {
    pub(crate) ingest: Arc<Ingest>,
    pub(crate) search: SearchService,
    pub(crate) cache: Arc<CachedStore>,
    pub(crate) catalog: Catalog,
    pub(crate) metrics: MetricsText,
    pub(crate) log: LogFile,
    pub(crate) access: AccessLog,
    pub(crate) clock: Arc<dyn Clock>,
    /// The data directory.
    pub(crate) data: PathBuf,
    /// The latest observations, for REST.
    pub(crate) observed: Arc<Observed>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Collector {
    sources: Sources,
    guid: String,
    proc: Proc,
    metrics: MetricsLog,
    license: License,
    resources: ResourceUsage,
    /// The indexes in the catalog, as of the number of its write.
    stored: Option<(u64, Vec<StoredIndex>)>,
}

impl Collector {
    pub(crate) fn new(settings: &Settings, instance: Instance, sources: Sources) -> Self {
        let proc = Proc::default();
        // A day whose sum cannot be read begins again.
        let kept = fs::read(license_path(&sources)).ok();
        let license = kept.and_then(|kept| serde_json::from_slice(&kept).ok()).unwrap_or_default();
        Self {
            guid: instance.guid.clone(),
            metrics: MetricsLog::new(instance, settings.metrics.max_series, proc.clone()),
            license,
            resources: ResourceUsage::new(proc.clone()),
            stored: None,
            proc,
            sources,
        }
    }

    /// The access log of REST.
    pub(super) fn access_log(&self) -> AccessLog {
        self.sources.access.clone()
    }

    /// Returns the events that are due, and those of the access log if it is to be emptied. `dropped` earlier
    /// events could not be indexed.
    pub(super) fn collect(&mut self, due: Due, access: bool, dropped: u64) -> Vec<OwnEvent> {
        let time = self.sources.clock.now();
        let mut events = Vec::new();
        if due.metrics {
            let sample = self.sample(time, dropped);
            events.extend(self.metrics.events(&sample));
            events.extend(self.license(time, &sample.window.tallied));
            events.extend(self.sources.log.take_warnings(time, logs::component));
        }
        if access {
            events.extend(self.sources.access.take());
        }
        if due.resources {
            events.extend(self.resources.events(time, &running(&self.sources.search)));
        }
        if due.disk_objects {
            let stored = self.stored().unwrap_or_default();
            events.extend(disk_objects(time, &self.proc, &self.sources.data, &stored));
        }
        if due.metrics {
            self.metrics.note(&events);
        }
        self.sources.observed.note(&events);
        events
    }

    fn sample(&mut self, time: EventTime, dropped: u64) -> Sample {
        let began = Instant::now();
        let indexes = self.stored();
        let Sources { ingest, search, cache, metrics, access, .. } = &self.sources;
        let load = search.load();
        let count = |number: usize| number as u64;
        let mut sample = Sample {
            time,
            counters: Counters::read(&metrics.text()),
            window: ingest.window(),
            status: ingest.status(),
            cache: cache.stats(),
            curves: cache.curves(),
            concurrency: Concurrency {
                running: count(load.running),
                queued: count(load.queued),
                limit: count(load.limit),
                by_user: load
                    .by_user
                    .into_iter()
                    .map(|(user, number)| (user, count(number)))
                    .collect(),
            },
            indexes,
            dropped,
            access_dropped: access.dropped(),
            ..Sample::default()
        };
        sample.collect = began.elapsed();
        sample
    }

    fn license(&mut self, time: EventTime, tallied: &Tallied) -> Vec<OwnEvent> {
        let before = self.license.clone();
        let events = self.license.events(time, tallied, &self.guid);
        if self.license != before {
            let kept = serde_json::json!(self.license).to_string();
            if let Err(error) = write_once(&license_path(&self.sources), kept.as_bytes(), 0o600) {
                tracing::debug!(%error, "the bytes of the day are not kept");
            }
        }
        events
    }

    /// Returns the indexes in object storage, if this process leads: all others have the same.
    fn stored(&mut self) -> Option<Vec<StoredIndex>> {
        if self.sources.catalog.follows() {
            return None;
        }
        let snapshot = self.sources.catalog.snapshot();
        if self.stored.as_ref().is_none_or(|(number, _)| *number != snapshot.number()) {
            let mut indexes: Vec<_> = snapshot.indexes().collect();
            indexes.sort();
            let stored = indexes.into_iter().map(|index| {
                let mut sum =
                    StoredIndex { name: index.as_str().to_owned(), ..StoredIndex::default() };
                for bucket in snapshot.buckets(index).iter() {
                    sum.buckets += 1;
                    sum.bytes += bucket.size;
                    sum.events += bucket.rows;
                    sum.raw_bytes += bucket.raw_bytes;
                    sum.first =
                        Some(sum.first.map_or(bucket.first_time, |at| at.min(bucket.first_time)));
                    sum.last =
                        Some(sum.last.map_or(bucket.last_time, |at| at.max(bucket.last_time)));
                }
                sum
            });
            self.stored = Some((snapshot.number(), stored.collect()));
        }
        let mut stored = self.stored.as_ref().map(|(_, stored)| stored.clone()).unwrap_or_default();
        for bucket in self.sources.ingest.status().hot {
            let index = bucket.stream.index.as_str();
            if let Some(sum) = stored.iter_mut().find(|stored| stored.name == index) {
                sum.hot += 1;
            }
        }
        Some(stored)
    }
}

fn license_path(sources: &Sources) -> PathBuf {
    sources.data.join("license_usage.json")
}

/// The jobs that run, the oldest first.
fn running(search: &SearchService) -> Vec<RunningSearch> {
    let mut jobs = search.jobs();
    jobs.retain(|job| !job.status().state.is_final());
    jobs.reverse();
    jobs.iter()
        .map(|job| RunningSearch {
            sid: job.sid().to_owned(),
            user: job.request().owner.clone(),
            app: job.request().app.clone(),
            label: job.request().label.clone().unwrap_or_default(),
            elapsed: job.status().run_duration.as_secs_f64(),
            memory: job.reserved_bytes() as u64,
        })
        .collect()
}
