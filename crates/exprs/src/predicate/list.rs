//! `field IN (a, b, ...)` with the semantics of the `search` command: equality to any of many values.
//!
//! Guarantees: the result is the same as that of [`FieldValue`] for each of the values, but values without
//! wildcards are looked up by hash, so that a list of 100,000 of them costs no more per row than a list of
//! ten. Networks and values with wildcards are tested one by one.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use spl::ast::{ComparisonOperator, SearchPattern};

use crate::column::Value;
use crate::predicate::field::FieldValue;
use crate::predicate::sequence::lower;

/// The values of a list, compiled. Clones share them.
#[derive(Debug, Clone)]
pub struct FieldList(Arc<Compiled>);

#[derive(Debug)]
struct Compiled {
    values: Vec<FieldValue>,
    /// Hash of all values, because plans are compared and hashed many times.
    hash: u64,
    /// Lower-case ASCII texts; true if one of the values with this text is not a number.
    ascii: HashMap<Box<str>, bool>,
    /// Other texts in lower case; none of them is a number.
    other: HashSet<Box<str>>,
    /// Bits of numbers; true if one of the values is in Karst's notation.
    numbers: HashMap<u64, bool>,
    /// Indexes of networks and of values with wildcards.
    tried: Vec<usize>,
}

/// Returns normalized bits, so that equal numbers have equal bits.
fn bits(number: f64) -> u64 {
    (number + 0.0).to_bits()
}

impl FieldList {
    /// Compiles the values.
    pub(crate) fn new<'p>(patterns: impl IntoIterator<Item = &'p SearchPattern>) -> Self {
        let values: Vec<_> = patterns.into_iter().cloned().map(FieldValue::new).collect();
        let mut hasher = DefaultHasher::new();
        values.hash(&mut hasher);
        let hash = hasher.finish();
        let (ascii, other, numbers) = Default::default();
        let mut compiled = Compiled { values, hash, ascii, other, numbers, tried: Vec::new() };
        compiled.index();
        Self(Arc::new(compiled))
    }

    /// Returns the values in their original order.
    #[must_use]
    pub fn values(&self) -> &[FieldValue] {
        &self.0.values
    }

    /// Whether a text equals any of them.
    #[must_use]
    pub fn contains_text(&self, text: &str) -> bool {
        self.0.contains_text(text)
    }

    /// Whether a value equals any value of the list; for several values, whether any does. Null does not.
    pub(crate) fn contains(&self, value: Value<'_>) -> bool {
        self.0.contains(value)
    }

    /// Returns the number of values that are tested one by one.
    pub(crate) fn tried(&self) -> usize {
        self.0.tried.len()
    }
}

impl Compiled {
    fn index(&mut self) {
        for (at, value) in self.values.iter().enumerate() {
            let literal = value.pattern().as_literal().filter(|_| !value.is_network());
            let Some(literal) = literal else {
                self.tried.push(at);
                continue;
            };
            let number = value.number();
            if let Some(number) = number {
                *self.numbers.entry(bits(number)).or_default() |= value.is_canonical();
            }
            if literal.is_ascii() {
                let key = literal.to_ascii_lowercase().into_boxed_str();
                *self.ascii.entry(key).or_default() |= number.is_none();
            } else {
                self.other.insert(lower(literal).into_boxed_str());
            }
        }
    }

    /// Whether a text is in the list; if so, whether as a value that is not a number.
    fn text(&self, text: &str) -> Option<bool> {
        // ASCII values are compared with ASCII case folding only, as in `FieldValue`.
        let ascii = if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            self.ascii.get(text.to_ascii_lowercase().as_str())
        } else {
            self.ascii.get(text)
        };
        let other = !self.other.is_empty() && self.other.contains(lower(text).as_str());
        if other { Some(true) } else { ascii.copied() }
    }

    fn contains_text(&self, text: &str) -> bool {
        self.text(text).is_some() || self.tries(Value::Text(text))
    }

    fn tries(&self, value: Value<'_>) -> bool {
        let mut tried = self.tried.iter().map(|at| &self.values[*at]);
        tried.any(|one| one.compare(ComparisonOperator::Equal, value))
    }

    fn contains(&self, value: Value<'_>) -> bool {
        match value {
            Value::Null => false,
            Value::Text(text) => self.contains_text(text),
            Value::Multi(values) => values.iter().any(|text| self.contains_text(text)),
            other => {
                let number = other.number();
                let equal = number.and_then(|number| self.numbers.get(&bits(number)));
                if equal.is_some_and(|canonical| *canonical || matches!(other, Value::Time(_))) {
                    return true;
                }
                // Numbers are compared as numbers: only a value that is not a number is compared as a text.
                let text = other.text().and_then(|text| self.text(&text));
                text.is_some_and(|is_text| is_text || number.is_none()) || self.tries(other)
            }
        }
    }
}

impl PartialEq for FieldList {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.0.hash == other.0.hash && self.0.values == other.0.values)
    }
}

impl Eq for FieldList {}

impl Hash for FieldList {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash.hash(state);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const PATTERNS: [&str; 16] = [
        "200",
        "200.0",
        "2e2",
        "1E+20",
        "abc",
        "ABC",
        "größe",
        "GRÖSSE",
        "a*c",
        "*",
        "",
        "10.0.0.0/8",
        "0",
        "-0",
        "true",
        "1700000000",
    ];

    fn values() -> Vec<Value<'static>> {
        let texts = [
            "200", "200.0", "+200", "2E2", "abc", "aBc", "axc", "Größe", "grösse", "", "10.1.2.3",
            "11.1.2.3", "0", "true", "TRUE", "\u{212a}",
        ];
        let numbers = [200.0, 0.0, -0.0, 1e20, f64::NAN, f64::INFINITY, 1.5].map(Value::Float);
        let times = [Value::Time(200_000_000), Value::Time(1_700_000_000_000_000)];
        let others =
            [Value::Null, Value::Integer(200), Value::Boolean(true), Value::Boolean(false)];
        texts.into_iter().map(Value::Text).chain(numbers).chain(times).chain(others).collect()
    }

    fn pattern(text: &str) -> SearchPattern {
        let parsed = spl::parse_search_terms(&format!("f=\"{text}\"")).unwrap().expr.unwrap();
        let spl::ast::SearchExpr::Comparison(comparison) = parsed else { panic!("{text}") };
        comparison.value.pattern
    }

    #[test]
    fn a_list_answers_as_each_of_its_values() {
        let patterns = PATTERNS.map(pattern);
        let single = patterns.clone().map(FieldValue::new);
        for (from, to) in
            (0..PATTERNS.len()).flat_map(|from| (from..PATTERNS.len()).map(move |to| (from, to)))
        {
            let list = FieldList::new(&patterns[from..=to]);
            for value in values() {
                let one = |one: &FieldValue| one.compare(ComparisonOperator::Equal, value);
                let wanted = single[from..=to].iter().any(one);
                assert_eq!(list.contains(value), wanted, "{value:?} in {:?}", &PATTERNS[from..=to]);
            }
        }
    }

    #[test]
    fn lists_with_the_same_values_are_the_same() {
        let list = |texts: &[&str]| {
            FieldList::new(
                &texts.iter().map(|text| SearchPattern::literal(*text)).collect::<Vec<_>>(),
            )
        };
        assert_eq!(list(&["a", "b"]), list(&["a", "b"]));
        assert_ne!(list(&["a", "b"]), list(&["b", "a"]));
        assert_ne!(list(&["a"]), list(&["a", "b"]));
    }
}
