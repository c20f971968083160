//! `value IN (a, b, ...)` of `eval` and `where` with many constants.
//!
//! Guarantees: the result is the same as that of a comparison with each constant, but by hash look-up: a list
//! of 100,000 costs no more per row than a list of fifty.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use eval::value::{Value, compare_values, parse_number};
use hashbrown::HashSet;
use spl::ast::ComparisonOperator;

use crate::Typed;
use crate::column::Argument;
use crate::kernel::columns;
use crate::types::ValueType;

/// Minimum number of constants. Shorter lists become comparisons, some of which scans can use for pruning.
const MANY: usize = 50;

/// The constants of a list.
#[derive(Debug, Default)]
struct Constants {
    texts: HashSet<Box<str>>,
    /// The bits of the numeric constants.
    numbers: HashSet<u64>,
    /// Whether false and true are in the list.
    truths: [bool; 2],
    /// A text that identifies the list.
    written: String,
}

/// Returns normalized bits, so that equal numbers have equal bits.
fn bits(number: f64) -> u64 {
    (number + 0.0).to_bits()
}

impl Constants {
    fn add(&mut self, constant: Value<'_>) {
        if let Some(number) = constant.number() {
            self.numbers.insert(bits(number));
        }
        if let Some(text) = constant.text() {
            // Writing to a text cannot fail.
            let _ = write!(self.written, "{:?},", &*text);
            self.texts.insert(Box::from(&*text));
        }
        for (at, truth) in [false, true].into_iter().enumerate() {
            let equal = compare_values(ComparisonOperator::Equal, Value::Boolean(truth), constant);
            self.truths[at] |= equal == Some(true);
        }
    }

    /// Whether the list contains a value; `None` (unknown) for null.
    fn have(&self, value: Value<'_>) -> Option<bool> {
        Some(match value {
            Value::Null => return None,
            Value::Multi(values) => values.iter().any(|text| self.have_text(text)),
            Value::Boolean(truth) => self.truths[usize::from(truth)],
            Value::Text(text) => self.have_text(text),
            number => {
                number.number().is_some_and(|number| self.numbers.contains(&bits(number)))
                    || number.text().is_some_and(|text| self.texts.contains(&*text))
            }
        })
    }

    fn have_text(&self, text: &str) -> bool {
        self.texts.contains(text)
            || parse_number(text).is_some_and(|number| self.numbers.contains(&bits(number)))
    }
}

/// Removes the constants from a long list and returns the test for them.
pub(crate) fn of_constants(value: &Typed, list: &mut Vec<Typed>) -> Option<Typed> {
    if list.len() < MANY || value.kind == ValueType::Null {
        return None;
    }
    let mut constants = Constants::default();
    list.retain(|item| {
        let item = item.clone().plain();
        let number = item.literal_number().map(Value::Float);
        let constant = number.or_else(|| item.literal_text().map(Value::Text));
        constant.into_iter().for_each(|constant| constants.add(constant));
        constant.is_none()
    });
    if constants.texts.is_empty() {
        return None;
    }
    let written = std::mem::take(&mut constants.written);
    let function = columns("in_list", ValueType::Boolean, move |arguments, rows| {
        Ok(Arc::new(which(&constants, &arguments[0], rows)) as ArrayRef)
    });
    Some(function.with(written).call(vec![value.clone().plain()]))
}

fn which(constants: &Constants, values: &Argument, rows: usize) -> BooleanArray {
    (0..rows).map(|row| constants.have(values.get(row))).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::compile::testing::Table;

    fn table() -> Table {
        Table::new()
            .text("s", &[Some("5"), Some("5.0"), Some("x"), Some("X"), Some("t"), Some(""), None])
            .float("f", &[Some(1.5), Some(0.0), Some(5.0), Some(1e20), Some(7.0), Some(0.5), None])
            .integer("i", &[Some(3), Some(5), Some(0), Some(-5), Some(1), Some(2), None])
            .multi("mv", &[&["a", "x"], &["7"], &["5.00"], &[], &["c"], &["X"], &["t"]])
    }

    #[test]
    fn a_long_list_answers_as_a_short_one() {
        let items = ["5", "\"x\"", "\"5.00\"", "1.50", "0", "\"1e20\"", "\"t\"", "\"\"", "s", "i"];
        let filler: Vec<_> = (0..super::MANY).map(|at| format!("\"filler {at}\"")).collect();
        for value in ["s", "f", "i", "mv", "(i > 2)", "(s . \"\")", "nothing"] {
            for item in items {
                let of = |list: &str| table().eval(&format!("{value} IN ({list})"));
                let short = of(item);
                assert_eq!(of(&format!("{item}, {}", filler.join(", "))), short, "{value} {item}");
            }
        }
    }

    #[test]
    fn what_is_not_in_a_long_list_is_told_from_what_is_unknown() {
        let list: Vec<_> = (0..100_000).map(|at| at.to_string()).collect();
        let found = table().eval(&format!("NOT i IN ({})", list.join(",")));
        let found: Vec<_> = found.iter().map(|value| value.as_deref().unwrap_or("-")).collect();
        assert_eq!(found, ["False", "False", "False", "True", "False", "False", "-"]);
    }
}
