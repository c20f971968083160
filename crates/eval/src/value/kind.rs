//! The types of values, as far as they are known before any event is read.

/// The type of a value, as far as it is known from an expression alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// A dynamic text: a numeric text is treated as a number.
    Text,
    /// Several texts.
    Multi,
    /// Whole numbers, such as counts.
    Integer,
    /// Numbers, such as results of arithmetic.
    Float,
    /// Booleans; occur only inside of conditions.
    Boolean,
    /// A point in time, treated as epoch seconds.
    Time,
    /// Only null.
    Null,
}

impl ValueType {
    /// Every type.
    pub const ALL: [Self; 7] = [
        Self::Text,
        Self::Multi,
        Self::Integer,
        Self::Float,
        Self::Boolean,
        Self::Time,
        Self::Null,
    ];

    /// Returns whether values are numbers without being parsed. That includes times: they are epoch seconds.
    #[must_use]
    pub fn is_number(self) -> bool {
        matches!(self, Self::Integer | Self::Float | Self::Time)
    }

    /// Returns the type that can hold values of both types, which is the type of the branches of `if` and
    /// `case`.
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

    #[test]
    fn a_union_holds_both_and_does_not_care_for_order() {
        for one in ValueType::ALL {
            for two in ValueType::ALL {
                assert_eq!(one.union(two), two.union(one));
            }
        }
        assert_eq!(ValueType::Integer.union(ValueType::Time), ValueType::Float);
        assert_eq!(ValueType::Float.union(ValueType::Text), ValueType::Text);
    }
}
