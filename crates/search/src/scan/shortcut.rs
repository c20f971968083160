//! Shortcuts: filters that can be decided on stored columns without conversion, namely comparisons of an
//! integer column with a number, and tests for the existence of a value.

use arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::Int64Type;
use datafusion::logical_expr::Expr;
use exprs::predicate::{FieldValue, Leaf, leaf};
use model::ColumnKind;
use plan::ComparisonOperator;
use plan::value::NumberText;

use super::FIXED;
use super::unit::FieldPlace;

/// A filter that may be decided on a stored column.
#[derive(Debug, Clone)]
pub(super) enum Shortcut {
    Integer(IntegerTest),
    /// The column has a value.
    Present(String),
}

impl Shortcut {
    pub(super) fn of(filter: &Expr) -> Option<Self> {
        if let Expr::IsNotNull(inner) = filter
            && let Expr::Column(column) = inner.as_ref()
        {
            return Some(Self::Present(column.name.clone()));
        }
        IntegerTest::of(filter).map(Self::Integer)
    }

    /// Returns the rows that pass; `None` if the stored columns cannot decide.
    pub(super) fn mask(
        &self,
        stored: &RecordBatch,
        place: &dyn Fn(&str) -> FieldPlace,
    ) -> Option<BooleanArray> {
        match self {
            Self::Integer(test) => test.mask(stored, place),
            Self::Present(name) => present(name, stored, place),
        }
    }
}

fn present(
    name: &str,
    stored: &RecordBatch,
    place: &dyn Fn(&str) -> FieldPlace,
) -> Option<BooleanArray> {
    let rows = stored.num_rows();
    let all = |value| Some(BooleanArray::new(BooleanBuffer::collect_bool(rows, |_| value), None));
    if FIXED.contains(&name) {
        return all(true);
    }
    match place(name) {
        FieldPlace::Absent => all(false),
        FieldPlace::Column(ColumnKind::Integer | ColumnKind::Text) => {
            match stored.column_by_name(name)?.nulls() {
                Some(nulls) => Some(BooleanArray::new(nulls.inner().clone(), None)),
                None => all(true),
            }
        }
        _ => None,
    }
}

/// A comparison `field<operator>number`.
#[derive(Debug, Clone)]
pub(super) struct IntegerTest {
    field: String,
    operator: ComparisonOperator,
    value: FieldValue,
    number: f64,
}

impl IntegerTest {
    /// Parses a filter; `None` if it does not compare one field with one number.
    fn of(filter: &Expr) -> Option<Self> {
        let Some(Leaf::Field { field, op, value }) = leaf(filter) else { return None };
        let number = value.number().filter(|number| !number.is_nan())?;
        Some(Self { field: field.to_owned(), operator: op, value: value.clone(), number })
    }

    /// Returns the rows that pass; `None` if the bucket does not store all values of the field as integers. A
    /// row without a value does not pass.
    fn mask(
        &self,
        stored: &RecordBatch,
        place: &dyn Fn(&str) -> FieldPlace,
    ) -> Option<BooleanArray> {
        if place(&self.field) != FieldPlace::Column(ColumnKind::Integer) {
            return None;
        }
        let values = stored.column_by_name(&self.field)?.as_primitive_opt::<Int64Type>()?;
        let passes = self.passes(values.values());
        let passes = values.nulls().map_or(passes.clone(), |nulls| &passes & nulls.inner());
        Some(BooleanArray::new(passes, None))
    }

    /// Returns the field, and whether a value in a closed interval may pass; `None` if the bucket does not
    /// store the field as integers.
    pub(super) fn bounds(
        &self,
        place: &dyn Fn(&str) -> FieldPlace,
    ) -> Option<(&str, impl Fn(i64, i64) -> bool + '_)> {
        let is_stored = place(&self.field) == FieldPlace::Column(ColumnKind::Integer);
        is_stored.then_some((self.field.as_str(), |least, most| self.may_pass(least, most)))
    }

    #[allow(clippy::cast_precision_loss)]
    fn may_pass(&self, least: i64, most: i64) -> bool {
        let (least, most, number) = (least as f64, most as f64, self.number);
        match self.operator {
            ComparisonOperator::Less => least < number,
            ComparisonOperator::LessOrEqual => least <= number,
            ComparisonOperator::Greater => most > number,
            ComparisonOperator::GreaterOrEqual => most >= number,
            ComparisonOperator::Equal => least <= number && number <= most,
            ComparisonOperator::NotEqual => true,
        }
    }

    /// Compares integers like the numbers that their texts stand for.
    #[allow(clippy::cast_precision_loss)]
    fn passes(&self, values: &[i64]) -> BooleanBuffer {
        let number = self.number;
        match self.operator {
            ComparisonOperator::Less => each(values, |value| (value as f64) < number),
            ComparisonOperator::LessOrEqual => each(values, |value| value as f64 <= number),
            ComparisonOperator::Greater => each(values, |value| value as f64 > number),
            ComparisonOperator::GreaterOrEqual => each(values, |value| value as f64 >= number),
            ComparisonOperator::Equal | ComparisonOperator::NotEqual => {
                each(values, |value| self.holds(value))
            }
        }
    }

    /// For (in)equality: different numbers are never equal, but whether equal ones match may depend on their
    /// notation.
    #[allow(clippy::cast_precision_loss, clippy::float_cmp)]
    fn holds(&self, value: i64) -> bool {
        if value as f64 != self.number {
            return self.operator == ComparisonOperator::NotEqual;
        }
        self.value.compare_text(self.operator, &NumberText::integer(value))
    }
}

fn each(values: &[i64], test: impl Fn(i64) -> bool) -> BooleanBuffer {
    BooleanBuffer::collect_bool(values.len(), |row| test(values[row]))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array};

    use super::*;

    const OPERATORS: [ComparisonOperator; 6] = [
        ComparisonOperator::Equal,
        ComparisonOperator::NotEqual,
        ComparisonOperator::Less,
        ComparisonOperator::LessOrEqual,
        ComparisonOperator::Greater,
        ComparisonOperator::GreaterOrEqual,
    ];

    #[test]
    fn integers_compare_as_their_texts_do() {
        let values = [0, 7, -7, 200, 2_000, i64::MAX, i64::MIN, 9_007_199_254_740_993];
        let place = |_: &str| FieldPlace::Column(ColumnKind::Integer);
        let column: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
        let stored = RecordBatch::try_from_iter([("n", column)]).unwrap();
        let numbers = ["200", "200.0", "2e2", "0200", "-7", "0x7", "9007199254740992", "1.5", "-0"];
        for text in numbers {
            let value = FieldValue::new(plan::SearchPattern::literal(text));
            let Some(number) = value.number() else { continue };
            for operator in OPERATORS {
                let (field, value) = ("n".to_owned(), value.clone());
                let test = IntegerTest { field, operator, value: value.clone(), number };
                let found: Vec<bool> =
                    test.mask(&stored, &place).unwrap().values().iter().collect();
                let expected: Vec<bool> =
                    values.map(|n| value.compare_text(operator, &n.to_string())).to_vec();
                assert_eq!(found, expected, "{operator:?} {text}");
                for (value, passes) in values.into_iter().zip(found) {
                    assert!(!passes || test.may_pass(value, value), "{value} {operator:?} {text}");
                }
            }
        }
    }

    #[test]
    fn a_row_without_a_value_does_not_pass() {
        let value = FieldValue::new(plan::SearchPattern::literal("1"));
        let (field, operator) = ("n".to_owned(), ComparisonOperator::NotEqual);
        let test = IntegerTest { field, operator, value, number: 1.0 };
        let column: ArrayRef = Arc::new(Int64Array::from(vec![None, Some(2), Some(1)]));
        let stored = RecordBatch::try_from_iter([("n", column)]).unwrap();
        let place = |_: &str| FieldPlace::Column(ColumnKind::Integer);
        let found: Vec<bool> = test.mask(&stored, &place).unwrap().values().iter().collect();
        assert_eq!(found, [false, true, false]);
        assert!(test.mask(&stored, &|_: &str| FieldPlace::Absent).is_none());
    }
}
