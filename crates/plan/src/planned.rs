//! What a search may take, and what it says of its result: limits, messages, columns.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use exprs::required_fields::wildcard;
use exprs::types::ValueType;

/// Bounds of one search. Reaching one is a message or an error, never a silent cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Rows `sort` keeps where the search gives no count (`[sort] maxresultrows`).
    pub sort_rows: usize,
    /// Rows held in memory between two stages, and by commands that need all rows at once.
    pub stage_rows: usize,
    /// Time buckets of a `timechart`, and value buckets of a `bin` (`[discretize] maxbins`).
    pub bins: usize,
    /// Columns of a `chart`, `timechart`, `xyseries` or `transpose`.
    pub columns: usize,
    /// Rows `makeresults` may make.
    pub generated_rows: usize,
    /// Events a `streamstats` window may hold (`[streamstats] max_stream_window`).
    pub stream_window: usize,
    /// Groups that `dedup`, `streamstats` and the like remember.
    pub groups: usize,
    /// Rows of a subsearch that become a filter (`[subsearch] maxout`).
    pub subsearch_rows: usize,
    /// Rows that `join`, `append` and the like take from their searches (`[join] subsearch_maxout`).
    pub joined_rows: usize,
    /// How long a search within a search may take (`[subsearch] maxtime`).
    pub subsearch_time: Duration,
    /// Values of one `list` (`[stats] list_maxsize`); 0 is no limit.
    pub listed_values: usize,
    /// Values of one `values` (`[stats] maxvalues`); 0 is no limit.
    pub distinct_values: usize,
    /// Pipeline length, subsearches included.
    pub commands: usize,
    /// Steps that a plan may be deep (`[search] max_plan_depth`).
    pub plan_depth: usize,
    /// How long planning of one search may take, what its subsearches take aside (`[search] max_plan_time`).
    pub plan_time: Duration,
    /// Bytes that the rows between two stages, and what one step makes of a batch, may take
    /// (`[search] max_mem_usage_mb`).
    pub memory_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sort_rows: 10_000,
            stage_rows: 1_000_000,
            bins: 50_000,
            columns: 5_000,
            generated_rows: 1_000_000,
            stream_window: 10_000,
            groups: 5_000_000,
            subsearch_rows: 50_000,
            joined_rows: 500_000,
            subsearch_time: Duration::from_secs(600),
            listed_values: 100,
            distinct_values: 0,
            commands: 500,
            plan_depth: 5_000,
            plan_time: Duration::from_secs(60),
            memory_bytes: 512 << 20,
        }
    }
}

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
        let mut messages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !messages.contains(&message) {
            messages.push(message);
        }
    }

    /// What has been said so far.
    #[must_use]
    pub fn all(&self) -> Vec<Message> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
