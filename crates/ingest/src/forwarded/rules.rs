//! The rules that forwarders get, so that they cut streams where this indexer begins events.

use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use bytes::Bytes;
use knowledge::{EventBreaking, Knowledge};
use prost::Message;
use protocol::{ParsingRules, Setting, Stanza};

/// Maximum size of the names and values of all settings, in bytes.
const LIMIT: u64 = 4 << 20;

/// Returns the rules of a configuration as a message, which is made once.
pub(super) fn parsing_rules(knowledge: &Knowledge) -> Arc<ParsingRules> {
    knowledge
        .compiled_of(&["app", "props"], |knowledge| message(&knowledge.event_breaking(), LIMIT))
}

fn message(rules: &EventBreaking, limit: u64) -> ParsingRules {
    let stanzas: Vec<Stanza> = rules
        .iter()
        .map(|(name, settings)| {
            let setting = |(key, value): (&String, &String)| Setting {
                key: key.clone(),
                value: value.clone(),
            };
            Stanza { name: name.clone(), settings: settings.iter().map(setting).collect() }
        })
        .collect();
    let size_of = |stanza: &Stanza| {
        let settings = stanza.settings.iter().map(|one| one.key.len() + one.value.len());
        stanza.name.len() + settings.sum::<usize>()
    };
    let size = stanzas.iter().map(size_of).sum::<usize>() as u64;
    let mut message = ParsingRules { stanzas, size, limit, checksum: Bytes::new() };
    let mut hasher = DefaultHasher::new();
    hasher.write(&message.encode_to_vec());
    message.checksum = hasher.finish().to_be_bytes().to_vec().into();
    if size > limit {
        tracing::warn!(
            size,
            limit,
            "the settings of props.conf that break events exceed the limit for forwarders, which then cut \
             streams by their own props.conf only"
        );
        message.stanzas.clear();
    }
    message
}

/// Returns the answer to a forwarder that has rules with this checksum: without stanzas if they are the same,
/// `None` if it does not read rules.
pub(super) fn answer(known: Option<&Bytes>, rules: &ParsingRules) -> Option<ParsingRules> {
    let known = known?;
    let mut answer = rules.clone();
    if *known == rules.checksum {
        answer.stanzas.clear();
    }
    Some(answer)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::{Layer, Layers};

    use super::*;

    fn knowledge(props: &str) -> Knowledge {
        Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "props", props))
    }

    #[test]
    fn rules_are_sent_to_those_who_do_not_have_them() {
        let rules = parsing_rules(&knowledge("[a]\nMAX_EVENTS = 9"));
        assert_eq!((rules.stanzas.len(), rules.size), (1, 12));
        assert!(answer(None, &rules).is_none());
        assert_eq!(answer(Some(&Bytes::new()), &rules).unwrap(), *rules);
        let same = answer(Some(&rules.checksum), &rules).unwrap();
        assert!(same.stanzas.is_empty() && same.checksum == rules.checksum);
        let other = parsing_rules(&knowledge("[a]\nMAX_EVENTS = 8"));
        assert_ne!(other.checksum, rules.checksum);
        let unrelated = parsing_rules(&knowledge("[a]\nMAX_EVENTS = 9\nEVAL-x = 1"));
        assert_eq!(unrelated.checksum, rules.checksum);
    }

    #[test]
    fn rules_over_the_limit_are_not_sent() {
        let rules = message(&knowledge("[a]\nMAX_EVENTS = 9").event_breaking(), 11);
        assert!(rules.stanzas.is_empty() && !rules.checksum.is_empty());
        assert_eq!((rules.size, rules.limit), (12, 11));
    }
}
