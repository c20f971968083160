//! `min` and `max` of dynamic values: numbers by their size come before texts, which stand in the order
//! of their bytes.
//!
//! Guarantees: the result is the exact text of a value.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};

use crate::aggregates::state;
use crate::aggregates::summary::Summary;
use crate::expr::column::Value;
use crate::value::{compare_numbers, parse_number};

/// The least or greatest number so far, with its text, and the least or greatest other text.
#[derive(Debug, Clone)]
pub(crate) struct Extreme {
    greatest: bool,
    number: Option<(f64, String)>,
    text: Option<String>,
}

impl Extreme {
    pub(crate) fn new(greatest: bool) -> Self {
        Self { greatest, number: None, text: None }
    }

    fn better(&self, order: std::cmp::Ordering) -> bool {
        if self.greatest { order.is_gt() } else { order.is_lt() }
    }

    fn add_text(&mut self, text: &str) {
        let Some(number) = parse_number(text) else {
            if self.text.as_ref().is_none_or(|best| self.better(text.cmp(best.as_str()))) {
                self.text = Some(text.to_owned());
            }
            return;
        };
        let improves = match &self.number {
            // Equal numbers may be written differently: the lesser text, whatever came first.
            Some((best, written)) => {
                let order = compare_numbers(number, *best);
                self.better(order) || (order.is_eq() && text < written.as_str())
            }
            None => true,
        };
        if improves {
            self.number = Some((number, text.to_owned()));
        }
    }
}

impl Summary for Extreme {
    fn add_value(&mut self, value: Value<'_>) {
        value.each_text(|text| self.add_text(text));
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![DataType::Utf8View, DataType::Utf8View]
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let number = self.number.take().map(|(_, text)| text);
        Ok(vec![ScalarValue::Utf8View(number), ScalarValue::Utf8View(self.text.take())])
    }

    fn merge(&mut self, states: &[ArrayRef], row: usize) -> Result<()> {
        for state in states {
            if let Some(text) = state::text(state, row) {
                self.add_text(text);
            }
        }
        Ok(())
    }

    fn result(&mut self) -> Result<ScalarValue> {
        let number = self.number.as_ref().map(|(_, text)| text);
        let best = match self.greatest {
            true => self.text.as_ref().or(number),
            false => number.or(self.text.as_ref()),
        };
        Ok(ScalarValue::Utf8View(best.cloned()))
    }

    fn heap_size(&self) -> usize {
        let number = self.number.as_ref().map_or(0, |(_, text)| text.capacity());
        number + self.text.as_ref().map_or(0, String::capacity)
    }
}
