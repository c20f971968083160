//! The restriction of a user's searches, independent of their text: a search filter and a time window.
//!
//! Guarantees: both are enforced wherever events are read, also in subsearches and behind `from` and
//! `tstats`: all reads pass through one function (`commands::search::events`, or [`Restriction::table`] for
//! SQL). The filter is evaluated over stored columns only, so that a user's extractions, aliases, calculated
//! fields or renamed source types (`rename`) cannot change its meaning.

use std::sync::Arc;
use std::time::Duration;

use datafusion::common::TableReference;
use datafusion::datasource::{TableProvider, ViewTable, provider_as_source};
use datafusion::logical_expr::LogicalPlanBuilder;
use exprs::Scope;
use exprs::predicate;
use exprs::types::ValueType;
use jiff::tz::TimeZone;
use model::{EventTime, TimeRange, columns};
use spl::ast::{Command, SearchExpr};

use crate::scan::{TABLE, conjuncts, filter_scan};
use crate::{Error, MessageKind, MessageLog};

/// The restriction of a user's searches.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Restriction {
    /// The search filter (`srchFilter`); only matching events are visible.
    pub filter: Option<SearchExpr>,
    /// The earliest time that may be read (`srchTimeEarliest`).
    pub earliest: Option<EventTime>,
    /// The maximum length of the time range, counted back from its end (`srchTimeWin`).
    pub window: Option<Duration>,
}

impl Restriction {
    /// Parses a search filter, which consists of words and comparisons of the default fields.
    ///
    /// # Errors
    /// If it is anything else.
    pub fn parse_filter(text: &str) -> Result<SearchExpr, Error> {
        let refused = |what: &str| Error::invalid_anywhere(format!("srchFilter: {what}"));
        let pipeline = spl::parse(&format!("search {text}"))?;
        let [command] = pipeline.commands.as_slice() else {
            return Err(refused("it is a filter, without commands"));
        };
        let Command::Search(search) = &command.node else {
            return Err(refused("it is a filter, without commands"));
        };
        if !search.time.is_empty() {
            return Err(refused("times are held by srchTimeWin and srchTimeEarliest"));
        }
        let expr = search.expr.clone().ok_or_else(|| refused("it is empty"))?;
        check(&expr)?;
        Ok(expr)
    }

    /// Returns the permitted part of a range; `now` is the end of a range without an end.
    #[must_use]
    pub fn within(&self, range: TimeRange, now: EventTime) -> TimeRange {
        let mut earliest = range.earliest;
        if let Some(bound) = self.earliest {
            earliest = earliest.max(bound);
        }
        if let Some(window) = self.window {
            let end = if range.latest == EventTime::MAX { now } else { range.latest };
            let micros = i64::try_from(window.as_micros()).unwrap_or(i64::MAX);
            earliest = earliest.max(EventTime(end.0.saturating_sub(micros)));
        }
        TimeRange { earliest: earliest.min(range.latest), latest: range.latest }
    }

    /// Applies [`Self::within`], with a message if the range is shortened.
    pub fn hold(&self, range: TimeRange, now: EventTime, log: &MessageLog) -> TimeRange {
        let allowed = self.within(range, now);
        if allowed != range {
            let text = "the time range is wider than your roles allow (srchTimeWin, \
                        srchTimeEarliest): its beginning was cut off";
            log.add(MessageKind::Warning, text);
        }
        allowed
    }

    /// Restricts a table of events to those that the filter admits.
    ///
    /// # Errors
    /// If the filter cannot be planned.
    pub fn table(&self, table: Arc<dyn TableProvider>) -> Result<Arc<dyn TableProvider>, Error> {
        let Some(filter) = &self.filter else { return Ok(table) };
        let name = TableReference::bare(TABLE);
        let mut plan = LogicalPlanBuilder::scan(name, provider_as_source(table), None)?.build()?;
        for expr in conjuncts(Some(filter)) {
            plan = filter_scan(plan, predicate::compile_search(expr, &Stored::default())?)?;
        }
        Ok(Arc::new(ViewTable::new(plan, None)))
    }
}

/// The columns of every event, as they are stored.
#[derive(Debug)]
pub struct Stored(TimeZone);

impl Default for Stored {
    fn default() -> Self {
        Self(TimeZone::UTC)
    }
}

impl Scope for Stored {
    fn field(&self, name: &str) -> Option<ValueType> {
        match name {
            columns::TIME | columns::INDEX_TIME => Some(ValueType::Time),
            columns::RAW => Some(ValueType::Text),
            name if is_stored(name) => Some(ValueType::Text),
            _ => None,
        }
    }

    fn now(&self) -> EventTime {
        EventTime::MIN
    }

    fn timezone(&self) -> &TimeZone {
        &self.0
    }
}

fn is_stored(name: &str) -> bool {
    matches!(name, columns::HOST | columns::SOURCE | columns::SOURCETYPE | columns::INDEX)
}

/// Rejects expressions whose meaning users could change, or that are not filters.
fn check(expr: &SearchExpr) -> Result<(), Error> {
    let field = |name: &str| match is_stored(name) {
        true => Ok(()),
        false => Err(Error::invalid_anywhere(format!(
            "srchFilter: \"{name}\" is made at search time, so users could change what it means; use \
             host, source, sourcetype, index and words"
        ))),
    };
    match expr {
        SearchExpr::And(members) | SearchExpr::Or(members) => members.iter().try_for_each(check),
        SearchExpr::Not(inner, _) => check(inner),
        SearchExpr::Term(_) | SearchExpr::Directive(_) => Ok(()),
        SearchExpr::Comparison(comparison) | SearchExpr::Cased(comparison) => {
            field(&comparison.field.node)
        }
        SearchExpr::In(list) => field(&list.field.node),
        SearchExpr::Subsearch(_) | SearchExpr::Computed(_) => {
            Err(Error::invalid_anywhere("srchFilter: a subsearch cannot be part of it"))
        }
        SearchExpr::Time(_) => {
            Err(Error::invalid_anywhere("srchFilter: a time modifier cannot be part of it"))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_of_words_and_stored_fields() {
        for text in
            ["host=a", "(sourcetype=x) OR (NOT error index=web*)", "TERM(a.b) host IN (a, b)"]
        {
            Restriction::parse_filter(text).unwrap();
        }
        for text in
            ["", "user=ann", "host=a | stats count", "[search index=x]", "host=a earliest=-1h"]
        {
            assert!(Restriction::parse_filter(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_window_goes_back_from_the_end_of_the_range() {
        let time = |seconds: i64| EventTime(seconds * 1_000_000);
        let window = Some(Duration::from_secs(60));
        let held = Restriction { window, earliest: Some(time(1_000)), filter: None };
        let within = |earliest, latest| held.within(TimeRange { earliest, latest }, time(2_000));
        assert_eq!(within(EventTime::MIN, EventTime::MAX).earliest, time(1_940));
        assert_eq!(within(time(1_100), time(1_500)).earliest, time(1_440));
        assert_eq!(within(time(1_490), time(1_500)).earliest, time(1_490));
        assert_eq!(within(time(0), time(1_010)).earliest, time(1_000));
        assert_eq!(within(time(0), time(900)).earliest, time(900));
    }
}
