//! Event types and tags: names of searches, and names of field values.

use std::collections::HashSet;

use conf::boolean;

use crate::knowledge::Knowledge;

/// The field with the names of event types.
const EVENTTYPE: &str = "eventtype";

/// A name for the events that match a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventType {
    /// The name.
    pub name: String,
    /// The search, without commands after a pipe.
    pub search: String,
    /// The tags in its stanza of `eventtypes.conf`.
    pub tags: Vec<String>,
}

/// The tags of a field value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaggedValue {
    /// The field.
    pub field: String,
    /// Its value.
    pub value: String,
    /// The enabled tags.
    pub tags: Vec<String>,
}

impl Knowledge {
    /// Returns all event types, ordered by descending priority, then by name.
    #[must_use]
    pub fn event_types(&self) -> Vec<EventType> {
        let mut found = Vec::new();
        for stanza in &self.conf("eventtypes").stanzas {
            let value = |key: &str| stanza.get(key).map(|entry| entry.value.trim().to_owned());
            let disabled = value("disabled").and_then(|text| boolean(&text)).unwrap_or(false);
            let Some(search) = value("search").filter(|search| !search.is_empty() && !disabled)
            else {
                continue;
            };
            let priority = value("priority").and_then(|text| text.parse::<u32>().ok()).unwrap_or(1);
            let tags = tags_of_list(&value("tags").unwrap_or_default());
            found.push((priority, EventType { name: stanza.name.clone(), search, tags }));
        }
        // 1 is the highest priority.
        found.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.name.cmp(&b.1.name)));
        found.into_iter().map(|(_, event_type)| event_type).collect()
    }

    /// Returns the tagged values in `tags.conf`, `[field=value]` with `tag = enabled`, and the event types
    /// with `tags` in `eventtypes.conf`. A tag of an event type that `tags.conf` disables is left out.
    #[must_use]
    pub fn tagged_values(&self) -> Vec<TaggedValue> {
        let mut found = Vec::new();
        let mut disabled = HashSet::new();
        for stanza in &self.conf("tags").stanzas {
            let Some((field, value)) = stanza.name.split_once('=') else { continue };
            if field.trim() == EVENTTYPE {
                let name = unquoted(value);
                let off = stanza.entries.iter().filter(|entry| entry.value.trim() == "disabled");
                disabled.extend(off.map(|entry| (name.clone(), entry.key.clone())));
            }
            let enabled = stanza.entries.iter().filter(|entry| entry.value.trim() == "enabled");
            let tags: Vec<String> = enabled.map(|entry| entry.key.clone()).collect();
            if !tags.is_empty() {
                found.push(TaggedValue {
                    field: field.trim().to_owned(),
                    value: unquoted(value),
                    tags,
                });
            }
        }
        for EventType { name, mut tags, .. } in self.event_types() {
            tags.retain(|tag| !disabled.contains(&(name.clone(), tag.clone())));
            if !tags.is_empty() {
                found.push(TaggedValue { field: EVENTTYPE.to_owned(), value: name, tags });
            }
        }
        found
    }
}

/// Splits the setting `tags` of an event type, whose tags are separated by commas or blanks.
fn tags_of_list(text: &str) -> Vec<String> {
    let tags = text.split(|c: char| c == ',' || c.is_whitespace());
    tags.filter(|tag| !tag.is_empty()).map(str::to_owned).collect()
}

/// Decodes a value in the name of a stanza, in which special characters are written as `%20` and so on.
fn unquoted(text: &str) -> String {
    let bytes = text.trim().as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes.get(at + 1..at + 3).and_then(|code| {
            let code = std::str::from_utf8(code).ok()?;
            u8::from_str_radix(code, 16).ok()
        });
        match (bytes[at], code) {
            (b'%', Some(code)) => {
                out.push(code);
                at += 3;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use conf::{Layer, Layers};

    #[test]
    fn event_types_come_by_priority() {
        let conf =
            "[b]\nsearch = x\n[a]\nsearch = y\npriority = 3\n[c]\nsearch = z\ndisabled = 1\n[d]\n";
        let found = Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "eventtypes", conf));
        let names: Vec<String> = found.event_types().into_iter().map(|e| e.name).collect();
        assert_eq!(names, ["b", "a"]);
    }

    #[test]
    fn tags_are_of_values_and_may_be_disabled() {
        let conf = "[host=web%201]\nprod = enabled\nold = disabled\n[eventtype=e]\nx = disabled\n";
        let found = Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "tags", conf));
        let tagged = found.tagged_values();
        assert_eq!(tagged.len(), 1);
        assert_eq!((tagged[0].field.as_str(), tagged[0].value.as_str()), ("host", "web 1"));
        assert_eq!(tagged[0].tags, ["prod"]);
    }

    #[test]
    fn tags_in_the_stanza_of_an_event_type_count_unless_they_are_disabled() {
        let types = "[a]\nsearch = x\ntags = web, error  slow\n[b]\nsearch = y\ntags = off\n\
                     [c]\nsearch = z\ntags = web\ndisabled = 1\n";
        let tags = "[eventtype=a]\nslow = disabled\n[eventtype=b]\noff = disabled\n";
        let layers = Layers::builtin().with(Layer::SystemLocal, "eventtypes", types);
        let found = Knowledge::new(layers.with(Layer::SystemLocal, "tags", tags));
        let tagged = found.tagged_values();
        assert_eq!(tagged.len(), 1);
        assert_eq!((tagged[0].field.as_str(), tagged[0].value.as_str()), ("eventtype", "a"));
        assert_eq!(tagged[0].tags, ["web", "error"]);
    }
}
