//! Splits plans for execution on parts of the rows: operators that treat every batch alike, and aggregations
//! in two steps.

use std::sync::Arc;

use datafusion::error::Result;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};

/// Operators that treat every batch alike, in any order, and can be executed again.
const STREAMING: [&str; 9] = [
    "ProjectionExec",
    "FilterExec",
    "CooperativeExec",
    "CoalesceBatchesExec",
    "UnnestExec",
    "SliceExec",
    "PiecesExec",
    "CopiesExec",
    // The rows that it drops depend on other rows, but the operator above the sort uses none of the dropped
    // rows.
    "ReduceExec",
];

/// Returns the input of an operator that treats every batch alike, in any order, and can be executed again;
/// `None` for other operators.
#[must_use]
pub fn streaming_input(operator: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    let children = operator.children();
    let [input] = children.as_slice() else { return None };
    STREAMING.contains(&operator.name()).then_some(*input)
}

/// Returns the first step of a single-step aggregation, which computes states for the rows of a part.
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

/// Returns the last step of that aggregation, over the states of all parts.
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
