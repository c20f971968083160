//! SQL functions that can create large values from small ones, with memory accounting.
//!
//! `repeat('x', 2000000000)` is one value of 2 GB, which the engine would create before it accounts for it,
//! even during planning, as the arguments are constants. Here, such functions first reserve the size of their
//! result, and fail if the query does not have enough memory; results stay accounted for as long as they are
//! referenced.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef, Int64Type};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Documentation, Expr, ExprSchemable, Operator, ReturnFieldArgs,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use exprs::ledger::{Charge, LONGEST_TEXT, Meter};

use crate::Error;

/// Size of a text or list element in bytes, besides its contents.
const VIEW: u64 = 16;

/// Returns the size in bytes of the result for a row, given the arguments in that row.
type Grows = fn(&Sizes, usize) -> u64;

/// The functions, with all of their aliases.
const FUNCTIONS: &[(&[&str], Grows)] = &[
    (&["repeat"], |of, row| of.bytes(0, row).saturating_mul(of.number(1, row))),
    (&["lpad", "rpad"], |of, row| of.number(1, row).saturating_mul(4)),
    (&["concat"], |of, row| of.all_bytes(row)),
    (&["concat_ws"], |of, row| {
        let separators = of.bytes(0, row).saturating_mul(of.0.len() as u64);
        of.all_bytes(row).saturating_add(separators)
    }),
    (&["replace"], |of, row| {
        let places = of.bytes(0, row) / of.bytes(1, row).max(1) + 1;
        of.bytes(0, row).saturating_add(places.saturating_mul(of.bytes(2, row)))
    }),
    (&["regexp_replace"], |of, row| (of.bytes(0, row) + 1).saturating_mul(of.bytes(2, row) + 1)),
    (&["array_repeat", "list_repeat"], |of, row| {
        (of.bytes(0, row) + VIEW).saturating_mul(of.number(1, row))
    }),
    (&["array_resize", "list_resize"], |of, row| {
        let value = of.bytes(2, row) + VIEW;
        of.bytes(0, row).saturating_add(of.number(1, row).saturating_mul(value))
    }),
    (&["range", "generate_series"], |of, row| of.steps(row).saturating_mul(8)),
    (&["array_to_string", "list_to_string", "array_join", "list_join"], |of, row| {
        let separators = of.elements(0, row).saturating_mul(of.bytes(1, row));
        of.bytes(0, row).saturating_mul(2).saturating_add(separators)
    }),
];

/// Those functions that create lists.
const LISTS: [&str; 6] =
    ["range", "generate_series", "array_repeat", "list_repeat", "array_resize", "list_resize"];

/// The operator `||` as a function with accounting.
#[derive(Debug)]
pub(crate) struct CountedConcat;

impl FunctionRewrite for CountedConcat {
    fn name(&self) -> &'static str {
        "counted_concat"
    }

    fn rewrite(
        &self,
        expr: Expr,
        schema: &DFSchema,
        _: &ConfigOptions,
    ) -> Result<Transformed<Expr>> {
        let Expr::BinaryExpr(BinaryExpr { left, op: Operator::StringConcat, right }) = expr else {
            return Ok(Transformed::no(expr));
        };
        let is_list = |expr: &Expr| {
            matches!(
                expr.get_type(schema),
                Ok(DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..))
            )
        };
        if is_list(&left) || is_list(&right) {
            let both = BinaryExpr::new(left, Operator::StringConcat, right);
            return Ok(Transformed::no(Expr::BinaryExpr(both)));
        }
        let text = |expr: Box<Expr>| datafusion::logical_expr::cast(*expr, DataType::Utf8View);
        let inner = exprs::kernel::text("concat", eval::operators::join).into_udf();
        let joined = ScalarUDF::new_from_impl(Joined { inner });
        Ok(Transformed::yes(joined.call(vec![text(left), text(right)])))
    }
}

/// The function for `||`, with the name that a column has by the operator. The engine keeps the names of
/// columns when it replaces an operator, except of those in `ROLLUP`, `CUBE` and `GROUPING SETS`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Joined {
    inner: ScalarUDF,
}

impl ScalarUDFImpl for Joined {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let args: Vec<_> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(args.join(&format!(" {} ", Operator::StringConcat)))
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner.inner().return_type(arg_types)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.inner.inner().invoke_with_args(args)
    }
}

/// Returns the bounded replacements of functions of a session.
pub(crate) fn functions(known: impl Fn(&str) -> Option<Arc<ScalarUDF>>) -> Vec<ScalarUDF> {
    let named =
        FUNCTIONS.iter().flat_map(|(names, grows)| names.iter().map(|name| (*name, *grows)));
    named.filter_map(|(name, grows)| Some(bounded(name, known(name)?, grows))).collect()
}

fn bounded(name: &'static str, inner: Arc<ScalarUDF>, grows: Grows) -> ScalarUDF {
    let mut signature = inner.signature().clone();
    // A constant list would be copied into every row, so it is computed per batch instead.
    if LISTS.contains(&name) {
        signature.volatility = Volatility::Volatile;
    }
    ScalarUDF::new_from_impl(Bounded { name, inner, grows, signature })
}

#[derive(Debug)]
struct Bounded {
    name: &'static str,
    inner: Arc<ScalarUDF>,
    grows: Grows,
    signature: Signature,
}

impl PartialEq for Bounded {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.inner == other.inner
    }
}

impl Eq for Bounded {}

impl Hash for Bounded {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Bounded {
    fn name(&self) -> &str {
        self.name
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.inner.inner().schema_name(args)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner.inner().return_type(arg_types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.inner().return_field_from_args(args)
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.inner().coerce_types(arg_types)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.inner().documentation()
    }

    fn simplify(&self, args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        // The original simplification would return a call of the original function.
        Ok(ExprSimplifyResult::Original(args))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (rows, config) = (args.number_rows, Arc::clone(&args.config_options));
        let is_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let made_of = if is_constant { 1 } else { rows };
        let sizes = Sizes::of(&args.args)?;
        let mut room = Charge::of(&config);
        let mut unpaid = 0_u64;
        for row in 0..made_of {
            let bytes = (self.grows)(&sizes, row);
            if bytes > LONGEST_TEXT as u64 {
                return Err(too_long(self.name, bytes).into());
            }
            unpaid += bytes;
            if unpaid > 1 << 20 {
                room.grow(usize::try_from(std::mem::take(&mut unpaid)).unwrap_or(usize::MAX))?;
            }
        }
        let made = self.inner.inner().invoke_with_args(args)?;
        drop(room);
        Ok(match made {
            ColumnarValue::Array(array) => ColumnarValue::Array(counted(array, &config)?),
            ColumnarValue::Scalar(value) => spread(value, rows, &config)?,
        })
    }
}

/// Returns the error for exceeding the maximum size of a value, which no setting raises.
fn too_long(function: &str, bytes: u64) -> Error {
    let what = if LISTS.contains(&function) { "list" } else { "string" };
    let message = format!(
        "{function}() makes a {what} of {bytes} bytes: one {what} can have at most {} MiB",
        LONGEST_TEXT >> 20
    );
    Error::Exhausted { message }
}

fn counted(array: ArrayRef, config: &ConfigOptions) -> Result<ArrayRef> {
    Meter::new(config).finish(array)
}

/// Returns a constant unchanged; a list as a column, if there is memory for it.
fn spread(value: ScalarValue, rows: usize, config: &ConfigOptions) -> Result<ColumnarValue> {
    if !matches!(value.data_type(), DataType::List(_) | DataType::LargeList(_)) {
        return Ok(ColumnarValue::Scalar(value));
    }
    let mut room = Charge::of(config);
    room.grow(value.size().saturating_mul(rows))?;
    let array = value.to_array_of_size(rows)?;
    drop(room);
    Ok(ColumnarValue::Array(counted(array, config)?))
}

/// The arguments of a call for size estimates.
struct Sizes(Vec<Size>);

struct Size {
    /// As one row for a constant.
    array: ArrayRef,
    is_constant: bool,
    numbers: Option<ArrayRef>,
}

impl Size {
    fn of(value: &ColumnarValue) -> Result<Self> {
        let (array, is_constant) = match value {
            ColumnarValue::Array(array) => (Arc::clone(array), false),
            ColumnarValue::Scalar(value) => (value.to_array()?, true),
        };
        let numbers = match array.data_type() {
            kind if kind.is_numeric() => cast(&array, &DataType::Int64).ok(),
            DataType::Date32 => {
                let days = cast(&array, &DataType::Int32)?;
                let days = cast(&days, &DataType::Int64)?;
                Some(arrow::compute::unary::<Int64Type, _, Int64Type>(
                    days.as_primitive(),
                    |days| days.saturating_mul(DAY),
                ))
                .map(|nanoseconds| Arc::new(nanoseconds) as ArrayRef)
            }
            DataType::Timestamp(..) => {
                let wanted = DataType::Timestamp(arrow::datatypes::TimeUnit::Nanosecond, None);
                let times = cast(&array, &wanted)?;
                cast(&times, &DataType::Int64).ok()
            }
            DataType::Interval(arrow::datatypes::IntervalUnit::MonthDayNano) => {
                let spans =
                    array.as_primitive::<arrow::datatypes::IntervalMonthDayNanoType>().iter();
                let nanoseconds = spans.map(|span| {
                    span.map(|span| {
                        let days = i64::from(span.months) * 28 + i64::from(span.days);
                        days.saturating_mul(DAY).saturating_add(span.nanoseconds)
                    })
                });
                let nanoseconds: arrow::array::Int64Array = nanoseconds.collect();
                Some(Arc::new(nanoseconds) as ArrayRef)
            }
            _ => None,
        };
        Ok(Self { array, is_constant, numbers })
    }

    fn at(&self, row: usize) -> usize {
        if self.is_constant { 0 } else { row }
    }
}

/// Nanoseconds of a day.
const DAY: i64 = 86_400_000_000_000;

impl Sizes {
    fn of(values: &[ColumnarValue]) -> Result<Self> {
        values.iter().map(Size::of).collect::<Result<_>>().map(Self)
    }

    /// Returns the size of an argument in bytes; 0 if it is missing.
    fn bytes(&self, at: usize, row: usize) -> u64 {
        let Some(size) = self.0.get(at) else { return 0 };
        let row = size.at(row);
        let bytes = match size.array.data_type() {
            _ if size.array.is_null(row) => 0,
            DataType::Utf8 => size.array.as_string::<i32>().value(row).len(),
            DataType::LargeUtf8 => size.array.as_string::<i64>().value(row).len(),
            DataType::Utf8View => size.array.as_string_view().value(row).len(),
            DataType::List(_) => {
                let values = size.array.as_list::<i32>().value(row);
                tables::array_bytes(&values)
            }
            _ => 32,
        };
        bytes as u64
    }

    fn all_bytes(&self, row: usize) -> u64 {
        (0..self.0.len()).map(|at| self.bytes(at, row)).sum()
    }

    /// Returns the number of elements of a list.
    fn elements(&self, at: usize, row: usize) -> u64 {
        let Some(size) = self.0.get(at) else { return 0 };
        match size.array.data_type() {
            DataType::List(_) => size.array.as_list::<i32>().value(size.at(row)).len() as u64,
            _ => 1,
        }
    }

    fn signed(&self, at: usize, row: usize) -> Option<i64> {
        let size = self.0.get(at)?;
        let numbers = size.numbers.as_ref()?.as_primitive::<Int64Type>();
        let row = size.at(row);
        numbers.is_valid(row).then(|| numbers.value(row))
    }

    /// Returns an argument as a number; 0 if it is missing or negative.
    fn number(&self, at: usize, row: usize) -> u64 {
        self.signed(at, row).map_or(0, |number| u64::try_from(number).unwrap_or(0))
    }

    /// Returns the number of steps of a range.
    fn steps(&self, row: usize) -> u64 {
        let first = self.signed(0, row).unwrap_or(0);
        let (start, end) = match self.0.len() {
            1 => (0, first),
            _ => (first, self.signed(1, row).unwrap_or(first)),
        };
        let step = self.signed(2, row).unwrap_or(1).unsigned_abs().max(1);
        end.abs_diff(start) / step
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn made(name: &str, arguments: &[ScalarValue]) -> u64 {
        let (_, grows) = FUNCTIONS.iter().find(|(names, _)| names.contains(&name)).unwrap();
        let values: Vec<_> = arguments.iter().cloned().map(ColumnarValue::Scalar).collect();
        grows(&Sizes::of(&values).unwrap(), 0)
    }

    #[test]
    fn functions_say_how_much_they_make() {
        let text = |text: &str| ScalarValue::from(text);
        let number = |number: i64| ScalarValue::from(number);
        assert_eq!(made("repeat", &[text("xy"), number(2_000_000_000)]), 4_000_000_000);
        assert_eq!(made("repeat", &[text("xy"), number(-1)]), 0);
        assert_eq!(made("lpad", &[text("xy"), number(1_000)]), 4_000);
        assert_eq!(made("replace", &[text("aaaa"), text("a"), text("0123456789")]), 54);
        assert_eq!(made("range", &[number(10), number(0), number(-2)]), 40);
        assert_eq!(made("generate_series", &[number(i64::MIN), number(i64::MAX)]), u64::MAX);
    }

    #[tokio::test]
    async fn joined_texts_are_columns_of_every_kind_of_grouping() {
        use super::super::{Session, SessionSettings};

        let context = Session::new(&SessionSettings::default(), Vec::new()).unwrap().sql("a", "b");
        for (query, expected) in [
            ("SELECT a || 'x' AS g, count(*) FROM t GROUP BY a || 'x'", 2),
            ("SELECT a || 'x' AS g, count(*) FROM t GROUP BY ROLLUP (a || 'x')", 3),
            ("SELECT a || b || 'x', b FROM t GROUP BY CUBE (a || b || 'x', b)", 9),
            ("SELECT a || 'x', b FROM t GROUP BY GROUPING SETS ((a || 'x'), (b), ())", 5),
            ("SELECT substr(a || b, 1, 1) FROM t GROUP BY ROLLUP (substr(a || b, 1, 1))", 3),
            ("SELECT a || 'x', grouping(a || 'x') FROM t GROUP BY ROLLUP (a || 'x')", 3),
        ] {
            let tables =
                "WITH t AS (SELECT * FROM (VALUES ('p', 'q'), ('r', 's'), ('p', 's')) AS v (a, b))";
            let frame = context.sql(&format!("{tables} {query}")).await;
            let frame = frame.unwrap_or_else(|error| panic!("{query}: {error}"));
            let batches = frame.collect().await.unwrap_or_else(|error| panic!("{query}: {error}"));
            let rows: usize = batches.iter().map(|batch| batch.num_rows()).sum();
            assert_eq!(rows, expected, "{query}");
        }
    }

    #[test]
    fn what_is_too_long_is_refused_without_the_name_of_a_setting() {
        let refused = too_long("repeat", 100_000_000).to_string();
        assert!(refused.ends_with("one string can have at most 16 MiB"), "{refused}");
        assert!(!refused.contains("max_mem_usage_mb"), "{refused}");
    }
}
