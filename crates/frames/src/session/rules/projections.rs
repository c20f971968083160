//! DataFusion's rule for projections, without its merging of equal projections.
//!
//! The rule drops a projection over an equal one. This is correct only if the projection is idempotent: of
//! two successive `eval n=n+n`, one was lost. Here, while the rule runs, the values of projections above
//! other projections are wrapped in marks that differ for each projection: so no two projections are equal,
//! and everything else works as before.
//!
//! Plans over many columns are handled by [`super::wide`] if it supports all of their operators. The rule
//! repeatedly asks marks for their types, so planning can be aborted there.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::expr::{Alias, ScalarFunction};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExpressionPlacement, LogicalPlan, Projection, ReturnFieldArgs,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::optimize_projections::OptimizeProjections;
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use exprs::kernel::any_arguments;

use super::wide;
use crate::session::planning::PlanningTime;

/// The replacement of DataFusion's rule.
#[derive(Debug)]
pub(crate) struct Projections {
    theirs: OptimizeProjections,
    /// Number of columns of an operator from which on a plan is wide.
    wide: usize,
}

impl Projections {
    /// Replaces DataFusion's rule.
    pub(crate) fn instead(
        rules: &[Arc<dyn OptimizerRule + Send + Sync>],
        wide: usize,
    ) -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
        let theirs = OptimizeProjections::new();
        let name = theirs.name().to_owned();
        let ours: Arc<dyn OptimizerRule + Send + Sync> = Arc::new(Self { theirs, wide });
        let each = rules.iter();
        each.map(|rule| Arc::clone(if rule.name() == name { &ours } else { rule })).collect()
    }
}

impl OptimizerRule for Projections {
    fn name(&self) -> &str {
        self.theirs.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        None
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let time = PlanningTime::of(&config.options());
        if wide::is_for(&plan, self.wide)? {
            return Ok(Transformed::yes(wide::pruned(plan, time.as_ref())?));
        }
        if !plan.exists(|node| Ok(is_over_another(node)))? {
            return self.theirs.rewrite(plan, config);
        }
        let mut next = 0;
        let marked = plan.transform_down(|node| mark(node, &mut next, time.as_ref()))?.data;
        let done = self.theirs.rewrite(marked, config)?;
        Ok(Transformed::new(done.data.transform_down(unmark)?.data, done.transformed, done.tnr))
    }
}

/// Whether a node is a projection above another projection.
fn is_over_another(node: &LogicalPlan) -> bool {
    let LogicalPlan::Projection(projection) = node else { return false };
    matches!(&*projection.input, LogicalPlan::Projection(_))
}

fn mark(
    node: LogicalPlan,
    next: &mut usize,
    time: Option<&PlanningTime>,
) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Projection(projection) = node else { return Ok(Transformed::no(node)) };
    *next += 1;
    let mark = Arc::new(ScalarUDF::new_from_impl(Mark::new(*next, time.cloned())));
    let Projection { expr, input, schema, .. } = projection;
    let marked = expr.into_iter().map(|expr| match expr {
        Expr::Alias(alias) => {
            let value = *alias.expr;
            let call = ScalarFunction::new_udf(Arc::clone(&mark), vec![value]);
            Expr::Alias(Alias { expr: Box::new(Expr::ScalarFunction(call)), ..alias })
        }
        other => other,
    });
    let projection = Projection::try_new_with_schema(marked.collect(), input, schema)?;
    Ok(Transformed::yes(LogicalPlan::Projection(projection)))
}

fn unmark(node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    node.map_expressions(|expr| {
        expr.transform_down(|expr| match expr {
            Expr::ScalarFunction(call) if is_mark(&call) => without_marks(call),
            other => Ok(Transformed::no(other)),
        })
    })
}

/// Removes marks, which may be nested.
fn without_marks(mut call: ScalarFunction) -> Result<Transformed<Expr>> {
    loop {
        match call.args.pop() {
            Some(Expr::ScalarFunction(inner)) if is_mark(&inner) => call = inner,
            Some(value) => return Ok(Transformed::yes(value)),
            None => return datafusion::common::internal_err!("a mark is around one value"),
        }
    }
}

fn is_mark(call: &ScalarFunction) -> bool {
    call.func.inner().is::<Mark>()
}

/// The identity function.
#[derive(Debug)]
struct Mark {
    number: usize,
    signature: Signature,
    /// The planning time of the search.
    time: Option<PlanningTime>,
}

impl PartialEq for Mark {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Mark {}

impl Hash for Mark {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

impl Mark {
    fn new(number: usize, time: Option<PlanningTime>) -> Self {
        Self { number, signature: any_arguments(Volatility::Immutable), time }
    }
}

impl ScalarUDFImpl for Mark {
    fn name(&self) -> &str {
        "mark"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(arg_types.first().cloned().unwrap_or(DataType::Null))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        if let Some(time) = &self.time {
            time.check()?;
        }
        match args.arg_fields.first() {
            Some(field) => Ok(Arc::clone(field)),
            None => datafusion::common::internal_err!("a mark is around one value"),
        }
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.pop() {
            Some(value) => Ok(value),
            None => datafusion::common::exec_err!("a mark is around one value"),
        }
    }

    fn placement(&self, args: &[ExpressionPlacement]) -> ExpressionPlacement {
        args.first().copied().unwrap_or(ExpressionPlacement::KeepInPlace)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::datatypes::Field;

    use super::*;

    #[test]
    fn planning_ends_within_the_rule() {
        let time = PlanningTime::default();
        let mark = Mark::new(1, Some(time.clone()));
        let field: FieldRef = Arc::new(Field::new("a", DataType::Int64, true));
        let fields = [Arc::clone(&field)];
        let ask = || {
            let args = ReturnFieldArgs { arg_fields: &fields, scalar_arguments: &[None] };
            mark.return_field_from_args(args)
        };
        assert_eq!(ask().unwrap(), field);
        time.cancel();
        let error = ask().unwrap_err();
        assert!(error.to_string().contains("cancelled"), "{error}");
    }
}
