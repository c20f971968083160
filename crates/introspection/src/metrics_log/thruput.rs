//! Throughput of indexing: `per_index_thruput` and similar groups, `thruput`.

use std::collections::HashMap;

use ingest::{Indexed, Tallied};
use model::Origin;

use super::About;
use crate::OwnEvent;
use crate::line::{Line, kb};

/// Sums since the start of the process.
pub(super) struct Totals {
    pub(super) bytes: u64,
    pub(super) seconds: f64,
    pub(super) load: Option<f64>,
}

/// A group, and the property of an origin that names its series.
type Group = (&'static str, fn(&Origin) -> &str);

const GROUPS: [Group; 4] = [
    ("per_index_thruput", |origin| origin.index.as_str()),
    ("per_sourcetype_thruput", |origin| &origin.sourcetype),
    ("per_source_thruput", |origin| &origin.source),
    ("per_host_thruput", |origin| &origin.host),
];

pub(super) fn bytes(tallied: &Tallied) -> u64 {
    tallied.origins.values().map(|indexed| indexed.bytes).sum()
}

/// Adds the largest series of each group.
pub(super) fn series(about: &About<'_>, tallied: &Tallied, events: &mut Vec<OwnEvent>) {
    for (group, name) in GROUPS {
        let mut sums: HashMap<&str, Indexed> = HashMap::new();
        for (origin, indexed) in &tallied.origins {
            // Origins that were squashed have empty names.
            if !name(origin).is_empty() {
                sums.entry(name(origin)).or_default().add(indexed);
            }
        }
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_by(|(one, a), (two, b)| b.bytes.cmp(&a.bytes).then(one.cmp(two)));
        for (series, indexed) in sums.into_iter().take(about.max_series) {
            events.push(line(about, group, series, &indexed));
        }
    }
}

#[allow(clippy::cast_precision_loss)]
fn line(about: &About<'_>, group: &str, series: &str, indexed: &Indexed) -> OwnEvent {
    let kb = kb(indexed.bytes);
    let age = indexed.age as f64 / 1e6 / indexed.events.max(1) as f64;
    Line::metrics(about.time, group)
        .quoted("series", series)
        .number("kbps", kb / about.seconds)
        .number("eps", indexed.events as f64 / about.seconds)
        .number("kb", kb)
        .count("ev", indexed.events)
        .number("avg_age", age)
        .number("max_age", indexed.max_age as f64 / 1e6)
        .end()
}

#[allow(clippy::cast_precision_loss)]
pub(super) fn total(about: &About<'_>, tallied: &Tallied, totals: &Totals) -> OwnEvent {
    let kb_now = kb(bytes(tallied));
    let events: u64 = tallied.origins.values().map(|indexed| indexed.events).sum();
    Line::metrics(about.time, "thruput")
        .word("name", "index_thruput")
        .number("instantaneous_kbps", kb_now / about.seconds)
        .number("instantaneous_eps", events as f64 / about.seconds)
        .number("average_kbps", kb(totals.bytes) / totals.seconds)
        .number("total_k_processed", kb(totals.bytes))
        .number("kb", kb_now)
        .count("ev", events)
        .some("load_average", totals.load)
        .end()
}
