//! When buckets of an index roll, and which events are too far from now: `indexes.conf` where it
//! names the index, within what the process allows.

use std::sync::Arc;
use std::time::Duration;

use foldhash::HashMap;
use knowledge::{IndexSettings, Knowledge};
use model::IndexName;

use crate::Settings;

/// The limits of all indexes.
#[derive(Debug)]
pub(crate) struct HotLimits {
    settings: Arc<Settings>,
    by_index: HashMap<IndexName, IndexSettings>,
}

impl HotLimits {
    pub(crate) fn new(settings: Arc<Settings>, knowledge: &Knowledge) -> Self {
        let indexes = knowledge.indexes().iter();
        let by_index = indexes.map(|index| (index.name.clone(), index.clone())).collect();
        Self { settings, by_index }
    }

    /// Raw text at which a bucket rolls. Hot buckets live in memory, so the process has a say.
    pub(crate) fn max_data_size(&self, index: &IndexName) -> u64 {
        let configured = self.by_index.get(index).map(|index| index.max_data_size);
        configured.map_or(self.settings.max_data_size, |own| own.min(self.settings.max_data_size))
    }

    pub(crate) fn max_hot_span(&self, index: &IndexName) -> Duration {
        let configured = self.by_index.get(index).map(|index| index.max_hot_span);
        configured.map_or(self.settings.max_hot_span, |own| own.min(self.settings.max_hot_span))
    }

    /// Zero: never.
    pub(crate) fn max_hot_idle(&self, index: &IndexName) -> Duration {
        let configured = self.by_index.get(index).and_then(|index| index.max_hot_idle);
        configured.unwrap_or(self.settings.max_hot_idle)
    }

    /// How far events may lie in the past and in the future.
    pub(crate) fn quarantine(&self, index: &IndexName) -> (Duration, Duration) {
        match self.by_index.get(index) {
            Some(own) => (own.quarantine_past, own.quarantine_future),
            None => (self.settings.quarantine_past, self.settings.quarantine_future),
        }
    }

    /// Raw text of all hot buckets together.
    pub(crate) fn max_hot_memory(&self) -> u64 {
        self.settings.max_hot_memory
    }
}
