//! Columns as functions read them: any Arrow array becomes one of a few arrays, any place in it
//! one [`Value`].
//!
//! Guarantees: reading a value never allocates; constants are kept as one row.
//! It leaves what a value means (number, truth) to `crate::value`.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, ListArray, StringViewArray,
    TimestampMicrosecondArray,
};
use arrow::compute::cast;
use arrow::datatypes::{Float64Type, Int64Type, TimestampMicrosecondType};
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::logical_expr::ColumnarValue;

use crate::types::ValueType;
use crate::value::{NumberText, TextValue, parse_number, text_truth, truth_text};

/// An array in the form functions read.
#[derive(Debug, Clone)]
pub(crate) enum Values {
    Null,
    Text(StringViewArray),
    /// The lists and the texts of all of them.
    Multi(ListArray, StringViewArray),
    Integer(Int64Array),
    Float(Float64Array),
    Boolean(BooleanArray),
    Time(TimestampMicrosecondArray),
}

impl Values {
    /// Takes an array of any type that SPL has values of.
    pub(crate) fn new(array: &ArrayRef) -> Result<Self> {
        let kind = ValueType::of(array.data_type()).ok_or_else(|| {
            exec_datafusion_err!("a column of type {} is not an SPL value", array.data_type())
        })?;
        let wanted = kind.data_type();
        let array =
            if *array.data_type() == wanted { Arc::clone(array) } else { cast(array, &wanted)? };
        Ok(match kind {
            ValueType::Null => Self::Null,
            ValueType::Text => Self::Text(array.as_string_view().clone()),
            ValueType::Multi => {
                let lists = array.as_list::<i32>().clone();
                let texts = lists.values().as_string_view().clone();
                Self::Multi(lists, texts)
            }
            ValueType::Integer => Self::Integer(array.as_primitive::<Int64Type>().clone()),
            ValueType::Float => Self::Float(array.as_primitive::<Float64Type>().clone()),
            ValueType::Boolean => Self::Boolean(array.as_boolean().clone()),
            ValueType::Time => Self::Time(array.as_primitive::<TimestampMicrosecondType>().clone()),
        })
    }

    /// The array itself; none where all is null.
    pub(crate) fn array(&self) -> Option<ArrayRef> {
        Some(match self {
            Self::Null => return None,
            Self::Text(array) => Arc::new(array.clone()),
            Self::Multi(array, _) => Arc::new(array.clone()),
            Self::Integer(array) => Arc::new(array.clone()),
            Self::Float(array) => Arc::new(array.clone()),
            Self::Boolean(array) => Arc::new(array.clone()),
            Self::Time(array) => Arc::new(array.clone()),
        })
    }

    /// The value in a row.
    pub(crate) fn get(&self, row: usize) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Text(array) if array.is_valid(row) => Value::Text(array.value(row)),
            Self::Multi(lists, texts) if lists.is_valid(row) => {
                let offsets = lists.value_offsets();
                let start = usize::try_from(offsets[row]).unwrap_or_default();
                let end = usize::try_from(offsets[row + 1]).unwrap_or_default();
                // A field without values is a missing field.
                if start == end { Value::Null } else { Value::Multi(Multi { texts, start, end }) }
            }
            Self::Integer(array) if array.is_valid(row) => Value::Integer(array.value(row)),
            Self::Float(array) if array.is_valid(row) => Value::Float(array.value(row)),
            Self::Boolean(array) if array.is_valid(row) => Value::Boolean(array.value(row)),
            Self::Time(array) if array.is_valid(row) => Value::Time(array.value(row)),
            _ => Value::Null,
        }
    }
}

/// The several values of one field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Multi<'a> {
    texts: &'a StringViewArray,
    start: usize,
    end: usize,
}

impl<'a> Multi<'a> {
    pub(crate) fn len(self) -> usize {
        self.end - self.start
    }

    pub(crate) fn get(self, at: usize) -> &'a str {
        self.texts.value(self.start + at)
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = &'a str> {
        let texts = self.texts;
        (self.start..self.end).filter(|at| texts.is_valid(*at)).map(|at| texts.value(at))
    }
}

/// One value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'a> {
    Null,
    Text(&'a str),
    Multi(Multi<'a>),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Time(i64),
}

impl<'a> Value<'a> {
    pub(crate) fn is_null(self) -> bool {
        matches!(self, Self::Null)
    }

    /// The number it is or stands for. Several values stand for none.
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn number(self) -> Option<f64> {
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

    /// The number, cut to a whole one.
    #[allow(clippy::cast_possible_truncation)]
    pub(crate) fn whole(self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(number),
            other => other.number().map(|number| number as i64),
        }
    }

    /// Its text; several values are joined by spaces.
    pub(crate) fn text(self) -> Option<TextValue<'a>> {
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

    /// Whether it is true as a condition.
    pub(crate) fn truth(self) -> Option<bool> {
        match self {
            Self::Null => None,
            Self::Boolean(truth) => Some(truth),
            Self::Text(text) => Some(text_truth(text)),
            Self::Multi(multi) => Some(multi.iter().any(text_truth)),
            number => number.number().map(|number| number != 0.0),
        }
    }

    /// How many values it is.
    pub(crate) fn count(self) -> usize {
        match self {
            Self::Null => 0,
            Self::Multi(multi) => multi.len(),
            _ => 1,
        }
    }

    /// Calls `visit` with the text of each value.
    pub(crate) fn each_text(self, mut visit: impl FnMut(&str)) {
        match self {
            Self::Multi(multi) => multi.iter().for_each(visit),
            single => {
                if let Some(text) = single.text() {
                    visit(&text);
                }
            }
        }
    }
}

/// An argument of a function: a column, or a constant kept as one row.
#[derive(Debug, Clone)]
pub(crate) struct Argument {
    pub(crate) values: Values,
    pub(crate) constant: bool,
}

impl Argument {
    pub(crate) fn new(value: &ColumnarValue) -> Result<Self> {
        Ok(match value {
            ColumnarValue::Array(array) => Self { values: Values::new(array)?, constant: false },
            ColumnarValue::Scalar(scalar) => {
                Self { values: Values::new(&scalar.to_array()?)?, constant: true }
            }
        })
    }

    pub(crate) fn get(&self, row: usize) -> Value<'_> {
        self.values.get(if self.constant { 0 } else { row })
    }
}

/// The arguments of a function for one event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'a> {
    pub(crate) arguments: &'a [Argument],
    pub(crate) row: usize,
    /// Stands for the first argument: one of its several values.
    pub(crate) first: Option<&'a str>,
}

impl<'a> Row<'a> {
    /// An argument, null where there are fewer.
    pub(crate) fn value(self, at: usize) -> Value<'a> {
        if let (0, Some(text)) = (at, self.first) {
            return Value::Text(text);
        }
        self.arguments.get(at).map_or(Value::Null, |argument| argument.get(self.row))
    }

    pub(crate) fn text(self, at: usize) -> Option<TextValue<'a>> {
        self.value(at).text()
    }

    pub(crate) fn number(self, at: usize) -> Option<f64> {
        self.value(at).number()
    }

    /// All arguments.
    pub(crate) fn values(self) -> impl Iterator<Item = Value<'a>> {
        self.arguments.iter().map(move |argument| argument.get(self.row))
    }
}
