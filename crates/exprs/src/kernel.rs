//! The only kind of function that expressions add to DataFusion: a name, a result type, and a closure over
//! rows or columns.
//!
//! Guarantees: constant arguments are converted once per batch; a function of only constants is evaluated
//! once; two functions are equal if their name, parameters and result type are equal, so the optimizer may
//! merge them. The functions themselves are in [`eval::functions`], `predicate` and `operators`.

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
use eval::value::Value;
use eval::{Environment, Kernel as RowKernel, TextSink};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use model::EventTime;
use tables::Steps;

use crate::column::{Argument, Values};
use crate::ledger::{Charge, Meter};
use crate::stopping::{stop_of, stopped};
use crate::types::{ArrowType, ValueType};
use crate::{Report, Typed};

pub use eval::{Row, Several};

/// Collects the values of one multivalue result.
pub type Texts = ListBuilder<StringViewBuilder>;

type ColumnKernel = dyn Fn(&[Argument], usize) -> Result<ArrayRef> + Send + Sync;
type InnerKernel =
    dyn Fn(&[Argument], usize, &Arc<ConfigOptions>) -> Result<ArrayRef> + Send + Sync;

/// Length of JSON texts from which on the memory for parsing them is accounted.
const LONG_JSON: usize = 64 << 10;

/// Size of the view of a text in a list, besides its buffer.
const VIEW: usize = 16;

/// Steps between two cancellation checks that one call of a function counts for: a regular expression may
/// backtrack for milliseconds.
const CALL: usize = 64;

/// Builds a list of texts within the memory limit.
struct MeteredTexts<'b> {
    built: &'b mut StringViewBuilder,
    meter: &'b mut Meter,
    full: Option<DataFusionError>,
}

impl TextSink for MeteredTexts<'_> {
    fn append(&mut self, text: &str) {
        if self.full.is_some() {
            return;
        }
        match self.meter.add(VIEW + text.len()) {
            Ok(()) => self.built.append_value(text),
            Err(error) => self.full = Some(error),
        }
    }

    fn is_full(&self) -> bool {
        self.full.is_some()
    }
}

/// The implementation of a function.
#[derive(Clone)]
pub enum Kernel {
    /// Computes the value of one row at a time.
    Rows(RowKernel),
    /// Computes whole columns at once, for speed; the result has the given number of rows.
    Columns(ValueType, Arc<ColumnKernel>),
    /// Like `Columns`, for functions that evaluate expressions in the same session.
    Inner(ValueType, Arc<InnerKernel>),
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kernel")
    }
}

/// The context in which a function runs.
struct Run<'r> {
    name: &'r str,
    arguments: &'r [Argument],
    rows: usize,
    config: &'r Arc<ConfigOptions>,
    environment: &'r Environment,
}

impl Kernel {
    /// Whether both kernels have the same form.
    fn is_like(&self, other: &Self) -> bool {
        let same = std::mem::discriminant(self) == std::mem::discriminant(other);
        match (self, other) {
            (Self::Rows(one), Self::Rows(two)) => {
                std::mem::discriminant(one) == std::mem::discriminant(two)
            }
            _ => same,
        }
    }

    fn returns(&self, arguments: &[DataType]) -> ValueType {
        match self {
            Self::Rows(kernel) => kernel.returns(arguments.first().and_then(ValueType::of)),
            Self::Columns(kind, _) | Self::Inner(kind, _) => *kind,
        }
    }

    fn run(&self, run: &Run<'_>) -> Result<ArrayRef> {
        let mut meter = Meter::new(run.config);
        let built = match self {
            Self::Rows(kernel) => run.each_row(kernel, &mut meter)?,
            Self::Columns(_, kernel) => kernel(run.arguments, run.rows)?,
            Self::Inner(_, kernel) => kernel(run.arguments, run.rows, run.config)?,
        };
        match self {
            Self::Rows(RowKernel::Number(_) | RowKernel::Integer(_) | RowKernel::Truth(_)) => {
                Ok(built)
            }
            _ => meter.finish(built),
        }
    }
}

impl Run<'_> {
    /// Calls `visit` with each row. Constants are read only once.
    fn rows(&self, mut visit: impl FnMut(Row<'_>) -> Result<()>) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut values: Vec<Value<'_>> =
            self.arguments.iter().map(|argument| argument.get(0)).collect();
        let parses_json = self.name.starts_with("json") || self.name == "spath";
        let mut steps = Steps::new(stop_of(self.config));
        for row in 0..self.rows {
            steps.take(CALL).map_err(stopped)?;
            for (value, argument) in values.iter_mut().zip(self.arguments) {
                if !argument.constant {
                    *value = argument.values.get(row);
                }
            }
            let _held = if parses_json { self.parsed_json(&values)? } else { None };
            visit(Row::new(&values, self.environment))?;
        }
        Ok(())
    }

    /// Charges the memory that a JSON function needs while it processes a row: the parsed text.
    fn parsed_json(&self, values: &[Value<'_>]) -> Result<Option<Charge>> {
        let bytes = |value: &Value<'_>| match value {
            Value::Text(text) if text.len() >= LONG_JSON => eval::json::parsed_bytes(text),
            _ => 0,
        };
        let bytes: usize = values.iter().map(bytes).sum();
        if bytes == 0 {
            return Ok(None);
        }
        let mut held = Charge::of(self.config);
        held.grow(bytes)?;
        Ok(Some(held))
    }

    fn each_row(&self, kernel: &RowKernel, meter: &mut Meter) -> Result<ArrayRef> {
        Ok(match kernel {
            RowKernel::TextOfEach(kernel) if matches!(self.first(), Some(Values::Multi(..))) => {
                let mut built = Texts::with_capacity(StringViewBuilder::new(), self.rows);
                let mut scratch = String::new();
                self.rows(|row| {
                    let some =
                        self.texts_of_each(&**kernel, row, &mut built, &mut scratch, meter)?;
                    built.append(some);
                    Ok(())
                })?;
                Arc::new(built.finish())
            }
            RowKernel::Text(kernel) | RowKernel::TextOfEach(kernel) => {
                let mut built = StringViewBuilder::with_capacity(self.rows);
                let mut scratch = String::new();
                self.rows(|row| {
                    scratch.clear();
                    let some = kernel(row, &mut scratch);
                    meter.add_text(self.name, scratch.len())?;
                    built.append_option(some.map(|()| &scratch));
                    Ok(())
                })?;
                Arc::new(built.finish())
            }
            RowKernel::Multi(kernel) => {
                let mut built = Texts::with_capacity(StringViewBuilder::new(), self.rows);
                self.rows(|row| {
                    let before = built.values().len();
                    let mut sink =
                        MeteredTexts { built: built.values(), meter: &mut *meter, full: None };
                    let some = kernel(row, &mut Several::new(&mut sink)).is_some();
                    sink.full.map_or(Ok(()), Err)?;
                    let added = built.values().len() > before;
                    built.append(some && added);
                    Ok(())
                })?;
                Arc::new(built.finish())
            }
            RowKernel::Number(kernel) => {
                let mut built = Float64Builder::with_capacity(self.rows);
                self.rows(|row| {
                    built.append_option(kernel(row));
                    Ok(())
                })?;
                Arc::new(built.finish())
            }
            RowKernel::Integer(kernel) => {
                let mut built = Int64Builder::with_capacity(self.rows);
                self.rows(|row| {
                    built.append_option(kernel(row));
                    Ok(())
                })?;
                Arc::new(built.finish())
            }
            RowKernel::Truth(kernel) => {
                let mut built = BooleanBuilder::with_capacity(self.rows);
                self.rows(|row| {
                    built.append_option(kernel(row));
                    Ok(())
                })?;
                Arc::new(built.finish())
            }
        })
    }

    fn first(&self) -> Option<&Values> {
        self.arguments.first().map(|argument| &argument.values)
    }

    /// Runs a text function on every value of its first argument. Returns whether any call returned a text.
    fn texts_of_each(
        &self,
        kernel: &eval::TextKernel,
        row: Row<'_>,
        built: &mut Texts,
        scratch: &mut String,
        meter: &mut Meter,
    ) -> Result<bool> {
        let mut values: Vec<Value<'_>> = row.values().collect();
        let each: Vec<Value<'_>> = match row.value(0) {
            Value::Multi(several) if several.len() > 0 => several.iter().map(Value::Text).collect(),
            // Some functions accept null as a value: `tostring` writes it as a text.
            _ => vec![Value::Null],
        };
        let mut some = false;
        let mut steps = Steps::new(stop_of(self.config));
        for value in each {
            steps.take(CALL).map_err(stopped)?;
            values[0] = value;
            scratch.clear();
            let made = kernel(Row::new(&values, self.environment), scratch).is_some();
            meter.add_text(self.name, VIEW + scratch.len())?;
            if made {
                built.values().append_value(&*scratch);
                some = true;
            }
        }
        Ok(some)
    }
}

/// A function of the plan.
#[derive(Debug, Clone)]
pub struct EvalFunction {
    name: &'static str,
    /// All inputs of the result besides the arguments.
    parameters: String,
    kernel: Kernel,
    signature: Signature,
    /// The time and time zone of the search.
    now: EventTime,
    zone: TimeZone,
    /// The receiver of messages about values dropped by a limit.
    report: Option<Report>,
}

impl PartialEq for EvalFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.parameters == other.parameters
            && self.signature == other.signature
            && (self.now, &self.zone) == (other.now, &other.zone)
            && self.kernel.is_like(&other.kernel)
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
    /// Creates a function whose result depends only on its arguments and on `parameters`.
    pub fn new(name: &'static str, parameters: impl Into<String>, kernel: Kernel) -> Self {
        let signature = any_arguments(Volatility::Immutable);
        let (now, zone) = (EventTime(0), TimeZone::UTC);
        Self { name, parameters: parameters.into(), kernel, signature, now, zone, report: None }
    }

    /// Creates a function of one row at a time.
    pub(crate) fn of_rows(name: &'static str, kernel: RowKernel) -> Self {
        Self::new(name, "", Kernel::Rows(kernel))
    }

    /// Sets the time and time zone of the search.
    pub(crate) fn within(mut self, now: EventTime, zone: TimeZone) -> Self {
        (self.now, self.zone) = (now, zone);
        self
    }

    /// Sets the receiver of messages about limits.
    #[must_use]
    pub fn reporting(self, report: Option<Report>) -> Self {
        Self { report, ..self }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "now() gives the time of the search, time() this"
    )]
    fn run(
        &self,
        arguments: &[Argument],
        rows: usize,
        config: &Arc<ConfigOptions>,
    ) -> Result<ArrayRef> {
        let wall = EventTime(Timestamp::now().as_microsecond());
        let environment = &Environment::new(self.now, wall, self.zone.clone());
        let made = self.kernel.run(&Run { name: self.name, arguments, rows, config, environment });
        if let (Some(report), Some(note)) = (&self.report, environment.noted()) {
            report.say(note);
        }
        made
    }

    /// Marks the function as volatile: the engine evaluates it at its place in the plan, and not during
    /// planning.
    pub fn volatile(mut self) -> Self {
        self.signature = any_arguments(Volatility::Volatile);
        self
    }

    /// Applies the function to arguments.
    pub fn call(self, arguments: Vec<Typed>) -> Typed {
        let types: Vec<_> = arguments.iter().map(|typed| typed.kind.data_type()).collect();
        let kind = self.kernel.returns(&types);
        let constant = arguments.iter().all(|typed| typed.expr.column_refs().is_empty());
        // A long constant list would be copied into every row. It is computed per batch instead, and
        // accounted there.
        if kind == ValueType::Multi && constant && !self.is_short(&arguments) {
            return self.volatile().call_as(kind, arguments);
        }
        self.call_as(kind, arguments)
    }

    /// Whether constant arguments yield only a few values.
    fn is_short(&self, arguments: &[Typed]) -> bool {
        const FEW: usize = 64;
        let values = arguments.iter().map(|typed| match &typed.expr {
            Expr::Literal(value, _) => Argument::new(&ColumnarValue::Scalar(value.clone())).ok(),
            _ => None,
        });
        let Some(values) = values.collect::<Option<Vec<_>>>() else { return false };
        let made = self.run(&values, 1, &Arc::new(ConfigOptions::new()));
        made.is_ok_and(|made| made.as_list_opt::<i32>().is_some_and(|l| l.values().len() <= FEW))
    }

    fn call_as(self, kind: ValueType, arguments: Vec<Typed>) -> Typed {
        let expr = self.into_udf().call(arguments.into_iter().map(|typed| typed.expr).collect());
        Typed { expr, kind }
    }

    /// Converts the function to one of DataFusion.
    pub fn into_udf(self) -> ScalarUDF {
        ScalarUDF::new_from_impl(self)
    }
}

/// Returns a signature for any number of arguments of any type.
pub fn any_arguments(volatility: Volatility) -> Signature {
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
            let array = self.run(&arguments, 1, &args.config_options)?;
            return ScalarValue::try_from_array(&array, 0).map(ColumnarValue::Scalar);
        }
        let rows = args.number_rows;
        let array = self.run(&arguments, rows, &args.config_options)?;
        if array.len() != args.number_rows {
            return exec_err!("{} gave {} rows for {}", self.name, array.len(), args.number_rows);
        }
        Ok(ColumnarValue::Array(array))
    }
}

/// Creates a function that returns a text.
pub fn text<F>(name: &'static str, kernel: F) -> EvalFunction
where
    F: for<'a> Fn(Row<'a>, &mut String) -> Option<()> + Send + Sync + 'static,
{
    EvalFunction::of_rows(name, RowKernel::text(kernel))
}

/// Creates a function that returns a text for each value of a multivalue first argument.
pub fn text_of_each<F>(name: &'static str, kernel: F) -> EvalFunction
where
    F: for<'a> Fn(Row<'a>, &mut String) -> Option<()> + Send + Sync + 'static,
{
    EvalFunction::of_rows(name, RowKernel::text_of_each(kernel))
}

/// Creates a function that returns several values.
pub fn multi<F>(name: &'static str, kernel: F) -> EvalFunction
where
    F: for<'a> Fn(Row<'a>, &mut Several<'_>) -> Option<()> + Send + Sync + 'static,
{
    EvalFunction::of_rows(name, RowKernel::multi(kernel))
}

/// Creates a function that returns a number.
pub fn number<F>(name: &'static str, kernel: F) -> EvalFunction
where
    F: for<'a> Fn(Row<'a>) -> Option<f64> + Send + Sync + 'static,
{
    EvalFunction::of_rows(name, RowKernel::number(kernel))
}

/// Creates a function that returns an integer.
pub fn integer<F>(name: &'static str, kernel: F) -> EvalFunction
where
    F: for<'a> Fn(Row<'a>) -> Option<i64> + Send + Sync + 'static,
{
    EvalFunction::of_rows(name, RowKernel::integer(kernel))
}

/// Creates a function that returns a Boolean.
pub fn truth<F>(name: &'static str, kernel: F) -> EvalFunction
where
    F: for<'a> Fn(Row<'a>) -> Option<bool> + Send + Sync + 'static,
{
    EvalFunction::of_rows(name, RowKernel::truth(kernel))
}

/// Creates a function over whole columns.
pub fn columns<F>(name: &'static str, kind: ValueType, kernel: F) -> EvalFunction
where
    F: Fn(&[Argument], usize) -> Result<ArrayRef> + Send + Sync + 'static,
{
    EvalFunction::new(name, "", Kernel::Columns(kind, Arc::new(kernel)))
}

/// Creates a function over whole columns that evaluates expressions in its session.
pub(crate) fn inner<F>(name: &'static str, kind: ValueType, kernel: F) -> EvalFunction
where
    F: Fn(&[Argument], usize, &Arc<ConfigOptions>) -> Result<ArrayRef> + Send + Sync + 'static,
{
    EvalFunction::new(name, "", Kernel::Inner(kind, Arc::new(kernel)))
}

impl EvalFunction {
    /// Returns the parameters, besides the arguments, on which the result depends.
    pub(crate) fn parameters(&self) -> &str {
        &self.parameters
    }

    /// Sets further parameters on which the result depends.
    pub fn with(mut self, parameters: impl Into<String>) -> Self {
        self.parameters = parameters.into();
        self
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use arrow::array::StringViewArray;
    use tables::Stop;

    use super::*;

    #[test]
    fn functions_of_rows_end_soon_after_nobody_waits() {
        let calls = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&calls);
        let function = truth("slow", move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            Some(true)
        });
        let mut config = ConfigOptions::new();
        crate::stopping::put(Stop::when(|| true), &mut config);
        let texts: StringViewArray = std::iter::repeat_n(Some("x"), 8192).collect();
        let arguments = [Argument::new(&ColumnarValue::Array(Arc::new(texts))).unwrap()];
        let error = function.run(&arguments, 8192, &Arc::new(config)).unwrap_err();
        assert!(error.to_string().contains("cancelled"), "{error}");
        assert!(calls.load(Ordering::Relaxed) < 100);
    }
}
