//! What planning needs to be told, and what it hands over: a search ready to run.

use std::sync::{Arc, Mutex, PoisonError};

use datafusion::logical_expr::LogicalPlan;
use model::{EventTime, IndexName, TimeRange};

use crate::limits::Limits;
use crate::pipeline::StagePlan;
use crate::planning::PlanningTime;
use crate::required_fields::wildcard;
use crate::stage::Remainder;
use crate::type_erased::TypeErased;
use crate::types::ValueType;
use crate::{EventSource, Host, Restriction};

/// Everything a search is planned against.
#[derive(Debug, Clone)]
pub struct PlanContext {
    /// Stored events.
    pub source: Arc<dyn EventSource>,
    /// Lookups, other jobs, REST.
    pub host: Arc<dyn Host>,
    /// Configuration: calculated fields, macros, extraction rules.
    pub knowledge: Arc<knowledge::Knowledge>,
    /// The moment the search started; `now()` and relative times refer to it.
    pub now: EventTime,
    /// Where days begin.
    pub timezone: jiff::tz::TimeZone,
    /// The time range of the request, [`TimeRange::ALL`] if it has none; the search text may
    /// override either end.
    pub range: TimeRange,
    /// What is searched where the search names no index.
    pub default_indexes: Vec<IndexName>,
    /// Bounds of a search.
    pub limits: Limits,
    /// What the user's searches are held to.
    pub restriction: Restriction,
    /// Names the job that runs the search; empty where there is none.
    pub sid: String,
    /// The time that planning takes, and whether anybody waits for it.
    pub planning: PlanningTime,
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

/// A search, planned. Run it with [`crate::execute`].
#[derive(Debug, Clone)]
pub struct PlannedSearch {
    /// The first stage, which reads the events; without `rest` also the last.
    pub plan: TypeErased<LogicalPlan>,
    /// What the rows of the whole search are.
    pub kind: ResultKind,
    /// Columns of `plan`, in order.
    pub columns: Vec<OutputColumn>,
    /// For events: which of the fields not among `columns` are shown.
    pub hidden_fields: FieldFilter,
    /// Time range of the events read.
    pub range: TimeRange,
    /// Indexes read.
    pub indexes: Vec<IndexName>,
    /// What planning has to say; running may add to it ([`crate::Completed::messages`]).
    pub messages: Vec<Message>,
    /// Words and phrases to mark in `_raw`.
    pub highlight: Vec<String>,
    /// The search as it was understood.
    pub normalized: String,
    /// What happens to the rows of `plan` before they are results; `None` if they are.
    pub rest: Option<Remainder>,
    /// The first stage and its columns without the formats of fields, if there are any.
    pub(crate) unformatted: Option<(TypeErased<LogicalPlan>, Vec<OutputColumn>)>,
    /// Where operators of `plan` leave their messages.
    pub(crate) log: MessageLog,
}

impl PlannedSearch {
    /// The first stage.
    pub(crate) fn stage(&self) -> StagePlan {
        StagePlan {
            plan: self.plan.clone(),
            columns: self.columns.clone(),
            kind: self.kind,
            filter: self.hidden_fields.clone(),
            unformatted: self.unformatted.clone(),
            rest: self.rest.clone(),
        }
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
