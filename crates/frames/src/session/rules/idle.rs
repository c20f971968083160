//! Skips rules of DataFusion that cannot change a plan.
//!
//! Some rules take as long for a plan that they do not change as for others, and look up each column of an
//! operator by a linear search of the columns below it: over 15,000 columns, two such rules took a sixth of
//! the planning time.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

type Rule = Arc<dyn OptimizerRule + Send + Sync>;

/// Minimum number of columns of a wide aggregation.
const WIDE: usize = 1_000;

/// A rule with a test whether it may change a plan or an operator.
#[derive(Debug)]
struct Needed {
    rule: Rule,
    is_needed: fn(&LogicalPlan) -> Result<bool>,
}

/// Wraps those of DataFusion's rules that can be skipped.
pub(crate) fn instead(rules: Vec<Rule>) -> Vec<Rule> {
    let each = rules.into_iter().map(|rule| {
        let is_needed: fn(&LogicalPlan) -> Result<bool> = match rule.name() {
            "eliminate_join" => has_join,
            "eliminate_duplicated_expr" => may_have_duplicates,
            _ => return rule,
        };
        Arc::new(Needed { rule, is_needed }) as Rule
    });
    each.collect()
}

impl OptimizerRule for Needed {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.rule.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        if !(self.is_needed)(&plan)? {
            return Ok(Transformed::no(plan));
        }
        self.rule.rewrite(plan, config)
    }
}

fn has_join(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found |= matches!(node, LogicalPlan::Join(_));
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// Whether an operator may group by the same expression twice. The rule also recomputes the schema of an
/// aggregation; that is skipped only for large schemas.
fn may_have_duplicates(operator: &LogicalPlan) -> Result<bool> {
    Ok(match operator {
        LogicalPlan::Aggregate(of) => of.group_expr.len() > 1 || of.schema.fields().len() < WIDE,
        _ => true,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use datafusion::functions_aggregate::expr_fn::count;
    use datafusion::logical_expr::{Expr, JoinType, LogicalPlanBuilder, col, in_subquery, lit};
    use datafusion::optimizer::{Optimizer, OptimizerContext};

    use super::*;

    fn columns(names: &[String]) -> LogicalPlanBuilder {
        let columns = names.iter().map(|name| lit(1).alias(name));
        LogicalPlanBuilder::empty(true).project(columns).unwrap()
    }

    fn named(names: &[&str]) -> LogicalPlanBuilder {
        columns(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    fn joined() -> LogicalPlan {
        let right = named(&["b"]).build().unwrap();
        let joined = named(&["a"]).join(right, JoinType::Inner, (vec!["a"], vec!["b"]), None);
        joined.unwrap().project(vec![col("a")]).unwrap().build().unwrap()
    }

    #[test]
    fn joins_are_found_also_in_subqueries() {
        assert!(!has_join(&named(&["x"]).build().unwrap()).unwrap());
        assert!(has_join(&joined()).unwrap());
        let within = in_subquery(col("x"), Arc::new(joined()));
        let within = named(&["x"]).filter(within).unwrap().build().unwrap();
        assert!(has_join(&within).unwrap());
    }

    #[test]
    fn plans_stay_what_the_rules_make_of_them() {
        let names: Vec<String> = (0..WIDE).map(|at| format!("c{at}")).collect();
        let counts = || names.iter().map(|name| count(col(name.as_str())).alias(name));
        let wide = columns(&names).aggregate(Vec::<Expr>::new(), counts()).unwrap();
        let by_one = columns(&names).aggregate(vec![col("c7") + lit(1)], counts()).unwrap();
        let few = named(&["x"]).aggregate(vec![col("x")], Vec::<Expr>::new()).unwrap();
        let plans = [wide, by_one, few].map(|plan| plan.build().unwrap());
        let is_ours =
            |rule: &&Rule| ["eliminate_join", "eliminate_duplicated_expr"].contains(&rule.name());
        let theirs = Optimizer::new().rules;
        let ours = instead(theirs.clone());
        assert_eq!(ours.iter().filter(is_ours).count(), 2);
        let context = OptimizerContext::new();
        for plan in plans.into_iter().chain([joined()]) {
            for (theirs, ours) in theirs.iter().zip(&ours).filter(|(rule, _)| is_ours(rule)) {
                let expected = theirs.rewrite(plan.clone(), &context).unwrap();
                let made = ours.rewrite(plan.clone(), &context).unwrap();
                assert_eq!(made.data, expected.data, "{}", ours.name());
                assert_eq!(made.transformed, expected.transformed, "{}", ours.name());
            }
        }
    }
}
