//! The format of each group.

use std::sync::Arc;

use cache::CurvePoint;
use ingest::{ForwarderStatus, Indexed, QueueStatus};
use model::{IndexName, Origin};

use super::*;
use crate::Log;
use crate::proc::tests::proc;

const NOW: f64 = 1_795_342_530.0;

fn origin(index: &str, host: &str) -> Arc<Origin> {
    let (source, sourcetype) = ("/a \"b\"".into(), "syslog".into());
    #[allow(clippy::unwrap_used)]
    let index = IndexName::new(index).unwrap();
    Arc::new(Origin { index, host: host.into(), source, sourcetype })
}

fn instance() -> Instance {
    let started = EventTime::from_seconds(NOW - 30.0);
    let roles = vec!["indexer", "search-head"];
    Instance {
        name: "one".into(),
        guid: "G".into(),
        roles,
        version: "1",
        started,
        cpus: 2,
        ..Instance::default()
    }
}

fn sample() -> Sample {
    let mut sample = Sample { time: EventTime::from_seconds(NOW), ..Sample::default() };
    let indexed = Indexed { events: 30, bytes: 3_072, age: 60_000_000, max_age: 9_000_000 };
    let origins = &mut sample.window.tallied.origins;
    origins.insert(origin("main", "a"), indexed);
    origins.insert(origin("main", "b"), Indexed { bytes: 6_144, ..indexed });
    origins.insert(origin("web", ""), indexed);
    sample
}

/// The texts of a group, without time and level.
fn of(sample: &Sample, group: &str) -> Vec<String> {
    let (_dir, proc) = proc(&[
        ("loadavg", "0.25 0 0 1/1 1\n"),
        ("self/task/9/comm", "parsing-0\n"),
        ("self/task/9/schedstat", "250000000 0 0\n"),
    ]);
    let mut log = MetricsLog::new(instance(), 2, proc);
    let events = log.events(sample);
    assert!(events.iter().all(|event| event.log == Log::Metrics && event.time == sample.time));
    let begin = format!("11-22-2026 10:15:30.000 +0000 INFO  Metrics - group={group}, ");
    events.iter().filter_map(|event| Some(event.text.strip_prefix(&begin)?.to_owned())).collect()
}

#[test]
fn throughput_is_by_index_source_type_source_and_host_the_largest_first() {
    let sample = sample();
    assert_eq!(
        of(&sample, "per_index_thruput"),
        [
            "series=\"main\", kbps=0.3, eps=2, kb=9, ev=60, avg_age=2, max_age=9",
            "series=\"web\", kbps=0.1, eps=1, kb=3, ev=30, avg_age=2, max_age=9",
        ]
    );
    assert_eq!(of(&sample, "per_host_thruput").len(), 2);
    assert!(of(&sample, "per_host_thruput")[0].starts_with("series=\"b\", "));
    assert!(of(&sample, "per_source_thruput")[0].starts_with("series=\"/a \\\"b\\\"\", "));
    assert!(of(&sample, "per_sourcetype_thruput")[0].starts_with("series=\"syslog\", kbps=0.4, "));
    assert_eq!(
        of(&sample, "thruput"),
        ["name=index_thruput, instantaneous_kbps=0.4, instantaneous_eps=3, average_kbps=0.4, \
          total_k_processed=12, kb=12, ev=90, load_average=0.25"]
    );
}

#[test]
fn queues_and_stages_have_splunks_names() {
    let mut sample = sample();
    let queue = QueueStatus {
        set: 0,
        stage: "parsing",
        bytes: 1_024,
        items: 2,
        capacity: 4_096,
        passed_bytes: 10_240,
        passed_items: 20,
        blocked: Duration::from_secs(4),
        largest: 5,
        smallest: 1,
    };
    sample.window.queues = vec![queue];
    assert_eq!(
        of(&sample, "queue"),
        [
            "ingest_pipe=0, name=parsingqueue, blocked=true, max_size_kb=4, current_size_kb=1, current_size=2, \
          largest_size=5, smallest_size=1, blocked_s=4, kb=10, items=20"
        ]
    );
    assert_eq!(
        of(&sample, "pipeline"),
        ["ingest_pipe=0, name=parsing, processor=linebreaker, cpu_seconds=0.25, executes=20, \
          cumulative_hits=20"]
    );
    sample.window.queues[0].blocked = Duration::from_secs(1);
    assert!(!of(&sample, "queue")[0].contains("blocked=true"));
}

#[test]
fn forwarders_have_what_they_sent() {
    let mut sample = sample();
    sample.window.forwarders = vec![ForwarderStatus {
        connection: 1,
        peer: ([10, 0, 0, 9], 40_000).into(),
        host: "web-1".into(),
        version: "0.1.0".into(),
        guid: "F".into(),
        bytes: 30_720,
        events: 60,
    }];
    assert_eq!(
        of(&sample, "tcpin_connections"),
        ["connectionType=cooked, sourcePort=40000, sourceHost=\"web-1\", sourceIp=10.0.0.9, \
          hostname=\"web-1\", kb=30, tcp_Bps=1024, tcp_KBps=1, tcp_eps=2, tcp_Kprocessed=30, ev=60, fwdType=uf, \
          version=\"0.1.0\", guid=F"]
    );
}

#[test]
fn searches_are_counted_of_all_and_by_user() {
    let mut sample = sample();
    sample.concurrency = Concurrency {
        running: 3,
        queued: 1,
        limit: 8,
        by_user: BTreeMap::from([("ann".to_owned(), 2)]),
    };
    sample.counters = Counters::read(
        "karst_searches_total{outcome=\"done\"} 4\nkarst_searches_total{outcome=\"failed\"} 1\n\
         karst_search_seconds_bucket{le=\"0.1\"} 5\nkarst_search_seconds_bucket{le=\"+Inf\"} 5\n",
    );
    assert_eq!(
        of(&sample, "search_concurrency"),
        [
            "\"system total\", active_hist_searches=3, active_realtime_searches=0, queued=1, limit=8",
            "user=\"ann\", active_hist_searches=2, active_realtime_searches=0",
        ]
    );
    assert_eq!(
        of(&sample, "searches"),
        ["done=4, failed=1, cancelled=0, scanned_ev=0, searched_buckets=0, counted_buckets=0, \
          pruned_buckets=0, p50_ms=50, p95_ms=95, p99_ms=99"]
    );
}

#[test]
fn cache_and_store_are_by_tier_and_operation() {
    let mut sample = sample();
    sample.cache =
        CacheStats { dram_bytes: 2_048, dram_hits: 3, dram_micros: 1_500, ..CacheStats::default() };
    sample.counters = Counters::read(
        "karst_store_requests_total{operation=\"get\"} 7\nkarst_store_bytes_total{operation=\"get\"} 1024\n\
         karst_store_errors_total{operation=\"get\",reason=\"503\"} 2\nkarst_cache_used_bytes{kind=\"data\"} 512\n",
    );
    let cache = of(&sample, "cache");
    assert_eq!(cache[0], "tier=dram, kb=2, reads=3, ms=1.5, used_kb=0.5, capacity_kb=0");
    assert_eq!(cache[2], "tier=store, kb=0, reads=0, ms=0, requests=0, retries=0, hedges=0");
    assert_eq!(of(&sample, "store"), ["op=get, requests=7, kb=1, errors=2"]);
}

/// The estimates of a pool whose blocks have 4 KB, for caches of 2 and 64 MB.
fn curve(reads: u64, samples: u64, misses: [f64; 2]) -> CacheCurve {
    let points = [2, 64].into_iter().zip(misses).map(|(size_mb, misses)| CurvePoint {
        size_mb,
        misses,
        missed_bytes: misses * 4_096.0,
    });
    CacheCurve {
        pool: "data",
        capacity_mb: 4,
        reads,
        samples,
        requests_per_block: 0.25,
        points: points.collect(),
    }
}

#[test]
fn estimates_of_other_sizes_of_the_cache_are_of_the_time_since_the_previous_ones() {
    let (_dir, proc) = proc(&[]);
    let mut log = MetricsLog::new(instance(), 10, proc);
    let mut lines = |seconds: f64, curve: CacheCurve| {
        let time = EventTime::from_seconds(NOW + seconds);
        let sample = Sample { time, curves: vec![curve], ..sample() };
        let texts = log
            .events(&sample)
            .into_iter()
            .filter_map(|event| Some(event.text.split_once("group=cache_curve, ")?.1.to_owned()));
        texts.collect::<Vec<_>>()
    };
    assert!(lines(0.0, curve(100, 0, [0.0, 0.0])).is_empty(), "nothing is sampled yet");
    let begin = "pool=data, size_mb=2, capacity_mb=4";
    assert_eq!(
        lines(30.0, curve(200, 10, [160.0, 40.0])),
        [
            format!("{begin}, reads=200, samples=10, hit_ratio=0.2, store_requests=40, kb=640"),
            "pool=data, size_mb=64, capacity_mb=4, reads=200, samples=10, hit_ratio=0.8, \
             store_requests=10, kb=160"
                .to_owned(),
        ]
    );
    assert!(lines(60.0, curve(400, 20, [320.0, 40.0])).is_empty(), "after 30 seconds");
    let later = lines(330.0, curve(600, 30, [480.0, 40.0]));
    assert_eq!(
        later[0],
        format!("{begin}, reads=400, samples=20, hit_ratio=0.2, store_requests=80, kb=1280")
    );
    assert!(later[1].ends_with("reads=400, samples=20, hit_ratio=1, store_requests=0, kb=0"));
}

#[test]
fn counters_are_of_the_interval() {
    let (_dir, proc) = proc(&[]);
    let mut log = MetricsLog::new(instance(), 10, proc);
    let mut one = sample();
    one.counters =
        Counters::read("karst_http_requests_total{port=\"web\",route=\"rest\",status=\"500\"} 5\n");
    let http = |events: Vec<OwnEvent>| {
        let found = events.into_iter().find(|event| event.text.contains("group=http"));
        found.map(|event| {
            event.text.split_once("group=").map_or(String::new(), |(_, text)| text.to_owned())
        })
    };
    let first = http(log.events(&one));
    assert_eq!(first.as_deref(), Some("http, port=web, route=rest, requests=5, errors=5"));
    one.time = EventTime::from_seconds(NOW + 30.0);
    assert_eq!(http(log.events(&one)), None);
}

#[test]
fn copies_of_journals_are_measured_where_there_are_any() {
    let mut sample = sample();
    sample.counters = Counters::read("karst_replicas_copies 0\nkarst_replicas_objects_total 0\n");
    assert!(of(&sample, "replicas").is_empty());
    sample.counters = Counters::read(
        "karst_replicas_copies 2\nkarst_replicas_objects_total 40\nkarst_replicas_bytes_total 2048\n\
         karst_replicas_failures_total 1\nkarst_replicas_held_bytes 4096\n\
         karst_replicas_seconds_bucket{le=\"0.1\"} 5\nkarst_replicas_seconds_bucket{le=\"+Inf\"} 5\n",
    );
    assert_eq!(
        of(&sample, "replicas"),
        ["copies=2, objects=40, kb=2, failures=1, held_kb=4, p50_ms=50, p99_ms=99"]
    );
}

#[test]
fn buckets_are_of_hot_and_stored_ones() {
    let mut sample = sample();
    sample.indexes = Some(vec![StoredIndex {
        name: "main".into(),
        buckets: 2,
        bytes: 2_048,
        events: 50,
        ..StoredIndex::default()
    }]);
    assert_eq!(
        of(&sample, "buckets"),
        ["idx=\"main\", hot=0, hot_ev=0, hot_kb=0, stored=2, kb=2, ev=50"]
    );
    let instance = &of(&sample, "instance")[0];
    assert!(
        instance
            .starts_with("name=\"one\", guid=G, roles=\"indexer,search-head\", version=1, pid=")
    );
    assert!(instance.ends_with(", uptime_s=30, cpu_count=2"), "{instance}");
}
