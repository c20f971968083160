//! The settings of searches in force: those of the start, with the changes that take effect immediately.
//!
//! Guarantees: a change of `limits.conf` by this process or another one applies to the searches that begin
//! after it. Invalid files do not replace valid settings. Leaves to others: the settings that may change
//! ([`Settings::live`]).

use std::sync::{Arc, Weak};

use conf::Stanza;
use knowledge::Knowledge;
use parking_lot::Mutex;

use crate::Settings;

const LIMITS: &str = "limits";

#[derive(Debug)]
pub(crate) struct CurrentSettings {
    start: Settings,
    read: Mutex<Read>,
}

/// The settings that were read last.
#[derive(Debug)]
struct Read {
    /// Their configuration. It does not keep it in memory.
    configuration: Weak<Knowledge>,
    stanzas: Vec<Stanza>,
    settings: Arc<Settings>,
}

impl CurrentSettings {
    /// The settings of the start, which has this configuration.
    pub(crate) fn new(start: Settings, knowledge: &Arc<Knowledge>) -> Self {
        let read = Read {
            configuration: Arc::downgrade(knowledge),
            stanzas: stanzas(knowledge),
            settings: Arc::new(start.clone()),
        };
        Self { start, read: Mutex::new(read) }
    }

    /// Returns the settings with this configuration.
    pub(crate) fn with(&self, knowledge: &Arc<Knowledge>) -> Arc<Settings> {
        let mut read = self.read.lock();
        if std::ptr::eq(read.configuration.as_ptr(), Arc::as_ptr(knowledge)) {
            return Arc::clone(&read.settings);
        }
        read.configuration = Arc::downgrade(knowledge);
        let stanzas = stanzas(knowledge);
        // Most changes of the configuration are of other files.
        if stanzas != read.stanzas {
            match Settings::of(&knowledge.layers().of_server()) {
                Ok(now) => read.settings = Arc::new(self.start.live(&now)),
                Err(error) => tracing::warn!(%error, "searches keep their settings"),
            }
            read.stanzas = stanzas;
        }
        Arc::clone(&read.settings)
    }
}

fn stanzas(knowledge: &Knowledge) -> Vec<Stanza> {
    knowledge.layers().effective_of_server(LIMITS).stanzas
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::{Layer, Layers};

    use super::*;

    fn knowledge(limits: &str) -> Arc<Knowledge> {
        let layers = Layers::builtin().with(Layer::SystemStored, LIMITS, limits);
        Arc::new(Knowledge::new(layers))
    }

    #[test]
    fn live_settings_change_and_others_keep_the_value_of_the_start() {
        let start = Settings { max_count: 7, spill_bytes: 8, ..Settings::default() };
        let none = knowledge("");
        let current = CurrentSettings::new(start, &none);
        assert_eq!(current.with(&none).max_count, 7);
        // Nothing has changed, so the settings of the start are kept.
        assert_eq!(current.with(&knowledge("")).max_count, 7);
        let changed = current.with(&knowledge("[search]\nmax_count = 9\nmax_spill_mb = 1"));
        assert_eq!((changed.max_count, changed.spill_bytes), (9, 8));
        let invalid = current.with(&knowledge("[search]\nmax_count = many"));
        assert_eq!(invalid.max_count, 9);
        let back = current.with(&knowledge(""));
        assert_eq!(back.max_count, Settings::default().max_count);
    }

    #[test]
    fn objects_of_apps_have_no_effect() {
        let none = knowledge("");
        let current = CurrentSettings::new(Settings::default(), &none);
        let of_app = |text: &str| {
            let layers = Layers::builtin().with(Layer::SystemStored, LIMITS, "[search]\nttl = 7");
            let layers = layers.with(Layer::AppStored("search".to_owned()), LIMITS, text);
            Arc::new(Knowledge::new(layers))
        };
        let changed = current.with(&of_app("[search]\nmax_count = 9\n[stats]\nlist_maxsize = x"));
        assert_eq!(changed.max_count, Settings::default().max_count);
        assert_eq!(changed.ttl.as_secs(), 7);
    }
}
