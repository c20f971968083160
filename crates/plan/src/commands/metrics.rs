//! Metric data points in stored events, as read by the metrics commands.
//!
//! An event stores data points in one of two forms: a single one as `metric_name=cpu.idle` with its number in
//! `_value`, or any number of them as `metric_name:cpu.idle=<number>`. Its other indexed fields are
//! dimensions. Both forms give the same rows, even within one index.
//!
//! Guarantees: every returned data point satisfies the filter. Conditions on events, and on metric names as
//! far as these are known, are evaluated where the events are, so that buckets are pruned by them.

use datafusion::logical_expr::lit;
use exprs::Typed;
use exprs::aggregates::SERIES;
use exprs::kernel::{multi, number, text, truth};
use exprs::present::any_present;
use exprs::required_fields::{RequiredFields, wildcard};
use frames::Frame;
use model::columns;
use spl::Span;
use spl::ast::{
    ComparisonOperator, PatternPart, SearchCommand, SearchComparison, SearchExpr, SearchPattern,
    SearchValue, Spanned,
};

use super::search;
use super::stats::{Valueless, explode};
use crate::value::parse_number;
use crate::{Error, FieldInfo};
use context::indexes;
use context::planning::{PlanningContext, SourceRows};
use context::range::bounds;

/// The field with the metric name of a data point.
pub(super) const METRIC: &str = "metric_name";
/// The field with the number of a data point.
pub(super) const VALUE: &str = "_value";
/// The field with the names of the dimensions of an event.
const DIMENSIONS: &str = "_dims";
/// The prefix of fields that contain a data point each.
pub(super) const POINT: &str = "metric_name:";
/// The column of data points while each is encoded as a text.
const PLACE: &str = "__point";
/// The separator of name and number in the text of a data point.
const BETWEEN: char = '\u{1f}';
/// Maximum number of fields that the filter on events names; with more, events are not filtered by them.
const MAX_ASKED: usize = 64;

/// The form of the rows that are returned.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    /// One row per data point, in `metric_name` and `_value`; for the listed metrics, also in a column of the
    /// metric's name.
    Points(Vec<String>),
    /// One row per event that has a data point of one of these metrics, each metric in a column of its name.
    Metrics(Vec<String>),
    /// One row per event that has a data point; `metric_name` contains the names of all its data points.
    Events,
}

/// A query for data points.
#[derive(Debug)]
pub(super) struct Wanted<'w> {
    pub(super) filter: &'w SearchCommand,
    pub(super) shape: Shape,
    /// Patterns with `*`; the metric name of a data point must match one of them. Without patterns, all names
    /// match.
    pub(super) patterns: Vec<String>,
    /// Further fields to read.
    pub(super) required: RequiredFields,
}

/// Returns the fields of metric events in the indexes of a filter.
pub(super) async fn known(
    filter: &SearchCommand,
    env: &PlanningContext<'_>,
) -> Result<Vec<FieldInfo>, Error> {
    let indexes = indexes::select_with_metrics(filter.expr.as_ref(), env.context);
    let range = bounds(filter, env.context)?.time;
    env.context.source.fields(&indexes, &range).await
}

/// Whether a filter has conditions on data points, not only on events.
pub(super) fn is_about_points(expr: &SearchExpr) -> bool {
    let mut required = RequiredFields::default();
    required.search(expr);
    required.names.iter().any(|name| [METRIC, VALUE, DIMENSIONS, SERIES].contains(&name.as_str()))
}

/// Reads the data points of metrics.
pub(super) async fn read(
    wanted: Wanted<'_>,
    env: &PlanningContext<'_>,
) -> Result<SourceRows, Error> {
    let filter = search::expanded(wanted.filter, env)?;
    let known = known(&filter, env).await?;
    let indexes = indexes::select_with_metrics(filter.expr.as_ref(), env.context);
    let messages = indexes::unknown(wanted.filter.expr.as_ref(), env.context);
    let bounds = bounds(&filter, env.context)?;
    let asked = Asked::of(&wanted, &filter, &known);
    let mut required = wanted.required;
    asked.mention(&mut required);
    let needs = |name: &str| required.names.iter().any(|known| known == name);
    let (series, dimensions) = (needs(SERIES), needs(DIMENSIONS));
    let names: Vec<String> = known.iter().map(|field| field.name.clone()).collect();
    let names: Vec<String> = names.into_iter().filter(|name| is_dimension(name)).collect();
    if series || dimensions {
        names.iter().for_each(|name| required.name(name));
    }
    let early = SearchCommand { expr: asked.early.clone(), time: filter.time.clone() };
    early.expr.iter().for_each(|expr| required.search(expr));
    let mut frame = search::events(&early, &indexes, bounds, required, env).await?;
    if dimensions {
        let value = dimensions_of(&names, &frame);
        frame = frame.with_columns(vec![(DIMENSIONS.to_owned(), value)])?;
    }
    frame = asked.shaped(frame)?;
    if series {
        let value = series_of(&names, &asked.shape, &frame);
        frame = frame.with_columns(vec![(SERIES.to_owned(), value)])?;
    }
    let late = SearchCommand { expr: asked.late, time: Vec::new() };
    frame = search::filter(&late, frame, env)?;
    frame.open = false;
    Ok(SourceRows { frame, range: bounds.time, indexes, messages })
}

/// Whether a field of a metric event is a dimension that the sender set.
fn is_dimension(name: &str) -> bool {
    let own = [METRIC, columns::HOST, columns::SOURCE, columns::SOURCETYPE, columns::INDEX];
    !name.starts_with('_') && !name.starts_with(POINT) && !own.contains(&name)
}

/// The part of a query that concerns events, and the part that concerns their data points.
#[derive(Debug)]
struct Asked {
    shape: Shape,
    /// Names of the metrics that are stored in fields of their own.
    metrics: Vec<String>,
    early: Option<SearchExpr>,
    late: Option<SearchExpr>,
    patterns: Vec<String>,
}

impl Asked {
    fn of(wanted: &Wanted<'_>, filter: &SearchCommand, known: &[FieldInfo]) -> Self {
        let conjuncts = match filter.expr.clone() {
            None => Vec::new(),
            Some(SearchExpr::And(members)) => members,
            Some(other) => vec![other],
        };
        let (late, mut early): (Vec<_>, Vec<_>) = conjuncts.into_iter().partition(is_about_points);
        let named = known.iter().filter_map(|field| field.name.strip_prefix(POINT));
        let mut metrics: Vec<String> = named
            .filter(|name| late.iter().all(|expr| admits(expr, name)))
            .filter(|name| fits(&wanted.patterns, name))
            .map(str::to_owned)
            .collect();
        if let Shape::Metrics(names) = &wanted.shape {
            metrics.retain(|name| names.contains(name));
            early.extend(any_of(names, &metrics));
        }
        early.extend(late.iter().filter(|expr| names_metrics(expr)).filter_map(|expr| {
            let of = metrics.iter().filter(|name| admits(expr, name));
            either(expr.clone(), of.map(|name| has(name)).collect())
        }));
        let joined = |members: Vec<SearchExpr>| {
            members.into_iter().fold(None, |all, expr| SearchExpr::all(all, Some(expr)))
        };
        let (early, late) = (joined(early), joined(late));
        let patterns = wanted.patterns.clone();
        Self { shape: wanted.shape.clone(), metrics, early, late, patterns }
    }

    fn mention(&self, required: &mut RequiredFields) {
        required.name(METRIC);
        required.name(VALUE);
        self.metrics.iter().for_each(|name| required.name(&format!("{POINT}{name}")));
        self.late.iter().for_each(|expr| required.search(expr));
    }

    /// The fields that may contain a data point, in both forms.
    fn fields(&self, frame: &Frame) -> Vec<Typed> {
        let others = self.metrics.iter().map(|name| frame.field(&format!("{POINT}{name}")));
        [frame.field(METRIC), frame.field(VALUE)].into_iter().chain(others).collect()
    }

    fn shaped(&self, frame: Frame) -> Result<Frame, Error> {
        match &self.shape {
            Shape::Points(metrics) => self.points(frame, metrics),
            Shape::Metrics(metrics) => self.in_columns(frame, metrics),
            Shape::Events => {
                let names = self.metrics.clone();
                let parameters = names.join("\n");
                let function = multi("metric_names", move |row, out| {
                    let mut values = row.values();
                    let (name, value) = (values.next()?, values.next()?);
                    if !value.is_null() {
                        name.each_text(|name| out.append_value(name));
                    }
                    let present = names.iter().zip(values).filter(|(_, value)| !value.is_null());
                    present.for_each(|(name, _)| out.append_value(name));
                    Some(())
                });
                let value = function.with(parameters).call(self.fields(&frame));
                let frame = frame.with_columns(vec![(METRIC.to_owned(), value)])?;
                let present = frame.field(METRIC).expr.is_not_null();
                frame.filter(present)
            }
        }
    }

    fn points(&self, mut frame: Frame, metrics: &[String]) -> Result<Frame, Error> {
        if self.metrics.is_empty() {
            let value = frame.field(VALUE);
            let value = number("metric_value", |row| row.number(0)).call(vec![value]);
            frame = frame.with_columns(vec![(VALUE.to_owned(), value)])?;
            let present = [METRIC, VALUE].map(|name| frame.field(name).expr.is_not_null());
            frame = present.into_iter().try_fold(frame, Frame::filter)?;
        } else {
            let values = vec![(PLACE.to_owned(), self.texts(&frame))];
            frame = frame.with_columns(values)?;
            frame = explode(frame, PLACE, Valueless::Go)?;
            let point = || vec![frame.field(PLACE)];
            let name = text("point_name", |row, out| {
                out.push_str(row.text(0)?.split_once(BETWEEN)?.0);
                Some(())
            });
            let value =
                number("point_value", |row| parse_number(row.text(0)?.split_once(BETWEEN)?.1));
            let values = vec![
                (METRIC.to_owned(), name.call(point())),
                (VALUE.to_owned(), value.call(point())),
            ];
            frame = frame.with_columns(values)?;
            let names: Vec<String> =
                frame.names().into_iter().filter(|name| name != PLACE).collect();
            frame = frame.select(&names)?;
            let present = frame.field(VALUE).expr.is_not_null();
            frame = frame.filter(present)?;
        }
        if !self.patterns.is_empty() {
            let patterns = self.patterns.clone();
            let function = truth("metric_fits", move |row| Some(fits(&patterns, &row.text(0)?)));
            let function = function.with(self.patterns.join("\n"));
            let condition = function.call(vec![frame.field(METRIC)]).expr;
            frame = frame.filter(condition)?;
        }
        let columns = metrics.iter().map(|metric| {
            let name = metric.clone();
            let function = number("metric_of", move |row| {
                (*row.text(0)? == *name).then(|| row.number(1)).flatten()
            });
            let arguments = vec![frame.field(METRIC), frame.field(VALUE)];
            (metric.clone(), function.with(metric).call(arguments))
        });
        let columns = columns.collect();
        frame.with_columns(columns)
    }

    /// Returns each data point of an event as a text.
    fn texts(&self, frame: &Frame) -> Typed {
        let names = self.metrics.clone();
        let parameters = names.join("\n");
        let function = multi("metric_points", move |row, out| {
            let mut values = row.values();
            let (name, value) = (values.next()?, values.next()?);
            let mut point = String::new();
            let mut put = |name: &str, value: &str| {
                point.clear();
                point.push_str(name);
                point.push(BETWEEN);
                point.push_str(value);
                out.append_value(&point);
            };
            if let (Some(name), Some(value)) = (name.text(), value.text()) {
                put(&name, &value);
            }
            // A field with several values is not a number; the same holds where metrics are read into
            // columns.
            for (name, value) in names.iter().zip(values).filter(|(_, value)| value.count() == 1) {
                value.each_text(|value| put(name, value));
            }
            Some(())
        });
        function.with(parameters).call(self.fields(frame))
    }

    fn in_columns(&self, frame: Frame, metrics: &[String]) -> Result<Frame, Error> {
        let columns = metrics.iter().map(|metric| {
            let name = metric.clone();
            let function = number("metric_of_event", move |row| {
                row.number(2).or_else(|| (*row.text(0)? == *name).then(|| row.number(1)).flatten())
            });
            let own = frame.field(&format!("{POINT}{metric}"));
            let arguments = vec![frame.field(METRIC), frame.field(VALUE), own];
            (metric.clone(), function.with(metric).call(arguments))
        });
        let columns = columns.collect();
        let frame = frame.with_columns(columns)?;
        let columns = metrics.iter().map(|name| frame.field(name).expr).collect();
        frame.filter(any_present(columns).unwrap_or_else(|| lit(false)))
    }
}

/// Whether a name matches one of the patterns, or there are no patterns.
fn fits(patterns: &[String], name: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| wildcard(pattern, name))
}

/// Whether the expression may be true for a data point of this metric.
fn admits(expr: &SearchExpr, name: &str) -> bool {
    let is =
        |value: &SearchValue| wildcard(&value.pattern.text().to_lowercase(), &name.to_lowercase());
    match expr {
        SearchExpr::And(members) => members.iter().all(|member| admits(member, name)),
        SearchExpr::Or(members) => members.iter().any(|member| admits(member, name)),
        SearchExpr::Comparison(found)
            if found.field.node == METRIC && found.operator == ComparisonOperator::Equal =>
        {
            is(&found.value)
        }
        SearchExpr::In(found) if found.field.node == METRIC && !found.negated => {
            found.values.iter().any(is)
        }
        _ => true,
    }
}

/// Whether the expression is only a condition on metric names.
fn names_metrics(expr: &SearchExpr) -> bool {
    match expr {
        SearchExpr::Or(members) => members.iter().all(names_metrics),
        SearchExpr::Comparison(found) => {
            found.field.node == METRIC && found.operator == ComparisonOperator::Equal
        }
        SearchExpr::In(found) => found.field.node == METRIC && !found.negated,
        _ => false,
    }
}

fn compared(field: String, pattern: SearchPattern) -> SearchExpr {
    let span = Span::default();
    let value = SearchValue { pattern, quoted: true, span };
    let (field, operator) = (Spanned::new(field, span), ComparisonOperator::Equal);
    SearchExpr::Comparison(SearchComparison { field, operator, value, span })
}

/// A filter for events that store the metric in a field of its own.
fn has(metric: &str) -> SearchExpr {
    compared(format!("{POINT}{metric}"), SearchPattern { parts: vec![PatternPart::Any] })
}

/// The disjunction of these filters; `None` if there are more than [`MAX_ASKED`].
fn either(first: SearchExpr, others: Vec<SearchExpr>) -> Option<SearchExpr> {
    match others.len() {
        0 => Some(first),
        few if few <= MAX_ASKED => Some(SearchExpr::Or([vec![first], others].concat())),
        _ => None,
    }
}

/// A filter for events that may have a data point of one of the metrics.
fn any_of(names: &[String], fields: &[String]) -> Option<SearchExpr> {
    let mut single =
        names.iter().map(|name| compared(METRIC.to_owned(), SearchPattern::literal(name)));
    let first = single.next()?;
    either(first, single.chain(fields.iter().map(|name| has(name))).collect())
}

/// Returns the names of the dimensions that an event has.
fn dimensions_of(names: &[String], frame: &Frame) -> Typed {
    let names = names.to_vec();
    let fields = names.iter().map(|name| frame.field(name)).collect();
    let parameters = names.join("\n");
    let function = multi("metric_dimensions", move |row, out| {
        let present = names.iter().zip(row.values()).filter(|(_, value)| !value.is_null());
        present.for_each(|(name, _)| out.append_value(name));
        Some(())
    });
    function.with(parameters).call(fields)
}

/// Returns the identity of the time series of a row as JSON: origin, dimensions and metric.
fn series_of(dimensions: &[String], shape: &Shape, frame: &Frame) -> Typed {
    let mut names: Vec<String> = columns::ORIGIN.iter().map(|name| (*name).to_owned()).collect();
    names.extend(dimensions.iter().cloned());
    if !matches!(shape, Shape::Metrics(_)) {
        names.push(METRIC.to_owned());
    }
    names.sort();
    object(names.into_iter().map(|name| (name.clone(), frame.field(&name))).collect())
}

/// Returns the existing fields of a row as a JSON object.
pub(super) fn object(members: Vec<(String, Typed)>) -> Typed {
    let (names, fields): (Vec<String>, Vec<Typed>) = members.into_iter().unzip();
    let parameters = names.join("\n");
    let function = text("metric_object", move |row, out| {
        let mut first = true;
        for (name, value) in names.iter().zip(row.values()) {
            let is_number = name == VALUE || name.starts_with(POINT);
            let mut texts = Vec::new();
            value.each_text(|text| texts.push(written(text, is_number)));
            let value = match texts.as_slice() {
                [] => continue,
                [one] => one.clone(),
                several => format!("[{}]", several.join(",")),
            };
            out.push(if std::mem::take(&mut first) { '{' } else { ',' });
            out.push_str(&written(name, false));
            out.push(':');
            out.push_str(&value);
        }
        out.push_str(if first { "{}" } else { "}" });
        Some(())
    });
    function.with(parameters).call(fields)
}

fn written(text: &str, is_number: bool) -> String {
    let plain = is_number && text.parse::<f64>().is_ok_and(f64::is_finite);
    let json = text.starts_with(|c: char| c.is_ascii_digit() || c == '-') && !text.ends_with('.');
    if plain && json { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}
