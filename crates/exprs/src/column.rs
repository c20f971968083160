//! Columns as functions read them: any Arrow array becomes one of a few arrays, any place in it
//! one [`Value`].
//!
//! Guarantees: reading a value never allocates; constants are kept as one row.
//! It leaves what a value means (number, truth) to [`eval::value`].

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, ListArray, StringViewArray,
    TimestampMicrosecondArray,
};
use arrow::compute::cast;
use arrow::datatypes::{Float64Type, Int64Type, TimestampMicrosecondType};
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::logical_expr::ColumnarValue;
use eval::value::{Multi, TextValue, Texts};

use crate::types::{ArrowType, ValueType};
pub use eval::value::Value;

/// The texts of all lists of a column.
#[derive(Debug, Clone)]
pub struct ListTexts(StringViewArray);

impl Texts for ListTexts {
    #[inline]
    fn get(&self, at: usize) -> Option<&str> {
        self.0.is_valid(at).then(|| self.0.value(at))
    }
}

/// An array in the form functions read.
#[derive(Debug, Clone)]
pub enum Values {
    Null,
    Text(StringViewArray),
    /// The lists and the texts of all of them.
    Multi(ListArray, ListTexts),
    Integer(Int64Array),
    Float(Float64Array),
    Boolean(BooleanArray),
    Time(TimestampMicrosecondArray),
}

impl Values {
    /// Takes an array of any type that SPL has values of.
    ///
    /// # Errors
    /// If SPL has no values of the type.
    pub fn new(array: &ArrayRef) -> Result<Self> {
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
                Self::Multi(lists, ListTexts(texts))
            }
            ValueType::Integer => Self::Integer(array.as_primitive::<Int64Type>().clone()),
            ValueType::Float => Self::Float(array.as_primitive::<Float64Type>().clone()),
            ValueType::Boolean => Self::Boolean(array.as_boolean().clone()),
            ValueType::Time => Self::Time(array.as_primitive::<TimestampMicrosecondType>().clone()),
        })
    }

    /// The array itself; none where all is null.
    pub fn array(&self) -> Option<ArrayRef> {
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
    #[inline]
    pub fn get(&self, row: usize) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Text(array) if array.is_valid(row) => Value::Text(array.value(row)),
            Self::Multi(lists, texts) if lists.is_valid(row) => {
                let offsets = lists.value_offsets();
                let start = offsets[row].unsigned_abs();
                let length = offsets[row + 1].unsigned_abs() - start;
                // A field without values is a missing field.
                if length == 0 {
                    Value::Null
                } else {
                    Value::Multi(Multi::new(texts, start, length))
                }
            }
            Self::Integer(array) if array.is_valid(row) => Value::Integer(array.value(row)),
            Self::Float(array) if array.is_valid(row) => Value::Float(array.value(row)),
            Self::Boolean(array) if array.is_valid(row) => Value::Boolean(array.value(row)),
            Self::Time(array) if array.is_valid(row) => Value::Time(array.value(row)),
            _ => Value::Null,
        }
    }
}

/// An argument of a function: a column, or a constant kept as one row.
#[derive(Debug, Clone)]
pub struct Argument {
    /// The values; one row if it is a constant.
    pub values: Values,
    /// Whether every row has the value of the first.
    pub constant: bool,
}

impl Argument {
    /// Takes an argument as DataFusion passes it.
    ///
    /// # Errors
    /// If the array is of a type that SPL has no value of.
    pub fn new(value: &ColumnarValue) -> Result<Self> {
        Ok(match value {
            ColumnarValue::Array(array) => Self { values: Values::new(array)?, constant: false },
            ColumnarValue::Scalar(scalar) => {
                Self { values: Values::new(&scalar.to_array()?)?, constant: true }
            }
        })
    }

    /// The value in a row.
    #[inline]
    pub fn get(&self, row: usize) -> Value<'_> {
        self.values.get(if self.constant { 0 } else { row })
    }
}

/// The arguments of an aggregate for one event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'a> {
    pub(crate) arguments: &'a [Argument],
    pub(crate) row: usize,
}

impl<'a> Row<'a> {
    /// An argument, null where there are fewer.
    pub(crate) fn value(self, at: usize) -> Value<'a> {
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
