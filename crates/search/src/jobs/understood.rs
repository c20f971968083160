//! A planned search: its description, which is kept with the job, and its plan, which is kept until it runs.

use model::{IndexName, TimeRange};
use parking_lot::Mutex;
use plan::{FieldFilter, Message, PlannedSearch, ResultKind};

/// A planned search. The plan is dropped after the run: with many fields it is larger than most results.
#[derive(Debug)]
pub(super) struct Understood {
    pub(super) normalized: String,
    pub(super) range: TimeRange,
    /// Indexes that it reads; of a search that was restored, none.
    pub(super) indexes: Vec<IndexName>,
    pub(super) kind: ResultKind,
    pub(super) highlight: Vec<String>,
    pub(super) hidden_fields: FieldFilter,
    /// Messages of planning.
    pub(super) messages: Vec<Message>,
    plan: Mutex<Option<PlannedSearch>>,
}

impl Understood {
    pub(super) fn new(planned: PlannedSearch) -> Self {
        Self {
            normalized: planned.normalized.clone(),
            range: planned.range,
            indexes: planned.indexes.clone(),
            kind: planned.kind,
            highlight: planned.highlight.clone(),
            hidden_fields: planned.hidden_fields.clone(),
            messages: planned.messages.clone(),
            plan: Mutex::new(Some(planned)),
        }
    }

    /// Creates a search that has already run, without a plan.
    pub(super) fn without_plan(
        normalized: String,
        range: TimeRange,
        (kind, highlight): (ResultKind, Vec<String>),
        hidden_fields: FieldFilter,
        messages: Vec<Message>,
    ) -> Self {
        let (indexes, plan) = (Vec::new(), Mutex::default());
        Self { normalized, range, indexes, kind, highlight, hidden_fields, messages, plan }
    }

    /// Takes the plan, to run or to drop it.
    pub(super) fn take_plan(&self) -> Option<PlannedSearch> {
        self.plan.lock().take()
    }
}
