//! `min` and `max` of dynamic values: numeric if all values are numbers, else byte by byte.
//!
//! Guarantees: the result is the exact text of a value.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};

use crate::aggregates::state;
use crate::aggregates::summary::Summary;
use crate::expr::column::Value;
use crate::value::{compare_numbers, parse_number};

/// The least or greatest value so far, as number and as text.
#[derive(Debug, Clone)]
pub(crate) struct Extreme {
    greatest: bool,
    /// The best number and its text; none once a value is no number.
    number: Option<(f64, String)>,
    text: Option<String>,
    only_numbers: bool,
}

impl Extreme {
    pub(crate) fn new(greatest: bool) -> Self {
        Self { greatest, number: None, text: None, only_numbers: true }
    }

    fn better(&self, order: std::cmp::Ordering) -> bool {
        if self.greatest { order.is_gt() } else { order.is_lt() }
    }

    fn add_text(&mut self, text: &str) {
        let improves = match &self.text {
            Some(best) => self.better(text.cmp(best.as_str())),
            None => true,
        };
        if improves {
            self.text = Some(text.to_owned());
        }
        if !self.only_numbers {
            return;
        }
        let Some(number) = parse_number(text) else {
            self.only_numbers = false;
            self.number = None;
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
        vec![DataType::Utf8View, DataType::Utf8View, DataType::Boolean]
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![
            ScalarValue::Utf8View(self.number.take().map(|(_, text)| text)),
            ScalarValue::Utf8View(self.text.take()),
            ScalarValue::Boolean(Some(self.only_numbers)),
        ])
    }

    fn merge(&mut self, states: &[ArrayRef], row: usize) -> Result<()> {
        // The best text is one of the values, so it also tells whether all are numbers; if it
        // happens to be one while others are not, the flag says so.
        if let Some(text) = state::text(&states[0], row) {
            self.add_text(text);
        }
        if let Some(text) = state::text(&states[1], row) {
            self.add_text(text);
        }
        let flags = arrow::array::AsArray::as_boolean(&states[2]);
        if !flags.value(row) {
            self.only_numbers = false;
            self.number = None;
        }
        Ok(())
    }

    fn result(&mut self) -> Result<ScalarValue> {
        let best = match (&self.number, self.only_numbers) {
            (Some((_, text)), true) => Some(text.clone()),
            _ => self.text.clone(),
        };
        Ok(ScalarValue::Utf8View(best))
    }

    fn heap_size(&self) -> usize {
        let number = self.number.as_ref().map_or(0, |(_, text)| text.capacity());
        number + self.text.as_ref().map_or(0, String::capacity)
    }
}
