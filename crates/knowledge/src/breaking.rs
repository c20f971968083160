//! The settings of `props.conf` that determine where events begin and end. An indexer tells them to its
//! forwarders, which cut streams into batches of whole events.

use std::collections::BTreeMap;
use std::sync::Arc;

use conf::{ConfFile, Entry, Layer, Place, Stanza};

use crate::Knowledge;
use crate::settings::props as keys;

/// Settings by stanza and key.
pub type EventBreaking = BTreeMap<String, BTreeMap<String, String>>;

/// Stands in for the file name of settings that come from an indexer.
pub const FROM_INDEXER: &str = "props.conf of the indexer";

/// The name of the app whose files have less precedence than those of all other apps.
const LAST_APP: &str = "\u{10FFFF}indexer";
/// The file of the settings that all installations have.
const BUILT_IN: &str = "system/default/props.conf";

/// Returns whether a setting determines where events begin and end, or to which events its stanza applies.
fn breaks_events(key: &str) -> bool {
    let names = [
        keys::LINE_BREAKER.name(),
        keys::LINE_BREAKER_LOOKBEHIND.name(),
        keys::SHOULD_LINEMERGE.name(),
        keys::BREAK_ONLY_BEFORE_DATE.name(),
        keys::BREAK_ONLY_BEFORE.name(),
        keys::MUST_BREAK_AFTER.name(),
        keys::MUST_NOT_BREAK_BEFORE.name(),
        keys::MUST_NOT_BREAK_AFTER.name(),
        keys::MAX_EVENTS.name(),
        keys::TRUNCATE.name(),
        keys::CHARSET.name(),
        keys::PREAMBLE_REGEX.name(),
        // Whether a line has a time.
        keys::TIME_PREFIX.name(),
        keys::TIME_FORMAT.name(),
        keys::MAX_TIMESTAMP_LOOKAHEAD.name(),
        keys::TZ.name(),
        keys::MAX_DAYS_AGO.name(),
        keys::MAX_DAYS_HENCE.name(),
        keys::DATETIME_CONFIG.name(),
        // Records, and headers, which every batch of a table needs.
        keys::KV_MODE.name(),
        keys::INDEXED_EXTRACTIONS.name(),
        keys::FIELD_NAMES.name(),
        keys::FIELD_DELIMITER.name(),
        keys::FIELD_QUOTE.name(),
        keys::HEADER_FIELD_DELIMITER.name(),
        keys::HEADER_FIELD_QUOTE.name(),
        keys::HEADER_FIELD_LINE_NUMBER.name(),
        keys::FIELD_HEADER_REGEX.name(),
        keys::PRIORITY.name(),
        keys::DISABLED.name(),
    ];
    names.contains(&key)
}

/// Returns whether a stanza recognises source types instead of applying to events.
fn recognises(name: &str) -> bool {
    ["rule::", "delayedrule::"].iter().any(|kind| name.starts_with(kind))
}

impl Knowledge {
    /// Returns the settings that determine where events begin and end, without those of the built-in file.
    #[must_use]
    pub fn event_breaking(&self) -> EventBreaking {
        let mut rules = EventBreaking::new();
        for stanza in self.conf("props").stanzas {
            let is_sent =
                |entry: &Entry| breaks_events(&entry.key) && *entry.place.file != *BUILT_IN;
            let entries = stanza.entries.into_iter().filter(is_sent);
            let settings: BTreeMap<_, _> = entries.map(|entry| (entry.key, entry.value)).collect();
            if !settings.is_empty() && !recognises(&stanza.name) {
                rules.insert(stanza.name, settings);
            }
        }
        rules
    }

    /// Returns this configuration over the event breaking of an indexer: a setting of an own file has
    /// precedence over the same setting of the indexer in a stanza of the same name. Other settings of the
    /// indexer are left out. The file of their places is [`FROM_INDEXER`].
    #[must_use]
    pub fn over_event_breaking(&self, rules: &EventBreaking) -> Self {
        let file: Arc<str> = FROM_INDEXER.into();
        let mut stanzas = Vec::new();
        for ((name, settings), line) in rules.iter().zip(1u32..) {
            if recognises(name) {
                continue;
            }
            let place = Place { file: Arc::clone(&file), line };
            let settings = settings.iter().filter(|(key, _)| breaks_events(key));
            let entry = |(key, value): (&String, &String)| Entry {
                key: key.clone(),
                value: value.clone(),
                place: place.clone(),
            };
            let entries = settings.map(entry).collect();
            stanzas.push(Stanza { name: name.clone(), place: place.clone(), entries });
        }
        let file = ConfFile { file, stanzas, warnings: Vec::new() };
        let layer = Layer::AppDefault(LAST_APP.to_owned());
        Self::new(self.layers().clone().with_file(layer, "props", file))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::Layers;

    use super::*;

    fn knowledge(props: &str) -> Knowledge {
        let app = Layer::AppLocal("zz".to_owned());
        Knowledge::new(Layers::builtin().with(app, "props", props))
    }

    #[test]
    fn only_settings_that_break_events_are_told() {
        let props = "[default]\nMAX_EVENTS = 9\n[a]\nSEDCMD-x = s/a/b/\nTRUNCATE = 7\n[b]\nEVAL-x = 1\n\
                     [source::/x/*]\nLINE_BREAKER = (;)\npriority = 3\n[rule::r]\nTRUNCATE = 1\n";
        let told = knowledge(props).event_breaking();
        let told: Vec<String> = told
            .iter()
            .flat_map(|(name, all)| {
                all.iter().map(move |(key, value)| format!("{name} {key} {value}"))
            })
            .collect();
        assert_eq!(
            told,
            [
                "a TRUNCATE 7",
                "default MAX_EVENTS 9",
                "source::/x/* LINE_BREAKER (;)",
                "source::/x/* priority 3",
            ]
        );
        assert!(Knowledge::builtin().event_breaking().is_empty());
    }

    #[test]
    fn own_settings_have_precedence_by_stanza_and_key() {
        let indexer = "[a]\nTRUNCATE = 7\nMAX_EVENTS = 9\n[b]\nSHOULD_LINEMERGE = false\n\
                       [access_combined]\nTRUNCATE = 5";
        let rules = knowledge(indexer).event_breaking();
        let own = knowledge("[a]\nTRUNCATE = 8\nTRANSFORMS-x = y\n").over_event_breaking(&rules);
        let a = own.parsing_rules("a", "s", "h");
        assert_eq!((a.truncate, a.max_events), (Some(8), 9));
        assert!(!own.parsing_rules("b", "s", "h").should_linemerge);
        assert_eq!(own.parsing_rules("access_combined", "s", "h").truncate, Some(5));
    }

    #[test]
    fn other_settings_of_an_indexer_are_left_out_and_wrong_ones_have_a_place() {
        let settings = [("TRANSFORMS-x", "none"), ("TIME_FORMAT", "x"), ("MAX_EVENTS", "9")];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let rules = EventBreaking::from([("a".to_owned(), BTreeMap::from(settings))]);
        let own = Knowledge::builtin().over_event_breaking(&rules);
        let shown: Vec<String> = own.errors().iter().map(ToString::to_string).collect();
        assert!(shown.len() == 1 && shown[0].starts_with(FROM_INDEXER), "{shown:?}");
        assert_eq!(own.fatal_errors().count(), 0);
        assert_eq!(own.parsing_rules("a", "s", "h").max_events, 9);
    }
}
