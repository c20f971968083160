//! `field=value` with the semantics of the `search` command.
//!
//! Guarantees: `=` and `!=` compare texts, case-insensitively and with wildcards, so that `1` is not `1.0`;
//! other operators compare numerically if both sides are numbers. A missing field matches nothing, so `NOT`
//! of the comparison matches.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use eval::Network;
use eval::value::{NumberText, compare_numbers, parse_number, satisfies};
use spl::ast::{ComparisonOperator, SearchPattern};

use crate::column::Value;
use crate::predicate::sequence::Sequence;

/// The right side of a comparison, compiled.
#[derive(Debug, Clone)]
pub struct FieldValue {
    pattern: SearchPattern,
    literal: Option<String>,
    number: Option<f64>,
    /// Whether the number is in Karst's notation. A number in another notation, such as `1.0`, equals no
    /// number, as it does not equal the text `1`.
    canonical: bool,
    network: Option<Network>,
    sequence: Sequence,
}

impl FieldValue {
    /// Compiles a value.
    #[must_use]
    pub fn new(pattern: SearchPattern) -> Self {
        let literal = pattern.as_literal().map(str::to_owned);
        let number = literal.as_deref().and_then(parse_number);
        let written = |number: f64| literal.as_deref() == Some(&*NumberText::float(number));
        let canonical = number.is_some_and(written);
        let network = literal.as_deref().filter(|text| text.contains('/')).and_then(Network::new);
        let sequence = Sequence::new(&pattern, false);
        Self { pattern, literal, number, canonical, network, sequence }
    }

    /// Returns the text with its wildcards.
    #[must_use]
    pub fn pattern(&self) -> &SearchPattern {
        &self.pattern
    }

    /// Returns the number, if the value is one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        self.number
    }

    /// Whether the value is a number in Karst's notation.
    pub(super) fn is_canonical(&self) -> bool {
        self.canonical
    }

    /// Whether it is a network such as `10.0.0.0/8`, which matches addresses in it.
    #[must_use]
    pub fn is_network(&self) -> bool {
        self.network.is_some()
    }

    /// Whether the value is `*`, which matches any value.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.pattern.is_any()
    }

    /// Whether one text satisfies the comparison.
    #[must_use]
    pub fn compare_text(&self, operator: ComparisonOperator, text: &str) -> bool {
        match operator {
            ComparisonOperator::Equal => self.equals(text),
            ComparisonOperator::NotEqual => !self.equals(text),
            ordered => satisfies(ordered, self.order(text)),
        }
    }

    fn equals(&self, text: &str) -> bool {
        if self.sequence.matches_whole(text) {
            return true;
        }
        self.network.is_some_and(|network| network.contains(text) == Some(true))
    }

    /// Compares a text with the value.
    fn order(&self, text: &str) -> Ordering {
        if let Some(number) = self.number
            && let Some(other) = parse_number(text)
        {
            return compare_numbers(other, number);
        }
        match &self.literal {
            Some(literal) => text.cmp(literal),
            None => text.cmp(&self.pattern.text()),
        }
    }

    /// Whether a value satisfies the comparison; for several values, whether any does. Null does not.
    pub(crate) fn compare(&self, operator: ComparisonOperator, value: Value<'_>) -> bool {
        match value {
            Value::Null => false,
            Value::Text(text) => self.compare_text(operator, text),
            Value::Multi(values) => values.iter().any(|text| self.compare_text(operator, text)),
            other => match (self.number, other.number()) {
                (Some(right), Some(left)) => {
                    let order = compare_numbers(left, right);
                    let same = order.is_eq() && (self.canonical || matches!(other, Value::Time(_)));
                    match operator {
                        ComparisonOperator::Equal => same,
                        ComparisonOperator::NotEqual => !same,
                        ordered => satisfies(ordered, order),
                    }
                }
                _ => other.text().is_some_and(|text| self.compare_text(operator, &text)),
            },
        }
    }
}

impl PartialEq for FieldValue {
    fn eq(&self, other: &Self) -> bool {
        self.pattern == other.pattern
    }
}

impl Eq for FieldValue {}

impl Hash for FieldValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.pattern.hash(state);
    }
}
