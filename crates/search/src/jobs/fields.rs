//! Field statistics of events: how often each field occurs, and its most frequent values.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::jobs::results::Page;
use crate::render::Value;

/// One value of a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mode {
    /// The value.
    pub value: String,
    /// Number of events that have the value.
    pub count: u64,
    /// Whether `count` is exact for the examined events.
    pub is_exact: bool,
}

/// Statistics of a field over the events of a job (the body of Splunk's `summary` endpoint).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldCounts {
    /// Number of events that have the field.
    pub count: u64,
    /// Number of events that do not have the field.
    pub nulls: u64,
    /// Number of values that can be read as numbers.
    pub numeric_count: u64,
    /// Number of distinct values; a lower bound unless `is_exact`.
    pub distinct_count: usize,
    /// Whether every distinct value was counted.
    pub is_exact: bool,
    /// The most frequent values.
    pub modes: Vec<Mode>,
}

/// Counts the fields of events page by page, with at most `max_values` distinct values per field.
pub(crate) struct Summary {
    events: u64,
    max_values: usize,
    counters: BTreeMap<String, Counter>,
}

impl Summary {
    pub(crate) fn new(max_values: usize) -> Self {
        Self { events: 0, max_values, counters: BTreeMap::new() }
    }

    pub(crate) fn add(&mut self, page: Page) {
        self.events += page.rows.len() as u64;
        let mut columns: Vec<_> = page.fields.iter().map(|_| Counter::default()).collect();
        for (counter, name) in columns.iter_mut().zip(&page.fields) {
            // Earlier counts of the field are kept.
            *counter = self.counters.remove(name).unwrap_or_default();
        }
        for row in page.rows {
            for (counter, value) in columns.iter_mut().zip(row) {
                value.into_iter().for_each(|value| counter.add(value, self.max_values));
            }
        }
        let counted = page.fields.into_iter().zip(columns);
        self.counters.extend(counted.filter(|(name, _)| name != "_raw"));
    }

    pub(crate) fn finish(self, top: usize) -> BTreeMap<String, FieldCounts> {
        let counted = self.counters.into_iter().filter(|(_, counter)| counter.count > 0);
        counted.map(|(name, counter)| (name, counter.finish(self.events, top))).collect()
    }
}

#[derive(Default)]
struct Counter {
    count: u64,
    numeric: u64,
    overflowed: bool,
    values: HashMap<String, u64>,
}

impl Counter {
    fn add(&mut self, value: Value, max_values: usize) {
        self.count += 1;
        match value {
            Value::One(text) => self.add_text(text, max_values),
            several => {
                let texts = several.into_texts();
                texts.into_iter().for_each(|text| self.add_text(text, max_values));
            }
        }
    }

    fn add_text(&mut self, text: String, max_values: usize) {
        self.numeric += u64::from(plan::value::parse_number(&text).is_some());
        if let Some(count) = self.values.get_mut(&text) {
            *count += 1;
        } else if self.values.len() < max_values {
            self.values.insert(text, 1);
        } else {
            self.overflowed = true;
        }
    }

    fn finish(self, total: u64, top: usize) -> FieldCounts {
        let distinct_count = self.values.len();
        let mut values: Vec<_> = self.values.into_iter().collect();
        values.sort_by(|(a, a_count), (b, b_count)| b_count.cmp(a_count).then(a.cmp(b)));
        values.truncate(top);
        let is_exact = !self.overflowed;
        let mode = |(value, count): (String, u64)| Mode { value, count, is_exact };
        FieldCounts {
            count: self.count,
            nulls: total.saturating_sub(self.count),
            numeric_count: self.numeric,
            distinct_count,
            is_exact,
            modes: values.into_iter().map(mode).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts row by row, as if each row were a page.
    fn summary_of(page: Page, max_values: usize) -> BTreeMap<String, FieldCounts> {
        let mut summary = Summary::new(max_values);
        for row in page.rows {
            summary.add(Page { fields: page.fields.clone(), rows: vec![row] });
        }
        summary.finish(2)
    }

    #[test]
    fn the_most_frequent_values_come_first_and_ties_by_name() {
        let one = |text: &str| Some(Value::One(text.to_owned()));
        let rows = [one("b"), one("a"), one("b"), None, one("7")].map(|cell| vec![cell]).to_vec();
        let page = Page { fields: vec!["x".to_owned()], rows };
        let counts = &summary_of(page, 10)["x"];
        assert_eq!((counts.count, counts.nulls, counts.numeric_count), (4, 1, 1));
        let modes: Vec<_> = counts.modes.iter().map(|m| (m.value.as_str(), m.count)).collect();
        assert_eq!(modes, [("b", 2), ("7", 1)]);
    }

    #[test]
    fn more_distinct_values_than_the_limit_are_said_to_be_inexact() {
        let cell = |n: usize| vec![Some(Value::One(n.to_string()))];
        let page = Page { fields: vec!["x".to_owned()], rows: (0..5).map(cell).collect() };
        let counts = &summary_of(page, 3)["x"];
        assert!(!counts.is_exact && counts.distinct_count == 3);
    }
}
