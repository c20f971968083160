//! Shared parts of `chart` and `timechart`: series, their limits and names.

use datafusion::functions_aggregate::expr_fn::count;
use datafusion::functions_nested::expr_fn::array_distinct;
use datafusion::logical_expr::lit;
use exprs::Typed;
use exprs::types::ValueType;
use frames::Frame;
use spl::ast::{
    SeriesLimit, SeriesOptions, SplitBy, SplitWhere, SplitWhereCondition, StatsCall, StatsKind,
};

use super::Step;
use super::eval::convert;
use super::stats::{
    Rules, Valueless, aggregates_by, explode, refuse_names_of_keys, sparkline_axis,
};
use crate::Error;
use context::planning::PlanningContext;
use context::stage::Breaker;
use context::stage::pivot::{
    EVENTS, Merge, Pivot, PivotAxis, PivotValue, SERIES, Score, SeriesChoice, SeriesFilter,
};
use tables::NameFormat;

/// The series of a chart and their aggregates.
#[derive(Debug)]
pub(super) struct Series<'c> {
    pub(super) calls: &'c [StatsCall],
    /// The length of a bin in microseconds, for rates.
    pub(super) span: Option<i64>,
    /// Whether the rows have this length as a field.
    pub(super) shows_span: bool,
    pub(super) column: Option<&'c SplitBy>,
    pub(super) options: &'c SeriesOptions,
    pub(super) filter: Option<&'c SplitWhere>,
}

/// Aggregates by the row key and the series, then pivots. The row key must be a column of `frame`.
pub(super) fn pivot(
    mut frame: Frame,
    row: String,
    axis: PivotAxis,
    series: &Series<'_>,
    env: &PlanningContext<'_>,
) -> Result<Step, Error> {
    let mut keys = vec![row.clone()];
    if let Some(split) = series.column {
        if split.field.node == row {
            let message = format!("rows and series cannot both be \"{row}\"");
            return Err(Error::at(message, split.field.span));
        }
        frame = with_series(frame, split, series.options.dedup_splitvals, env)?;
        keys.push(split.field.node.clone());
        if series.options.usenull == Some(false) {
            frame = frame.with_keys([SERIES])?;
        }
    }
    let command = if series.span.is_some() { "timechart" } else { "chart" };
    refuse_names_of_keys(command, series.calls, std::slice::from_ref(&row), &frame)?;
    let calls: Vec<StatsCall> = series.calls.iter().map(as_sum).collect();
    let sparklines = if series.span.is_none() { sparkline_axis(&frame, env) } else { None };
    let rules = Rules { sparklines, ..Rules::default() };
    let mut values = aggregates_by(&calls, &keys, &frame, env, rules)?;
    values.retain(|(name, _)| *name != row);
    let shape = shapes(&calls, &keys, &frame, &values)?;
    if let Some(span) = series.span {
        values = per_unit(values, series.calls, span);
    }
    let mut columns = vec![(row.clone(), frame.field(&row))];
    let mut aggregated = values.clone();
    if series.column.is_some() {
        columns.push((SERIES.to_owned(), frame.field(SERIES)));
        let events = Typed::new(count(lit(1_i64)), ValueType::Integer);
        aggregated.push((EVENTS.to_owned(), events));
    }
    let long = frame.clone().aggregate(columns, aggregated)?;
    let order =
        vec![(exprs::order::sort_key(long.field(&row), spl::ast::SortOrder::Auto), false, false)];
    let long = long.order_by(order, false)?;
    let choice = series.column.map(|_| choice(series)).transpose()?;
    let input = match &choice {
        Some(choice) => choice.input(frame)?,
        None => frame,
    };
    let pivot = Pivot {
        row,
        axis,
        values: shape,
        series: choice,
        names: NameFormat {
            separator: series.options.sep.clone().unwrap_or_else(|| ": ".to_owned()),
            template: series.options.format.clone(),
        },
        input,
        aggregates: values,
        span: series.span.filter(|_| series.shows_span),
    };
    Ok(Step::Materialize(long, Breaker::table(pivot)))
}

/// Adds the series as a text column. With `distinct`, a repeated value of a row counts once.
fn with_series(
    mut frame: Frame,
    split: &SplitBy,
    distinct: bool,
    env: &PlanningContext<'_>,
) -> Result<Frame, Error> {
    let name = &split.field.node;
    if frame.kind(name) == Some(ValueType::Multi) {
        let mut value = frame.field(name);
        if distinct {
            value.expr = array_distinct(value.expr);
        }
        frame = frame.with_columns(vec![(SERIES.to_owned(), value)])?;
        return explode(frame, SERIES, Valueless::Stay);
    }
    let has_bins = split.bins != spl::ast::BinOptions::default();
    let value = if has_bins {
        super::bin::binned(name, &split.bins, &frame, env)?
    } else {
        frame.field(name)
    };
    let value = convert(value, ValueType::Text);
    frame.with_columns(vec![(SERIES.to_owned(), value)])
}

/// The unit of a rate in microseconds.
fn rate_unit(kind: StatsKind) -> Option<i64> {
    let seconds = match kind {
        StatsKind::PerSecond => 1,
        StatsKind::PerMinute => 60,
        StatsKind::PerHour => 3_600,
        StatsKind::PerDay => 86_400,
        _ => return None,
    };
    Some(seconds * 1_000_000)
}

/// Replaces a rate with the sum from which it is computed, under the same name.
fn as_sum(call: &StatsCall) -> StatsCall {
    let mut sum = call.clone();
    if rate_unit(call.function.kind).is_some() {
        let name = call.output_name().to_owned();
        sum.alias.get_or_insert_with(|| spl::Spanned::new(name, call.span));
        sum.function.kind = StatsKind::Sum;
    }
    sum
}

/// Divides sums of rates by the number of units in the span.
#[allow(clippy::cast_precision_loss)]
fn per_unit(values: Vec<(String, Typed)>, calls: &[StatsCall], span: i64) -> Vec<(String, Typed)> {
    let rate = |name: &str| {
        let call = calls.iter().find(|call| call.output_name() == name)?;
        rate_unit(call.function.kind)
    };
    let scale = |(name, value): (String, Typed)| match rate(&name) {
        Some(unit) => {
            let times = span as f64 / unit as f64;
            let sum = convert(value, ValueType::Float);
            (name, Typed::new(sum.expr / lit(times), ValueType::Float))
        }
        None => (name, value),
    };
    values.into_iter().map(scale).collect()
}

/// Returns for each value how it is merged and filled.
fn shapes(
    calls: &[StatsCall],
    keys: &[String],
    frame: &Frame,
    values: &[(String, Typed)],
) -> Result<Vec<PivotValue>, Error> {
    let expanded = super::stats::expand_calls(calls, keys, frame);
    let mut shapes = Vec::with_capacity(values.len());
    for (name, typed) in values {
        let call = expanded.iter().find(|call| call.output_name() == name);
        let Some(call) = call else {
            return Err(Error::internal(format!("no call computes \"{name}\"")));
        };
        let numeric = typed.kind.is_number();
        let merge = match call.function.kind {
            StatsKind::Count | StatsKind::Sum | StatsKind::SumOfSquares if numeric => Merge::Add,
            StatsKind::Min if numeric => Merge::Min,
            StatsKind::Max if numeric => Merge::Max,
            _ => Merge::Again,
        };
        let zero = matches!(
            call.function.kind,
            StatsKind::Count | StatsKind::DistinctCount | StatsKind::EstimatedDistinctCount
        );
        shapes.push(PivotValue { name: name.clone(), merge, zero });
    }
    Ok(shapes)
}

fn choice(series: &Series<'_>) -> Result<SeriesChoice, Error> {
    let options = series.options;
    let default =
        if series.calls.len() == 1 { Score::Value(StatsKind::Sum) } else { Score::Events };
    let (score, filter) = match series.filter {
        Some(filter) => (Score::Value(filter.call.function.kind), condition(filter)?),
        None => {
            let limit = options.limit.unwrap_or(SeriesLimit::Top(10));
            let score = options.agg.as_ref().map_or(default, |a| Score::Value(a.function.kind));
            (score, SeriesFilter::Among { limit, negated: false })
        }
    };
    let named = |name: &Option<String>, default: &str| {
        Some(name.clone().unwrap_or_else(|| default.to_owned()))
    };
    Ok(SeriesChoice {
        score,
        filter,
        other: named(&options.otherstr, "OTHER").filter(|_| options.useother != Some(false)),
        null: named(&options.nullstr, "NULL").filter(|_| options.usenull != Some(false)),
    })
}

fn condition(filter: &SplitWhere) -> Result<SeriesFilter, Error> {
    Ok(match &filter.condition {
        SplitWhereCondition::In { limit, negated } => {
            SeriesFilter::Among { limit: *limit, negated: *negated }
        }
        SplitWhereCondition::Compare(operator, number) => {
            let bound = number
                .parse()
                .map_err(|_| Error::at(format!("\"{number}\" is not a number"), filter.span))?;
            SeriesFilter::Compare(*operator, bound)
        }
    })
}
