//! The few types a value has inside a plan, and the Arrow type each of them is.
//!
//! Guarantees: every column a plan produces has exactly one of these types. Dictionaries, narrower
//! integers and the like occur only at the leaves and are read as the type named here.
//! It leaves conversions between values to `value`.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, TimeUnit};

/// What a value is, as far as the plan knows before any event is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// Dynamic text: text that looks like a number acts as one.
    Text,
    /// Several texts.
    Multi,
    /// Whole numbers, such as counts.
    Integer,
    /// Numbers, such as results of arithmetic.
    Float,
    /// Truth; occurs inside conditions only.
    Boolean,
    /// A point in time, which acts as epoch seconds.
    Time,
    /// Nothing but null.
    Null,
}

impl ValueType {
    /// The Arrow type of a column of such values.
    #[must_use]
    pub fn data_type(self) -> DataType {
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

    /// What a column of an Arrow type is read as; `None` where SPL has no such value (structs, maps).
    #[must_use]
    pub fn of(data_type: &DataType) -> Option<Self> {
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

    /// Whether values are numbers without having to be parsed. Times count: they are epoch seconds.
    #[must_use]
    pub fn is_number(self) -> bool {
        matches!(self, Self::Integer | Self::Float | Self::Time)
    }

    /// The type that holds values of both, which is what branches of `if` and `case` have.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        match (self, other) {
            (one, two) if one == two => one,
            (Self::Null, one) | (one, Self::Null) => one,
            (Self::Multi, _) | (_, Self::Multi) => Self::Multi,
            (one, two) if one.is_number() && two.is_number() => Self::Float,
            _ => Self::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [ValueType; 7] = [
        ValueType::Text,
        ValueType::Multi,
        ValueType::Integer,
        ValueType::Float,
        ValueType::Boolean,
        ValueType::Time,
        ValueType::Null,
    ];

    #[test]
    fn every_type_survives_the_way_through_arrow() {
        for kind in ALL {
            assert_eq!(ValueType::of(&kind.data_type()), Some(kind));
        }
    }

    #[test]
    fn a_union_holds_both_and_does_not_care_for_order() {
        for one in ALL {
            for two in ALL {
                assert_eq!(one.union(two), two.union(one));
            }
        }
        assert_eq!(ValueType::Integer.union(ValueType::Time), ValueType::Float);
        assert_eq!(ValueType::Float.union(ValueType::Text), ValueType::Text);
    }
}
