//! SQL arithmetic that fails on overflow.
//!
//! The engine's `+`, `-`, `*` and `sum()` of integers wrap: `9223372036854775807 + 1` is a negative number.
//! Here, the operators of a query and `sum` are replaced by functions that return an error on overflow. SPL
//! is not affected: its large numbers are floating-point numbers.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray,
};
use arrow::compute::kernels::numeric;
use arrow::datatypes::{ArrowNumericType, DataType, Field, FieldRef, Int64Type, UInt64Type};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    Accumulator, BinaryExpr, ColumnarValue, EmitTo, Expr, ExprSchemable, GroupsAccumulator,
    LogicalPlan, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};
use datafusion::optimizer::analyzer::AnalyzerRule;
use datafusion::physical_expr_common::datum;

/// A rule that replaces `+`, `-` and `*` of integers by functions that fail on overflow. Runs after type
/// coercion, when both sides have the same type.
#[derive(Debug)]
pub(super) struct CheckedArithmetic;

impl AnalyzerRule for CheckedArithmetic {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(checked_plan)?.data)
    }

    fn name(&self) -> &'static str {
        "checked_arithmetic"
    }
}

fn checked_plan(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let schema = merge_schema(&plan.inputs());
    let names = NamePreserver::new(&plan);
    let changed = plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let changed = expr.transform_up(|expr| Ok(checked(expr, &schema)))?;
        Ok(if changed.transformed {
            changed.update_data(|expr| name.restore(expr))
        } else {
            changed
        })
    })?;
    if changed.transformed { changed.map_data(LogicalPlan::recompute_schema) } else { Ok(changed) }
}

fn checked(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr else {
        return Transformed::no(expr);
    };
    let is_checked = matches!(op, Operator::Plus | Operator::Minus | Operator::Multiply);
    // The type of the right side is determined first: in a long chain, it is the short side.
    let of = is_checked
        .then(|| type_of(&right, schema))
        .flatten()
        .filter(|of| of.is_integer() && type_of(&left, schema).as_ref() == Some(of));
    let Some(of) = of else {
        return Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }));
    };
    let (mut ops, mut args) = chain_of(*left);
    ops.push(op);
    args.push(*right);
    let signature = Signature::any(args.len(), Volatility::Immutable);
    Transformed::yes(ScalarUDF::new_from_impl(Checked { ops, of, signature }).call(args))
}

/// Flattens the left side of an operator into operators and operands: a long chain becomes one call. With
/// nested calls, the engine would compute the name and the type of each call again for every call around it.
fn chain_of(left: Expr) -> (Vec<Operator>, Vec<Expr>) {
    match left {
        Expr::ScalarFunction(call) => {
            let own = call.func.inner().downcast_ref::<Checked>();
            match own.map(|own| own.ops.clone()) {
                Some(ops) => (ops, call.args),
                None => (Vec::new(), vec![Expr::ScalarFunction(call)]),
            }
        }
        other => (Vec::new(), vec![other]),
    }
}

fn type_of(expr: &Expr, schema: &DFSchema) -> Option<DataType> {
    if let Expr::ScalarFunction(call) = expr
        && let Some(own) = call.func.inner().downcast_ref::<Checked>()
    {
        return Some(own.of.clone());
    }
    expr.get_type(schema).ok()
}

/// Operators between integers of the same type, applied from left to right: one fewer than the number of
/// arguments.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    ops: Vec<Operator>,
    of: DataType,
    signature: Signature,
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &'static str {
        "checked_arithmetic"
    }

    /// The name of the original operators, which is the name of columns without an alias.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let Some((first, more)) = args.split_first() else {
            return internal_err!("{} has arguments", self.name());
        };
        let mut name = first.schema_name().to_string();
        for (op, arg) in self.ops.iter().zip(more) {
            name.push_str(&format!(" {op} {}", arg.schema_name()));
        }
        Ok(name)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.of.clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let may_be_null = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), self.of.clone(), may_be_null)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some((first, more)) = args.args.split_first() else {
            return internal_err!("{} has arguments", self.name());
        };
        let mut result = first.clone();
        for (op, right) in self.ops.iter().zip(more) {
            result = match op {
                Operator::Plus => datum::apply(&result, right, numeric::add)?,
                Operator::Minus => datum::apply(&result, right, numeric::sub)?,
                _ => datum::apply(&result, right, numeric::mul)?,
            };
        }
        Ok(result)
    }
}

/// Returns an accumulator for the sum of integers; `None` for other types and for `DISTINCT`.
pub(super) fn sum(args: &AccumulatorArgs<'_>) -> Option<Box<dyn Accumulator>> {
    match args.return_field.data_type() {
        DataType::Int64 if !args.is_distinct => Some(Box::new(OneSum::<Int64Type>::default())),
        DataType::UInt64 if !args.is_distinct => Some(Box::new(OneSum::<UInt64Type>::default())),
        _ => None,
    }
}

/// Returns an accumulator for the sums of integers of many groups; `None` for other types.
pub(super) fn sums(args: &AccumulatorArgs<'_>) -> Option<Box<dyn GroupsAccumulator>> {
    match args.return_field.data_type() {
        DataType::Int64 => Some(Box::new(Sums::<Int64Type>::default())),
        DataType::UInt64 => Some(Box::new(Sums::<UInt64Type>::default())),
        _ => None,
    }
}

/// The sum of all rows; null if there is no value.
#[derive(Debug)]
struct OneSum<T: ArrowPrimitiveType> {
    sum: Option<T::Native>,
}

impl<T: ArrowPrimitiveType> Default for OneSum<T> {
    fn default() -> Self {
        Self { sum: None }
    }
}

impl<T: ArrowNumericType + std::fmt::Debug> Accumulator for OneSum<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [values] = values else { return internal_err!("sum has one argument") };
        if let Some(more) = arrow::compute::sum_checked(values.as_primitive::<T>())? {
            self.sum = Some(match self.sum {
                None => more,
                Some(sum) => sum.add_checked(more)?,
            });
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        ScalarValue::new_primitive::<T>(self.sum, &T::DATA_TYPE)
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// The sums of many groups.
struct Sums<T: ArrowPrimitiveType> {
    sums: Vec<Option<T::Native>>,
}

impl<T: ArrowPrimitiveType> Default for Sums<T> {
    fn default() -> Self {
        Self { sums: Vec::new() }
    }
}

impl<T: ArrowNumericType> GroupsAccumulator for Sums<T> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.sums.resize(total_num_groups.max(self.sums.len()), None);
        let [values] = values else { return internal_err!("sum has one argument") };
        let values = values.as_primitive::<T>();
        for (row, (value, group)) in values.iter().zip(group_indices).enumerate() {
            let Some(value) = value.filter(|_| counts(opt_filter, row)) else { continue };
            let sum = &mut self.sums[*group];
            *sum = Some(match *sum {
                None => value,
                Some(sum) => sum.add_checked(value)?,
            });
        }
        Ok(())
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.update_batch(values, group_indices, None, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let sums = emit_to.take_needed(&mut self.sums);
        Ok(Arc::new(sums.into_iter().collect::<PrimitiveArray<T>>()))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit_to)?])
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let [values] = values else { return internal_err!("sum has one argument") };
        let values = values.as_primitive::<T>().iter().enumerate();
        let states = values.map(|(row, value)| value.filter(|_| counts(opt_filter, row)));
        Ok(vec![Arc::new(states.collect::<PrimitiveArray<T>>()) as ArrayRef])
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<Option<T::Native>>()
    }
}

/// Whether `FILTER (WHERE ...)` keeps a row.
fn counts(filter: Option<&BooleanArray>, row: usize) -> bool {
    filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use datafusion::prelude::SessionContext;

    use super::super::{Session, SessionSettings};

    fn context() -> SessionContext {
        Session::new(&SessionSettings::default(), Vec::new()).unwrap().sql("a", "b")
    }

    async fn value(sql: &str) -> Result<String, String> {
        let frame = context().sql(sql).await.map_err(|error| error.to_string())?;
        let batches = frame.collect().await.map_err(|error| error.to_string())?;
        let column = batches[0].column(0);
        Ok(arrow::util::display::array_value_to_string(column, 0).unwrap())
    }

    const LARGE: &str = "9223372036854775807";

    #[tokio::test]
    async fn results_that_do_not_fit_are_refused() {
        for sql in [
            format!("SELECT {LARGE} + 1"),
            format!("SELECT -{LARGE} - 2"),
            "SELECT 3037000500 * 3037000500".to_owned(),
            "SELECT CAST(2147483647 AS INT) + CAST(1 AS INT)".to_owned(),
            format!("SELECT sum(x) FROM (VALUES ({LARGE}), (1)) AS t (x)"),
            format!("SELECT sum(x) FROM (VALUES (1, {LARGE}), (1, 1)) AS t (g, x) GROUP BY g"),
            format!("SELECT x + 1 FROM (VALUES ({LARGE})) AS t (x)"),
        ] {
            let error = value(&sql).await.unwrap_err();
            assert!(error.contains("overflow"), "{sql}: {error}");
        }
    }

    #[tokio::test]
    async fn results_that_fit_are_as_they_were() {
        for (sql, expected) in [
            ("SELECT 1 + 2 * 3 - 4".to_owned(), "3"),
            ("SELECT x - (x - 1) * 2 - 1 FROM (VALUES (7)) AS t (x)".to_owned(), "-6"),
            (format!("SELECT x{} FROM (VALUES (0)) AS t (x)", " + 1".repeat(50)), "50"),
            (format!("SELECT {LARGE} + 0"), LARGE),
            ("SELECT 1.5 + 1".to_owned(), "2.5"),
            ("SELECT sum(x) FROM (VALUES (1), (NULL), (2)) AS t (x)".to_owned(), "3"),
            ("SELECT sum(x) FROM (VALUES (1)) AS t (x) WHERE x > 1".to_owned(), ""),
            (
                "SELECT sum(x) FILTER (WHERE x > 1) FROM (VALUES (1, 1), (1, 2), (1, 5)) AS t (g, x) GROUP BY g"
                    .to_owned(),
                "7",
            ),
            ("SELECT sum(DISTINCT x) FROM (VALUES (2), (2)) AS t (x)".to_owned(), "2"),
            ("SELECT x + 1 FROM (VALUES (1)) AS t (x) GROUP BY x + 1 ORDER BY x + 1".to_owned(), "2"),
            (
                "SELECT sum(x) OVER (ORDER BY x ROWS 1 PRECEDING) FROM (VALUES (1)) AS t (x)".to_owned(),
                "1",
            ),
        ] {
            assert_eq!(value(&sql).await, Ok(expected.to_owned()), "{sql}");
        }
    }

    #[tokio::test]
    async fn columns_have_the_names_of_the_operators() {
        let frame = context().sql("SELECT x + 1 - x * 2 FROM (VALUES (1)) AS t (x)").await.unwrap();
        let name = frame.schema().field(0).name().clone();
        let batches = frame.collect().await.unwrap();
        assert_eq!(batches[0].schema().field(0).name(), &name);
    }
}
