//! DataFusion's rule that finds the types of a plan, operator by operator over wide plans.
//!
//! The rule looks for each column among all columns of the operator, by its name: over 15,000 columns an
//! operator takes about a second, and all of a plan took five, during which nothing ended planning. Here the
//! rule runs for one operator at a time, and planning may end between them. The result is the same: the rule
//! reads nothing of the inputs of an operator but their columns, except those of unions. Plans with unions
//! are left to the rule as a whole.

use std::collections::VecDeque;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::internal_err;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::{EmptyRelation, LogicalPlan};
use datafusion::optimizer::analyzer::AnalyzerRule;
use datafusion::optimizer::analyzer::type_coercion::TypeCoercion;

use crate::session::planning::PlanningTime;

/// Columns of an operator from which on a plan is wide.
const WIDE: usize = 1_000;

/// The rule.
#[derive(Debug)]
pub(crate) struct Types(TypeCoercion);

impl Types {
    /// Puts the rule into the place of DataFusion's.
    pub(crate) fn instead(
        rules: Vec<Arc<dyn AnalyzerRule + Send + Sync>>,
    ) -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
        let theirs = TypeCoercion::new();
        let name = theirs.name().to_owned();
        let ours: Arc<dyn AnalyzerRule + Send + Sync> = Arc::new(Self(theirs));
        let each = rules.into_iter();
        each.map(|rule| if rule.name() == name { Arc::clone(&ours) } else { rule }).collect()
    }

    /// The rule for one operator, whose inputs it has been through. Other relations of the same columns stand
    /// in for these meanwhile.
    fn of_operator(&self, operator: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        let mut inputs = VecDeque::new();
        let alone = operator.map_children(|input| {
            let schema = Arc::clone(input.schema());
            inputs.push_back(input);
            let stand_in = EmptyRelation { produce_one_row: false, schema };
            Ok(Transformed::yes(LogicalPlan::EmptyRelation(stand_in)))
        })?;
        let done = self.0.analyze(alone.data, config)?;
        if inputs.is_empty() {
            return Ok(done);
        }
        let whole = done.transform_down(|node| {
            if !matches!(node, LogicalPlan::EmptyRelation(_)) {
                return Ok(Transformed::no(node));
            }
            match inputs.pop_front() {
                Some(input) => Ok(Transformed::new(input, true, TreeNodeRecursion::Jump)),
                None => internal_err!("an operator has more inputs than before"),
            }
        })?;
        if !inputs.is_empty() {
            return internal_err!("an operator has fewer inputs than before");
        }
        Ok(whole.data)
    }
}

/// Whether the rule takes long for a plan, and can run for one operator at a time.
fn is_divided(plan: &LogicalPlan) -> Result<bool> {
    let is_wide = plan.exists(|node| Ok(node.schema().fields().len() >= WIDE))?;
    Ok(is_wide && !plan.exists(|node| Ok(matches!(node, LogicalPlan::Union(_))))?)
}

impl AnalyzerRule for Types {
    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        if !is_divided(&plan)? {
            return self.0.analyze(plan, config);
        }
        let time = PlanningTime::of(config);
        let typed = plan.transform_up(|operator| {
            if let Some(time) = &time {
                time.check()?;
            }
            Ok(Transformed::yes(self.of_operator(operator, config)?))
        })?;
        Ok(typed.data)
    }

    fn name(&self) -> &str {
        self.0.name()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use datafusion::logical_expr::{Expr, LogicalPlanBuilder, col, lit};

    use super::*;

    fn wide() -> LogicalPlan {
        let columns = (0..WIDE).map(|at| lit(i64::from(at == 7)).alias(format!("c{at}")));
        LogicalPlanBuilder::empty(true).project(columns).unwrap().build().unwrap()
    }

    /// Operators with values that need other types.
    fn plan() -> LogicalPlan {
        LogicalPlanBuilder::from(wide())
            .filter(col("c7").eq(lit("1")))
            .unwrap()
            .project(vec![col("c1").eq(lit(1)).alias("a"), col("c2")])
            .unwrap()
            .aggregate(vec![col("a")], Vec::<Expr>::new())
            .unwrap()
            .build()
            .unwrap()
    }

    #[test]
    fn operator_by_operator_the_types_are_the_same() {
        let config = ConfigOptions::new();
        assert!(is_divided(&plan()).unwrap());
        let whole = TypeCoercion::new().analyze(plan(), &config).unwrap();
        let by_operator = Types(TypeCoercion::new()).analyze(plan(), &config).unwrap();
        assert_eq!(by_operator, whole);
        assert_eq!(by_operator.display_indent().to_string(), whole.display_indent().to_string());
    }

    #[test]
    fn planning_ends_between_operators() {
        let time = PlanningTime::default();
        let mut config = ConfigOptions::new();
        time.put(&mut config);
        let rule = Types(TypeCoercion::new());
        rule.analyze(wide(), &config).unwrap();
        time.cancel();
        let error = rule.analyze(wide(), &config).unwrap_err();
        assert!(error.to_string().contains("cancelled"), "{error}");
    }
}
