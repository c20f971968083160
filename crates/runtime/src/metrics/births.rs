//! Series that are present with the value zero from the start.
//!
//! If a counter first appears with its first increment, that increment is missing from rates, and `absent()`
//! alerts although there is no problem. Series with labels whose values depend on data (index, rule) start
//! with their first value.

use super::*;

/// The program whose metrics are rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// `karst server`.
    Server,
    /// `karst-forwarder`.
    Forwarder,
}

/// A label and its values.
type Label = (&'static str, &'static [&'static str]);

/// Metrics with labels, and the label values that are known in advance.
const LABELLED: &[(&str, &[Label])] = &[
    (
        INGEST_REQUESTS,
        &[
            ("input", &["hec", "otlp", "elasticsearch", "loki"]),
            ("outcome", &["answered", "busy", "refused"]),
        ],
    ),
    (
        INGEST_REFUSED,
        &[(
            "reason",
            &[
                "ack_channels",
                "ack_pending",
                "body_encoding",
                "body_incomplete",
                "body_too_large",
                "compression_ratio",
                "connections",
                "event_too_large",
                "forwarded_busy",
                "forwarded_invalid",
                "host",
                "journal",
                "request_memory",
                "tls",
                "udp",
            ],
        )],
    ),
    (HOST_LOOKUPS, &[("outcome", &["found", "not_found"])]),
    (SCRIPT_RUNS, &[("outcome", &["ok", "failed"])]),
    (S3_OBJECTS, &[("outcome", &["taken", "duplicate", "failed"])]),
    (SQS_MESSAGES, &[("outcome", &["done", "undeleted", "poison", "failed"])]),
    (
        ROLLS,
        &[("reason", &["size", "span", "idle", "memory", "ack", "journal", "asked", "recovery"])],
    ),
    (MERGES, &[("outcome", &["done", "failed"])]),
    (CATALOG_COMMITS, &[("outcome", &["done", "failed"])]),
    (CATALOG_STATES, &[("what", &["whole", "write"])]),
    (CATALOG_SUMMARIES, &[("from", &["memory", "store"])]),
    (PEERS_VIEWS, &[("outcome", &["ok", "error"])]),
    (
        TRANSPORT_REFUSED,
        &[(
            "reason",
            &[
                "accept",
                "certificate",
                "cluster",
                "connection",
                "connections",
                "garbage",
                "secret",
                "timeout",
                "version",
            ],
        )],
    ),
    (STORE_REQUESTS, &[("operation", &["get", "list", "head", "put", "post", "delete"])]),
    (
        STORE_ERRORS,
        &[
            ("operation", &["get", "list", "head", "put", "post", "delete"]),
            ("reason", &["connect", "timeout", "interrupted", "request", "403", "500", "503"]),
        ],
    ),
    (STORE_SECONDS, &[("operation", &["get", "list", "head", "put", "post", "delete"])]),
    (STORE_BYTES, &[("operation", &["get", "put"])]),
    (CACHE_BYTES, &[("tier", &["dram", "nvme", "store"])]),
    (CACHE_READS, &[("tier", &["dram", "nvme", "store"])]),
    (CACHE_MICROS, &[("tier", &["dram", "nvme", "store"])]),
    (CACHE_WARM_HINTS, &[("outcome", &["read", "skipped", "dropped", "failed"])]),
    (CACHE_HEDGES, &[("outcome", &["first", "second", "failed"])]),
    (SEARCHES, &[("outcome", &["done", "failed", "cancelled"])]),
    (HOT_WORD_FILTERS, &[("outcome", &["made", "refused"])]),
    (FILTER_GRANULES, &[("kind", &["known", "tested"])]),
    (COMPUTED_GRANULES, &[("kind", &["known", "computed"])]),
    (SEARCH_PARTS, &[("outcome", &["done", "refused", "failed", "lost"])]),
    (PARTS_RUN, &[("outcome", &["started", "refused"])]),
    (SEARCH_BUCKETS, &[("fate", &["searched", "counted", "pruned"])]),
    (REQUEST_MEMORY_REFUSED, &[("reason", &["busy", "too_large"])]),
    (
        HTTP_REQUESTS,
        &[
            ("port", &["management", "web"]),
            ("route", &["login", "query", "rest", "search"]),
            ("status", &["200", "500", "503"]),
        ],
    ),
    (
        HTTP_REQUESTS,
        &[("port", &["HEC"]), ("route", &["events"]), ("status", &["200", "500", "503"])],
    ),
    (
        HTTP_SECONDS,
        &[("port", &["management", "web"]), ("route", &["login", "query", "rest", "search"])],
    ),
    (HTTP_SECONDS, &[("port", &["HEC"]), ("route", &["events"])]),
    (HTTP_REFUSED, &[("reason", &["accept", "maxSockets", "maxSocketsPerClient", "maxThreads"])]),
    (
        HTTP_TIMEOUTS,
        &[(
            "reason",
            &[
                "body",
                "busyKeepAliveIdleTimeout",
                "handshakeTimeout",
                "headerTimeout",
                "keepAliveIdleTimeout",
                "responseStallTimeout",
            ],
        )],
    ),
    (TRACE_SPANS_DROPPED, &[("reason", &["queue", "export"])]),
    (PASSWORD_CHECKS, &[("outcome", &["right", "wrong", "remembered", "refused"])]),
];

/// Metrics with a label whose values are not known in advance.
const BY_DATA: &[&str] = &[
    INGEST_EVENTS,
    INGEST_BYTES,
    INGEST_LOST_DATAGRAMS,
    INGEST_CHANGED,
    INGEST_DROPPED,
    INGEST_CLONED,
    QUEUE_PASSED_BYTES,
    QUEUE_PASSED_ITEMS,
    QUEUE_BLOCKED,
    FROZEN_BUCKETS,
    FROZEN_FAILURES,
    THAWED_BUCKETS,
    FORWARDER_BLOCKED,
    FORWARDER_DROPPED,
    FORWARDER_FILTERED,
    FORWARDER_RULE_DROPPED,
    FORWARDER_RULE_DROPPED_BYTES,
    FORWARDER_ROUTED,
    FORWARDER_DISCOVERY_FAILURES,
];

/// Starts the counters and histograms of a program at zero. Gauges have no neutral value (zero free bytes
/// would be an alarm), so they start with the first measurement.
pub(super) fn begin(program: Program) {
    for metric in ALL {
        let of_forwarder = metric.name.starts_with("karst_forwarder_");
        if of_forwarder != (program == Program::Forwarder) || BY_DATA.contains(&metric.name) {
            continue;
        }
        let mut labelled = LABELLED.iter().filter(|(name, _)| *name == metric.name).peekable();
        if labelled.peek().is_none() {
            register(metric, &[]);
        }
        labelled.for_each(|(_, labels)| each(metric, labels, &mut Vec::new()));
    }
}

/// Registers a series for each combination of label values.
fn each(metric: &Metric, labels: &[Label], chosen: &mut Vec<(&'static str, &'static str)>) {
    let Some(((name, values), rest)) = labels.split_first() else {
        return register(metric, chosen);
    };
    for value in *values {
        chosen.push((name, value));
        each(metric, rest, chosen);
        chosen.pop();
    }
}

fn register(metric: &Metric, labels: &[(&'static str, &'static str)]) {
    match metric.kind {
        Kind::Counter => ::metrics::counter!(metric.name, labels).increment(0),
        // Creating the handle registers the series.
        Kind::Histogram => drop(::metrics::histogram!(metric.name, labels)),
        Kind::Gauge => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(program: Program) -> String {
        let recorder = builder().build_recorder();
        let handle = recorder.handle();
        ::metrics::with_local_recorder(&recorder, || {
            describe();
            begin(program);
        });
        Recorder(handle).render()
    }

    #[test]
    fn errors_are_counted_from_zero() {
        let text = text(Program::Server);
        for series in [
            "karst_searches_total{outcome=\"failed\"} 0",
            "karst_store_errors_total{operation=\"put\",reason=\"503\"} 0",
            "karst_journal_lost_events_total 0",
            "karst_cache_read_seconds_total{tier=\"dram\"} 0",
            "karst_search_seconds_count 0",
            "karst_http_request_duration_seconds_count{port=\"web\",route=\"search\"} 0",
        ] {
            assert!(text.lines().any(|line| line == series), "{series} is not in\n{text}");
        }
        assert!(!text.contains("karst_forwarder_"), "{text}");
    }

    #[test]
    fn every_counter_and_histogram_of_a_program_is_there_or_known_by_data() {
        let (server, forwarder) = (text(Program::Server), text(Program::Forwarder));
        for metric in ALL.iter().filter(|metric| metric.kind != Kind::Gauge) {
            let program =
                if metric.name.starts_with("karst_forwarder_") { &forwarder } else { &server };
            let head = format!("# TYPE {} ", rendered_name(metric.name));
            let is_there = program.contains(&head);
            assert_eq!(is_there, !BY_DATA.contains(&metric.name), "{}", metric.name);
        }
    }

    #[test]
    fn the_page_lists_every_metric() {
        let page = include_str!("../../../../docs/metrics.md");
        for metric in ALL {
            let kind = format!("{:?}", metric.kind).to_lowercase();
            let by_data = if BY_DATA.contains(&metric.name) { ", by data" } else { "" };
            let name = rendered_name(metric.name);
            let row = format!("| `{name}` | {kind}{by_data} | {} |", metric.help);
            assert!(page.lines().any(|line| line == row), "docs/metrics.md lacks\n{row}");
        }
    }
}
