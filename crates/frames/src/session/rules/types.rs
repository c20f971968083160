//! DataFusion's type coercion rule, applied operator by operator to wide plans.
//!
//! The rule finds each column by a linear search of the operator's columns: over 15,000 columns, it took
//! about a second per operator and five seconds for a whole plan, during which planning could not be aborted.
//! Here, the rule runs for one operator at a time, and planning can be aborted in between. The result is the
//! same: the rule reads only the columns of an operator's inputs, except for unions. Plans with unions are
//! left to the original rule.
//!
//! For operators with many expressions, the rule runs for some expressions at a time, over the columns that
//! they read.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, internal_err};
use datafusion::error::Result;
use datafusion::logical_expr::{Aggregate, EmptyRelation, Expr, LogicalPlan, Projection};
use datafusion::optimizer::analyzer::AnalyzerRule;
use datafusion::optimizer::analyzer::type_coercion::TypeCoercion;

use crate::frame::schemas::{aggregation, projection};
use crate::session::planning::PlanningTime;

/// Number of columns of an operator from which on a plan is wide.
const WIDE: usize = 1_000;
/// Number of expressions of a wide operator that the rule processes at a time.
const AT_A_TIME: usize = 100;

/// The replacement of DataFusion's rule.
#[derive(Debug)]
pub(crate) struct Types(TypeCoercion);

impl Types {
    /// Replaces DataFusion's rule.
    pub(crate) fn instead(
        rules: Vec<Arc<dyn AnalyzerRule + Send + Sync>>,
    ) -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
        let theirs = TypeCoercion::new();
        let name = theirs.name().to_owned();
        let ours: Arc<dyn AnalyzerRule + Send + Sync> = Arc::new(Self(theirs));
        let each = rules.into_iter();
        each.map(|rule| if rule.name() == name { Arc::clone(&ours) } else { rule }).collect()
    }

    /// Applies the rule to one operator whose inputs are processed already.
    fn of_operator(&self, operator: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        let of_values = |some, input| projection(some, input).map(LogicalPlan::Projection);
        let of_groups =
            |some, input| aggregation(input, Vec::new(), some).map(LogicalPlan::Aggregate);
        match operator {
            LogicalPlan::Projection(of) if is_apart(&of)? => {
                let Projection { expr, input, .. } = of;
                let exprs = self.of_expressions(expr, input.schema(), config, of_values)?;
                of_values(exprs, input)
            }
            LogicalPlan::Aggregate(of)
                if are_many(&of.aggr_expr)
                    && are_apart(&of.aggr_expr)?
                    && are_apart(&of.group_expr)? =>
            {
                let Aggregate { input, group_expr, aggr_expr, .. } = of;
                let group = self.of_expressions(group_expr, input.schema(), config, of_values)?;
                let exprs = self.of_expressions(aggr_expr, input.schema(), config, of_groups)?;
                aggregation(input, group, exprs).map(LogicalPlan::Aggregate)
            }
            other => self.of_whole(other, config),
        }
    }

    /// Applies the rule to the expressions of an operator; `over` builds an operator from some of them and an
    /// input.
    fn of_expressions(
        &self,
        exprs: Vec<Expr>,
        columns: &DFSchema,
        config: &ConfigOptions,
        over: impl Fn(Vec<Expr>, Arc<LogicalPlan>) -> Result<LogicalPlan>,
    ) -> Result<Vec<Expr>> {
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, field) in columns.fields().iter().enumerate() {
            places.entry(field.name().as_str()).or_default().push(at);
        }
        let mut typed = Vec::with_capacity(exprs.len());
        let mut left = exprs.into_iter();
        loop {
            let some: Vec<Expr> = left.by_ref().take(AT_A_TIME).collect();
            if some.is_empty() {
                return Ok(typed);
            }
            let read = some.iter().flat_map(Expr::column_refs);
            let read = read.filter_map(|column| places.get(column.name.as_str()));
            let read: BTreeSet<usize> = read.flatten().copied().collect();
            let fields = read.into_iter().map(|at| {
                let (table, field) = columns.qualified_field(at);
                (table.cloned(), Arc::clone(field))
            });
            let metadata = columns.metadata().clone();
            let schema = Arc::new(DFSchema::new_with_metadata(fields.collect(), metadata)?);
            let input = EmptyRelation { produce_one_row: false, schema };
            let alone = over(some, Arc::new(LogicalPlan::EmptyRelation(input)))?;
            match self.0.analyze(alone, config)? {
                LogicalPlan::Projection(of) => typed.extend(of.expr),
                LogicalPlan::Aggregate(of) => typed.extend(of.aggr_expr),
                _ => return internal_err!("an operator has become another one"),
            }
        }
    }

    /// Applies the rule to one operator at once. During this, its inputs are replaced by empty relations with
    /// the same columns.
    fn of_whole(&self, operator: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
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

/// Whether the rule should and can process a few expressions of a projection at a time. This requires that
/// the schema of the input has no functional dependencies.
fn is_apart(of: &Projection) -> Result<bool> {
    let is_plain = of.input.schema().functional_dependencies().is_empty();
    Ok(is_plain && are_many(&of.expr) && are_apart(&of.expr)?)
}

fn are_many(exprs: &[Expr]) -> bool {
    exprs.len() >= WIDE
}

/// Whether each expression has one value and reads only columns of the input; a subquery, for example, may
/// read others.
fn are_apart(exprs: &[Expr]) -> Result<bool> {
    for expr in exprs {
        let is_more = expr.exists(|part| {
            Ok(matches!(
                part,
                Expr::Exists(_)
                    | Expr::InSubquery(_)
                    | Expr::SetComparison(_)
                    | Expr::ScalarSubquery(_)
                    | Expr::OuterReferenceColumn(..)
                    | Expr::GroupingSet(_)
            ))
        })?;
        if is_more {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the rule takes long for a plan, and can be applied to one operator at a time.
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
    use datafusion::functions_aggregate::expr_fn::{count, max};
    use datafusion::logical_expr::{LogicalPlanBuilder, col, lit};

    use super::*;

    fn wide() -> LogicalPlan {
        let columns = (0..WIDE).map(|at| lit(i64::from(at == 7)).alias(format!("c{at}")));
        LogicalPlanBuilder::empty(true).project(columns).unwrap().build().unwrap()
    }

    /// Returns operators with values that need type coercion.
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
    fn expressions_have_the_same_types_some_at_a_time() {
        let name = |at: usize| format!("c{at}");
        let each = || (0..WIDE).map(name);
        let values = || {
            each().enumerate().map(|(at, name)| match at % 3 {
                0 => col(name.as_str()).eq(lit("1")).alias(name),
                1 => col(name),
                // Of another column, too.
                _ => (col(name.as_str()) + col("c7") * lit(1.5)).alias(name),
            })
        };
        let most = || each().filter(|name| !name.ends_with('0')).map(|name| max(col(name)));
        let counts = || each().map(|name| count(col(name.as_str())).alias(format!("n{name}")));
        for keys in [vec![], vec![(col("c1") + lit(1.5)).alias("key")]] {
            let plan = LogicalPlanBuilder::from(wide()).project(values()).unwrap();
            let plan = plan.aggregate(keys, most().chain(counts())).unwrap();
            let all = each().map(|name| col(format!("n{name}")).eq(lit("1")));
            let plan = plan.project(all).unwrap().build().unwrap();
            let config = ConfigOptions::new();
            let whole = TypeCoercion::new().analyze(plan.clone(), &config).unwrap();
            let apart = Types(TypeCoercion::new()).analyze(plan, &config).unwrap();
            assert_eq!(apart, whole);
            let [apart, whole] = [apart, whole].map(|plan| plan.display_indent().to_string());
            assert_eq!(apart, whole);
        }
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
