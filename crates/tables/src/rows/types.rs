//! The Arrow types of SPL values.
//!
//! Guarantees: every column that a command or a plan creates has exactly one of these types. Other types,
//! such as dictionaries and narrower integers, occur only in input columns, and are converted to the type
//! named here. Conversions between values are left to [`eval::value`].

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, TimeUnit};

use eval::ValueType;

/// A value type with a corresponding Arrow type.
pub trait ArrowType: Sized {
    /// Returns the Arrow type of a column of such values.
    #[must_use]
    fn data_type(self) -> DataType;

    /// Returns the value type that an Arrow type is read as; `None` if SPL has no such values (structs,
    /// maps).
    #[must_use]
    fn of(data_type: &DataType) -> Option<Self>;
}

impl ArrowType for ValueType {
    fn data_type(self) -> DataType {
        match self {
            Self::Text => DataType::Utf8View,
            Self::Multi => {
                DataType::List(Arc::new(Field::new_list_field(DataType::Utf8View, true)))
            }
            Self::Integer => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Boolean => DataType::Boolean,
            Self::Time => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Self::Null => DataType::Null,
        }
    }

    fn of(data_type: &DataType) -> Option<Self> {
        Some(match data_type {
            DataType::Utf8View | DataType::Utf8 | DataType::LargeUtf8 => Self::Text,
            DataType::Dictionary(_, values) => return Self::of(values),
            DataType::List(_) | DataType::LargeList(_) => Self::Multi,
            whole if whole.is_integer() => Self::Integer,
            number if number.is_numeric() => Self::Float,
            DataType::Boolean => Self::Boolean,
            DataType::Timestamp(_, _) | DataType::Date32 | DataType::Date64 => Self::Time,
            DataType::Null => Self::Null,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_survives_the_way_through_arrow() {
        for kind in ValueType::ALL {
            assert_eq!(ValueType::of(&kind.data_type()), Some(kind));
        }
    }
}
