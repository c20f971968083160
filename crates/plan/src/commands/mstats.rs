//! `mstats`: statistics of metric data points.
//!
//! Split: as `stats`, over the events that contain the data points. Names with wildcards are aggregated by
//! `metric_name` where the rows are; the search head pivots the metrics into columns.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::compute::take;
use exprs::Typed;
use exprs::aggregates::{EXACT_TIME, SERIES};
use exprs::kernel::truth;
use exprs::types::ValueType;
use frames::Frame;
use futures::future::BoxFuture;
use model::columns;
use spl::ast::{
    BinCommand, BinOptions, BinSpan, ChartCommand, Command, FieldPattern, FillnullCommand,
    MstatsCommand, SearchExpr, SeriesOptions, Span, Spanned, SplitBy, StatsArgument, StatsCall,
    StatsCommand, StatsKind, TimechartCommand,
};
use tables::bins::length_of;
use tables::places;

use super::metrics::{METRIC, POINT, Shape, VALUE, Wanted, is_about_points, known, read};
use super::required::required_by;
use super::stats::{aggregates, by_fields, grouped, specific, split_values};
use super::{
    Begin, CommandPlan, Expanded, First, Input, Origin, OutputFields, Place, RequiredFields, Step,
    bin, prestats,
};
use crate::{Error, FieldInfo};
use context::planning::{PlanningContext, SourceRows};
use context::stage::{Breaker, Rows, TableOp};

impl CommandPlan for MstatsCommand {
    fn place(&self) -> Place {
        Place::Generating(Origin::TwoStep)
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        match (self.append, self.points) {
            (true, _) => OutputFields::Collected,
            (false, true) => OutputFields::Unchanged,
            (false, false) => OutputFields::Replaced,
        }
    }

    fn begin<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Begin, Error>> {
        Box::pin(async move { begin(self, first.pipeline, first.env).await })
    }

    fn expand<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Option<Expanded>, Error>> {
        Box::pin(async move { Ok(expand(self, first.span, first.env)) })
    }

    fn event_filter(&self) -> Option<&SearchExpr> {
        self.filter.expr.as_ref()
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        match self.append {
            true => Ok(prestats::append(input)),
            false => input.only_begins(),
        }
    }
}

/// The start of a row's span; the time itself is kept beside it for the computation of rates.
const SPAN: &str = "__span";

/// Returns the commands that `prestats=` and `chart=` expand to: one that reads the data points, and those
/// that aggregate them.
pub(super) fn expand(
    command: &MstatsCommand,
    span: Span,
    env: &PlanningContext<'_>,
) -> Option<Expanded> {
    let auto = command.bins.as_ref().is_some_and(|bins| bins.span.is_none());
    if command.points || !(command.prestats || command.chart || auto) {
        return None;
    }
    let at = |command: Command| Spanned::new(command, span);
    let mut points = command.clone();
    let mut calls: Vec<StatsCall> = command.calls.iter().map(named).collect();
    let chart = command.chart && !command.prestats;
    // The names behind wildcards are unknown here, so their data points are aggregated first instead of
    // collected.
    let wild = |call: &StatsCall| pattern(call).is_some_and(FieldPattern::has_wildcard);
    if chart && !auto && calls.iter().any(wild) {
        points.chart = false;
        calls = calls.iter().map(again).collect();
    } else {
        points.points = true;
    }
    let mut commands = vec![at(Command::Mstats(points))];
    let fields = &command.by.fields;
    if let (Some(value), false) = (&command.fillnull_value, fields.is_empty()) {
        let fillnull = FillnullCommand { value: value.clone(), fields: fields.clone() };
        commands.push(at(Command::Fillnull(fillnull)));
    }
    match &command.bins {
        Some(bins) if chart => {
            let column = fields.first().map(split_by);
            let series = command.series.clone();
            let (bins, calls) = (bins.clone(), calls);
            let timechart =
                TimechartCommand { calls, bins, column, series, ..TimechartCommand::default() };
            commands.push(at(Command::Timechart(timechart)));
            return Some(Expanded::of(commands, env));
        }
        Some(bins) => {
            let field = Spanned::new(columns::TIME.to_owned(), span);
            let bin = BinCommand { field, alias: None, bins: bins.clone() };
            commands.push(at(Command::Bin(bin)));
        }
        None => {}
    }
    if chart {
        let mut splits = fields.iter().map(split_by);
        let (row, column) = (splits.next(), splits.next());
        let series: SeriesOptions = command.series.clone();
        let chart = ChartCommand { calls, row, column, series, filter: None };
        commands.push(at(Command::Chart(chart)));
    } else if !command.prestats {
        let mut by = command.by.clone();
        by.fields.retain(|field| field.text != columns::TIME);
        by.fields.insert(0, FieldPattern::new(columns::TIME, span));
        commands.push(at(Command::Stats(StatsCommand { calls, by, ..StatsCommand::default() })));
    }
    Some(Expanded::of(commands, env))
}

fn split_by(field: &FieldPattern) -> SplitBy {
    let name = Spanned::new(field.text.clone(), field.span);
    SplitBy { field: name, bins: BinOptions::default() }
}

fn depends_on_time(call: &StatsCall) -> bool {
    matches!(
        call.function.kind,
        StatsKind::Rate
            | StatsKind::RateAverage
            | StatsKind::RateSum
            | StatsKind::EarliestTime
            | StatsKind::LatestTime
    )
}

/// Returns the call that aggregates the results of a call again: over one result, it returns this result;
/// over several, it combines them.
fn again(call: &StatsCall) -> StatsCall {
    let (kind, function) = match call.function.kind {
        StatsKind::Count | StatsKind::Sum | StatsKind::RateSum => (StatsKind::Sum, "sum"),
        StatsKind::Average | StatsKind::Rate | StatsKind::RateAverage => {
            (StatsKind::Average, "avg")
        }
        StatsKind::Min => (StatsKind::Min, "min"),
        _ => (StatsKind::Max, "max"),
    };
    let name = call.output_name().to_owned();
    let mut again = call.clone();
    again.function.kind = kind;
    again.function.parameter = None;
    function.clone_into(&mut again.function.name.node);
    again.text = format!("{function}({name})");
    again.argument = StatsArgument::Field(FieldPattern::new(&name, call.span));
    again.alias = Some(Spanned::new(name, call.span));
    again
}

/// Returns the call with a text that does not depend on its quotation marks.
fn named(call: &StatsCall) -> StatsCall {
    let mut call = call.clone();
    if let StatsArgument::Field(pattern) = &call.argument {
        call.text = format!("{}({})", call.function.name.node, pattern.text);
    }
    call
}

pub(super) async fn begin(
    command: &MstatsCommand,
    pipeline: &[Spanned<Command>],
    env: &PlanningContext<'_>,
) -> Result<Begin, Error> {
    let calls: Vec<StatsCall> = command.calls.iter().map(named).collect();
    check(command, &calls)?;
    let wild = calls.iter().any(|call| pattern(call).is_some_and(FieldPattern::has_wildcard));
    let mut required = match command.points {
        true => required_by(pipeline.get(1..).unwrap_or_default()),
        false => RequiredFields::default(),
    };
    command.by.fields.iter().for_each(|field| required.name(&field.text));
    let rates = [StatsKind::RateAverage, StatsKind::RateSum];
    if calls.iter().any(|call| rates.contains(&call.function.kind)) {
        required.name(SERIES);
    }
    if wild && !command.points {
        return widened(command, &calls, required, env).await;
    }
    let filter = &command.filter;
    let fields = if wild { known(filter, env).await? } else { Vec::new() };
    let unnamed = fields.iter().any(|field| field.name == METRIC && field.count > 0);
    let shape = shape(command, &calls, &required, &fields, unnamed);
    let patterns = match calls.iter().any(is_value) {
        true => Vec::new(),
        false => patterns(&calls),
    };
    let mut start = read(Wanted { filter, shape, patterns, required }, env).await?;
    if command.points && command.bins.is_some() {
        start.frame = sampled(command, start.frame)?;
        if calls.iter().any(depends_on_time) {
            let exact = (EXACT_TIME.to_owned(), start.frame.field(columns::TIME));
            start.frame = start.frame.with_columns(vec![exact])?;
        }
    }
    if command.points && unnamed {
        let wild = calls.iter().filter_map(pattern).filter(|pattern| pattern.has_wildcard());
        let op = Named { patterns: wild.cloned().collect() };
        return Ok(Begin::Materialize(start, Breaker::table(op)));
    }
    if command.points {
        return Ok(Begin::Rows(start));
    }
    let mut context = env.context.clone();
    context.range = start.range;
    let ranged = env.within(&context);
    let (frame, keys) = prepared(command, start.frame, &ranged)?;
    let values = aggregates(&calls, &keys, &frame, &ranged)?;
    let frame = timed(grouped(frame, keys, values)?)?;
    Ok(Begin::Rows(SourceRows { frame, ..start }))
}

/// The field or pattern that a call aggregates.
fn pattern(call: &StatsCall) -> Option<&FieldPattern> {
    match &call.argument {
        StatsArgument::Field(pattern) => Some(pattern),
        _ => None,
    }
}

fn is_value(call: &StatsCall) -> bool {
    pattern(call).is_none_or(|pattern| pattern.text == VALUE)
}

fn check(command: &MstatsCommand, calls: &[StatsCall]) -> Result<(), Error> {
    let span = command.bins.as_ref().and_then(|bins| bins.span.as_ref());
    if command.every.is_some() && span.is_none() {
        return Err(Error::invalid_anywhere("every= of mstats needs span="));
    }
    for call in calls {
        let counts = call.function.kind == StatsKind::Count;
        match &call.argument {
            StatsArgument::Field(_) => {}
            StatsArgument::None if counts => {}
            _ => {
                let message = "mstats aggregates metrics by their names, or _value";
                return Err(Error::at(message, call.span));
            }
        }
    }
    let wild = calls.iter().find(|call| pattern(call).is_some_and(FieldPattern::has_wildcard));
    if let (Some(call), true) = (wild, calls.iter().any(is_value)) {
        let message = "_value and names of metrics with wildcards cannot be combined";
        return Err(Error::at(message, call.span));
    }
    Ok(())
}

/// The form of the rows that the calls and the mentioned fields need.
fn shape(
    command: &MstatsCommand,
    calls: &[StatsCall],
    required: &RequiredFields,
    fields: &[FieldInfo],
    unnamed: bool,
) -> Shape {
    let mut metrics = BTreeSet::new();
    for call in calls.iter().filter(|call| !is_value(call)) {
        let Some(pattern) = pattern(call) else { continue };
        if !pattern.has_wildcard() {
            metrics.insert(pattern.text.clone());
            continue;
        }
        let names = fields.iter().filter_map(|field| field.name.strip_prefix(POINT));
        metrics.extend(names.filter(|name| pattern.matches(name)).map(str::to_owned));
    }
    let metrics: Vec<String> = metrics.into_iter().collect();
    let by_point = required.names.iter().any(|name| name == METRIC || name == VALUE);
    let filtered = command.filter.expr.as_ref().is_some_and(is_about_points);
    let each = unnamed || by_point || filtered || calls.iter().any(is_value);
    if each { Shape::Points(metrics) } else { Shape::Metrics(metrics) }
}

/// The names and patterns in calls.
fn patterns(calls: &[StatsCall]) -> Vec<String> {
    calls.iter().filter_map(pattern).map(|pattern| pattern.text.clone()).collect()
}

/// Adds the start of its span to each row; also returns the names of the group keys, which all returned rows
/// have.
fn prepared(
    command: &MstatsCommand,
    mut frame: Frame,
    env: &PlanningContext<'_>,
) -> Result<(Frame, Vec<String>), Error> {
    let mut keys = by_fields(&command.by, &frame);
    if let Some(text) = &command.fillnull_value {
        let fill = |name: &String| {
            let value = frame.field(name);
            let fill = super::eval::convert(Typed::text(text), value.kind);
            let expr = datafusion::functions::core::expr_fn::coalesce(vec![value.expr, fill.expr]);
            (name.clone(), Typed::new(expr, value.kind))
        };
        let texts = [ValueType::Text, ValueType::Multi];
        let filled =
            keys.iter().filter(|name| frame.kind(name).is_some_and(|kind| texts.contains(&kind)));
        let filled = filled.map(fill).collect();
        frame = frame.with_columns(filled)?;
    }
    if let Some(bins) = &command.bins {
        frame = sampled(command, frame)?;
        let value = bin::binned(columns::TIME, bins, &frame, env)?;
        frame = frame.with_columns(vec![(SPAN.to_owned(), value)])?;
        keys.retain(|name| name != columns::TIME);
        keys.insert(0, SPAN.to_owned());
    }
    split_values(frame, keys, false)
}

/// Keeps the rows in the first span of each `every=` interval, if `every=` is given.
fn sampled(command: &MstatsCommand, frame: Frame) -> Result<Frame, Error> {
    let span = command.bins.as_ref().and_then(|bins| bins.span.as_ref());
    let (Some(every), Some(BinSpan::Time(width))) = (&command.every, span) else {
        return Ok(frame);
    };
    let (width, every) = (length_of(width), length_of(every));
    if width > every {
        return Err(Error::invalid_anywhere("every= of mstats is at least as long as span="));
    }
    #[allow(clippy::cast_possible_truncation)]
    let function = truth("in_span", move |row| {
        let micros = (row.number(0)? * 1e6).round() as i64;
        Some(micros.rem_euclid(every) < width)
    });
    let function = function.with(format!("{width} {every}"));
    let condition = function.call(vec![frame.field(columns::TIME)]).expr;
    frame.filter(condition)
}

/// Replaces the time of rows with the start of their span.
fn timed(frame: Frame) -> Result<Frame, Error> {
    let outputs = frame.names().into_iter().map(|name| {
        let value = frame.field(&name);
        (if name == SPAN { columns::TIME.to_owned() } else { name }, value)
    });
    let outputs = outputs.collect();
    frame.project(outputs)
}

/// Plans calls of names with wildcards: aggregates by metric, then pivots the metrics into columns, once they
/// are known.
async fn widened(
    command: &MstatsCommand,
    calls: &[StatsCall],
    mut required: RequiredFields,
    env: &PlanningContext<'_>,
) -> Result<Begin, Error> {
    required.name(METRIC);
    let patterns = patterns(calls);
    let (filter, shape) = (&command.filter, Shape::Points(Vec::new()));
    let start = read(Wanted { filter, shape, patterns, required }, env).await?;
    let mut context = env.context.clone();
    context.range = start.range;
    let ranged = env.within(&context);
    let (frame, mut keys) = prepared(command, start.frame, &ranged)?;
    let by_metric = keys.iter().any(|key| key == METRIC);
    let of_value = |(at, call): (usize, &StatsCall)| {
        let mut call = call.clone();
        call.argument = StatsArgument::Field(FieldPattern::new(VALUE, call.span));
        call.alias = Some(Spanned::new(column_of(at), call.span));
        call
    };
    let inner: Vec<StatsCall> = calls.iter().enumerate().map(of_value).collect();
    let values = aggregates(&inner, &keys, &frame, &ranged)?;
    let mut shown: Vec<String> = keys.clone();
    if !by_metric {
        keys.push(METRIC.to_owned());
    }
    let frame = timed(grouped(frame, keys, values)?)?;
    shown.iter_mut().filter(|key| *key == SPAN).for_each(|key| columns::TIME.clone_into(key));
    let op = Widen { keys: shown, calls: calls.to_vec() };
    Ok(Begin::Materialize(SourceRows { frame, ..start }, Breaker::table(op)))
}

/// The column with the results of a call, before the results are named after metrics.
fn column_of(call: usize) -> String {
    format!("__call{call}")
}

/// A pivot of metrics into columns: one row per group, one column per call and matching metric.
#[derive(Debug)]
struct Widen {
    keys: Vec<String>,
    calls: Vec<StatsCall>,
}

impl TableOp for Widen {
    fn apply<'a>(
        &'a self,
        rows: Rows,
        _: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            let keys = rows.keys(&self.keys)?;
            let metrics = rows.texts(METRIC)?;
            // Rows of a group are adjacent.
            let (mut firsts, mut group): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
            for row in 0..rows.count {
                if row == 0 || keys[row] != keys[row - 1] {
                    firsts.push(row);
                }
                group.push(firsts.len() - 1);
            }
            let mut rows_of: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
            for (row, name) in metrics.iter().enumerate() {
                if let Some(name) = name {
                    rows_of.entry(name).or_default().push(row);
                }
            }
            let mut wide = rows.take(&firsts)?;
            wide.columns.retain(|column| self.keys.contains(&column.name));
            for (at, call) in self.calls.iter().enumerate() {
                let Some(source) = rows.column(&column_of(at)) else { continue };
                let Some(pattern) = pattern(call) else { continue };
                for (name, places_of) in &rows_of {
                    let Some(captures) = pattern.captures(name) else { continue };
                    let output = specific(call, name, &captures).output_name().to_owned();
                    let mut of_group = vec![None; firsts.len()];
                    places_of.iter().for_each(|row| of_group[group[*row]] = Some(*row));
                    let array = take(source.array.as_ref(), &places(of_group), None)?;
                    wide.set(&output, source.kind, Arc::clone(&array));
                }
            }
            Ok(wide)
        })
    }
}

/// Data points with columns that are named after the matching values of `metric_name`.
#[derive(Debug)]
struct Named {
    patterns: Vec<FieldPattern>,
}

impl TableOp for Named {
    fn apply<'a>(
        &'a self,
        mut rows: Rows,
        _: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            let (metrics, numbers) = (rows.texts(METRIC)?, rows.numbers(VALUE)?);
            let mut points: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
            for (row, name) in metrics.iter().enumerate() {
                if let Some(name) = name {
                    points.entry(name).or_default().push(row);
                }
            }
            points.retain(|name, _| self.patterns.iter().any(|pattern| pattern.matches(name)));
            for (name, places) in points {
                let mut column = vec![None; rows.count];
                places.into_iter().for_each(|row| column[row] = numbers[row]);
                rows.set_numbers(name, column);
            }
            Ok(rows)
        })
    }
}
