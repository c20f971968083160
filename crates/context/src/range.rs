//! The time range of a search: that of the request, overridden by the search text.

use knowledge::time::{LocalClock, TimeFormat, TimeModifier};
use model::{EventTime, TimeRange, columns};
use spl::Spanned;
use spl::ast::{
    ComparisonOperator, PatternPart, SearchCommand, SearchComparison, SearchExpr, SearchPattern,
    SearchValue, Span, TimeModifierKind,
};

use crate::plan_context::PlanContext;
use frames::Error;

/// Time bounds of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Bounds of `_time`.
    pub time: TimeRange,
    /// Bounds of `_indextime`.
    pub index_time: TimeRange,
}

/// Converts time ranges of single branches of `OR` into conditions on `_time`; the range of the search
/// becomes the hull of all of them. `(a earliest=-2d latest=-1d) OR (b earliest=-1h)` reads two days.
pub fn with_windows(search: SearchCommand, context: &PlanContext) -> Result<SearchCommand, Error> {
    let has_times = search.expr.as_ref().is_some_and(SearchExpr::has_times);
    let (Some(expr), true) = (&search.expr, has_times) else { return Ok(search) };
    let base = bounds(&SearchCommand { expr: None, time: search.time.clone() }, context)?;
    let span = expr.span();
    let (expr, covered) = windowed(expr, base, context)?;
    let covered = covered.unwrap_or(base);
    let mut time = search.time.clone();
    time.extend(modifiers(covered, span));
    Ok(SearchCommand { expr: Some(expr), time })
}

/// Returns an expression with its time ranges as conditions, and the hull of the ranges if there are any.
fn windowed(
    expr: &SearchExpr,
    base: Bounds,
    context: &PlanContext,
) -> Result<(SearchExpr, Option<Bounds>), Error> {
    match expr {
        SearchExpr::Or(branches) if expr.has_times() => {
            let mut covered: Option<Bounds> = None;
            let mut members = Vec::with_capacity(branches.len());
            for branch in branches {
                let (branch, own) = windowed(branch, base, context)?;
                members.push(match own {
                    Some(_) => branch,
                    // Other branches have the range of the search.
                    None => within(branch, base),
                });
                let own = own.unwrap_or(base);
                covered = Some(covered.map_or(own, |covered| covered.with(&own)));
            }
            Ok((SearchExpr::Or(members), covered))
        }
        SearchExpr::And(members) if expr.has_times() => {
            let (mut time, mut others) = (Vec::new(), Vec::new());
            for member in members {
                match member {
                    SearchExpr::Time(modifier) => time.push(modifier.clone()),
                    other => others.push(other),
                }
            }
            let has_own = !time.is_empty();
            let own = narrowed(time, base, context)?;
            let mut covered = has_own.then_some(own);
            let mut filters = Vec::with_capacity(others.len());
            for other in others {
                let (other, inner) = windowed(other, own, context)?;
                filters.push(other);
                if let Some(inner) = inner.filter(|_| !has_own) {
                    covered = Some(covered.map_or(inner, |covered| covered.both(&inner)));
                }
            }
            let filter = filters.into_iter().map(Some).reduce(SearchExpr::all).flatten();
            Ok(match filter {
                Some(filter) if has_own => (within(filter, own), covered),
                Some(filter) => (filter, covered),
                None => (every(own, expr.span()), covered),
            })
        }
        SearchExpr::Time(modifier) => {
            let own = narrowed(vec![modifier.clone()], base, context)?;
            Ok((every(own, modifier.span), Some(own)))
        }
        other => Ok((other.clone(), None)),
    }
}

/// Overrides bounds by those of modifiers.
fn narrowed(
    time: Vec<spl::ast::TimeModifier>,
    base: Bounds,
    context: &PlanContext,
) -> Result<Bounds, Error> {
    let mut all: Vec<_> = modifiers(base, Span::default()).collect();
    all.extend(time);
    bounds(&SearchCommand { expr: None, time: all }, context)
}

/// Converts bounds to modifiers.
fn modifiers(bounds: Bounds, span: Span) -> impl Iterator<Item = spl::ast::TimeModifier> {
    let earliest = |range: TimeRange| match range.earliest {
        EventTime::MIN => "0".to_owned(),
        time => seconds(time),
    };
    let latest = |range: TimeRange| (range.latest != EventTime::MAX).then(|| seconds(range.latest));
    let values = [
        (TimeModifierKind::Earliest, Some(earliest(bounds.time))),
        (TimeModifierKind::Latest, latest(bounds.time)),
        (
            TimeModifierKind::IndexEarliest,
            (bounds.index_time.earliest != EventTime::MIN)
                .then(|| seconds(bounds.index_time.earliest)),
        ),
        (TimeModifierKind::IndexLatest, latest(bounds.index_time)),
    ];
    values.into_iter().filter_map(move |(kind, value)| {
        Some(spl::ast::TimeModifier { kind, value: value?, format: None, span })
    })
}

#[allow(clippy::cast_precision_loss)]
fn seconds(time: EventTime) -> String {
    format!("{:.6}", time.0 as f64 / 1e6)
}

/// Restricts an expression to bounds.
fn within(expr: SearchExpr, bounds: Bounds) -> SearchExpr {
    let span = expr.span();
    let mut all = Some(expr);
    for condition in conditions(bounds, span) {
        all = SearchExpr::all(all, Some(condition));
    }
    all.unwrap_or_else(|| every(bounds, span))
}

/// Returns a condition for every event within bounds.
fn every(bounds: Bounds, span: Span) -> SearchExpr {
    let mut conditions = conditions(bounds, span);
    let any = || comparison(columns::TIME, ComparisonOperator::Equal, PatternPart::Any, span);
    match conditions.len() {
        0 => any(),
        1 => conditions.pop().unwrap_or_else(any),
        _ => SearchExpr::And(conditions),
    }
}

fn conditions(bounds: Bounds, span: Span) -> Vec<SearchExpr> {
    let mut conditions = Vec::new();
    for (name, range) in [(columns::TIME, bounds.time), (columns::INDEX_TIME, bounds.index_time)] {
        let ends = [
            (ComparisonOperator::GreaterOrEqual, range.earliest, EventTime::MIN),
            (ComparisonOperator::Less, range.latest, EventTime::MAX),
        ];
        for (operator, time, unbounded) in ends {
            if time != unbounded {
                let value = PatternPart::Literal(seconds(time));
                conditions.push(comparison(name, operator, value, span));
            }
        }
    }
    conditions
}

fn comparison(
    name: &str,
    operator: ComparisonOperator,
    value: PatternPart,
    span: Span,
) -> SearchExpr {
    SearchExpr::Comparison(SearchComparison {
        field: Spanned::new(name.to_owned(), span),
        operator,
        value: SearchValue { pattern: SearchPattern { parts: vec![value] }, quoted: false, span },
        span,
    })
}

impl Bounds {
    /// Returns the hull of both.
    fn with(&self, other: &Self) -> Self {
        let both = |one: TimeRange, other: TimeRange| TimeRange {
            earliest: one.earliest.min(other.earliest),
            latest: one.latest.max(other.latest),
        };
        Self {
            time: both(self.time, other.time),
            index_time: both(self.index_time, other.index_time),
        }
    }

    /// Returns the intersection of both.
    fn both(&self, other: &Self) -> Self {
        Self {
            time: self.time.intersect(&other.time),
            index_time: self.index_time.intersect(&other.index_time),
        }
    }
}

/// Parses the time of a modifier in the format of the search (`timeformat=`); `None` for other times, which
/// are relative or in seconds.
fn formatted(
    modifier: &spl::ast::TimeModifier,
    context: &PlanContext,
) -> Result<Option<EventTime>, Error> {
    let Some(format) = &modifier.format else { return Ok(None) };
    let format = TimeFormat::for_input(format)
        .map_err(|error| Error::at(format!("timeformat: {error}"), modifier.span))?;
    let mut clock = LocalClock::new(context.timezone.clone());
    Ok(format.strptime(&modifier.value, &mut clock, context.now))
}

/// Returns the bounds of a `search`: its modifiers, otherwise those of the request.
pub fn bounds(search: &SearchCommand, context: &PlanContext) -> Result<Bounds, Error> {
    let time_of = |kind| -> Result<Option<EventTime>, Error> {
        let Some(modifier) = search.time_modifier(kind) else {
            return Ok(None);
        };
        // In Splunk, "all time" is an earliest of 0 that includes events before 1970.
        if modifier.value == "0" && kind == TimeModifierKind::Earliest {
            return Ok(Some(EventTime::MIN));
        }
        if let Some(time) = formatted(modifier, context)? {
            return Ok(Some(time));
        }
        let time = TimeModifier::parse(&modifier.value)
            .and_then(|time| time.resolve(context.now, &context.timezone));
        time.map(Some).map_err(|error| Error::at(error.to_string(), modifier.span))
    };
    let earliest = time_of(TimeModifierKind::Earliest)?;
    let latest = time_of(TimeModifierKind::Latest)?;
    let time = TimeRange {
        earliest: earliest.unwrap_or(context.range.earliest),
        latest: latest.unwrap_or(context.range.latest),
    };
    if let (Some(modifier), true) =
        (search.time_modifier(TimeModifierKind::Earliest), time.earliest > time.latest)
    {
        let message = "earliest is after latest: the time range is empty";
        return Err(Error::at(message, modifier.span));
    }
    let index_time = TimeRange {
        earliest: time_of(TimeModifierKind::IndexEarliest)?.unwrap_or(context.index_range.earliest),
        latest: time_of(TimeModifierKind::IndexLatest)?.unwrap_or(context.index_range.latest),
    };
    Ok(Bounds { time, index_time })
}
