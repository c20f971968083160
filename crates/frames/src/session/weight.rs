//! Estimates the memory for planning a plan before the engine processes it.
//!
//! The engine copies a plan several times while it optimizes it and creates operators. These copies are not
//! accounted for by the engine. Each is as large as the plan, so they are estimated from its size.

use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::LogicalPlan;
use exprs::by_origin::hidden_steps;
use exprs::ledger::Charge;

use crate::Error;

/// Size of an expression step in bytes, including its texts.
const STEP: usize = 300;
/// Size of a schema column in bytes.
const COLUMN: usize = 250;
/// Number of copies that exist simultaneously: the original plan, the optimized plan, and the operators.
const COPIES: usize = 3;

/// Estimates the bytes for planning a plan, including subqueries in its expressions.
#[must_use]
pub fn of(plan: &LogicalPlan) -> usize {
    let (mut steps, mut columns) = (0_usize, 0_usize);
    // The closures cannot fail.
    let _ = plan.apply_with_subqueries(|node| {
        columns += node.schema().fields().len();
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                steps += 1 + hidden_steps(expr);
                Ok(TreeNodeRecursion::Continue)
            })
        })
    });
    (steps * STEP + columns * COLUMN) * COPIES
}

/// Rejects a plan that needs more memory than a search may use.
///
/// # Errors
/// [`Error::Exhausted`] with the name of the limit.
pub fn check(plan: &LogicalPlan, limit: usize) -> Result<(), Error> {
    let bytes = of(plan);
    if bytes > limit { Err(refused(bytes, limit)) } else { Ok(()) }
}

/// Charges the memory for planning to the search.
pub(crate) fn charge(
    plan: &LogicalPlan,
    mut memory: Charge,
    limit: usize,
) -> Result<Charge, Error> {
    let bytes = of(plan);
    memory.grow(bytes).map_err(|_| refused(bytes, limit))?;
    Ok(memory)
}

fn refused(bytes: usize, limit: usize) -> Error {
    let message = format!(
        "planning the search takes {} MB, more than is left of max_mem_usage_mb in limits.conf [search] ({}): \
         use fewer fields, commands or conditions, for example with the fields command, or raise it",
        bytes >> 20,
        limit >> 20
    );
    Error::Exhausted { message }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use datafusion::logical_expr::{LogicalPlanBuilder, lit};

    use super::*;

    /// Returns a plan with this number of columns.
    fn plan(columns: usize) -> LogicalPlan {
        let exprs = (0..columns).map(|at| lit(1_i64).alias(format!("c{at}")));
        LogicalPlanBuilder::empty(true).project(exprs).unwrap().build().unwrap()
    }

    #[test]
    fn a_plan_of_ten_times_the_columns_weighs_ten_times_as_much() {
        let (one, ten) = (of(&plan(100)), of(&plan(1_000)));
        assert_eq!(one * 10, ten);
        assert!((50_000..500_000).contains(&one), "{one}");
    }

    #[test]
    fn a_plan_that_is_too_large_is_refused_by_the_name_of_the_setting() {
        check(&plan(1_000), 8 << 20).unwrap();
        let refused = check(&plan(10_000), 8 << 20).unwrap_err().to_string();
        assert!(refused.contains("max_mem_usage_mb in limits.conf [search] (8)"), "{refused}");
    }
}
