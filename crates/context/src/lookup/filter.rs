//! `filter` of a lookup: a search filter over the rows of its table.
//!
//! Guarantees: rows that the filter does not let through do not reach any command that reads the lookup.
//! Commands that add rows to the lookup keep them; those that replace it as a whole delete them.

use std::fmt::Display;
use std::sync::Arc;

use exprs::Scope;
use exprs::predicate::compile_search;
use exprs::types::ValueType;
use frames::{Rows, filtered};
use jiff::tz::TimeZone;
use model::EventTime;
use model::columns::RAW;
use spl::ast::SearchExpr;

use crate::plan_context::PlanContext;
use frames::Error;

/// The rows of a lookup that its filter lets through; an invalid filter is an error, since it would show rows
/// that somebody has hidden.
pub(super) fn apply(
    lookup: &str,
    filter: &str,
    rows: &Arc<Rows>,
    context: &PlanContext,
) -> Result<Arc<Rows>, Error> {
    let failed = |error: &dyn Display| {
        let text = format!("transforms.conf [{lookup}] filter = {filter}: {error}");
        Error::invalid_anywhere(text)
    };
    let parsed = spl::parse_search_terms(filter).map_err(|error| failed(&error))?;
    if !parsed.time.is_empty() {
        return Err(failed(&"a time modifier is not allowed here"));
    }
    let Some(expr) = parsed.expr else { return Ok(Arc::clone(rows)) };
    let mut has_words = false;
    expr.walk(&mut |part| {
        has_words |= matches!(part, SearchExpr::Term(_) | SearchExpr::Directive(_));
    });
    if has_words && rows.column(RAW).is_none() {
        // It would be false for all rows.
        return Err(failed(
            &"a word is looked for in _raw, which the rows do not have; write field=value",
        ));
    }
    let table = Table { rows, context };
    let condition = compile_search(&expr, &table).map_err(|error| failed(&error))?;
    Ok(Arc::new(filtered(rows, condition)?))
}

/// The fields of the rows, for the filter.
struct Table<'t> {
    rows: &'t Rows,
    context: &'t PlanContext,
}

impl Scope for Table<'_> {
    fn field(&self, name: &str) -> Option<ValueType> {
        self.rows.column(name).map(|column| column.kind)
    }

    fn fields(&self) -> Vec<String> {
        self.rows.names()
    }

    fn now(&self) -> EventTime {
        self.context.now
    }

    fn timezone(&self) -> &TimeZone {
        &self.context.timezone
    }
}
