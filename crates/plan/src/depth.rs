//! How deep a plan is: its operators over each other, and what its expressions are made of.
//!
//! The engine walks plans and expressions by calling itself, so their depth takes stack. A search whose plan
//! is deeper than its limit is refused before the engine sees it.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};

use crate::Error;

/// Refuses a plan that is deeper than `limit`.
pub(crate) fn check(plan: &LogicalPlan, limit: usize) -> Result<(), Error> {
    let depth = of(plan);
    if depth <= limit {
        return Ok(());
    }
    let message = format!(
        "the plan of the search is {depth} steps deep, more than max_plan_depth in limits.conf [search] \
         ({limit}): use fewer commands that read what the one before sets, fewer conditions joined by AND, \
         or a lookup"
    );
    Err(Error::Exhausted { message })
}

/// The operators on the longest way down, the conditions of all filters (the engine makes one chain of them),
/// and the deepest expression.
fn of(plan: &LogicalPlan) -> usize {
    let (mut operators, mut conditions, mut expressions) = (0, 0, 0);
    let mut open = vec![(plan, 1)];
    while let Some((node, depth)) = open.pop() {
        operators = operators.max(depth);
        open.extend(node.inputs().into_iter().map(|input| (input, depth + 1)));
        let is_filter = matches!(node, LogicalPlan::Filter(_));
        let seen = node.apply_expressions(|expr| {
            expressions = expressions.max(of_expr(expr));
            if is_filter {
                conditions += conjuncts(expr);
            }
            Ok(TreeNodeRecursion::Continue)
        });
        // Nothing above fails.
        let _ = seen;
    }
    operators + conditions + expressions
}

fn of_expr(expr: &Expr) -> usize {
    let mut deepest = 0;
    let mut open = vec![(expr, 1)];
    while let Some((node, depth)) = open.pop() {
        deepest = deepest.max(depth);
        let _ = node.apply_children(|child| {
            open.push((child, depth + 1));
            Ok(TreeNodeRecursion::Continue)
        });
    }
    deepest
}

fn conjuncts(expr: &Expr) -> usize {
    let mut count = 0;
    let mut open = vec![expr];
    while let Some(node) = open.pop() {
        match node {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
                open.extend([left.as_ref(), right.as_ref()]);
            }
            _ => count += 1,
        }
    }
    count
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use datafusion::logical_expr::{LogicalPlanBuilder, col, lit};

    use super::*;

    #[test]
    fn conditions_count_one_by_one_and_alternatives_by_their_depth() {
        let filtered = |condition: Expr| {
            let rows = LogicalPlanBuilder::empty(true).project(vec![lit(1).alias("a")]).unwrap();
            of(&rows.filter(condition).unwrap().build().unwrap())
        };
        let is = |n: i32| col("a").eq(lit(n));
        let one = filtered(is(1));
        let both = filtered(is(1).and(is(2)));
        assert_eq!(both, one + 2, "one more condition, and AND itself");
        assert_eq!(filtered(is(1).or(is(2))), one + 1);
    }

    #[test]
    fn a_plan_over_its_limit_is_refused_by_the_name_of_the_setting() {
        let mut rows = LogicalPlanBuilder::empty(true);
        for _ in 0..20 {
            rows = rows.limit(0, Some(1)).unwrap();
        }
        let plan = rows.build().unwrap();
        check(&plan, 50).unwrap();
        let refused = check(&plan, 10).unwrap_err().to_string();
        assert!(refused.contains("max_plan_depth in limits.conf [search] (10)"), "{refused}");
    }
}
