//! How deep a plan is: its operators over each other, and what its expressions are made of.
//!
//! The engine walks plans and expressions by calling itself, so their depth takes stack. A search whose plan
//! is deeper than its limit is refused before the engine sees it.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};

use crate::Error;

/// Refuses the plan of a search that is deeper than `limit`.
///
/// # Errors
/// [`Error::Exhausted`] if it is deeper.
pub(crate) fn check(plan: &LogicalPlan, limit: usize) -> Result<(), Error> {
    let advice = "use fewer commands that read what the one before sets, or a lookup";
    match too_deep(plan, limit, ("search", advice)) {
        Some(message) => Err(Error::Exhausted { message }),
        None => Ok(()),
    }
}

/// Refuses the plan of an SQL query that is deeper than `limit`. The query is invalid, as it cannot succeed
/// later.
///
/// # Errors
/// [`Error::Invalid`] if it is deeper.
pub fn check_sql(plan: &LogicalPlan, limit: usize) -> Result<(), Error> {
    let advice = "shorten the query, or the calculated fields that it names";
    match too_deep(plan, limit, ("query", advice)) {
        Some(message) => Err(Error::invalid_anywhere(message)),
        None => Ok(()),
    }
}

/// Returns the refusal of a plan that is deeper than `limit`.
fn too_deep(plan: &LogicalPlan, limit: usize, (what, advice): (&str, &str)) -> Option<String> {
    let depth = of(plan);
    (depth > limit).then(|| {
        format!(
            "the plan of the {what} is {depth} steps deep, more than max_plan_depth in limits.conf [search] \
             ({limit}): {advice}"
        )
    })
}

/// The operators on the longest way down, and the deepest expression.
fn of(plan: &LogicalPlan) -> usize {
    let (mut operators, mut expressions) = (0, 0);
    let mut open = vec![(plan, 1)];
    while let Some((node, depth)) = open.pop() {
        operators = operators.max(depth);
        open.extend(node.inputs().into_iter().map(|input| (input, depth + 1)));
        let seen = node.apply_expressions(|expr| {
            expressions = expressions.max(of_expr(expr));
            Ok(TreeNodeRecursion::Continue)
        });
        // Nothing above fails.
        let _ = seen;
    }
    operators + expressions
}

/// Conditions joined by `AND`, or by `OR`, are on one level however many they are: a tree of them is as deep
/// as their number has digits.
fn of_expr(expr: &Expr) -> usize {
    let mut deepest = 0;
    let mut open = vec![(expr, 1)];
    while let Some((node, depth)) = open.pop() {
        deepest = deepest.max(depth);
        let _ = node.apply_children(|child| {
            let same = joins(node).is_some() && joins(node) == joins(child);
            open.push((child, depth + usize::from(!same)));
            Ok(TreeNodeRecursion::Continue)
        });
    }
    deepest
}

fn joins(expr: &Expr) -> Option<Operator> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { op: op @ (Operator::And | Operator::Or), .. }) => Some(*op),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use datafusion::logical_expr::{LogicalPlanBuilder, col, lit};

    use super::*;
    use exprs::predicate::balanced;

    fn filtered(condition: Expr) -> usize {
        let rows = LogicalPlanBuilder::empty(true).project(vec![lit(1).alias("a")]).unwrap();
        of(&rows.filter(condition).unwrap().build().unwrap())
    }

    #[test]
    fn conditions_that_are_joined_are_one_level() {
        let is = |n: i32| col("a").eq(lit(n));
        let all = |operator, count| balanced(operator, (0..count).map(is).collect()).unwrap();
        let one = filtered(is(1));
        for operator in [Operator::And, Operator::Or] {
            assert_eq!(filtered(all(operator, 10_000)), one + 1);
        }
        let nested = all(Operator::And, 3).or(all(Operator::And, 4));
        assert_eq!(filtered(nested), one + 2);
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
        assert!(refused.contains("use fewer commands"), "{refused}");
        check_sql(&plan, 50).unwrap();
        let refused = check_sql(&plan, 10).unwrap_err();
        assert_eq!(refused.kind(), model::ErrorKind::Invalid);
        let refused = refused.to_string();
        assert!(refused.contains("[search] (10): shorten the query"), "{refused}");
    }
}
