//! Properties of a search's result: messages, columns, displayed fields.

use std::sync::Arc;

use exprs::required_fields::wildcard;
use exprs::types::ValueType;
use parking_lot::Mutex;

/// How serious a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageKind {
    /// For information.
    Info,
    /// The result may differ from the user's intention.
    Warning,
}

/// A message for the user about the result.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Message {
    /// Severity of the message.
    pub kind: MessageKind,
    /// The text, one sentence.
    pub text: String,
}

/// A log of the messages of a running search, shared by its operators. Each text is kept once.
#[derive(Debug, Clone, Default)]
pub struct MessageLog(Arc<Mutex<Vec<Message>>>);

impl MessageLog {
    /// Adds a message unless it is present.
    pub fn add(&self, kind: MessageKind, text: impl Into<String>) {
        let message = Message { kind, text: text.into() };
        let mut messages = self.0.lock();
        if !messages.contains(&message) {
            messages.push(message);
        }
    }

    /// Returns the messages so far.
    #[must_use]
    pub fn all(&self) -> Vec<Message> {
        self.0.lock().clone()
    }
}

/// The kind of the rows of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResultKind {
    /// Events, newest first unless sorted otherwise; fields no command named are extracted when
    /// they are shown.
    Events,
    /// Rows computed by a command.
    Report,
}

/// A column of the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputColumn {
    /// Field name.
    pub name: String,
    /// Type of its values.
    pub value_type: ValueType,
    /// Whether the column is displayed by default. Internal fields other than `_time` and `_raw` are not.
    pub shown: bool,
    /// Whether the source may not have the field.
    pub possible: bool,
    /// Whether such a column stays in the result even if no row has a value.
    pub named: bool,
    /// Whether the column is omitted from the result; known after the last row.
    pub absent: bool,
}

impl OutputColumn {
    /// Whether the column is displayed by default.
    #[must_use]
    pub const fn is_visible(&self) -> bool {
        self.shown && !self.absent
    }
}

/// The filter for fields that are extracted when an event is displayed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldFilter {
    /// Patterns (`*`) of the fields to display; `None` means all.
    pub keep: Option<Vec<String>>,
    /// Patterns of fields that commands removed or renamed.
    pub drop: Vec<String>,
}

impl FieldFilter {
    /// Whether an extracted field is displayed.
    #[must_use]
    pub fn admits(&self, name: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| wildcard(pattern, name));
        self.keep.as_deref().is_none_or(any) && !any(&self.drop)
    }

    /// Returns the names of all fields that it admits; `None` if a pattern admits fields by the rest of their
    /// names.
    #[must_use]
    pub fn names(&self) -> Option<Vec<&str>> {
        let keep = self.keep.as_ref()?;
        if keep.iter().any(|pattern| pattern.contains('*')) {
            return None;
        }
        let dropped = |name: &str| self.drop.iter().any(|pattern| wildcard(pattern, name));
        Some(keep.iter().map(String::as_str).filter(|name| !dropped(name)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(keep: Option<&[&str]>, drop: &[&str]) -> FieldFilter {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        FieldFilter { keep: keep.map(owned), drop: owned(drop) }
    }

    #[test]
    fn a_filter_without_patterns_admits_every_field() {
        assert!(filter(None, &[]).admits("user"));
    }

    #[test]
    fn a_filter_admits_what_it_keeps_unless_it_was_dropped() {
        let filter = filter(Some(&["us*", "host"]), &["user_id"]);
        assert!(filter.admits("user") && filter.admits("host"));
        assert!(!filter.admits("status") && !filter.admits("user_id"));
    }

    #[test]
    fn a_filter_without_wildcards_knows_the_names_of_its_fields() {
        assert_eq!(filter(None, &["user"]).names(), None);
        assert_eq!(filter(Some(&["user", "st*"]), &[]).names(), None);
        assert_eq!(filter(Some(&["user", "_raw"]), &["us*"]).names(), Some(vec!["_raw"]));
        assert_eq!(filter(Some(&[]), &[]).names(), Some(Vec::new()));
    }

    #[test]
    fn a_message_is_kept_once() {
        let log = MessageLog::default();
        log.add(MessageKind::Info, "cut");
        log.add(MessageKind::Info, "cut");
        assert_eq!(log.all().len(), 1);
    }
}
