//! What a search says of its result: messages, columns, which fields are shown.

use std::sync::Arc;

use exprs::required_fields::wildcard;
use exprs::types::ValueType;
use parking_lot::Mutex;

/// How serious a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageKind {
    /// Good to know.
    Info,
    /// The answer may not be what was meant.
    Warning,
}

/// Something the user should know about the answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Message {
    /// How serious it is.
    pub kind: MessageKind,
    /// One sentence.
    pub text: String,
}

/// Messages that arise while a search runs; shared by its operators. Each text is kept once.
#[derive(Debug, Clone, Default)]
pub struct MessageLog(Arc<Mutex<Vec<Message>>>);

impl MessageLog {
    /// Adds a message unless it is there.
    pub fn add(&self, kind: MessageKind, text: impl Into<String>) {
        let message = Message { kind, text: text.into() };
        let mut messages = self.0.lock();
        if !messages.contains(&message) {
            messages.push(message);
        }
    }

    /// What has been said so far.
    #[must_use]
    pub fn all(&self) -> Vec<Message> {
        self.0.lock().clone()
    }
}

/// What the rows of a result are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResultKind {
    /// Events, newest first unless sorted otherwise; fields no command named are extracted when
    /// they are shown.
    Events,
    /// Rows that a command computed.
    Report,
}

/// A column of the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputColumn {
    /// Field name.
    pub name: String,
    /// What its values are.
    pub value_type: ValueType,
    /// Whether it is shown unless asked for; internal fields other than `_time` and `_raw` are not.
    pub shown: bool,
    /// Whether it is of a field that the source may not have.
    pub possible: bool,
    /// Whether it is a column also if it is such a field and no row has a value.
    pub named: bool,
    /// Whether it is not part of the result; known once the last row is there.
    pub absent: bool,
}

impl OutputColumn {
    /// Whether users see it unless they ask for other columns.
    #[must_use]
    pub const fn is_visible(&self) -> bool {
        self.shown && !self.absent
    }
}

/// Which further fields of an event are shown when the rest is extracted at output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldFilter {
    /// Patterns (`*`) of the only fields wanted; `None` is all.
    pub keep: Option<Vec<String>>,
    /// Patterns of fields that commands removed or renamed.
    pub drop: Vec<String>,
}

impl FieldFilter {
    /// Whether a field that extraction finds is to be shown.
    #[must_use]
    pub fn admits(&self, name: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| wildcard(pattern, name));
        self.keep.as_deref().is_none_or(any) && !any(&self.drop)
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
    fn a_message_is_kept_once() {
        let log = MessageLog::default();
        log.add(MessageKind::Info, "cut");
        log.add(MessageKind::Info, "cut");
        assert_eq!(log.all().len(), 1);
    }
}
