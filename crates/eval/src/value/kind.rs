//! The few types a value has, as far as they are known before any event is read.

/// What a value is, as far as an expression alone tells.
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
