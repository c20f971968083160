//! `bin`: cuts times and numbers into bins.
//!
//! Split: runs where the rows are; if the bins depend on the range of the data, `stats min(x) max(x)` runs
//! first.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewBuilder};
use datafusion::common::config::ConfigOptions;
use datafusion::functions_aggregate::expr_fn::{max, min};
use exprs::Typed;
use exprs::column::Argument;
use exprs::kernel::{EvalFunction, Kernel, integer};
use exprs::ledger::Meter;
use exprs::types::{ArrowType, ValueType};
use frames::Frame;
use jiff::tz::TimeZone;
use spl::ast::{BinCommand, BinOptions, BinSpan, TimeSpan, TimeUnit};
use tables::bins::{NumberBins, RangeTexts, TimeBins, default_span};

use super::eval::convert;
use super::required::is_source;
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::planning::PlanningContext;
use context::sql::layer::{Kind, Value};
use context::sql::{Layer, Reason, SqlText};
use context::stage::Breaker;
use context::stage::pivot::{Cut, PivotAxis, RowBins};

impl CommandPlan for BinCommand {
    fn place(&self) -> Place {
        if self.bins.span.is_some() { Place::Streaming } else { Place::SearchHead }
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(&self.field.node);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn reads_declared(&self) -> bool {
        true
    }

    fn changes_source(&self) -> bool {
        is_source(&self.alias.as_ref().unwrap_or(&self.field).node)
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let Input { frame, env, .. } = input;
        let name = &self.field.node;
        if frame.kind(name).is_none() {
            return Ok(Step::Next(frame));
        }
        if let Some(step) = extent_needed(name, &self.bins, &frame, env)? {
            return Ok(step);
        }
        let value = binned(name, &self.bins, &frame, env)?;
        let target = self.alias.as_ref().map_or(name, |alias| &alias.node);
        let value = match (value.kind, super::eval::is_time(target)) {
            (ValueType::Time, false) => convert(value, ValueType::Float),
            (ValueType::Float, true) => convert(value, ValueType::Time),
            _ => value,
        };
        Ok(Step::Next(frame.with_columns(vec![(target.clone(), value)])?))
    }

    fn sql(&self, layer: Layer, _: &mut SqlText) -> Result<Layer, Reason> {
        select(self, layer)
    }
}

fn select(command: &BinCommand, mut layer: Layer) -> Result<Layer, Reason> {
    let value = layer.field(&command.field.node);
    let bins = &command.bins;
    let Some(BinSpan::Time(span)) = &bins.span else { return Err("bins without span".to_owned()) };
    let unit = match span.unit {
        TimeUnit::Second => "second",
        TimeUnit::Minute => "minute",
        TimeUnit::Hour => "hour",
        _ => return Err("spans of days and more, which are of a time zone".to_owned()),
    };
    if value.kind != Kind::Time || bins.aligntime.is_some() {
        return Err("bins of something else than _time".to_owned());
    }
    let sql = format!("date_bin(INTERVAL '{} {unit}', {})", span.count, value.sql);
    let name = command.alias.as_ref().unwrap_or(&command.field).node.clone();
    layer.replace(&name, Value::new(sql, Kind::Time));
    Ok(layer)
}

/// Default maximum number of bins.
pub(super) const DEFAULT_BINS: u64 = 100;

/// Returns a step that finds the minimum and maximum of a field, after which the command is planned again.
pub(super) fn extent(frame: Frame, name: &str) -> Result<Step, Error> {
    let value = frame.field(name);
    let value =
        if value.kind == ValueType::Time { value } else { convert(value, ValueType::Float) };
    let (low, high) = (min(value.expr.clone()), max(value.expr));
    let values = vec![
        ("low".to_owned(), Typed::new(low, value.kind)),
        ("high".to_owned(), Typed::new(high, value.kind)),
    ];
    let extent = frame.clone().aggregate(Vec::new(), values)?;
    Ok(Step::Materialize(extent, Breaker::Extent(frame.into())))
}

/// Returns the step that finds the minimum and maximum, if the bins depend on them and they are not known
/// yet.
pub(super) fn extent_needed(
    name: &str,
    options: &BinOptions,
    frame: &Frame,
    _: &PlanningContext<'_>,
) -> Result<Option<Step>, Error> {
    let bounded = options.start.is_some() && options.end.is_some();
    let known = options.span.is_some() || bounded || frame.extent.is_some();
    Ok(if known { None } else { Some(extent(frame.clone(), name)?) })
}

/// Returns the bin of a field's value.
pub(super) fn binned(
    name: &str,
    options: &BinOptions,
    frame: &Frame,
    env: &PlanningContext<'_>,
) -> Result<Typed, Error> {
    let value = frame.field(name);
    Ok(match bins(value.kind, options, frame, env)? {
        Bins::Times(bins) => time_bin(value, &bins),
        Bins::Seconds(bins) => seconds_bin(value, &bins),
        Bins::SecondsOfTimes(bins) => time_number_bin(value, bins),
        Bins::Ranges(bins) => range_bin(value, bins),
    })
}

/// The rows of a chart over the bins of a field. With `fill`, bins without events are rows, too.
pub(super) fn axis(
    name: &str,
    options: &BinOptions,
    fill: bool,
    frame: &Frame,
    env: &PlanningContext<'_>,
) -> Result<PivotAxis, Error> {
    let cut = match bins(frame.field(name).kind, options, frame, env)? {
        Bins::Times(bins) | Bins::Seconds(bins) => Cut::Times(bins),
        Bins::SecondsOfTimes(bins) => match whole_seconds(bins) {
            Some(span) => Cut::Times(TimeBins::new(span, TimeZone::UTC, None)),
            None => return Ok(PivotAxis::Values),
        },
        Bins::Ranges(bins) => Cut::Numbers(bins),
    };
    Ok(PivotAxis::Bins(RowBins { cut, fill }))
}

/// Returns the time span of bins whose width is a whole number of seconds.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole_seconds(bins: NumberBins) -> Option<TimeSpan> {
    match bins {
        NumberBins::Linear { step, .. } if step >= 1.0 && step.fract() == 0.0 => {
            Some(TimeSpan { count: step as u64, unit: TimeUnit::Second, snap: None })
        }
        _ => None,
    }
}

/// How the values of a field are binned.
enum Bins {
    /// Times, with bins of a time span.
    Times(TimeBins),
    /// Numbers that are epoch seconds, with bins of a time span.
    Seconds(TimeBins),
    /// Times, with bins of a number of seconds.
    SecondsOfTimes(NumberBins),
    /// Numbers, with bins that are texts.
    Ranges(NumberBins),
}

fn bins(
    kind: ValueType,
    options: &BinOptions,
    frame: &Frame,
    env: &PlanningContext<'_>,
) -> Result<Bins, Error> {
    let extent = frame.extent.flatten();
    match (&options.span, kind) {
        (Some(BinSpan::Time(span)), kind) => {
            let align = alignment(options.aligntime.as_deref(), env)?;
            let bins = TimeBins::new(span.clone(), env.context.timezone.clone(), align);
            Ok(if kind == ValueType::Time { Bins::Times(bins) } else { Bins::Seconds(bins) })
        }
        (None, ValueType::Time) => {
            #[allow(clippy::cast_possible_truncation)]
            let length = extent.map_or(0, |(low, high)| (high - low) as i64 + 1);
            let least = match &options.minspan {
                Some(BinSpan::Time(span)) => Some(span),
                _ => None,
            };
            let span = default_span(length, options.bins.unwrap_or(DEFAULT_BINS), least);
            Ok(Bins::Times(TimeBins::new(span, env.context.timezone.clone(), None)))
        }
        (Some(span), kind) => match NumberBins::of_span(span)? {
            Some(bins) if kind == ValueType::Time => Ok(Bins::SecondsOfTimes(bins)),
            Some(bins) => Ok(Bins::Ranges(bins)),
            None => Err(Error::internal("a span of time was not handled")),
        },
        (None, _) => {
            let (low, high) = extent.unwrap_or((0.0, 0.0));
            let low = number(options.start.as_deref())?.unwrap_or(low);
            let high = number(options.end.as_deref())?.unwrap_or(high);
            let bins = options.bins.unwrap_or(DEFAULT_BINS);
            let least = match &options.minspan {
                Some(BinSpan::Number(span)) => number(Some(span))?,
                _ => None,
            };
            Ok(Bins::Ranges(NumberBins::of_range(low, high, bins, least)))
        }
    }
}

fn number(text: Option<&str>) -> Result<Option<f64>, Error> {
    let parse = |text: &str| {
        text.parse().map_err(|_| Error::invalid_anywhere(format!("\"{text}\" is not a number")))
    };
    text.map(parse).transpose()
}

/// Returns the time at which bins of clock units start.
pub(super) fn alignment(
    aligntime: Option<&str>,
    env: &PlanningContext<'_>,
) -> Result<Option<i64>, Error> {
    let range = env.context.range;
    Ok(match aligntime {
        None => None,
        Some("earliest") => {
            (range.earliest != model::TimeRange::ALL.earliest).then_some(range.earliest.0)
        }
        Some("latest") => (range.latest != model::TimeRange::ALL.latest).then_some(range.latest.0),
        Some(text) => {
            let zone = &env.context.timezone;
            let time = knowledge::time::TimeModifier::parse(text)
                .and_then(|time| time.resolve(env.context.now, zone));
            let time =
                time.map_err(|error| Error::invalid_anywhere(format!("aligntime: {error}")))?;
            Some(time.0)
        }
    })
}

/// The start of the bin of a time.
pub(super) fn time_bin(value: Typed, bins: &TimeBins) -> Typed {
    let parameters = format!("{bins:?}");
    let bins = bins.clone();
    let kernel = move |arguments: &[Argument], rows: usize| {
        let mut starts = arrow::array::TimestampMicrosecondBuilder::with_capacity(rows);
        // Events are ordered by time, so the bin of the previous event is usually the right one.
        let mut bin = (0, 0);
        for row in 0..rows {
            match arguments[0].get(row) {
                exprs::column::Value::Time(time) => {
                    if !(bin.0 <= time && time < bin.1) {
                        bin = bins.around(time);
                    }
                    starts.append_value(bin.0);
                }
                _ => starts.append_null(),
            }
        }
        Ok(Arc::new(starts.finish().with_timezone("UTC")) as ArrayRef)
    };
    let kernel = Kernel::Columns(ValueType::Time, Arc::new(kernel));
    EvalFunction::new("time_bin", parameters, kernel).call(vec![value])
}

/// The start of the bin of a time in epoch seconds.
fn seconds_bin(value: Typed, bins: &TimeBins) -> Typed {
    let parameters = format!("{bins:?}");
    let bins = bins.clone();
    let function = exprs::kernel::number("seconds_bin", move |row| {
        let time = model::EventTime::from_seconds(row.number(0)?);
        Some(model::EventTime(bins.floor(time.0)).seconds())
    });
    function.with(parameters).call(vec![value])
}

/// Returns the start of the bin of a time if the span is a plain number of seconds.
fn time_number_bin(value: Typed, bins: NumberBins) -> Typed {
    let function = integer("time_number_bin", move |row| {
        let (start, _) = bins.around(row.number(0)?)?;
        Some(model::EventTime::from_seconds(start).0)
    });
    let micros = function.with(format!("{bins:?}")).call(vec![value]);
    let expr = datafusion::logical_expr::cast(micros.expr, ValueType::Time.data_type());
    Typed::new(expr, ValueType::Time)
}

/// The bin of a number as `start-end`; other values stay as they are, also numbers up to 0 beside logarithmic
/// bins.
fn range_bin(value: Typed, bins: NumberBins) -> Typed {
    let kernel = move |arguments: &[Argument], rows: usize, config: &Arc<ConfigOptions>| {
        ranges(&arguments[0], rows, bins, config)
    };
    let kernel = Kernel::Inner(ValueType::Text, Arc::new(kernel));
    EvalFunction::new("range_bin", format!("{bins:?}"), kernel).call(vec![value])
}

fn ranges(
    values: &Argument,
    rows: usize,
    bins: NumberBins,
    config: &ConfigOptions,
) -> datafusion::common::Result<ArrayRef> {
    let mut texts = StringViewBuilder::with_capacity(rows);
    let mut ranges = RangeTexts::new(bins);
    let mut meter = Meter::new(config);
    for row in 0..rows {
        let value = values.get(row);
        if let Some(number) = value.number()
            && let Some(range) = ranges.around(number)
        {
            texts.append_value(range);
            continue;
        }
        let text = value.text();
        meter.add_text("range_bin", text.as_deref().map_or(0, str::len))?;
        texts.append_option(text.as_deref());
    }
    Ok(Arc::new(texts.finish()))
}
