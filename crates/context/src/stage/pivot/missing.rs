//! The series of missing values: `NULL`, or the name that `nullstr` sets.
//!
//! It has the events without the split field, and those whose value is its name. Guarantees: in the rows and
//! frames made here, neither have a value of [`SERIES`], so an aggregation puts both into one group. The
//! aggregation is left to the pivot.

use arrow::array::Array;
use datafusion::logical_expr::when;
use exprs::Typed;
use exprs::types::ValueType;
use frames::{Error, Frame};
use tables::Rows;

use super::{SERIES, SeriesChoice};

impl SeriesChoice {
    /// Returns the rows before aggregation; the series is null where it is the name of the series of missing
    /// values.
    ///
    /// # Errors
    /// If [`SERIES`] is not a text.
    pub fn input(&self, frame: Frame) -> Result<Frame, Error> {
        let Some(null) = self.null.as_deref() else { return Ok(frame) };
        let series = unnamed(frame.field(SERIES), null)?;
        frame.with_columns(vec![(SERIES.to_owned(), series)])
    }

    /// Returns the long rows, likewise; a row key may then have two rows without a series. `None` if no row
    /// has the name.
    pub(super) fn unnamed_rows(&self, rows: &Rows) -> Result<Option<Rows>, Error> {
        let Some(null) = self.null.as_deref() else { return Ok(None) };
        let series = rows.texts(SERIES)?;
        if !series.iter().flatten().any(|name| name == null) {
            return Ok(None);
        }
        let others = series.iter().map(|name| name.as_deref().filter(|name| *name != null));
        let mut unnamed = rows.clone();
        unnamed.set_texts(SERIES, others);
        Ok(Some(unnamed))
    }

    /// Returns the series of rows of which some are joined as `other`; null for these if `other` is also the
    /// name of the series of missing values.
    pub(super) fn beside_missing(&self, joined: Typed, other: &str) -> Result<Typed, Error> {
        match self.null.as_deref() {
            Some(null) if null == other => unnamed(joined, null),
            _ => Ok(joined),
        }
    }
}

/// Whether a row has no value of [`SERIES`].
pub(super) fn has_missing(rows: &Rows) -> bool {
    rows.column(SERIES).is_some_and(|column| column.array.null_count() > 0)
}

/// Returns the series; null where it has this name.
fn unnamed(series: Typed, name: &str) -> Result<Typed, Error> {
    let is_named = series.expr.clone().eq(Typed::text(name).expr);
    let expr = when(is_named, Typed::null(ValueType::Text).expr).otherwise(series.expr)?;
    Ok(Typed::new(expr, ValueType::Text))
}

#[cfg(test)]
mod tests {
    use spl::ast::SeriesLimit;

    use super::*;
    use crate::stage::pivot::{Score, SeriesFilter};

    fn choice(null: Option<&str>) -> SeriesChoice {
        SeriesChoice {
            score: Score::Events,
            filter: SeriesFilter::Among { limit: SeriesLimit::Top(10), negated: false },
            other: Some("OTHER".to_owned()),
            null: null.map(str::to_owned),
        }
    }

    fn long(series: &[Option<&str>]) -> Rows {
        let mut rows = Rows::blank(series.len());
        rows.set_texts(SERIES, series.iter().copied());
        rows
    }

    #[test]
    fn values_with_the_name_of_the_series_of_missing_values_are_missing() {
        let rows = long(&[Some("a"), Some("NULL"), None, Some("b")]);
        let unnamed = choice(Some("NULL")).unnamed_rows(&rows).expect("texts").expect("a name");
        let expected = [Some("a"), None, None, Some("b")];
        assert_eq!(unnamed.texts(SERIES).expect("texts"), expected.map(|t| t.map(str::to_owned)));
        let other_names = [choice(Some("none")), choice(None)];
        for choice in other_names {
            assert!(choice.unnamed_rows(&rows).expect("texts").is_none());
        }
    }

    #[test]
    fn the_input_has_no_name_of_the_series_of_missing_values() {
        let rows = long(&[Some("a"), Some("NULL"), None]);
        for (null, changed) in [(Some("NULL"), true), (None, false)] {
            let frame = Frame::of_rows(rows.clone()).expect("a frame");
            let before = frame.plan().display_indent().to_string();
            let after = choice(null).input(frame).expect("a frame");
            assert_eq!(after.kind(SERIES), Some(ValueType::Text));
            assert_eq!(after.plan().display_indent().to_string() != before, changed);
        }
    }
}
