//! Read access to arrays for commands and functions: any Arrow array is converted to one of a few types, and
//! each of its elements is a [`Value`].
//!
//! Guarantees: reading a value never allocates.
//! The interpretation of values (as numbers, Booleans) is left to [`eval::value`].

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, ListArray, StringViewArray,
    TimestampMicrosecondArray,
};
use arrow::compute::cast;
use arrow::datatypes::{Float64Type, Int64Type, TimestampMicrosecondType};
use eval::ValueType;
use eval::value::{Multi, Texts, Value};

use super::types::ArrowType;
use crate::error::Error;

/// The texts of all lists of a column.
#[derive(Debug, Clone)]
pub struct ListTexts(StringViewArray);

impl Texts for ListTexts {
    #[inline]
    fn get(&self, at: usize) -> Option<&str> {
        self.0.is_valid(at).then(|| self.0.value(at))
    }
}

/// An array in the form that functions read.
#[derive(Debug, Clone)]
pub enum Values {
    /// All rows are null.
    Null,
    /// Texts.
    Text(StringViewArray),
    /// Lists, and the texts of all of them.
    Multi(ListArray, ListTexts),
    /// Whole numbers.
    Integer(Int64Array),
    /// Numbers.
    Float(Float64Array),
    /// Booleans.
    Boolean(BooleanArray),
    /// Microseconds since 1970.
    Time(TimestampMicrosecondArray),
}

impl Values {
    /// Converts an array of any type that has SPL values.
    ///
    /// # Errors
    /// If SPL has no values of the type of the array.
    pub fn new(array: &ArrayRef) -> Result<Self, Error> {
        let kind = ValueType::of(array.data_type())
            .ok_or_else(|| Error::NotAValue { data_type: array.data_type().clone() })?;
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

    /// Returns the array itself; `None` if all rows are null.
    #[must_use]
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

    /// Returns the value in a row; null if there is none.
    // Inlined, because functions of other crates call it for each cell.
    #[inline]
    #[must_use]
    pub fn get(&self, row: usize) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Text(array) if array.is_valid(row) => Value::Text(array.value(row)),
            Self::Multi(lists, texts) if lists.is_valid(row) => {
                let offsets = lists.value_offsets();
                let start = offsets[row].unsigned_abs();
                let length = offsets[row + 1].unsigned_abs() - start;
                // An empty list is a missing field.
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
