//! When buckets of an index roll, and how far event times may be from now: the values of `indexes.conf` for
//! the index, limited by settings of the process.

use std::sync::Arc;
use std::time::Duration;

use foldhash::HashMap;
use knowledge::{AckLevel, IndexSettings, Knowledge};
use model::{IndexName, Lane};
use parking_lot::RwLock;
use tokio::sync::watch;

use super::lanes::LaneLimits;
use crate::{Keep, Settings};

/// `maxDataSize` of indexes without a stanza.
const AUTO_DATA_SIZE: u64 = 192 << 20;

/// The limits of all indexes.
#[derive(Debug)]
pub(crate) struct HotLimits {
    settings: Arc<Settings>,
    by_index: RwLock<HashMap<IndexName, IndexSettings>>,
    /// The `ackLevel` of indexes without a stanza.
    ack_level: RwLock<AckLevel>,
    /// The retention of indexes for which it was changed since the start.
    kept: RwLock<HashMap<IndexName, Keep>>,
    /// The `ackLevel`s that were set over REST, which take precedence.
    set_levels: RwLock<HashMap<IndexName, AckLevel>>,
    /// Whether events of a user index may be acknowledged while they are only on the disk of this machine.
    local_acks: watch::Sender<bool>,
}

impl HotLimits {
    pub(crate) fn new(settings: Arc<Settings>, knowledge: &Knowledge) -> Self {
        let limits = Self {
            settings,
            by_index: RwLock::default(),
            ack_level: RwLock::default(),
            kept: RwLock::default(),
            set_levels: RwLock::default(),
            local_acks: watch::Sender::new(false),
        };
        limits.configure(knowledge);
        limits
    }

    /// Applies the current `indexes.conf`.
    pub(crate) fn configure(&self, knowledge: &Knowledge) {
        let indexes = knowledge.indexes().iter();
        *self.ack_level.write() = knowledge.default_ack_level();
        *self.by_index.write() = indexes.map(|index| (index.name.clone(), index.clone())).collect();
    }

    /// Returns the bytes of raw text at which a bucket rolls. Hot buckets are in memory, so the process
    /// limits this too.
    pub(crate) fn max_data_size(&self, index: &IndexName) -> u64 {
        let configured = self.by_index.read().get(index).map(|index| index.max_data_size);
        configured.unwrap_or(AUTO_DATA_SIZE).min(self.settings.max_data_size)
    }

    /// Returns how the events of the index are distributed over open buckets.
    pub(crate) fn lanes(&self, index: &IndexName) -> LaneLimits {
        let configured = self.by_index.read().get(index).map(|index| index.max_hot_buckets);
        let count = configured.unwrap_or(self.settings.max_hot_buckets);
        let span = self.max_hot_span(index).as_micros();
        LaneLimits {
            max_span: i64::try_from(span).unwrap_or(i64::MAX),
            max_open: u8::try_from(count).unwrap_or(Lane::MAX).clamp(1, Lane::MAX),
            small: self.max_data_size(index) / 16,
        }
    }

    /// Returns when events of the index are acknowledged.
    pub(crate) fn ack_level(&self, index: &IndexName) -> AckLevel {
        if let Some(level) = self.set_levels.read().get(index) {
            return *level;
        }
        let configured = self.by_index.read().get(index).map(|index| index.ack_level);
        configured.unwrap_or_else(|| *self.ack_level.read())
    }

    /// Replaces the level of the index; `None` restores that of `indexes.conf`.
    pub(crate) fn set_ack_level(&self, index: &IndexName, level: Option<AckLevel>) {
        let mut levels = self.set_levels.write();
        match level {
            Some(level) => levels.insert(index.clone(), level),
            None => levels.remove(index),
        };
    }

    /// Whether a user index acknowledges events that are only on the disk of this machine.
    pub(crate) fn acknowledges_locally(&self) -> bool {
        self.has_level(AckLevel::Local)
    }

    /// Whether events of a user index are acknowledged when other indexers have copies of them.
    pub(crate) fn replicates(&self) -> bool {
        self.has_level(AckLevel::Replicated)
    }

    /// Whether a user index has this level, or one without a stanza would have it.
    fn has_level(&self, wanted: AckLevel) -> bool {
        let set = self.set_levels.read();
        let has = |(index, level): (&IndexName, &AckLevel)| {
            *level == wanted && !index.as_str().starts_with('_')
        };
        let by_index = self.by_index.read();
        let mut configured = by_index.values().filter(|index| !set.contains_key(&index.name));
        *self.ack_level.read() == wanted
            || configured.any(|index| has((&index.name, &index.ack_level)))
            || set.iter().any(has)
    }

    /// Records that events of an index are about to be acknowledged while they are only on this disk.
    /// Internal indexes do not count.
    pub(crate) fn note_local(&self, index: &IndexName) {
        if !index.is_internal() && !*self.local_acks.borrow() {
            self.local_acks.send_replace(true);
        }
    }

    /// Returns whether such an event was recorded since the start.
    pub(crate) fn local_acks(&self) -> watch::Receiver<bool> {
        self.local_acks.subscribe()
    }

    /// Returns the time that events may wait for a remote acknowledgement before their bucket rolls.
    pub(crate) fn remote_ack_interval(&self) -> Duration {
        self.settings.remote_ack_interval
    }

    /// Returns the journal size of one set above which the hot bucket that retains the most of it rolls.
    pub(crate) fn max_journal_size(&self) -> u64 {
        self.settings.max_journal_size
    }

    /// Returns the settings of the index in `indexes.conf`.
    pub(crate) fn configured(&self, index: &IndexName) -> Option<IndexSettings> {
        self.by_index.read().get(index).cloned()
    }

    /// Returns the retention of the index; `None` if there is no limit.
    pub(crate) fn keep(&self, index: &IndexName) -> Option<Keep> {
        let kept = self.kept.read();
        let own =
            |index: IndexSettings| Keep { period: index.frozen_after, total: index.max_total_size };
        kept.get(index).copied().or_else(|| self.configured(index).map(own))
    }

    /// Replaces the retention of the index; `None` restores that of `indexes.conf`.
    pub(crate) fn set_keep(&self, index: &IndexName, keep: Option<Keep>) {
        let mut kept = self.kept.write();
        match keep {
            Some(keep) => kept.insert(index.clone(), keep),
            None => kept.remove(index),
        };
    }

    pub(crate) fn max_hot_span(&self, index: &IndexName) -> Duration {
        let configured = self.by_index.read().get(index).map(|index| index.max_hot_span);
        configured.map_or(self.settings.max_hot_span, |own| own.min(self.settings.max_hot_span))
    }

    /// Returns the idle time after which a bucket rolls. Zero: never.
    pub(crate) fn max_hot_idle(&self, index: &IndexName) -> Duration {
        let configured = self.by_index.read().get(index).and_then(|index| index.max_hot_idle);
        configured.unwrap_or(self.settings.max_hot_idle)
    }

    /// Returns how far event times may lie in the past and in the future.
    pub(crate) fn quarantine(&self, index: &IndexName) -> (Duration, Duration) {
        match self.by_index.read().get(index) {
            Some(own) => (own.quarantine_past, own.quarantine_future),
            None => (self.settings.quarantine_past, self.settings.quarantine_future),
        }
    }

    /// Returns the maximum raw text of all hot buckets together, in bytes.
    pub(crate) fn max_hot_memory(&self) -> u64 {
        self.settings.max_hot_memory
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_level_that_was_set_takes_precedence_over_indexes_conf() {
        let text = "[default]\nackLevel = remote\n[web]\nackLevel = replicated\n";
        let layers = conf::Layers::builtin().with(conf::Layer::SystemLocal, "indexes", text);
        let limits = HotLimits::new(Arc::new(Settings::default()), &Knowledge::new(layers));
        let [web, new] = ["web", "new"].map(|name| IndexName::new(name).unwrap());
        let levels = || [&web, &new].map(|index| limits.ack_level(index));
        assert_eq!(levels(), [AckLevel::Replicated, AckLevel::Remote]);
        assert!(!limits.acknowledges_locally());
        limits.set_ack_level(&new, Some(AckLevel::Replicated));
        limits.set_ack_level(&web, Some(AckLevel::Local));
        assert_eq!(levels(), [AckLevel::Local, AckLevel::Replicated]);
        assert!(limits.acknowledges_locally());
        limits.set_ack_level(&web, None);
        assert_eq!(levels(), [AckLevel::Replicated, AckLevel::Replicated]);
        assert!(!limits.acknowledges_locally());
    }

    #[test]
    fn copies_are_wanted_where_an_index_of_users_is_replicated() {
        let limits = |text: &str| {
            let layers = conf::Layers::builtin().with(conf::Layer::SystemLocal, "indexes", text);
            HotLimits::new(Arc::new(Settings::default()), &Knowledge::new(layers))
        };
        let of_events = limits("[default]\nackLevel = remote\n[_audit]\nackLevel = replicated\n");
        assert!(!of_events.replicates());
        of_events.set_ack_level(&IndexName::new("web").unwrap(), Some(AckLevel::Replicated));
        assert!(of_events.replicates());
        assert!(limits("[web]\nackLevel = replicated\n").replicates());
        assert!(limits("[default]\nackLevel = replicated\n").replicates());
    }

    #[test]
    fn events_of_internal_indexes_on_this_disk_only_do_not_count() {
        let limits = HotLimits::new(Arc::new(Settings::default()), &Knowledge::builtin());
        let noted = limits.local_acks();
        limits.note_local(&IndexName::new("_audit").unwrap());
        assert!(!*noted.borrow());
        limits.note_local(&IndexName::new("web").unwrap());
        assert!(*noted.borrow() && *limits.local_acks().borrow());
    }
}
