//! Indexes and their settings, from `indexes.conf`.

use std::time::Duration;

use model::IndexName;

use crate::error::Error;
use crate::layers::Effective;
use crate::props::{Values, bad_value};

const MEGABYTE: u64 = 1 << 20;

/// How durable an event is when its sender gets the acknowledgement (`ackLevel`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum AckLevel {
    /// In the indexer's journal, synced.
    #[default]
    Local,
    /// In object storage and in the catalog.
    Remote,
}

/// An index as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexSettings {
    /// Its name.
    pub name: IndexName,
    /// `maxDataSize`: bytes of raw text at which a hot bucket rolls.
    pub max_data_size: u64,
    /// `maxHotSpanSecs`: event time that a hot bucket may span.
    pub max_hot_span: Duration,
    /// `maxHotIdleSecs`: time without events after which a hot bucket rolls, if it does.
    pub max_hot_idle: Option<Duration>,
    /// `maxHotBuckets`: hot buckets at a time.
    pub max_hot_buckets: usize,
    /// `frozenTimePeriodInSecs`: age at which a bucket is frozen.
    pub frozen_after: Duration,
    /// `maxTotalDataSizeMB`: bytes above which the oldest buckets are frozen.
    pub max_total_size: u64,
    /// `quarantinePastSecs`: events older than this go to a quarantine bucket.
    pub quarantine_past: Duration,
    /// `quarantineFutureSecs`: events further ahead than this go to a quarantine bucket.
    pub quarantine_future: Duration,
    /// `ackLevel`: when senders get their acknowledgement.
    pub ack_level: AckLevel,
    /// `coldToFrozenDir`: where frozen buckets are kept; without it they are deleted.
    pub cold_to_frozen: Option<String>,
    /// `disabled`.
    pub disabled: bool,
}

/// All indexes in the order of their names; a stanza with a bad name goes to `errors`.
pub(crate) fn read(conf: &Effective, errors: &mut Vec<Error>) -> Vec<IndexSettings> {
    let mut indexes = Vec::new();
    for stanza in &conf.stanzas {
        if stanza.name == "default" || stanza.name.contains(':') {
            continue;
        }
        match IndexName::new(&stanza.name) {
            Ok(name) => indexes.push(index(name, conf, errors)),
            Err(error) => errors.push(Error::Value {
                place: stanza.place.clone(),
                key: "index".to_owned(),
                value: stanza.name.clone(),
                expected: error.reason.to_owned(),
            }),
        }
    }
    indexes
}

fn index(name: IndexName, conf: &Effective, errors: &mut Vec<Error>) -> IndexSettings {
    let mut number = |key: &str, default: u64| {
        let Some(entry) = conf.get(name.as_str(), key).filter(|e| !e.value.is_empty()) else {
            return default;
        };
        let special = match (key, entry.value.as_str()) {
            ("maxDataSize", "auto") => Some(192),
            ("maxDataSize", "auto_high_volume") => Some(1024),
            ("maxHotBuckets", "auto") => Some(3),
            (_, text) => text.parse().ok(),
        };
        special.unwrap_or_else(|| {
            errors.push(bad_value(entry, "a number from 0, or auto where that is allowed"));
            default
        })
    };
    let max_data_size = number("maxDataSize", 192).max(1).saturating_mul(MEGABYTE);
    let idle = number("maxHotIdleSecs", 0);
    let settings = IndexSettings {
        max_data_size,
        max_hot_span: Duration::from_secs(number("maxHotSpanSecs", 7_776_000)),
        max_hot_idle: (idle > 0).then(|| Duration::from_secs(idle)),
        max_hot_buckets: usize::try_from(number("maxHotBuckets", 3).max(1)).unwrap_or(usize::MAX),
        frozen_after: Duration::from_secs(number("frozenTimePeriodInSecs", 188_697_600)),
        max_total_size: number("maxTotalDataSizeMB", 500_000).saturating_mul(MEGABYTE),
        quarantine_past: Duration::from_secs(number("quarantinePastSecs", 77_760_000)),
        quarantine_future: Duration::from_secs(number("quarantineFutureSecs", 2_592_000)),
        ack_level: AckLevel::Local,
        cold_to_frozen: None,
        disabled: false,
        name,
    };
    let text = |key: &str| conf.get(settings.name.as_str(), key).filter(|e| !e.value.is_empty());
    let ack_level = match text("ackLevel").map(|entry| (entry, entry.value.as_str())) {
        None | Some((_, "local")) => AckLevel::Local,
        Some((_, "remote")) => AckLevel::Remote,
        Some((entry, _)) => {
            errors.push(bad_value(entry, "local or remote"));
            AckLevel::Local
        }
    };
    let cold_to_frozen = text("coldToFrozenDir").map(|entry| entry.value.clone());
    let stanza = conf.stanza(settings.name.as_str());
    let disabled = stanza.and_then(|s| Values::of(s).boolean("disabled", errors)).unwrap_or(false);
    IndexSettings { disabled, ack_level, cold_to_frozen, ..settings }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::Knowledge;
    use crate::layers::{Layer, Layers};

    #[test]
    fn indexes_have_the_defaults_and_their_own_settings() {
        let text = "[shop]\nmaxDataSize = auto_high_volume\nmaxHotIdleSecs = 60\ndisabled = true\nackLevel = remote\ncoldToFrozenDir = archive/shop\n[Bad Name]\n[x]\nmaxHotBuckets = many";
        let knowledge = Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "indexes", text));
        let names: Vec<&str> =
            knowledge.indexes().iter().map(|index| index.name.as_str()).collect();
        assert_eq!(names, ["_audit", "_internal", "main", "shop", "x"]);
        let find =
            |name: &str| knowledge.indexes().iter().find(|i| i.name.as_str() == name).unwrap();
        assert_eq!(find("main").max_data_size, 192 << 20);
        assert_eq!(find("main").max_hot_idle, None);
        assert_eq!(find("shop").max_data_size, 1 << 30);
        assert_eq!(find("shop").max_hot_idle, Some(Duration::from_secs(60)));
        assert!(find("shop").disabled);
        assert_eq!(find("shop").ack_level, AckLevel::Remote);
        assert_eq!(find("shop").cold_to_frozen.as_deref(), Some("archive/shop"));
        assert_eq!(
            (find("main").ack_level, find("main").cold_to_frozen.clone()),
            (AckLevel::Local, None)
        );
        assert_eq!(find("_internal").frozen_after, Duration::from_secs(2_592_000));
        assert_eq!(knowledge.errors().len(), 2);
    }
}
