//! Queues, stages and forwarders: `queue`, `pipeline`, `tcpin_connections`.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use ingest::{ForwarderStatus, QueueStatus};

use super::About;
use crate::OwnEvent;
use crate::line::{Line, kb};

/// Bytes, items and blocked time of a queue since the start, as of the previous sample.
type Passed = (u64, u64, Duration);

/// Share of the interval during which writers wait, above which a queue counts as blocked.
const BLOCKED: f64 = 0.1;

/// Splunk's names of the queue before a stage, of its pipeline and of its processor.
fn names(stage: &str) -> (&'static str, &'static str, &'static str) {
    match stage {
        "parsing" => ("parsingqueue", "parsing", "linebreaker"),
        "merging" => ("aggqueue", "merging", "aggregator"),
        "typing" => ("typingqueue", "typing", "regexreplacement"),
        "indexing" => ("indexqueue", "indexerpipe", "indexer"),
        _ => ("journalqueue", "indexerpipe", "journal"),
    }
}

pub(super) fn passed(queues: &[QueueStatus]) -> HashMap<(u16, &'static str), Passed> {
    let passed = |queue: &QueueStatus| (queue.passed_bytes, queue.passed_items, queue.blocked);
    queues.iter().map(|queue| ((queue.set, queue.stage), passed(queue))).collect()
}

pub(super) fn queue(about: &About<'_>, queue: &QueueStatus, before: Passed) -> OwnEvent {
    let waited = queue.blocked.saturating_sub(before.2).as_secs_f64();
    let is_full = queue.bytes >= queue.capacity && queue.items > 0;
    let mut line = Line::metrics(about.time, "queue")
        .count("ingest_pipe", u64::from(queue.set))
        .word("name", names(queue.stage).0);
    if is_full || waited > about.seconds * BLOCKED {
        line = line.word("blocked", "true");
    }
    line.number("max_size_kb", kb(queue.capacity))
        .number("current_size_kb", kb(queue.bytes))
        .count("current_size", queue.items)
        .count("largest_size", queue.largest)
        .count("smallest_size", queue.smallest)
        .number("blocked_s", waited)
        .number("kb", kb(queue.passed_bytes.saturating_sub(before.0)))
        .count("items", queue.passed_items.saturating_sub(before.1))
        .end()
}

/// The stage that reads a queue. `threads` is CPU time by thread name, now and before.
pub(super) fn pipeline(
    about: &About<'_>,
    queue: &QueueStatus,
    before: Passed,
    threads: (&BTreeMap<String, f64>, &BTreeMap<String, f64>),
) -> OwnEvent {
    let thread = format!("{}-{}", queue.stage, queue.set);
    let of = |seconds: &BTreeMap<String, f64>| seconds.get(&thread).copied();
    let worked = of(threads.0).map(|now| (now - of(threads.1).unwrap_or(0.0)).max(0.0));
    let (_, name, processor) = names(queue.stage);
    Line::metrics(about.time, "pipeline")
        .count("ingest_pipe", u64::from(queue.set))
        .word("name", name)
        .word("processor", processor)
        .some("cpu_seconds", worked)
        .count("executes", queue.passed_items.saturating_sub(before.1))
        .count("cumulative_hits", queue.passed_items)
        .end()
}

pub(super) fn sent(forwarders: &[ForwarderStatus]) -> HashMap<u64, (u64, u64)> {
    let sent = |forwarder: &ForwarderStatus| (forwarder.bytes, forwarder.events);
    forwarders.iter().map(|forwarder| (forwarder.connection, sent(forwarder))).collect()
}

#[allow(clippy::cast_precision_loss)]
pub(super) fn forwarders(
    about: &About<'_>,
    forwarders: &[ForwarderStatus],
    before: &HashMap<u64, (u64, u64)>,
    events: &mut Vec<OwnEvent>,
) {
    let more = |forwarder: &ForwarderStatus| {
        let (bytes, sent) = before.get(&forwarder.connection).copied().unwrap_or_default();
        (forwarder.bytes.saturating_sub(bytes), forwarder.events.saturating_sub(sent))
    };
    let mut largest: Vec<_> = forwarders.iter().map(|one| (one, more(one))).collect();
    largest
        .sort_by_key(|(forwarder, (bytes, _))| (std::cmp::Reverse(*bytes), forwarder.connection));
    for (forwarder, (bytes, count)) in largest.into_iter().take(about.max_series) {
        let address = forwarder.peer.ip().to_string();
        let line = Line::metrics(about.time, "tcpin_connections")
            .word("connectionType", "cooked")
            .count("sourcePort", u64::from(forwarder.peer.port()))
            .quoted("sourceHost", &forwarder.host)
            .word("sourceIp", &address)
            .quoted("hostname", &forwarder.host)
            .number("kb", kb(bytes))
            .number("tcp_Bps", bytes as f64 / about.seconds)
            .number("tcp_KBps", kb(bytes) / about.seconds)
            .number("tcp_eps", count as f64 / about.seconds)
            .number("tcp_Kprocessed", kb(forwarder.bytes))
            .count("ev", count)
            .word("fwdType", "uf")
            .quoted("version", &forwarder.version)
            .word("guid", &forwarder.guid);
        events.push(line.end());
    }
}
