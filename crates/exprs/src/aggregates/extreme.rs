//! `min` and `max` of dynamic values: the extreme number by value; if there are no numbers, the extreme text
//! in byte order.
//!
//! Guarantees: the result is the exact text of a value.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{ArrayRef, ListBuilder, StringViewBuilder};
use arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, ScalarValue};
use eval::value::{compare_numbers, parse_number, whole_number};

use crate::aggregates::state;
use crate::aggregates::summary::Summary;
use crate::column::Value;
use crate::kernel::{EvalFunction, text};

/// The minimum or maximum number so far, with its text, and the minimum or maximum of the other texts.
///
/// An integer in Karst's notation is stored as an integer, so that it does not matter whether it arrives as a
/// number or as a text.
#[derive(Debug, Clone)]
pub(crate) struct Extreme {
    greatest: bool,
    whole: Option<i64>,
    number: Option<(f64, String)>,
    text: Option<String>,
}

impl Extreme {
    pub(crate) fn new(greatest: bool) -> Self {
        Self { greatest, whole: None, number: None, text: None }
    }

    fn better(&self, order: Ordering) -> bool {
        if self.greatest { order.is_gt() } else { order.is_lt() }
    }

    #[inline]
    fn add_whole(&mut self, whole: i64) {
        let stays = |best: i64| if self.greatest { best >= whole } else { best <= whole };
        if !self.whole.is_some_and(stays) {
            self.whole = Some(whole);
        }
    }

    fn add_text(&mut self, text: &str) {
        if let Some(whole) = whole_number(text) {
            self.add_whole(whole);
            return;
        }
        let Some(number) = parse_number(text) else {
            if self.text.as_ref().is_none_or(|best| self.better(text.cmp(best.as_str()))) {
                self.text = Some(text.to_owned());
            }
            return;
        };
        let improves = match &self.number {
            Some(best) => self.before((number, text), (best.0, best.1.as_str())),
            None => true,
        };
        if improves {
            self.number = Some((number, text.to_owned()));
        }
    }

    /// Of equal numbers in different notations, the smaller text is used, independently of the order of
    /// arrival.
    fn before(&self, one: (f64, &str), other: (f64, &str)) -> bool {
        let order = compare_numbers(one.0, other.0);
        self.better(order) || (order.is_eq() && one.1 < other.1)
    }

    fn best(&self) -> Option<String> {
        self.best_number().or_else(|| self.text.clone())
    }

    /// Returns the text of the minimum or maximum number, integer or not.
    fn best_number(&self) -> Option<String> {
        let whole = self.whole.map(|whole| (whole as f64, whole.to_string()));
        let (Some(whole), Some(number)) = (&whole, &self.number) else {
            return whole.as_ref().or(self.number.as_ref()).map(|(_, text)| text.clone());
        };
        let first = self.before((whole.0, &whole.1), (number.0, &number.1));
        Some(if first { whole.1.clone() } else { number.1.clone() })
    }
}

/// Returns the function that selects the minimum or maximum of an integer and a text.
pub(super) fn of_both(greatest: bool) -> EvalFunction {
    let name = if greatest { "greater_of" } else { "lesser_of" };
    text(name, move |row, out| {
        let mut both = Extreme::new(greatest);
        row.values().for_each(|value| both.add_value(value));
        out.push_str(&both.best()?);
        Some(())
    })
}

impl Summary for Extreme {
    #[inline]
    fn add_value(&mut self, value: Value<'_>) {
        match value {
            Value::Integer(whole) => self.add_whole(whole),
            Value::Text(text) => self.add_text(text),
            other => other.each_text(|text| self.add_text(text)),
        }
    }

    /// Lists of at most one integer and two texts: groups without values take only offsets.
    fn state_types(&self) -> Vec<DataType> {
        vec![state::list_of(DataType::Int64), state::list_of(DataType::Utf8View)]
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let wholes = self.whole.take().into_iter().collect();
        let number = self.number.take().map(|(_, text)| text);
        let texts = number.into_iter().chain(self.text.take());
        Ok(vec![state::integers(wholes), state::texts(texts)])
    }

    fn merge(&mut self, states: &[ArrayRef], row: usize) -> Result<()> {
        state::integers_in(&states[0], row).for_each(|whole| self.add_whole(whole));
        state::each_text(&states[1], row, |text| self.add_text(text));
        Ok(())
    }

    fn has_state(states: &[ArrayRef], row: usize) -> bool {
        states.iter().any(|lists| !state::is_empty(lists, row))
    }

    fn result(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Utf8View(self.best()))
    }

    fn states(&self, groups: Vec<Option<Self>>) -> Result<Vec<ArrayRef>> {
        let integers = groups.iter().flatten().filter(|group| group.whole.is_some()).count();
        let mut wholes = state::lists_of::<Int64Type>(groups.len(), integers)?;
        let mut texts = ListBuilder::with_capacity(StringViewBuilder::new(), groups.len());
        for group in groups {
            if let Some(group) = group {
                group.whole.into_iter().for_each(|whole| wholes.values().append_value(whole));
                let number = group.number.map(|(_, text)| text);
                let both = number.into_iter().chain(group.text);
                both.for_each(|text| texts.values().append_value(text));
            }
            wholes.append(true);
            texts.append(true);
        }
        Ok(vec![Arc::new(wholes.finish()), Arc::new(texts.finish())])
    }

    fn results(&self, groups: Vec<Option<Self>>) -> Result<ArrayRef> {
        let mut results = StringViewBuilder::with_capacity(groups.len());
        for group in groups {
            results.append_option(group.and_then(|group| group.best()));
        }
        Ok(Arc::new(results.finish()))
    }

    fn heap_size(&self) -> usize {
        let number = self.number.as_ref().map_or(0, |(_, text)| text.capacity());
        number + self.text.as_ref().map_or(0, String::capacity)
    }

    fn emitted_size(&self) -> usize {
        let view = |text: &String| size_of::<u128>() + text.len();
        let number = self.number.as_ref().map_or(0, |(_, text)| view(text));
        let whole = self.whole.map_or(0, |_| size_of::<i64>());
        whole + number + self.text.as_ref().map_or(0, view)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn best(greatest: bool, texts: &[&str]) -> String {
        let mut summary = Extreme::new(greatest);
        texts.iter().for_each(|text| summary.add_text(text));
        match summary.result().unwrap() {
            ScalarValue::Utf8View(Some(text)) => text,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn the_way_a_number_is_written_and_when_it_came_make_no_difference() {
        let cases: [(&[&str], &str, &str); 6] = [
            (&["9", "10", "-3"], "-3", "10"),
            (&["10.0", "10", "1e1"], "10", "10"),
            (&["010", "10.0"], "010", "010"),
            (&["9007199254740993", "9007199254740992"], "9007199254740992", "9007199254740993"),
            (&["2.5", "2", "3", "0x3"], "2", "3"),
            (&["b", "7", "a", "1.5"], "1.5", "7"),
        ];
        for (texts, least, greatest) in cases {
            let mut texts = texts.to_vec();
            for _ in 0..2 {
                for _ in 0..texts.len() {
                    texts.rotate_left(1);
                    assert_eq!(best(false, &texts), least, "{texts:?}");
                    assert_eq!(best(true, &texts), greatest, "{texts:?}");
                }
                texts.reverse();
            }
        }
    }
}
