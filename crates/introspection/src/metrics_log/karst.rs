//! Searches, and the groups that Splunk does not have: cache, object storage, uploads and so on.

use std::collections::BTreeMap;

use cache::CacheStats;
use ingest::{Status, Tallied};
use runtime::metrics as names;

use super::{About, Concurrency, Instance, Sample};
use crate::counters::Labels;
use crate::line::{Line, kb};
use crate::{OwnEvent, StoredIndex};

impl About<'_> {
    fn line(&self, group: &str) -> Line {
        Line::metrics(self.time, group)
    }

    /// The growth of a counter of bytes, in kilobytes.
    fn kb(&self, metric: &str, labels: Labels<'_>) -> f64 {
        kb(self.span.count(metric, labels))
    }

    /// Adds quantiles of a histogram, if it has new values.
    fn quantiles(&self, mut line: Line, metric: &str, labels: Labels<'_>, parts: &[Part]) -> Line {
        for (name, part) in parts {
            line = line.some(name, self.span.millis(metric, labels, *part));
        }
        line
    }

    /// The current value of a gauge.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn gauge(&self, metric: &str) -> u64 {
        self.span.now.sum(metric, &[]).max(0.0).round() as u64
    }
}

type Part = (&'static str, f64);
const TWO: &[Part] = &[("p50_ms", 0.5), ("p99_ms", 0.99)];
const THREE: &[Part] = &[("p50_ms", 0.5), ("p95_ms", 0.95), ("p99_ms", 0.99)];

pub(super) fn searches(about: &About<'_>, now: &Concurrency, events: &mut Vec<OwnEvent>) {
    let line = about
        .line("search_concurrency")
        .bare("\"system total\"")
        .count("active_hist_searches", now.running)
        .count("active_realtime_searches", 0)
        .count("queued", now.queued)
        .count("limit", now.limit);
    events.push(line.end());
    let mut users: Vec<_> = now.by_user.iter().collect();
    users.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (user, count) in users.into_iter().take(about.max_series) {
        let line = about.line("search_concurrency").quoted("user", user);
        events.push(
            line.count("active_hist_searches", *count).count("active_realtime_searches", 0).end(),
        );
    }
    let ended = |outcome| about.span.count(names::SEARCHES, &[("outcome", outcome)]);
    let (done, failed, cancelled) = (ended("done"), ended("failed"), ended("cancelled"));
    if done + failed + cancelled > 0 {
        let buckets = |fate| about.span.count(names::SEARCH_BUCKETS, &[("fate", fate)]);
        let line = about
            .line("searches")
            .count("done", done)
            .count("failed", failed)
            .count("cancelled", cancelled)
            .count("scanned_ev", about.span.count(names::SEARCH_EVENTS, &[]))
            .count("searched_buckets", buckets("searched"))
            .count("counted_buckets", buckets("counted"))
            .count("pruned_buckets", buckets("pruned"));
        events.push(about.quantiles(line, names::SEARCH_SECONDS, &[], THREE).end());
    }
}

#[allow(clippy::cast_precision_loss)]
pub(super) fn cache(
    about: &About<'_>,
    (now, before): (&CacheStats, &CacheStats),
    (dram_bytes, nvme_bytes): (u64, u64),
    events: &mut Vec<OwnEvent>,
) {
    let tier = |name: &str, bytes: [u64; 2], reads: [u64; 2], micros: [u64; 2]| {
        let more = |[now, before]: [u64; 2]| now.saturating_sub(before);
        about
            .line("cache")
            .word("tier", name)
            .number("kb", kb(more(bytes)))
            .count("reads", more(reads))
            .number("ms", more(micros) as f64 / 1e3)
    };
    let dram = tier(
        "dram",
        [now.dram_bytes, before.dram_bytes],
        [now.dram_hits, before.dram_hits],
        [now.dram_micros, before.dram_micros],
    );
    let used = kb(about.gauge(names::CACHE_USED));
    events.push(dram.number("used_kb", used).number("capacity_kb", kb(dram_bytes)).end());
    let nvme = tier(
        "nvme",
        [now.nvme_bytes, before.nvme_bytes],
        [now.nvme_hits, before.nvme_hits],
        [now.nvme_micros, before.nvme_micros],
    );
    events.push(nvme.number("capacity_kb", kb(nvme_bytes)).end());
    let store = tier(
        "store",
        [now.store_bytes, before.store_bytes],
        [now.store_reads, before.store_reads],
        [now.store_micros, before.store_micros],
    );
    let store = store
        .count("requests", now.store_requests.saturating_sub(before.store_requests))
        .count("retries", now.store_retries.saturating_sub(before.store_retries))
        .count("hedges", now.store_hedges.saturating_sub(before.store_hedges));
    events.push(store.end());
}

pub(super) fn store(about: &About<'_>, events: &mut Vec<OwnEvent>) {
    for operation in ["get", "list", "head", "put", "post", "delete"] {
        let labels = &[("operation", operation)];
        let requests = about.span.count(names::STORE_REQUESTS, labels);
        if requests > 0 {
            let line = about
                .line("store")
                .word("op", operation)
                .count("requests", requests)
                .number("kb", about.kb(names::STORE_BYTES, labels))
                .count("errors", about.span.count(names::STORE_ERRORS, labels));
            events.push(about.quantiles(line, names::STORE_SECONDS, labels, TWO).end());
        }
    }
}

/// Copies of the journal of this process on other indexers, and copies of their journals here.
pub(super) fn replicas(about: &About<'_>, events: &mut Vec<OwnEvent>) {
    let objects = about.span.count(names::REPLICAS_OBJECTS, &[]);
    let failures = about.span.count(names::REPLICAS_FAILURES, &[]);
    let copies = about.gauge(names::REPLICAS_COPIES);
    let held = about.gauge(names::REPLICAS_HELD_BYTES);
    if objects + failures + copies + held > 0 {
        let line = about
            .line("replicas")
            .count("copies", copies)
            .count("objects", objects)
            .number("kb", about.kb(names::REPLICAS_BYTES, &[]))
            .count("failures", failures)
            .number("held_kb", kb(held));
        events.push(about.quantiles(line, names::REPLICAS_SECONDS, &[], TWO).end());
    }
}

/// Buckets being uploaded to object storage; committed buckets and failed attempts in the interval.
pub(super) fn uploads(
    about: &About<'_>,
    status: &Status,
    (committed, failures): (u64, u64),
) -> OwnEvent {
    let line = about
        .line("uploads")
        .count("waiting", status.uploads.waiting)
        .count("committed", committed)
        .count("failures", failures)
        .count("rolls", about.span.count(names::ROLLS, &[]))
        .number("kb", about.kb(names::BUCKET_BYTES, &[]))
        .count("spool_buckets", status.spool.buckets)
        .number("spool_kb", kb(status.spool.bytes));
    about.quantiles(line, names::ROLL_SECONDS, &[], TWO).end()
}

pub(super) fn journal(about: &About<'_>, status: &Status) -> OwnEvent {
    let syncs = format!("{}_count", names::JOURNAL_SYNC);
    let line = about
        .line("journal")
        .number("kb", kb(status.journal_bytes))
        .count("segments", status.journal_segments)
        .count("syncs", about.span.count(&syncs, &[]))
        .count("intake_stopped_s", about.span.count(names::INTAKE_STOPPED, &[]));
    about.quantiles(line, names::JOURNAL_SYNC, &[], TWO).end()
}

pub(super) fn visibility(about: &About<'_>, tallied: &Tallied, events: &mut Vec<OwnEvent>) {
    let mut indexes: Vec<_> = tallied.delays.iter().collect();
    indexes.sort_by_key(|(index, delays)| (std::cmp::Reverse(delays.events()), index.as_str()));
    for (index, delays) in indexes.into_iter().take(about.max_series) {
        let millis = |part| delays.quantile(part).as_secs_f64() * 1e3;
        let line = about
            .line("visibility")
            .quoted("idx", index.as_str())
            .count("ev", delays.events())
            .number("p50_ms", millis(0.5))
            .number("p95_ms", millis(0.95))
            .number("max_ms", delays.max.as_secs_f64() * 1e3);
        events.push(line.end());
    }
}

/// Number of hot buckets of an index, of their events, and of the bytes of their text.
type Hot = (u64, u64, u64);

pub(super) fn buckets(
    about: &About<'_>,
    status: &Status,
    stored: Option<&[StoredIndex]>,
    events: &mut Vec<OwnEvent>,
) {
    let mut indexes: BTreeMap<&str, (Hot, Option<&StoredIndex>)> = BTreeMap::new();
    for bucket in &status.hot {
        let (hot, _) = indexes.entry(bucket.stream.index.as_str()).or_default();
        *hot = (hot.0 + 1, hot.1 + bucket.rows, hot.2 + bucket.raw_bytes);
    }
    for index in stored.unwrap_or_default() {
        indexes.entry(&index.name).or_default().1 = Some(index);
    }
    let mut indexes: Vec<_> = indexes.into_iter().collect();
    indexes.sort_by_key(|(_, (hot, stored))| {
        std::cmp::Reverse(hot.2 + stored.map_or(0, |stored| stored.bytes))
    });
    for (index, (hot, stored)) in indexes.into_iter().take(about.max_series) {
        let mut line = about
            .line("buckets")
            .quoted("idx", index)
            .count("hot", hot.0)
            .count("hot_ev", hot.1)
            .number("hot_kb", kb(hot.2));
        if let Some(stored) = stored {
            line = line
                .count("stored", stored.buckets)
                .number("kb", kb(stored.bytes))
                .count("ev", stored.events);
        }
        events.push(line.end());
    }
}

pub(super) fn catalog(about: &About<'_>) -> OwnEvent {
    let commits = |outcome| about.span.count(names::CATALOG_COMMITS, &[("outcome", outcome)]);
    let line = about
        .line("catalog")
        .count("buckets", about.gauge(names::CATALOG_BUCKETS))
        .count("commits", commits("done"))
        .count("failed", commits("failed"))
        .count("writes", about.span.count(names::CATALOG_WRITES, &[]))
        .count("garbage", about.gauge(names::GARBAGE_OBJECTS))
        .count("merges", about.span.count(names::MERGES, &[("outcome", "done")]))
        .count("merged_buckets", about.span.count(names::MERGED_BUCKETS, &[]))
        .count("leads", about.gauge(names::CATALOG_LEADS));
    about.quantiles(line, names::CATALOG_COMMIT_SECONDS, &[], TWO).end()
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(super) fn http(about: &About<'_>, events: &mut Vec<OwnEvent>) {
    let failed = |status: &str| status.starts_with('5');
    let known = about.span.now.pairs(names::HTTP_REQUESTS, ("port", "route"));
    for (port, route) in known.into_iter().take(about.max_series) {
        let labels = &[("port", port), ("route", route)];
        let requests = about.span.count(names::HTTP_REQUESTS, labels);
        if requests > 0 {
            let errors = about.span.sum_if(names::HTTP_REQUESTS, labels, ("status", &failed));
            let line = about
                .line("http")
                .word("port", port)
                .word("route", route)
                .count("requests", requests)
                .count("errors", errors.round() as u64);
            events.push(about.quantiles(line, names::HTTP_SECONDS, labels, TWO).end());
        }
    }
}

pub(super) fn instance(about: &About<'_>, instance: &Instance) -> OwnEvent {
    about
        .line("instance")
        .quoted("name", &instance.name)
        .word("guid", &instance.guid)
        .quoted("roles", &instance.roles.join(","))
        .word("version", instance.version)
        .count("pid", u64::from(std::process::id()))
        .number("uptime_s", (about.time.seconds() - instance.started.seconds()).max(0.0))
        .count("cpu_count", instance.cpus as u64)
        .end()
}

pub(super) fn own_events(about: &About<'_>, written: (u64, u64), sample: &Sample) -> OwnEvent {
    about
        .line("own_events")
        .count("ev", written.0)
        .number("kb", kb(written.1))
        .number("collect_ms", sample.collect.as_secs_f64() * 1e3)
        .count("dropped", sample.dropped)
        .count("access_dropped", sample.access_dropped)
        .end()
}
