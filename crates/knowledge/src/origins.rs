//! The rules of sources and hosts that produced the fields of events.
//!
//! The fingerprint of a source type's rules includes those of all `[source::...]` and `[host::...]` stanzas,
//! for a reader that knows only the source type. A reader that also knows the sources and hosts of a bucket
//! can be more precise: stanzas that apply to none of them may be added or removed.

use crate::extract::{FieldRules, hash};
use crate::props::{PropsStanza, StanzaMatcher};
use crate::settings::props as keys;

/// The rules of sources and hosts, which may apply to events of any source type.
#[derive(Debug, Default)]
pub struct OriginRules {
    /// The combined fingerprint of all stanzas other than those of a source type name.
    all: u64,
    /// Stanzas with rules, and the fingerprint of each.
    stanzas: Vec<(StanzaMatcher, u64)>,
}

impl OriginRules {
    pub(crate) fn add(&mut self, stanza: &PropsStanza, rules: &FieldRules) {
        let is_of_origin =
            matches!(stanza.matcher, StanzaMatcher::Source(_) | StanzaMatcher::Host(_));
        let own = is_of_origin.then(|| own(stanza, rules)).flatten();
        self.all = self.all.rotate_left(7) ^ own.unwrap_or_else(|| rules.fingerprint());
        if let Some(fingerprint) = own {
            self.stanzas.push((stanza.matcher.clone(), fingerprint));
        }
    }

    /// Combines the fingerprint of a source type's own rules with that of all these rules.
    pub(crate) fn joined_with(&self, sourcetype: u64) -> u64 {
        sourcetype ^ self.fingerprint()
    }

    /// Returns the combined fingerprint of all these rules. It is combined with that of a source type's own
    /// rules by exclusive or, so that each can be computed from the other.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.all.rotate_left(1)
    }

    /// Returns the fingerprints of the stanzas that apply to events of one origin.
    pub fn applied<'a>(
        &'a self,
        source: &'a str,
        host: &'a str,
    ) -> impl Iterator<Item = u64> + use<'a> {
        let stanzas = self.stanzas.iter();
        let applied = stanzas.filter(move |(matcher, _)| matcher.matches("", source, host));
        applied.map(|(_, fingerprint)| *fingerprint)
    }

    /// Returns the fingerprints of the stanzas that apply to at least one of these sources or hosts. Each
    /// stanza is tried until it matches.
    #[must_use]
    pub fn applied_to_some<S: AsRef<str>>(&self, sources: &[S], hosts: &[S]) -> Vec<u64> {
        let stanzas = self.stanzas.iter();
        let applied = stanzas.filter(|(matcher, _)| match matcher {
            StanzaMatcher::Source(of) => sources.iter().any(|source| of.is_match(source.as_ref())),
            StanzaMatcher::Host(of) => hosts.iter().any(|host| of.is_match(host.as_ref())),
            _ => false,
        });
        applied.map(|(_, fingerprint)| *fingerprint).collect()
    }
}

/// Returns the fingerprint of a stanza's settings about fields; `None` if it has none. A default or empty
/// value counts, too, because it takes precedence over the value of a source type.
fn own(stanza: &PropsStanza, rules: &FieldRules) -> Option<u64> {
    let families = [keys::EXTRACT.prefix(), keys::REPORT.prefix(), keys::FIELDALIAS.prefix()];
    let single = [keys::KV_MODE.name(), keys::AUTO_KV_JSON.name()];
    let is_of_fields =
        |key: &str| single.contains(&key) || families.iter().any(|family| key.starts_with(family));
    let entries = stanza.stanza.entries.iter().filter(|entry| is_of_fields(&entry.key));
    let said: String = entries.map(|entry| format!("{}={}\n", entry.key, entry.value)).collect();
    let (name, priority) = (&stanza.stanza.name, stanza.priority);
    // The fingerprint of the rules includes the transforms.
    let text = || format!("{name}\n{priority}\n{}\n{said}", rules.fingerprint());
    (!said.is_empty()).then(|| hash(&text()))
}

#[cfg(test)]
mod tests {
    use conf::{Layer, Layers};

    use crate::Knowledge;

    fn knowledge(props: &str) -> Knowledge {
        Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "props", props))
    }

    fn applied(knowledge: &Knowledge, source: &str) -> Vec<u64> {
        knowledge.origin_rules().applied(source, "h").collect()
    }

    #[test]
    fn stanzas_that_do_not_apply_change_nothing_of_an_origin() {
        let before = knowledge("[st]\nEXTRACT-a = (?<x>a)\n[source::/a]\nEXTRACT-b = (?<y>b)\n");
        let after = knowledge(
            "[st]\nEXTRACT-a = (?<x>a)\n[source::/a]\nEXTRACT-b = (?<y>b)\n\
             [source::/b]\nEXTRACT-c = (?<z>c)\n[host::h*]\nsourcetype = q\n",
        );
        assert_ne!(before.fingerprint("st"), after.fingerprint("st"));
        let own = |of: &Knowledge| of.fingerprint("st") ^ of.origin_rules().fingerprint();
        assert_eq!(own(&before), own(&after));
        assert_eq!(applied(&before, "/a"), applied(&after, "/a"));
        assert_ne!(applied(&before, "/b"), applied(&after, "/b"));
        let some = |sources: &[&str]| after.origin_rules().applied_to_some(sources, &["h"]);
        assert_eq!(some(&["/a", "/c"]), applied(&after, "/a"));
        assert_eq!(some(&["/c"]), [0; 0]);
        assert_eq!(some(&["/b", "/a"]).len(), 2);
    }

    #[test]
    fn what_a_stanza_says_and_its_priority_are_in_its_fingerprint() {
        let of = |text: &str| applied(&knowledge(&format!("[source::/a]\n{text}")), "/a");
        let first = of("EXTRACT-b = (?<y>b)\n");
        assert_eq!(first.len(), 1);
        assert_ne!(first, of("EXTRACT-b = (?<y>c)\n"));
        assert_ne!(first, of("EXTRACT-b = (?<y>b)\npriority = 7\n"));
        assert_eq!(first, of("EXTRACT-b = (?<y>b)\nTRUNCATE = 7\n"));
        assert_eq!(of("TRUNCATE = 7\n"), [0; 0]);
        // These take precedence over the settings of the source type.
        assert_ne!(of("KV_MODE = auto\n"), of("EXTRACT-a =\n"));
        assert_eq!(of("EXTRACT-a =\n").len(), 1);
    }
}
