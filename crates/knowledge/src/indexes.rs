//! Indexes and their settings, from `indexes.conf`.

use std::time::Duration;

use conf::{Effective, FromValue, Invalid, Key, Reader};
use model::IndexName;

use crate::error::Error;
use crate::settings::indexes::{self as keys, AckLevel};

const MEGABYTE: u64 = 1 << 20;

/// The configuration of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexSettings {
    /// Its name.
    pub name: IndexName,
    /// `maxDataSize`: size of the raw text at which a hot bucket rolls, in bytes.
    pub max_data_size: u64,
    /// `maxHotSpanSecs`: maximum time span of the events in a hot bucket.
    pub max_hot_span: Duration,
    /// `maxHotIdleSecs`: time without new events after which a hot bucket rolls; `None` for never.
    pub max_hot_idle: Option<Duration>,
    /// `maxHotBuckets`: maximum number of hot buckets.
    pub max_hot_buckets: usize,
    /// `frozenTimePeriodInSecs`: age at which a bucket is frozen.
    pub frozen_after: Duration,
    /// `maxTotalDataSizeMB`: size of the index above which its oldest buckets are frozen, in bytes.
    pub max_total_size: u64,
    /// `quarantinePastSecs`: events older than this go to a quarantine bucket.
    pub quarantine_past: Duration,
    /// `quarantineFutureSecs`: events further in the future than this go to a quarantine bucket.
    pub quarantine_future: Duration,
    /// `ackLevel`: when events are acknowledged to their senders.
    pub ack_level: AckLevel,
    /// `coldToFrozenDir`: archive for frozen buckets; if `None`, they are deleted.
    pub cold_to_frozen: Option<String>,
    /// Whether `datatype` is `metric`: then only commands about metrics read the index.
    pub metric: bool,
    /// `disabled`.
    pub disabled: bool,
}

/// Returns all indexes ordered by name; a stanza with an invalid name is reported in `errors`.
pub(crate) fn read(conf: &Effective, errors: &mut Vec<Error>) -> Vec<IndexSettings> {
    let mut indexes = Vec::new();
    for stanza in &conf.stanzas {
        if stanza.name == "default" || stanza.name.contains(':') {
            continue;
        }
        match IndexName::new(&stanza.name) {
            Ok(name) => indexes.push(index(name, conf, errors)),
            Err(error) => errors.push(Error::Setting(Invalid {
                place: Some(stanza.place.clone()),
                conf: conf.conf.clone(),
                stanza: String::new(),
                key: "index".to_owned(),
                value: stanza.name.clone(),
                reason: error.reason.to_owned(),
            })),
        }
    }
    indexes
}

/// Returns the `ackLevel` of indexes without a stanza. It reports no errors, since each stanza reports those
/// of `[default]`.
pub(crate) fn default_ack_level(conf: &Effective) -> AckLevel {
    Reader::new(conf, "default").get(&keys::ACK_LEVEL).unwrap_or_default()
}

/// A reader of a stanza that replaces invalid values with defaults.
struct Lenient<'a> {
    reader: Reader<'a>,
    errors: &'a mut Vec<Error>,
}

impl Lenient<'_> {
    fn read<T: FromValue>(&mut self, key: &Key<T>) -> T {
        self.reader.get(key).unwrap_or_else(|invalid| {
            self.errors.push(invalid.into());
            key.default_value()
        })
    }
}

fn index(name: IndexName, conf: &Effective, errors: &mut Vec<Error>) -> IndexSettings {
    let mut of = Lenient { reader: Reader::new(conf, name.as_str()), errors };
    let max_data_size = match of.read(&keys::MAX_DATA_SIZE).as_str() {
        "auto" => 192,
        "auto_high_volume" => 1024,
        text => text.parse().unwrap_or(u64::MAX),
    };
    let max_hot_buckets = match of.read(&keys::MAX_HOT_BUCKETS).as_str() {
        "auto" => 3,
        text => text.parse().unwrap_or(usize::MAX),
    };
    // `disabled` in [default] does not apply to indexes.
    let own = Effective {
        conf: conf.conf.clone(),
        stanzas: conf.stanza(name.as_str()).cloned().into_iter().collect(),
    };
    let disabled = Reader::new(&own, name.as_str()).get(&keys::DISABLED);
    let disabled = disabled.unwrap_or_else(|invalid| {
        of.errors.push(invalid.into());
        false
    });
    IndexSettings {
        max_data_size: max_data_size.max(1).saturating_mul(MEGABYTE),
        max_hot_span: of.read(&keys::MAX_HOT_SPAN),
        max_hot_idle: Some(of.read(&keys::MAX_HOT_IDLE)).filter(|idle| !idle.is_zero()),
        max_hot_buckets: max_hot_buckets.max(1),
        frozen_after: of.read(&keys::FROZEN_AFTER),
        max_total_size: of.read(&keys::MAX_TOTAL_SIZE),
        quarantine_past: of.read(&keys::QUARANTINE_PAST),
        quarantine_future: of.read(&keys::QUARANTINE_FUTURE),
        ack_level: of.read(&keys::ACK_LEVEL),
        cold_to_frozen: of.read(&keys::COLD_TO_FROZEN),
        metric: of.read(&keys::DATATYPE) == keys::METRIC,
        disabled,
        name: name.clone(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::Knowledge;
    use conf::{Layer, Layers};

    #[test]
    fn indexes_have_the_defaults_and_their_own_settings() {
        let text = "[shop]\nmaxDataSize = auto_high_volume\nmaxHotIdleSecs = 60\ndisabled = true\nackLevel = remote\ndatatype = metric\ncoldToFrozenDir = archive/shop\n[Bad Name]\n[x]\nmaxHotBuckets = many";
        let knowledge = Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "indexes", text));
        let names: Vec<&str> =
            knowledge.indexes().iter().map(|index| index.name.as_str()).collect();
        let builtin = ["_audit", "_internal", "_introspection", "_metrics", "main", "summary"];
        assert!(builtin.iter().all(|name| names.contains(name)), "{names:?}");
        assert_eq!(names.len(), builtin.len() + 2);
        let find =
            |name: &str| knowledge.indexes().iter().find(|i| i.name.as_str() == name).unwrap();
        assert_eq!(find("main").max_data_size, 192 << 20);
        assert_eq!(find("main").max_hot_idle, None);
        assert_eq!(find("shop").max_data_size, 1 << 30);
        assert_eq!(find("shop").max_hot_idle, Some(Duration::from_secs(60)));
        assert!(find("shop").disabled);
        assert!(find("shop").metric && !find("main").metric);
        assert_eq!(find("shop").ack_level, AckLevel::Remote);
        assert_eq!(find("shop").cold_to_frozen.as_deref(), Some("archive/shop"));
        assert_eq!(
            (find("main").ack_level, find("main").cold_to_frozen.clone()),
            (AckLevel::Local, None)
        );
        assert_eq!(find("_internal").frozen_after, Duration::from_secs(2_592_000));
        assert_eq!(find("_metrics").frozen_after, Duration::from_secs(1_209_600));
        assert!(find("_metrics").metric);
        assert_eq!(knowledge.errors().len(), 2);
    }

    #[test]
    fn the_default_level_of_acknowledgements_holds_for_indexes_without_a_stanza() {
        let text = "[default]\nackLevel = remote\n[shop]\nackLevel = local\n";
        let knowledge = Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "indexes", text));
        assert_eq!(knowledge.default_ack_level(), AckLevel::Remote);
        let levels = knowledge.indexes().iter().map(|index| (index.name.as_str(), index.ack_level));
        let levels: Vec<_> = levels.filter(|(name, _)| ["main", "shop"].contains(name)).collect();
        assert_eq!(levels, [("main", AckLevel::Remote), ("shop", AckLevel::Local)]);
        assert_eq!(Knowledge::builtin().default_ack_level(), AckLevel::Local);
    }
}
