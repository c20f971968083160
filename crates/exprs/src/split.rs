//! What of a plan can be computed of parts of its rows: operators that do the same to every batch, and
//! aggregations in two steps.

use std::sync::Arc;

use datafusion::error::Result;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};

/// Operators that do the same to every batch, whichever comes first, and can be executed again.
const STREAMING: [&str; 9] = [
    "ProjectionExec",
    "FilterExec",
    "CooperativeExec",
    "CoalesceBatchesExec",
    "UnnestExec",
    "SliceExec",
    "PiecesExec",
    "CopiesExec",
    // Which rows it drops depends on the others, but it drops none that the operator above the sort uses.
    "ReduceExec",
];

/// The input of an operator that does the same to every batch, whichever comes first, and can be executed
/// again; `None` for other operators.
#[must_use]
pub fn streaming_input(operator: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    let children = operator.children();
    let [input] = children.as_slice() else { return None };
    STREAMING.contains(&operator.name()).then_some(*input)
}

/// The first step of an aggregation that the engine has planned as one: states of the rows of a part.
///
/// # Errors
/// If the engine refuses it.
pub fn first_step(whole: &AggregateExec) -> Result<AggregateExec> {
    AggregateExec::try_new(
        AggregateMode::Partial,
        whole.group_expr().clone(),
        whole.aggr_expr().to_vec(),
        whole.filter_expr().to_vec(),
        Arc::clone(whole.input()),
        whole.input_schema(),
    )
}

/// The last step of the same aggregation, over the states of all parts.
///
/// # Errors
/// If the engine refuses it.
pub fn last_step(whole: &AggregateExec, states: Arc<dyn ExecutionPlan>) -> Result<AggregateExec> {
    AggregateExec::try_new(
        AggregateMode::Final,
        whole.group_expr().as_final(),
        whole.aggr_expr().to_vec(),
        vec![None; whole.aggr_expr().len()],
        states,
        whole.input_schema(),
    )
}
