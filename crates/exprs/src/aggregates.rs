//! The functions of `stats` and its relatives as DataFusion aggregates.
//!
//! Guarantees: the result does not depend on how events are split into batches and partitions. If it depends
//! on their order, the sort keys are arguments of the aggregate, and no sorted input is needed. All
//! aggregates run in two phases, grouped, and as window functions, including sliding windows. Wildcards in
//! arguments and the names of results are left to the commands.

mod distinct;
mod extreme;
mod field_values;
#[doc(hidden)]
pub mod fuzzing;
mod groups;
mod integer_set;
mod long_float;
mod mode;
mod moments;
mod over;
mod percentile;
mod pick;
mod rates;
mod sparkline;
mod state;
mod summary;
#[cfg(test)]
mod tests;
mod values;

use datafusion::functions::core::expr_fn::coalesce;
use datafusion::functions_aggregate::average::avg_udaf;
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::functions_aggregate::min_max::{max_udaf, min_udaf};
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::{AggregateUDF, Case, Expr, SortExpr, lit, when};
use eval::value::parse_number;
use spl::ast::{StatsArgument, StatsCall, StatsKind};

use crate::Error;
use crate::kernel::truth;
use crate::parts::FieldPart;
use crate::types::ValueType;
use crate::{Report, Scope, Typed, compile};

use distinct::{Distinct, Estimate};
use extreme::Extreme;
pub use field_values::{FIELD_NUMBERS, field_values};
use mode::Mode;
use moments::{Moment, Moments};
use percentile::Percentile;
use pick::{Pick, Rate};
use rates::Rates;
pub use sparkline::SparklineAxis;
use sparkline::{Inner, Sparkline};
use summary::SummaryFunction;
use values::{Listing, Values};

/// Options of aggregates.
#[derive(Debug, Clone)]
pub struct AggregateOptions {
    /// Maximum number of values of `list` (`[stats] list_maxsize`); 0 for no limit.
    pub list_limit: usize,
    /// Maximum number of values of `values` (`[stats] maxvalues`); 0 for no limit.
    pub values_limit: usize,
    /// The span of a group in seconds, by which `per_second` and similar functions divide.
    pub span_seconds: Option<f64>,
    /// The time axis of sparklines; without it, there are none.
    pub sparklines: Option<SparklineAxis>,
    /// Whether a numeric statistic is null if any value is not a number (`allnum`).
    pub only_numbers: bool,
    /// The receiver of messages about limits.
    pub report: Report,
}

impl Default for AggregateOptions {
    fn default() -> Self {
        Self {
            list_limit: 100,
            values_limit: 0,
            span_seconds: None,
            sparklines: None,
            only_numbers: false,
            report: Report::new(|_| {}),
        }
    }
}

/// Returns the aggregate of a call. `order` is the display order of events, which `first`, `last` and `list`
/// follow, as well as ties of `earliest` and `latest`. It should be total.
///
/// # Errors
/// If the argument is missing or does not compile, or the function has no meaning here.
pub fn aggregate(call: &StatsCall, scope: &dyn Scope, order: &[SortExpr]) -> Result<Typed, Error> {
    aggregate_with(call, scope, order, &AggregateOptions::default())
}

/// Returns the aggregate of a call with non-default options; see [`aggregate`].
///
/// # Errors
/// As [`aggregate`].
pub fn aggregate_with(
    call: &StatsCall,
    scope: &dyn Scope,
    order: &[SortExpr],
    options: &AggregateOptions,
) -> Result<Typed, Error> {
    if let StatsArgument::Over { expr, calls } = &call.argument {
        return over::aggregate(call, expr, calls, &Place { scope, order, options });
    }
    if call.function.kind == StatsKind::Sparkline {
        return sparkline_of(call, scope, options);
    }
    let Some(value) = argument(call, scope)? else {
        return match call.function.kind {
            StatsKind::Count => Ok(count_rows()),
            _ => Err(error(call, format!("{}() needs a field", call.function.name.node))),
        };
    };
    let place = Place { scope, order, options };
    if !computes_with_numbers(call.function.kind) {
        return by_place(call, &value, &place).unwrap_or_else(|| by_value(call, value, options));
    }
    let value = if value.kind == ValueType::Boolean { one_if(value) } else { value };
    let result =
        by_place(call, &value, &place).unwrap_or_else(|| by_value(call, value.clone(), options))?;
    if options.only_numbers { only_of_numbers(result, value) } else { Ok(result) }
}

/// Whether a function is numeric, so that a Boolean counts as 1 or 0.
fn computes_with_numbers(kind: StatsKind) -> bool {
    matches!(
        kind,
        StatsKind::Sum
            | StatsKind::SumOfSquares
            | StatsKind::Average
            | StatsKind::Min
            | StatsKind::Max
            | StatsKind::Range
            | StatsKind::StandardDeviation
            | StatsKind::StandardDeviationPopulation
            | StatsKind::Variance
            | StatsKind::VariancePopulation
            | StatsKind::Median
            | StatsKind::Percentile
            | StatsKind::UpperPercentile
            | StatsKind::ExactPercentile
            | StatsKind::Rate
            | StatsKind::RateAverage
            | StatsKind::RateSum
            | StatsKind::PerSecond
            | StatsKind::PerMinute
            | StatsKind::PerHour
            | StatsKind::PerDay
    )
}

/// Returns 1 for true and 0 for false.
fn one_if(truth: Typed) -> Typed {
    let number = |value| Box::new(Typed::number(value).expr);
    let branches = vec![
        (Box::new(truth.expr.clone()), number(1.0)),
        (Box::new(Expr::Not(Box::new(truth.expr))), number(0.0)),
    ];
    Typed::new(Expr::Case(Case::new(None, branches, None)), ValueType::Float)
}

/// Returns the result if all values are numbers; null otherwise.
fn only_of_numbers(result: Typed, value: Typed) -> Result<Typed, Error> {
    if value.kind.is_number() {
        return Ok(result);
    }
    let other = truth("is_no_number", |row| {
        let mut other = false;
        row.value(0).each_text(|text| other |= parse_number(text).is_none());
        Some(other)
    });
    let others = count_values(other.call(vec![value])).expr.eq(lit(0_i64));
    Ok(Typed::new(when(others, result.expr).end()?, result.kind))
}

/// Returns an aggregate per time bin.
fn sparkline_of(
    call: &StatsCall,
    scope: &dyn Scope,
    options: &AggregateOptions,
) -> Result<Typed, Error> {
    let (inner, step) = match &call.argument {
        StatsArgument::Sparkline { call, step } => (call.as_deref(), step.as_ref()),
        _ => (None, None),
    };
    let Some(axis) = &options.sparklines else {
        let text = "sparkline() can be used with stats and chart only: for a chart of each group, use \
            stats sparkline(...) BY <field>";
        return Err(error(call, text));
    };
    let Some(kind) = Inner::of(inner) else {
        let name = inner.map_or("", |inner| inner.function.name.node.as_str());
        return Err(error(call, format!("{name}() cannot be used in a sparkline()")));
    };
    let time = event_time(scope).ok_or_else(|| no_time(call))?;
    let value = match inner {
        Some(inner) => argument(inner, scope)?,
        None => None,
    };
    let value = match (value, kind) {
        (None, Inner::Count) => Typed::number(1.0),
        (None, _) => return Err(error(call, "sparkline() needs a field for all but count")),
        (Some(value), _) if value.kind == ValueType::Boolean => one_if_true(value),
        (Some(value), _) => value,
    };
    let empty = Sparkline::new(kind, step, axis, options.report.clone());
    let parameters = empty.parameters();
    let function = SummaryFunction::new("sparkline", parameters, ValueType::Multi, empty);
    Ok(function.call(vec![value.expr, time.expr], &[]))
}

/// Returns 1 for true and null otherwise.
fn one_if_true(truth: Typed) -> Typed {
    let branch = vec![(Box::new(truth.expr), Box::new(Typed::number(1.0).expr))];
    Typed::new(Expr::Case(Case::new(None, branch, None)), ValueType::Float)
}

/// The inputs of an aggregate that depends on the order or time of events.
struct Place<'a> {
    scope: &'a dyn Scope,
    order: &'a [SortExpr],
    options: &'a AggregateOptions,
}

fn error(call: &StatsCall, message: impl Into<String>) -> Error {
    Error::invalid(message, call.span.start..call.span.end)
}

fn argument(call: &StatsCall, scope: &dyn Scope) -> Result<Option<Typed>, Error> {
    match &call.argument {
        StatsArgument::None | StatsArgument::Over { .. } => Ok(None),
        StatsArgument::Field(pattern) => {
            let missing = || Typed::null(ValueType::Text);
            let kind = scope.field(&pattern.text);
            Ok(Some(kind.map_or_else(missing, |kind| Typed::column(&pattern.text, kind))))
        }
        StatsArgument::Eval(expr) => {
            let value = compile(expr, scope)?;
            // These functions return one of the values, in its original notation.
            let given_back = matches!(call.function.kind, StatsKind::Min | StatsKind::Max)
                || !computes_with_numbers(call.function.kind);
            Ok(Some(if given_back { value.shown() } else { value.plain() }))
        }
        StatsArgument::Prefix(_) => Err(error(call, "PREFIX() can be used with tstats only")),
        StatsArgument::Sparkline { .. } => {
            Err(error(call, "a sparkline() cannot be used in another function"))
        }
    }
}

/// Returns the number of events. The engine makes an array of the argument for each batch; one of Booleans
/// has a 64th of the size of one of integers, and batches that are only counted have tens of thousands of
/// rows.
fn count_rows() -> Typed {
    let row = Expr::Literal(datafusion::common::ScalarValue::Boolean(Some(true)), None);
    Typed::new(count_udaf().call(vec![row]), ValueType::Integer)
}

fn native(udaf: &AggregateUDF, value: Typed) -> Typed {
    Typed::new(udaf.call(vec![value.expr]), value.kind)
}

/// Returns aggregates that depend on the order or time of events.
fn by_place(call: &StatsCall, value: &Typed, place: &Place<'_>) -> Option<Result<Typed, Error>> {
    let reversed = || place.order.iter().map(reverse).collect::<Vec<_>>();
    let time = |ascending| time_key(place.scope, ascending);
    Some(match call.function.kind {
        StatsKind::First => Ok(pick("first", value, place.order, false)),
        StatsKind::Last => Ok(pick("last", value, &reversed(), true)),
        StatsKind::Earliest => Ok(match time(true) {
            Some(time) => pick("earliest", value, &[vec![time], reversed()].concat(), true),
            None => without_time(call, place),
        }),
        StatsKind::Latest => Ok(match time(false) {
            Some(time) => {
                pick("latest", value, &[vec![time], place.order.to_vec()].concat(), false)
            }
            None => without_time(call, place),
        }),
        StatsKind::List => {
            let options = place.options;
            let empty = Listing::new(options.list_limit, options.report.clone());
            let parameters = options.list_limit.to_string();
            let function = SummaryFunction::new("list", parameters, ValueType::Multi, empty);
            Ok(function.call(vec![value.expr.clone()], place.order))
        }
        StatsKind::EarliestTime => Ok(time_of(call, value, place, &min_udaf())),
        StatsKind::LatestTime => Ok(time_of(call, value, place, &max_udaf())),
        StatsKind::Rate => match event_time(place.scope) {
            Some(time) => {
                let function = SummaryFunction::new("rate", "", ValueType::Float, Rate::default());
                Ok(function.call(vec![value.expr.clone(), time.expr], &[]))
            }
            None => Err(no_time(call)),
        },
        StatsKind::RateAverage | StatsKind::RateSum => rates(call, value, place.scope),
        _ => return None,
    })
}

/// The field that names the series of a point, which the commands of metrics set.
pub const SERIES: &str = "_timeseries";

/// Returns the mean or the sum of the rates of the series of a group.
fn rates(call: &StatsCall, value: &Typed, scope: &dyn Scope) -> Result<Typed, Error> {
    let time = event_time(scope).ok_or_else(|| no_time(call))?;
    let series = scope.field(SERIES).map(|kind| Typed::column(SERIES, kind));
    let series = series.unwrap_or_else(|| Typed::null(ValueType::Text));
    let mean = call.function.kind == StatsKind::RateAverage;
    let name = if mean { "rate_avg" } else { "rate_sum" };
    let function = SummaryFunction::new(name, "", ValueType::Float, Rates::new(mean));
    Ok(function.call(vec![value.expr.clone(), time.expr, series.expr], &[]))
}

fn no_time(call: &StatsCall) -> Error {
    let name = &call.function.name.node;
    error(call, format!("{name}() needs the field _time, which was removed before"))
}

/// The column with the exact times of events where `_time` has been binned.
pub const EXACT_TIME: &str = "__exact_time";

fn event_time(scope: &dyn Scope) -> Option<Typed> {
    let column = |name: &str| Some(Typed::column(name, scope.field(name)?));
    let (exact, shown) = (column(EXACT_TIME), column(model::columns::TIME));
    match (exact, shown) {
        // Rows from another source may have only the displayed time.
        (Some(exact), Some(shown)) if exact.kind == shown.kind => {
            let kind = exact.kind;
            Some(Typed::new(coalesce(vec![exact.expr, shown.expr]), kind))
        }
        (_, shown) => shown,
    }
}

fn time_key(scope: &dyn Scope, ascending: bool) -> Option<SortExpr> {
    Some(event_time(scope)?.expr.sort(ascending, false))
}

fn reverse(key: &SortExpr) -> SortExpr {
    SortExpr { expr: key.expr.clone(), asc: !key.asc, nulls_first: !key.nulls_first }
}

/// Whether the sliding accumulator of an aggregate of this crate loses nothing when a row leaves, and takes
/// the same time for a result in a window of any length.
#[must_use]
pub fn follows_windows(function: &AggregateUDF) -> bool {
    function.inner().downcast_ref::<SummaryFunction>().is_some_and(SummaryFunction::follows_windows)
}

/// Returns the value with the least keys. Times become numbers, Booleans become texts.
fn pick(name: &'static str, value: &Typed, order: &[SortExpr], later: bool) -> Typed {
    let kind = match value.kind {
        ValueType::Time => ValueType::Float,
        ValueType::Boolean | ValueType::Null => ValueType::Text,
        other => other,
    };
    let value = value.clone().to(kind);
    // With keys, ties are resolved by display order; without, by arrival.
    let empty = Pick::new(kind, later && order.is_empty());
    let parameters = format!("{kind:?}");
    SummaryFunction::new(name, parameters, kind, empty).call(vec![value.expr], order)
}

/// Returns the minimum or maximum time of events that have a value.
fn time_of(call: &StatsCall, value: &Typed, place: &Place<'_>, udaf: &AggregateUDF) -> Typed {
    let Some(time) = event_time(place.scope) else { return without_time(call, place) };
    let time = time.to(ValueType::Float);
    let present = Expr::IsNotNull(Box::new(value.expr.clone()));
    let branch = vec![(Box::new(present), Box::new(time.expr))];
    let case = Expr::Case(Case::new(None, branch, None));
    native(udaf, Typed::new(case, ValueType::Float)).with_decimals(6).shown()
}

/// Returns null as the earliest or latest value of rows without times, such as those of lookups, as Splunk
/// does.
fn without_time(call: &StatsCall, place: &Place<'_>) -> Typed {
    let name = &call.function.name.node;
    place.options.report.say(&format!("{name}() has no values: the rows have no field _time"));
    pick("first", &Typed::null(ValueType::Text), &[], false)
}

/// Returns aggregates that depend only on values.
fn by_value(call: &StatsCall, value: Typed, options: &AggregateOptions) -> Result<Typed, Error> {
    let summary =
        |name, returns, value: Typed, empty| Ok(moments_call(name, returns, value, empty));
    let percent = |exact| {
        let percent = call.function.percent().unwrap_or(50.0);
        let empty = Percentile::new(percent, exact);
        let parameters = format!("{percent} {exact}");
        SummaryFunction::new("percentile", parameters, ValueType::Float, empty)
    };
    match call.function.kind {
        StatsKind::Count => Ok(count_values(value)),
        StatsKind::Sum => Ok(sum(value)),
        StatsKind::Average if value.kind == ValueType::Multi => {
            summary("avg", ValueType::Float, value, Moment::Average)
        }
        StatsKind::Average => Ok(native(&avg_udaf(), value.to(ValueType::Float))),
        StatsKind::Min => Ok(extreme("min", &min_udaf(), value, false)),
        StatsKind::Max => Ok(extreme("max", &max_udaf(), value, true)),
        StatsKind::Range => summary("range", ValueType::Float, value, Moment::Range),
        StatsKind::SumOfSquares => summary("sumsq", ValueType::Float, value, Moment::SumOfSquares),
        StatsKind::Variance => summary("var", ValueType::Float, value, Moment::VarianceOfSample),
        StatsKind::VariancePopulation => {
            summary("varp", ValueType::Float, value, Moment::VarianceOfPopulation)
        }
        StatsKind::StandardDeviation => {
            summary("stdev", ValueType::Float, value, Moment::DeviationOfSample)
        }
        StatsKind::StandardDeviationPopulation => {
            summary("stdevp", ValueType::Float, value, Moment::DeviationOfPopulation)
        }
        StatsKind::PerSecond => per(call, value, options, 1.0),
        StatsKind::PerMinute => per(call, value, options, 60.0),
        StatsKind::PerHour => per(call, value, options, 3_600.0),
        StatsKind::PerDay => per(call, value, options, 86_400.0),
        StatsKind::Median => {
            let median = SummaryFunction::new("median", "", ValueType::Float, Percentile::median());
            Ok(median.call(vec![number(value)], &[]))
        }
        StatsKind::Percentile | StatsKind::UpperPercentile => {
            Ok(percent(false).call(vec![number(value)], &[]))
        }
        StatsKind::ExactPercentile => Ok(percent(true).call(vec![number(value)], &[])),
        _ => distinct(call, value, options),
    }
}

/// Converts a single value to a number; multivalue fields remain, because each value counts.
fn number(value: Typed) -> Expr {
    match value.kind {
        ValueType::Text => value.to(ValueType::Float).expr,
        _ => value.expr,
    }
}

/// Returns aggregates over distinct texts.
fn distinct(call: &StatsCall, value: Typed, options: &AggregateOptions) -> Result<Typed, Error> {
    let parts = |function: SummaryFunction, value: Typed| {
        let parts = match value.kind {
            ValueType::Text => {
                [FieldPart::Whole, FieldPart::Other].map(|part| part.of(&value)).to_vec()
            }
            _ => vec![value.expr],
        };
        Ok(function.call(parts, &[]))
    };
    let function = match call.function.kind {
        StatsKind::DistinctCount => {
            let empty = Distinct::default();
            return parts(SummaryFunction::new("dc", "", ValueType::Integer, empty), value);
        }
        StatsKind::EstimatedDistinctCount => {
            let empty = Estimate::new(false);
            return parts(SummaryFunction::new("estdc", "", ValueType::Float, empty), value);
        }
        StatsKind::EstimatedDistinctCountError => {
            SummaryFunction::new("estdc_error", "", ValueType::Float, Estimate::new(true))
        }
        StatsKind::Mode => SummaryFunction::new("mode", "", ValueType::Text, Mode::default()),
        StatsKind::Values => {
            let empty = Values::new(options.values_limit, options.report.clone());
            let parameters = options.values_limit.to_string();
            SummaryFunction::new("values", parameters, ValueType::Multi, empty)
        }
        _ => {
            let name = &call.function.name.node;
            return Err(error(call, format!("{name}() has no meaning here")));
        }
    };
    Ok(function.call(vec![value.expr], &[]))
}

fn moments_call(name: &'static str, returns: ValueType, value: Typed, moment: Moment) -> Typed {
    let parameters = format!("{moment:?}");
    SummaryFunction::new(name, parameters, returns, Moments::new(moment))
        .call(vec![number(value)], &[])
}

fn sum(value: Typed) -> Typed {
    match value.kind {
        ValueType::Multi => moments_call("sum", ValueType::Float, value, Moment::Sum),
        _ => native(&sum_udaf(), value.to(ValueType::Float)),
    }
}

/// Counts values that are not null, each value of a multivalue field separately; for a condition, counts the
/// rows in which it is true.
fn count_values(value: Typed) -> Typed {
    let counted = match value.kind {
        ValueType::Boolean => one_if_true(value).expr,
        ValueType::Multi => {
            let function = SummaryFunction::new(
                "count",
                "",
                ValueType::Integer,
                distinct::Occurrences::default(),
            );
            return function.call(vec![value.expr], &[]);
        }
        _ => value.expr,
    };
    Typed::new(count_udaf().call(vec![counted]), ValueType::Integer)
}

/// Returns the minimum or maximum. Numbers use DataFusion's own functions, and so do integers in text fields.
fn extreme(name: &'static str, udaf: &AggregateUDF, value: Typed, greatest: bool) -> Typed {
    let parameters = if greatest { "greatest" } else { "least" };
    let function = SummaryFunction::new(name, parameters, ValueType::Text, Extreme::new(greatest));
    match value.kind {
        ValueType::Integer | ValueType::Float => native(udaf, value),
        ValueType::Time => native(udaf, value.to(ValueType::Float)),
        ValueType::Text => {
            let whole = udaf.call(vec![FieldPart::Whole.of(&value)]);
            let other = function.call(vec![FieldPart::Other.of(&value)], &[]);
            extreme::of_both(greatest).call(vec![Typed::new(whole, ValueType::Integer), other])
        }
        _ => function.call(vec![value.expr], &[]),
    }
}

/// Scales a sum from the span of a group to a unit of time.
fn per(
    call: &StatsCall,
    value: Typed,
    options: &AggregateOptions,
    seconds: f64,
) -> Result<Typed, Error> {
    let Some(span) = options.span_seconds.filter(|span| *span > 0.0) else {
        let name = &call.function.name.node;
        return Err(error(call, format!("{name}() can be used with timechart only")));
    };
    Ok(moments_call("per", ValueType::Float, value, Moment::Scaled(seconds / span)))
}
