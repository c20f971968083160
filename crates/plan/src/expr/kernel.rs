//! The one kind of function that evaluation adds to DataFusion: a name, a result type and a
//! closure over rows or columns.
//!
//! Guarantees: constants among the arguments are converted once per batch; a function of
//! constants only is evaluated once; two functions are equal if name, parameters and result type
//! are, so the optimiser may share them.
//! It leaves what functions there are to `functions`, `predicate` and `expr::operators`.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayBuilder, ArrayRef, AsArray, BooleanBuilder, Float64Builder, Int64Builder,
    ListBuilder, StringViewBuilder,
};
use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::{DataFusionError, Result, ScalarValue, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};

use crate::expr::Typed;
use crate::expr::column::{Argument, Row, Values};
use crate::ledger::Meter;
use crate::types::ValueType;

/// Collects the values of one multivalue result.
pub(crate) type Texts = ListBuilder<StringViewBuilder>;

type TextKernel = dyn for<'a> Fn(Row<'a>, &mut String) -> Option<()> + Send + Sync;
type MultiKernel = dyn for<'a> Fn(Row<'a>, &mut Several<'_>) -> Option<()> + Send + Sync;
type NumberKernel = dyn for<'a> Fn(Row<'a>) -> Option<f64> + Send + Sync;
type IntegerKernel = dyn for<'a> Fn(Row<'a>) -> Option<i64> + Send + Sync;
type TruthKernel = dyn for<'a> Fn(Row<'a>) -> Option<bool> + Send + Sync;
type ColumnKernel = dyn Fn(&[Argument], usize) -> Result<ArrayRef> + Send + Sync;
type InnerKernel =
    dyn Fn(&[Argument], usize, &Arc<ConfigOptions>) -> Result<ArrayRef> + Send + Sync;

/// What of a text of a list is not in its buffer.
const VIEW: usize = 16;

/// Takes the values of one row, as many as there is room for.
pub(crate) struct Several<'b> {
    built: &'b mut StringViewBuilder,
    meter: &'b mut Meter,
    full: Option<DataFusionError>,
}

impl<'b> Several<'b> {
    pub(crate) fn new(built: &'b mut StringViewBuilder, meter: &'b mut Meter) -> Self {
        Self { built, meter, full: None }
    }

    /// Appends a value, unless there is no room left; [`Self::end`] says so.
    pub(crate) fn append_value(&mut self, text: impl AsRef<str>) {
        if self.full.is_some() {
            return;
        }
        let text = text.as_ref();
        match self.meter.add(VIEW + text.len()) {
            Ok(()) => self.built.append_value(text),
            Err(error) => self.full = Some(error),
        }
    }

    /// Whether there is no room left.
    pub(crate) fn is_full(&self) -> bool {
        self.full.is_some()
    }

    /// Fails if there was no room for all.
    pub(crate) fn end(self) -> Result<()> {
        self.full.map_or(Ok(()), Err)
    }
}

/// What a function computes. `None` is null.
#[derive(Clone)]
pub(crate) enum Kernel {
    /// Appends the text to an empty buffer.
    Text(Arc<TextKernel>),
    /// As `Text`, but several values in the first argument give several results.
    TextOfEach(Arc<TextKernel>),
    /// Appends values; none appended is null.
    Multi(Arc<MultiKernel>),
    Number(Arc<NumberKernel>),
    Integer(Arc<IntegerKernel>),
    Truth(Arc<TruthKernel>),
    /// Whole columns at once, for what must be fast; the result has the given number of rows.
    Columns(ValueType, Arc<ColumnKernel>),
    /// As `Columns`, for functions that evaluate expressions in the same session.
    Inner(ValueType, Arc<InnerKernel>),
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kernel")
    }
}

impl Kernel {
    fn returns(&self, arguments: &[DataType]) -> ValueType {
        match self {
            Self::Text(_) => ValueType::Text,
            Self::TextOfEach(_) => match arguments.first().and_then(ValueType::of) {
                Some(ValueType::Multi) => ValueType::Multi,
                _ => ValueType::Text,
            },
            Self::Multi(_) => ValueType::Multi,
            Self::Number(_) => ValueType::Float,
            Self::Integer(_) => ValueType::Integer,
            Self::Truth(_) => ValueType::Boolean,
            Self::Columns(kind, _) | Self::Inner(kind, _) => *kind,
        }
    }

    fn run(
        &self,
        name: &str,
        arguments: &[Argument],
        rows: usize,
        config: &Arc<ConfigOptions>,
    ) -> Result<ArrayRef> {
        let each = (0..rows).map(|row| Row { arguments, row, first: None });
        let mut meter = Meter::new(config);
        let built: ArrayRef = match self {
            Self::TextOfEach(kernel) if matches!(first(arguments), Some(Values::Multi(..))) => {
                texts_of_each(name, kernel.as_ref(), arguments, rows, &mut meter)?
            }
            Self::Text(kernel) | Self::TextOfEach(kernel) => {
                let mut built = StringViewBuilder::with_capacity(rows);
                let mut scratch = String::new();
                for row in each {
                    scratch.clear();
                    let some = kernel(row, &mut scratch);
                    meter.add_text(name, scratch.len())?;
                    built.append_option(some.map(|()| &scratch));
                }
                Arc::new(built.finish())
            }
            Self::Multi(kernel) => {
                let mut built = Texts::with_capacity(StringViewBuilder::new(), rows);
                for row in each {
                    let before = built.values().len();
                    let mut several = Several::new(built.values(), &mut meter);
                    let some = kernel(row, &mut several).is_some();
                    several.end()?;
                    let added = built.values().len() > before;
                    built.append(some && added);
                }
                Arc::new(built.finish())
            }
            Self::Number(kernel) => {
                let mut built = Float64Builder::with_capacity(rows);
                each.for_each(|row| built.append_option(kernel(row)));
                return Ok(Arc::new(built.finish()));
            }
            Self::Integer(kernel) => {
                let mut built = Int64Builder::with_capacity(rows);
                each.for_each(|row| built.append_option(kernel(row)));
                return Ok(Arc::new(built.finish()));
            }
            Self::Truth(kernel) => {
                let mut built = BooleanBuilder::with_capacity(rows);
                each.for_each(|row| built.append_option(kernel(row)));
                return Ok(Arc::new(built.finish()));
            }
            Self::Columns(_, kernel) => kernel(arguments, rows)?,
            Self::Inner(_, kernel) => kernel(arguments, rows, config)?,
        };
        meter.finish(built)
    }
}

fn first(arguments: &[Argument]) -> Option<&Values> {
    arguments.first().map(|argument| &argument.values)
}

/// Runs a text function on every value of its first argument.
fn texts_of_each(
    name: &str,
    kernel: &TextKernel,
    arguments: &[Argument],
    rows: usize,
    meter: &mut Meter,
) -> Result<ArrayRef> {
    let mut built = Texts::with_capacity(StringViewBuilder::new(), rows);
    let mut scratch = String::new();
    for row in 0..rows {
        let mut some = false;
        let mut full = Ok(());
        arguments[0].get(row).each_text(|text| {
            if full.is_err() {
                return;
            }
            let row = Row { arguments, row, first: Some(text) };
            scratch.clear();
            let made = kernel(row, &mut scratch).is_some();
            full = meter.add_text(name, VIEW + scratch.len());
            if made && full.is_ok() {
                built.values().append_value(&scratch);
                some = true;
            }
        });
        full?;
        built.append(some);
    }
    Ok(Arc::new(built.finish()))
}

/// A function of the plan.
#[derive(Debug, Clone)]
pub(crate) struct EvalFunction {
    name: &'static str,
    /// Everything besides the arguments that the result depends on.
    parameters: String,
    kernel: Kernel,
    signature: Signature,
}

impl PartialEq for EvalFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.parameters == other.parameters
            && self.signature == other.signature
            && std::mem::discriminant(&self.kernel) == std::mem::discriminant(&other.kernel)
    }
}

impl Eq for EvalFunction {}

impl Hash for EvalFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        self.parameters.hash(state);
    }
}

impl EvalFunction {
    /// A function whose result depends on its arguments and `parameters` alone.
    pub(crate) fn new(name: &'static str, parameters: impl Into<String>, kernel: Kernel) -> Self {
        let signature = any_arguments(Volatility::Immutable);
        Self { name, parameters: parameters.into(), kernel, signature }
    }

    /// A function that may give something else each time.
    pub(crate) fn volatile(mut self) -> Self {
        self.signature = any_arguments(Volatility::Volatile);
        self
    }

    /// The function applied to arguments.
    pub(crate) fn call(self, arguments: Vec<Typed>) -> Typed {
        let types: Vec<_> = arguments.iter().map(|typed| typed.kind.data_type()).collect();
        let kind = self.kernel.returns(&types);
        let constant = arguments.iter().all(|typed| typed.expr.column_refs().is_empty());
        // A long list that is a constant would be copied for every row: it is made for each batch instead,
        // where it is counted.
        if kind == ValueType::Multi && constant && !self.is_short(&arguments) {
            return self.volatile().call_as(kind, arguments);
        }
        self.call_as(kind, arguments)
    }

    /// Whether it makes a few values only of constants.
    fn is_short(&self, arguments: &[Typed]) -> bool {
        const FEW: usize = 64;
        let values = arguments.iter().map(|typed| match &typed.expr {
            Expr::Literal(value, _) => Argument::new(&ColumnarValue::Scalar(value.clone())).ok(),
            _ => None,
        });
        let Some(values) = values.collect::<Option<Vec<_>>>() else { return false };
        let made = self.kernel.run(self.name, &values, 1, &Arc::new(ConfigOptions::new()));
        made.is_ok_and(|made| made.as_list_opt::<i32>().is_some_and(|l| l.values().len() <= FEW))
    }

    fn call_as(self, kind: ValueType, arguments: Vec<Typed>) -> Typed {
        let expr = self.into_udf().call(arguments.into_iter().map(|typed| typed.expr).collect());
        Typed { expr, kind }
    }

    /// As DataFusion knows it.
    pub(crate) fn into_udf(self) -> ScalarUDF {
        ScalarUDF::new_from_impl(self)
    }
}

/// Any number of arguments of any type, none included.
pub(crate) fn any_arguments(volatility: Volatility) -> Signature {
    let types = vec![TypeSignature::Nullary, TypeSignature::VariadicAny];
    Signature::one_of(types, volatility)
}

impl ScalarUDFImpl for EvalFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let arguments: Vec<_> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        let parameters = match self.parameters.as_str() {
            "" => String::new(),
            some => format!("[{some}]"),
        };
        Ok(format!("{}{parameters}({})", self.name, arguments.join(",")))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(self.kernel.returns(arg_types).data_type())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arguments = args.args.iter().map(Argument::new).collect::<Result<Vec<_>>>()?;
        let constant = !arguments.is_empty()
            && self.signature.volatility == Volatility::Immutable
            && arguments.iter().all(|argument| argument.constant);
        if constant {
            let array = self.kernel.run(self.name, &arguments, 1, &args.config_options)?;
            return ScalarValue::try_from_array(&array, 0).map(ColumnarValue::Scalar);
        }
        let rows = args.number_rows;
        let array = self.kernel.run(self.name, &arguments, rows, &args.config_options)?;
        if array.len() != args.number_rows {
            return exec_err!("{} gave {} rows for {}", self.name, array.len(), args.number_rows);
        }
        Ok(ColumnarValue::Array(array))
    }
}

/// Shorthands: a function by its closure.
pub(crate) fn text<F>(name: &'static str, kernel: F) -> EvalFunction
where
    F: for<'a> Fn(Row<'a>, &mut String) -> Option<()> + Send + Sync + 'static,
{
    EvalFunction::new(name, "", Kernel::Text(Arc::new(kernel)))
}

/// As [`text`], for each value of a multivalue first argument.
pub(crate) fn text_of_each<F>(name: &'static str, kernel: F) -> EvalFunction
where
    F: for<'a> Fn(Row<'a>, &mut String) -> Option<()> + Send + Sync + 'static,
{
    EvalFunction::new(name, "", Kernel::TextOfEach(Arc::new(kernel)))
}

/// A function with several results.
pub(crate) fn multi<F>(name: &'static str, kernel: F) -> EvalFunction
where
    F: for<'a> Fn(Row<'a>, &mut Several<'_>) -> Option<()> + Send + Sync + 'static,
{
    EvalFunction::new(name, "", Kernel::Multi(Arc::new(kernel)))
}

/// A function that gives a number.
pub(crate) fn number<F>(name: &'static str, kernel: F) -> EvalFunction
where
    F: for<'a> Fn(Row<'a>) -> Option<f64> + Send + Sync + 'static,
{
    EvalFunction::new(name, "", Kernel::Number(Arc::new(kernel)))
}

/// A function that gives a whole number.
pub(crate) fn integer<F>(name: &'static str, kernel: F) -> EvalFunction
where
    F: for<'a> Fn(Row<'a>) -> Option<i64> + Send + Sync + 'static,
{
    EvalFunction::new(name, "", Kernel::Integer(Arc::new(kernel)))
}

/// A function that gives a truth.
pub(crate) fn truth<F>(name: &'static str, kernel: F) -> EvalFunction
where
    F: for<'a> Fn(Row<'a>) -> Option<bool> + Send + Sync + 'static,
{
    EvalFunction::new(name, "", Kernel::Truth(Arc::new(kernel)))
}

/// A function over whole columns.
pub(crate) fn columns<F>(name: &'static str, kind: ValueType, kernel: F) -> EvalFunction
where
    F: Fn(&[Argument], usize) -> Result<ArrayRef> + Send + Sync + 'static,
{
    EvalFunction::new(name, "", Kernel::Columns(kind, Arc::new(kernel)))
}

/// A function over whole columns that evaluates expressions in the session it runs in.
pub(crate) fn inner<F>(name: &'static str, kind: ValueType, kernel: F) -> EvalFunction
where
    F: Fn(&[Argument], usize, &Arc<ConfigOptions>) -> Result<ArrayRef> + Send + Sync + 'static,
{
    EvalFunction::new(name, "", Kernel::Inner(kind, Arc::new(kernel)))
}

impl EvalFunction {
    /// The same function with parameters it depends on besides its arguments.
    pub(crate) fn with(mut self, parameters: impl Into<String>) -> Self {
        self.parameters = parameters.into();
        self
    }
}
