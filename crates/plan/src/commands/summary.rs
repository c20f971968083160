//! Summary indexes: `sistats`, `sichart`, `sitimechart`, `sitop`, `sirare`, and the merging of their rows by
//! the commands without `si`.
//!
//! A row of a summary stands for a group of events. It has the fields of the group, `psrsvd_v` with the
//! version of this scheme, and for each aggregated field `x` the parts that a merge needs:
//!
//! | field | what it is |
//! | --- | --- |
//! | `psrsvd_gc` | number of events |
//! | `psrsvd_ct_x` | number of values |
//! | `psrsvd_nc_x`, `psrsvd_sm_x`, `psrsvd_ss_x` | count, sum and sum of squares of the numbers |
//! | `psrsvd_mn_x`, `psrsvd_mx_x` | minimum and maximum value |
//! | `psrsvd_nn_x`, `psrsvd_nx_x` | minimum and maximum number |
//!
//! In these names, each character of `x` that is not an ASCII letter or digit is replaced by `_`. If an
//! aggregation needs more than these parts, such as `perc95`, `values` or an aggregation of an expression or
//! of fields with a wildcard, a row stands for one event with the fields that the command reads; equal rows
//! are merged if that does not change the result.
//!
//! Split: as `stats` by the fields of the group.

use std::borrow::Cow;
use std::collections::HashSet;

use datafusion::functions::core::expr_fn::coalesce;
use datafusion::functions_aggregate::expr_fn::{count, sum};
use datafusion::logical_expr::lit;
use exprs::Typed;
use exprs::kernel::text;
use exprs::types::ValueType;
use frames::Frame;
use model::columns::{ORIGIN_AND_INDEX, SUMMARY_VERSION};
use spl::Span;
use spl::ast::{
    BinOptions, BinSpan, ChartCommand, Command, Spanned, StatsArgument, StatsBy, StatsCall,
    StatsCommand, StatsKind, TimechartCommand, TopCommand,
};

use super::Step;
use super::eval::convert;
use super::required::required_by;
use super::stats::{by_fields, expand_calls};
use crate::Error;
use context::subsearch::quoted;

/// The field that every row of a summary has.
pub(crate) const VERSION: &str = SUMMARY_VERSION;
const COUNT: &str = "psrsvd_gc";
/// The replacement of a missing value of the series field.
const MISSING: &str = "\u{1}";
/// The temporary series field while rows are grouped.
const SERIES: &str = "_psrsvd_series";

/// Returns the name under which `collect` stores a field whose name events already use.
pub(crate) fn collected_name(name: &str) -> Cow<'_, str> {
    match ORIGIN_AND_INDEX.contains(&name) {
        true => Cow::Owned(format!("orig_{name}")),
        false => Cow::Borrowed(name),
    }
}

/// Whether merging reads a field of this name.
pub(crate) fn is_part(name: &str) -> bool {
    let origin = |rest: &str| ORIGIN_AND_INDEX.contains(&rest);
    name.starts_with("psrsvd_") || name.strip_prefix("orig_").is_some_and(origin)
}

/// A part of a field's aggregates that a merge needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    Values,
    Numbers,
    Sum,
    Squares,
    Least,
    Most,
    LeastNumber,
    MostNumber,
}

impl Part {
    fn field(self, of: &str) -> String {
        let code = match self {
            Self::Values => "ct",
            Self::Numbers => "nc",
            Self::Sum => "sm",
            Self::Squares => "ss",
            Self::Least => "mn",
            Self::Most => "mx",
            Self::LeastNumber => "nn",
            Self::MostNumber => "nx",
        };
        // Other characters do not survive the extraction from the text of an event.
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        format!("psrsvd_{code}_{}", of.chars().map(plain).collect::<String>())
    }

    /// The aggregation that computes the part.
    fn aggregation(self, of: &str, frame: &Frame) -> String {
        let field = quoted(of);
        match self {
            Self::Values => format!("count({field})"),
            Self::Numbers => format!("sum(eval({}))", numbers(of, frame)),
            Self::Sum => format!("sum({field})"),
            Self::Squares => format!("sumsq({field})"),
            Self::Least => format!("min({field})"),
            Self::Most => format!("max({field})"),
            Self::LeastNumber => format!("min(eval({}))", number(of, frame)),
            Self::MostNumber => format!("max(eval({}))", number(of, frame)),
        }
    }

    /// The part in a row of a summary or of an event, as an expression.
    fn of_row(self, of: &str, frame: &Frame) -> String {
        let field = eval_name(of);
        let own = match self {
            Self::Values => format!("mvcount({field})"),
            Self::Numbers => numbers(of, frame),
            Self::Squares => format!("{field}*{field}"),
            Self::LeastNumber | Self::MostNumber => number(of, frame),
            Self::Sum | Self::Least | Self::Most => field,
        };
        format!("coalesce({}, {own})", eval_name(&self.field(of)))
    }
}

/// The number of numeric values of a field, as an expression.
fn numbers(field: &str, frame: &Frame) -> String {
    let name = eval_name(field);
    match frame.kind(field) {
        Some(ValueType::Multi) => format!("mvcount(mvfilter(isnum({name})))"),
        _ => format!("if(isnum({name}), 1, 0)"),
    }
}

/// The numeric values of a field, as an expression.
fn number(field: &str, frame: &Frame) -> String {
    let name = eval_name(field);
    match frame.kind(field) {
        Some(ValueType::Multi) => format!("mvfilter(isnum({name}))"),
        _ => format!("if(isnum({name}), {name}, null())"),
    }
}

/// Returns a field as an operand of an expression.
fn eval_name(name: &str) -> String {
    format!("'{}'", name.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// The field and the parts that an aggregation needs; `None` if parts are not sufficient.
fn parts(call: &StatsCall) -> Option<(&str, &'static [Part])> {
    let needed: &[Part] = match call.function.kind {
        StatsKind::Count => &[Part::Values],
        StatsKind::Sum
        | StatsKind::PerSecond
        | StatsKind::PerMinute
        | StatsKind::PerHour
        | StatsKind::PerDay => &[Part::Sum],
        StatsKind::Average => &[Part::Numbers, Part::Sum],
        StatsKind::Min => &[Part::Least],
        StatsKind::Max => &[Part::Most],
        StatsKind::Range => &[Part::LeastNumber, Part::MostNumber],
        StatsKind::SumOfSquares => &[Part::Squares],
        StatsKind::StandardDeviation
        | StatsKind::StandardDeviationPopulation
        | StatsKind::Variance
        | StatsKind::VariancePopulation => &[Part::Numbers, Part::Sum, Part::Squares],
        _ => return None,
    };
    match &call.argument {
        StatsArgument::Field(field) if !field.has_wildcard() => Some((&field.text, needed)),
        _ => None,
    }
}

fn counts_events(call: &StatsCall) -> bool {
    call.function.kind == StatsKind::Count && matches!(call.argument, StatsArgument::None)
}

/// Whether the fields that are aggregated are those that a pattern matches. The command that reads the
/// summary matches it again, so the rows need the fields themselves.
fn is_wild(call: &StatsCall) -> bool {
    match &call.argument {
        StatsArgument::Field(field) => field.has_wildcard(),
        StatsArgument::None => !counts_events(call),
        _ => false,
    }
}

/// Whether the number of equal rows does not affect the result.
fn ignores_repetition(call: &StatsCall) -> bool {
    matches!(
        call.function.kind,
        StatsKind::DistinctCount
            | StatsKind::EstimatedDistinctCount
            | StatsKind::Values
            | StatsKind::Min
            | StatsKind::Max
            | StatsKind::Range
    )
}

/// The definition of the rows of a summary.
#[derive(Debug, Default)]
struct Summary<'s> {
    calls: Cow<'s, [StatsCall]>,
    keys: Vec<String>,
    /// The series field; a missing value of it is a series, too.
    series: Option<&'s str>,
    /// The bins of times.
    bins: Option<BinOptions>,
    /// Whether values that are not numbers affect the result.
    only_numbers: bool,
    /// Whether a repeated value of a group field counts once.
    distinct: bool,
}

/// Plans the rows of `sistats`.
pub(super) fn stats(command: &StatsCommand, span: Span, frame: Frame) -> Result<Step, Error> {
    let keys = by_fields(&command.by, &frame);
    let summary = Summary {
        calls: Cow::Borrowed(&command.calls),
        keys,
        only_numbers: command.allnum,
        distinct: command.dedup_splitvals,
        ..Summary::default()
    };
    summary.step(span, frame)
}

/// Plans the rows of `sichart`. Numbers are binned when the summary is read.
pub(super) fn chart(command: &ChartCommand, span: Span, frame: Frame) -> Result<Step, Error> {
    let row = command.row.as_ref();
    let binned = row.filter(|row| row.field.node == "_time" && row.bins != BinOptions::default());
    let summary = Summary {
        calls: Cow::Borrowed(&command.calls),
        keys: row.iter().map(|row| row.field.node.clone()).collect(),
        series: command.column.as_ref().map(|column| column.field.node.as_str()),
        bins: binned.map(|row| row.bins.clone()),
        only_numbers: false,
        distinct: command.series.dedup_splitvals,
    };
    summary.step(span, frame)
}

/// Plans the rows of `sitimechart`.
pub(super) fn timechart(
    command: &TimechartCommand,
    span: Span,
    frame: Frame,
) -> Result<Step, Error> {
    let mut bins = command.bins.clone();
    if !matches!(bins.span, Some(BinSpan::Time(_))) && bins.bins.is_none() {
        bins = BinOptions { bins: Some(super::bin::DEFAULT_BINS), ..bins };
    }
    let summary = Summary {
        calls: Cow::Borrowed(&command.calls),
        keys: vec!["_time".to_owned()],
        series: command.column.as_ref().map(|column| column.field.node.as_str()),
        bins: Some(bins),
        only_numbers: false,
        distinct: command.series.dedup_splitvals,
    };
    summary.step(span, frame)
}

/// Plans the rows of `sitop` and `sirare`: all values with their counts.
pub(super) fn top(command: &TopCommand, span: Span, frame: Frame) -> Result<Step, Error> {
    let keys = command.by.iter().chain(&command.fields).map(|field| field.node.clone()).collect();
    Summary { keys, ..Summary::default() }.step(span, frame)
}

impl Summary<'_> {
    /// The commands that create the rows.
    fn step(&self, span: Span, frame: Frame) -> Result<Step, Error> {
        let calls = expand_calls(&self.calls, &self.keys, &frame);
        let mut needed: Vec<(String, Part)> = Vec::new();
        let mut known: HashSet<(String, Part)> = HashSet::new();
        let mut enough = !self.only_numbers && !self.calls.iter().any(is_wild);
        for call in calls.iter().filter(|call| !counts_events(call)) {
            let Some((field, parts)) = parts(call) else {
                enough = false;
                break;
            };
            for part in parts.iter().map(|part| (field.to_owned(), *part)) {
                if known.insert(part.clone()) {
                    needed.push(part);
                }
            }
        }
        let text = match enough {
            true => self.groups(&needed, &frame),
            false => self.events(calls, span),
        };
        let text = format!("search *{text} | eval {VERSION}=1");
        let pipeline = spl::parse(&text).map_err(|error| {
            Error::internal(format!("invalid search of a summary: {error}: {text}"))
        })?;
        let at = |command: Spanned<Command>| Spanned::new(command.node, span);
        Ok(Step::Replace(frame, pipeline.commands.into_iter().skip(1).map(at).collect()))
    }

    fn binned(&self) -> String {
        let bins = self.bins.as_ref();
        bins.map_or_else(String::new, |bins| format!(" | bin {bins} _time"))
    }

    /// Commands for one row per group.
    fn groups(&self, needed: &[(String, Part)], frame: &Frame) -> String {
        let mut text = self.binned();
        let mut by: Vec<String> = self.keys.iter().map(|key| quoted(key)).collect();
        if let Some(series) = self.series {
            let value = eval_name(series);
            text += &format!(" | eval {SERIES}=coalesce({value}, \"{MISSING}\")");
            by.push(SERIES.to_owned());
        }
        let distinct = if self.distinct { " dedup_splitvals=true" } else { "" };
        text += &format!(" | stats{distinct} count AS {COUNT}");
        for (field, part) in needed {
            let name = quoted(&part.field(field));
            text += &format!(", {} AS {name}", part.aggregation(field, frame));
        }
        if frame.kind("_time").is_some() && !self.keys.iter().any(|key| key == "_time") {
            text += ", min(_time) AS _time";
        }
        if !by.is_empty() {
            text += &format!(" BY {}", by.join(", "));
        }
        if let Some(series) = self.series {
            let name = quoted(series);
            text += &format!(" | eval {name}=nullif({SERIES}, \"{MISSING}\") | fields - {SERIES}");
        }
        text
    }

    /// Commands for one row per event, with the fields that the command reads.
    fn events(&self, calls: Vec<StatsCall>, span: Span) -> String {
        let repeated = !self.only_numbers && calls.iter().all(ignores_repetition);
        let stats = StatsCommand { calls, by: StatsBy::default(), ..StatsCommand::default() };
        let read = required_by(&[Spanned::new(Command::Stats(stats), span)]).names;
        let mut names: Vec<String> = Vec::new();
        let mut known: HashSet<String> = HashSet::new();
        let keys = self.keys.iter().map(String::as_str).chain(self.series);
        for name in keys.chain(read.iter().map(String::as_str)) {
            let name = quoted(name);
            if known.insert(name.clone()) {
                names.push(name);
            }
        }
        let time = "\"_time\"".to_owned();
        let timed = names.contains(&time);
        let all = if timed { names.join(", ") } else { format!("_time, {}", names.join(", ")) };
        // No name is left if wildcards match nothing.
        if !repeated || names.is_empty() {
            return format!(" | table {all}");
        }
        let bins = self.binned();
        format!("{bins} | table {all} | dedup {} keepempty=true", names.join(", "))
    }
}

/// Returns the frame with the origin of the summarized events instead of that of the summary rows.
pub(super) fn prepared(frame: Frame) -> Result<Frame, Error> {
    if frame.kind(VERSION).is_none() {
        return Ok(frame);
    }
    let mut values = Vec::new();
    for name in ORIGIN_AND_INDEX {
        let original = format!("orig_{name}");
        if frame.kind(&original).is_none() {
            continue;
        }
        let original = convert(frame.field(&original), ValueType::Text);
        let own = convert(frame.field(name), ValueType::Text);
        let origin = text("origin", |row, out| {
            let summed = !row.value(0).is_null() && !row.value(1).is_null();
            out.push_str(&row.text(if summed { 1 } else { 2 })?);
            Some(())
        });
        let value = origin.call(vec![frame.field(VERSION), original, own]);
        values.push((name.to_owned(), value));
    }
    frame.with_columns(values)
}

/// The number of events.
pub(super) fn events(frame: &Frame) -> Typed {
    let expr = match frame.kind(COUNT) {
        None => count(lit(1_i64)),
        Some(_) => {
            let several = convert(frame.field(COUNT), ValueType::Integer);
            sum(coalesce(vec![several.expr, lit(1_i64)]))
        }
    };
    Typed::new(expr, ValueType::Integer)
}

/// The aggregations; over rows of summaries, those that merge the summarized events.
pub(super) fn calls<'c>(
    calls: &'c [StatsCall],
    frame: &Frame,
) -> Result<Cow<'c, [StatsCall]>, Error> {
    if frame.kind(VERSION).is_none() {
        return Ok(Cow::Borrowed(calls));
    }
    let merged: Result<Vec<StatsCall>, Error> = calls.iter().map(|c| merged(c, frame)).collect();
    merged.map(Cow::Owned)
}

fn merged(call: &StatsCall, frame: &Frame) -> Result<StatsCall, Error> {
    let text = match parts(call) {
        _ if counts_events(call) => {
            format!("eval(coalesce(sum(eval(coalesce('{COUNT}', 1))), 0))")
        }
        Some((field, _)) => merging(call.function.kind, field, frame),
        None => return Ok(call.clone()),
    };
    let search = format!("search * | chart {text} AS merged");
    let parsed = spl::parse(&search);
    let parsed = parsed.ok().and_then(|pipeline| match pipeline.commands.into_iter().nth(1) {
        Some(Spanned { node: Command::Chart(chart), .. }) => chart.calls.into_iter().next(),
        _ => None,
    });
    let Some(found) = parsed else {
        return Err(Error::internal(format!("invalid aggregation of a merge: {text}")));
    };
    let mut merged = call.clone();
    merged.argument = found.argument;
    // The values are squares already, so they are only added up. Later steps select other functions by name.
    if call.function.kind == StatsKind::SumOfSquares {
        merged.function = found.function;
    }
    let name = call.output_name().to_owned();
    merged.alias.get_or_insert_with(|| Spanned::new(name, call.span));
    Ok(merged)
}

/// Returns the aggregation of rows that are events or summaries of events.
fn merging(kind: StatsKind, field: &str, frame: &Frame) -> String {
    let row = |part: Part| part.of_row(field, frame);
    let sum = |part: Part| format!("sum(eval({}))", row(part));
    let (count, total, squares) = (sum(Part::Numbers), sum(Part::Sum), sum(Part::Squares));
    let spread = format!("({squares} - {total} * {total} / {count})");
    // Rounding must not make the variance negative; the variance of a single value is 0.
    let variance = |divisor: &str| {
        format!(
            "if({count} > 1 AND {spread} > 0, {spread} / {divisor}, if({count} > 0, 0, null()))"
        )
    };
    let of_sample = format!("({count} - 1)");
    match kind {
        StatsKind::Count => format!("eval(coalesce({}, 0))", sum(Part::Values)),
        StatsKind::Average => format!("eval({total} / {count})"),
        StatsKind::Min => format!("min(eval({}))", row(Part::Least)),
        StatsKind::Max => format!("max(eval({}))", row(Part::Most)),
        StatsKind::Range => {
            let (least, most) = (row(Part::LeastNumber), row(Part::MostNumber));
            format!("eval(max(eval({most})) - min(eval({least})))")
        }
        StatsKind::SumOfSquares => squares,
        StatsKind::Variance => format!("eval({})", variance(&of_sample)),
        StatsKind::VariancePopulation => format!("eval({})", variance(&count)),
        StatsKind::StandardDeviation => format!("eval(sqrt({}))", variance(&of_sample)),
        StatsKind::StandardDeviationPopulation => format!("eval(sqrt({}))", variance(&count)),
        _ => total,
    }
}
