//! One value of an expression, and SPL's rules for values: when a text is a number, how a number is written,
//! which values are true, how values are ordered, and which precision a result has.
//!
//! Guarantees: these rules are implemented only here. Columns of searches and fields of arriving events are
//! read as the same [`Value`]. Reading a value allocates only to join several texts.

mod among_texts;
mod compare;
mod decimals;
mod kind;
mod number;

use std::fmt;
use std::ops::Deref;

pub use among_texts::{read_time_among_texts, time_among_texts};
pub use compare::{compare_numbers, compare_values, order, satisfies, text_truth};
pub use decimals::{Operation, decimals_in, write_decimals};
pub use kind::ValueType;
pub use number::{NumberText, parse_in_base, parse_number, rounded, whole_number};

/// A sequence of texts in any storage; [`Multi`] is a range of them.
pub trait Texts: Send + Sync {
    /// Returns a text; `None` if it is null.
    fn get(&self, at: usize) -> Option<&str>;
}

impl Texts for Vec<String> {
    fn get(&self, at: usize) -> Option<&str> {
        <[String]>::get(self, at).map(String::as_str)
    }
}

/// The values of a multivalue field.
#[derive(Clone, Copy)]
pub struct Multi<'a> {
    texts: &'a dyn Texts,
    start: u32,
    length: u32,
}

impl fmt::Debug for Multi<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> Multi<'a> {
    /// Creates a range of `length` texts from `start`.
    #[must_use]
    pub fn new(texts: &'a dyn Texts, start: u32, length: u32) -> Self {
        Self { texts, start, length }
    }

    /// Returns the number of values.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a field without values is null")]
    pub fn len(self) -> usize {
        self.length as usize
    }

    /// Returns the value at a position; empty if it is null.
    #[inline]
    #[must_use]
    pub fn get(self, at: usize) -> &'a str {
        self.texts.get(self.start as usize + at).unwrap_or_default()
    }

    /// Iterates over the values that are not null.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = &'a str> {
        let texts = self.texts;
        let start = self.start as usize;
        (start..start + self.length as usize).filter_map(move |at| texts.get(at))
    }
}

/// One value.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// Null.
    Null,
    /// A dynamic text: a numeric text is treated as a number.
    Text(&'a str),
    /// Several texts, at least one.
    Multi(Multi<'a>),
    /// A whole number.
    Integer(i64),
    /// A number.
    Float(f64),
    /// A Boolean.
    Boolean(bool),
    /// A time in microseconds since 1970, treated as epoch seconds.
    Time(i64),
}

impl<'a> Value<'a> {
    /// Returns the text of a list of one, and other values as they are: whether a field is a list depends on
    /// other events, too.
    #[must_use]
    pub fn single_as_text(self) -> Self {
        match self {
            Self::Multi(values) if values.len() == 1 => Self::Text(values.get(0)),
            other => other,
        }
    }

    /// Creates a value from several texts; none of them is null.
    #[must_use]
    pub fn several(texts: &'a Vec<String>) -> Self {
        match u32::try_from(texts.len()) {
            Ok(length @ 1..) => Self::Multi(Multi::new(texts, 0, length)),
            _ => Self::Null,
        }
    }

    /// Returns whether the value is null.
    #[inline]
    #[must_use]
    pub fn is_null(self) -> bool {
        matches!(self, Self::Null)
    }

    /// Returns the value as a number. Several values give `None`.
    #[inline]
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Null | Self::Boolean(_) => None,
            Self::Text(text) => parse_number(text),
            Self::Multi(multi) if multi.len() == 1 => parse_number(multi.get(0)),
            Self::Multi(_) => None,
            Self::Integer(number) => Some(number as f64),
            Self::Float(number) => Some(number),
            Self::Time(micros) => Some(micros as f64 / 1e6),
        }
    }

    /// Returns the value as a number, truncated to a whole one.
    #[inline]
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn whole(self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(number),
            other => other.number().map(|number| number as i64),
        }
    }

    /// Returns the value as text; several values are joined by spaces.
    #[inline]
    #[must_use]
    pub fn text(self) -> Option<TextValue<'a>> {
        Some(match self {
            Self::Null => return None,
            Self::Text(text) => TextValue::Borrowed(text),
            Self::Multi(multi) if multi.len() == 1 => TextValue::Borrowed(multi.get(0)),
            Self::Multi(multi) => TextValue::Joined(multi.iter().collect::<Vec<_>>().join(" ")),
            Self::Integer(number) => TextValue::Number(NumberText::integer(number)),
            Self::Float(number) => TextValue::Number(NumberText::float(number)),
            Self::Boolean(truth) => TextValue::Borrowed(truth_text(truth)),
            Self::Time(micros) => TextValue::Number(NumberText::time(micros)),
        })
    }

    /// Returns whether the value is true as a condition.
    #[inline]
    #[must_use]
    pub fn truth(self) -> Option<bool> {
        match self {
            Self::Null => None,
            Self::Boolean(truth) => Some(truth),
            Self::Text(text) => Some(text_truth(text)),
            Self::Multi(multi) => Some(multi.iter().any(text_truth)),
            number => number.number().map(|number| number != 0.0),
        }
    }

    /// Returns the number of values.
    #[inline]
    #[must_use]
    pub fn count(self) -> usize {
        match self {
            Self::Null => 0,
            Self::Multi(multi) => multi.len(),
            _ => 1,
        }
    }

    /// Calls `visit` with the text of each value.
    #[inline]
    pub fn each_text(self, mut visit: impl FnMut(&str)) {
        match self {
            Self::Text(text) => visit(text),
            Self::Multi(multi) => multi.iter().for_each(visit),
            single => {
                if let Some(text) = single.text() {
                    visit(&text);
                }
            }
        }
    }

    /// Returns the value as an event time in microseconds; a time is not rounded to floating point.
    #[must_use]
    pub fn micros(self) -> Option<i64> {
        match self {
            Self::Time(micros) => Some(micros),
            other => other.number().map(micros),
        }
    }
}

/// Converts epoch seconds to microseconds; clamped to the range of event times.
#[must_use]
#[allow(clippy::cast_possible_truncation)]
pub fn micros(seconds: f64) -> i64 {
    (seconds * 1e6).round() as i64
}

/// Returns the text of a Boolean.
#[must_use]
pub fn truth_text(truth: bool) -> &'static str {
    if truth { "True" } else { "False" }
}

/// A text that is borrowed where possible.
#[derive(Debug, Clone)]
pub enum TextValue<'a> {
    /// A text as it is stored.
    Borrowed(&'a str),
    /// A number as text.
    Number(NumberText),
    /// Several values joined.
    Joined(String),
}

impl Deref for TextValue<'_> {
    type Target = str;
    #[inline]
    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Number(text) => text,
            Self::Joined(text) => text,
        }
    }
}

/// A value that may own its texts: the value of a field or expression for one event.
#[derive(Debug, Clone)]
pub enum Datum<'a> {
    /// A value stored elsewhere.
    View(Value<'a>),
    /// A computed text.
    Text(String),
    /// Several computed texts; none is null.
    Multi(Vec<String>),
}

impl<'a> Datum<'a> {
    /// Null.
    pub const NULL: Self = Self::View(Value::Null);

    /// Creates a value from a text stored elsewhere.
    #[must_use]
    pub fn text(text: &'a str) -> Self {
        Self::View(Value::Text(text))
    }

    /// Returns the value.
    #[must_use]
    pub fn get(&self) -> Value<'_> {
        match self {
            Self::View(value) => *value,
            Self::Text(text) => Value::Text(text),
            Self::Multi(texts) => Value::several(texts),
        }
    }

    /// Converts the value to one that owns its texts.
    #[must_use]
    pub fn into_owned(self) -> Datum<'static> {
        match self {
            Self::Text(text) => Datum::Text(text),
            Self::Multi(texts) => Datum::Multi(texts),
            Self::View(value) => match value {
                Value::Text(text) => Datum::Text(text.to_owned()),
                Value::Multi(multi) => Datum::Multi(multi.iter().map(str::to_owned).collect()),
                Value::Null => Datum::NULL,
                Value::Integer(number) => Datum::View(Value::Integer(number)),
                Value::Float(number) => Datum::View(Value::Float(number)),
                Value::Boolean(truth) => Datum::View(Value::Boolean(truth)),
                Value::Time(micros) => Datum::View(Value::Time(micros)),
            },
        }
    }
}

impl From<Value<'static>> for Datum<'_> {
    fn from(value: Value<'static>) -> Self {
        Self::View(value)
    }
}
