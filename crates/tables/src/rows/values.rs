//! Arrays as commands and functions read them: any Arrow array becomes one of a few arrays, any place in it
//! one [`Value`].
//!
//! Guarantees: reading a value never allocates.
//! It leaves what a value means (number, truth) to [`eval::value`].

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

/// An array in the form functions read.
#[derive(Debug, Clone)]
pub enum Values {
    /// No row has a value.
    Null,
    /// Texts.
    Text(StringViewArray),
    /// The lists and the texts of all of them.
    Multi(ListArray, ListTexts),
    /// Whole numbers.
    Integer(Int64Array),
    /// Numbers.
    Float(Float64Array),
    /// Truths.
    Boolean(BooleanArray),
    /// Microseconds since 1970.
    Time(TimestampMicrosecondArray),
}

impl Values {
    /// Takes an array of any type that SPL has values of.
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

    /// The array itself; none where all is null.
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

    /// The value in a row; null where the row has none.
    // Called for each cell by the functions of other crates.
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
