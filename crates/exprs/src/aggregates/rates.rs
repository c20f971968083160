//! The combined rates of several counters: `rate_avg` and `rate_sum`.
//!
//! Guarantees: each series has its own rate, so independent counters are not mixed; a series with fewer than
//! two times has no rate.

use std::collections::BTreeMap;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};

use crate::aggregates::pick::Rate;
use crate::aggregates::state;
use crate::aggregates::summary::Summary;
use crate::column::Row;

/// The counters by the name of their series.
#[derive(Debug, Clone)]
pub(crate) struct Rates {
    /// Whether the result is the mean rather than the sum.
    mean: bool,
    series: BTreeMap<String, Rate>,
    /// Total size of the names in bytes.
    names: usize,
}

impl Rates {
    pub(crate) fn new(mean: bool) -> Self {
        Self { mean, series: BTreeMap::new(), names: 0 }
    }

    fn of(&mut self, name: &str) -> &mut Rate {
        if !self.series.contains_key(name) {
            self.names += name.len();
        }
        self.series.entry(name.to_owned()).or_default()
    }
}

impl Summary for Rates {
    const WHOLE_EVENTS: bool = true;
    const NEEDS_VALUE: bool = true;

    /// The arguments are the value, the time, and the name of the series.
    fn add(&mut self, row: Row<'_>, _: &[u8]) {
        let (Some(value), Some(time)) = (row.number(0), row.number(1)) else { return };
        match row.text(2) {
            Some(name) => self.of(&name).add_point(time, value),
            None => self.of("").add_point(time, value),
        }
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![state::list_of(DataType::Utf8View), state::list_of(DataType::Float64)]
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let series = std::mem::take(&mut self.series);
        let numbers = series.values().filter_map(Rate::parts).flatten().collect();
        let named = series.iter().filter(|(_, rate)| rate.parts().is_some());
        Ok(vec![state::texts(named.map(|(name, _)| name)), state::numbers(numbers)])
    }

    fn merge(&mut self, states: &[ArrayRef], row: usize) -> Result<()> {
        let numbers = state::read_numbers(&states[1], row);
        let mut parts = numbers.chunks_exact(Rate::PARTS);
        state::each_text(&states[0], row, |name| {
            if let Some(part) = parts.next() {
                self.of(name).add_parts(part);
            }
        });
        Ok(())
    }

    #[allow(clippy::cast_precision_loss)]
    fn result(&mut self) -> Result<ScalarValue> {
        let rates: Vec<f64> = self.series.values().filter_map(Rate::value).collect();
        let sum: f64 = rates.iter().sum();
        let value = match (rates.len(), self.mean) {
            (0, _) => None,
            (count, true) => Some(sum / count as f64),
            (_, false) => Some(sum),
        };
        Ok(ScalarValue::Float64(value))
    }

    fn heap_size(&self) -> usize {
        self.names + self.series.len() * (size_of::<String>() + size_of::<Rate>())
    }

    fn emitted_size(&self) -> usize {
        // The general conversion joins columns from parts, so they exist twice for a moment.
        2 * self.heap_size()
    }
}
