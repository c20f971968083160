//! Shortcuts: filters that can be decided on stored columns without conversion, namely comparisons of an
//! integer column with a number, and tests for the existence of a value.

use arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, Operator};
use exprs::column_comparison;
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
    right: Right,
}

/// The right side of a comparison. None is NaN.
#[derive(Debug, Clone)]
enum Right {
    /// A value of the `search` command, with its number: texts decide about equality.
    Value(FieldValue, f64),
    /// A number, with which all integers are compared as numbers: `where`; a cast to DOUBLE of SQL.
    Number(f64),
    /// An integer: a cast to BIGINT of SQL.
    Integer(i64),
}

impl IntegerTest {
    /// Parses a filter; `None` if it does not compare one field with one number.
    fn of(filter: &Expr) -> Option<Self> {
        if let Some(Leaf::Field { field, op, value }) = leaf(filter) {
            let number = value.number().filter(|number| !number.is_nan())?;
            let right = Right::Value(value.clone(), number);
            return Some(Self { field: field.to_owned(), operator: op, right });
        }
        if let Some(compared) = column_comparison(filter) {
            let right = Right::Number(compared.number.filter(|number| !number.is_nan())?);
            let (field, operator) = (compared.column.to_owned(), compared.operator);
            return Some(Self { field, operator, right });
        }
        Self::of_sql(filter)
    }

    /// Parses `CAST(field AS BIGINT)<operator>integer` and `CAST(field AS DOUBLE)<operator>number`, which SQL
    /// makes of `field<operator>number`. No cast of an integer fails.
    fn of_sql(filter: &Expr) -> Option<Self> {
        let Expr::BinaryExpr(binary) = filter else { return None };
        let operator = operator_of(binary.op)?;
        let (inner, to) = match binary.left.as_ref() {
            Expr::Cast(cast) => (&cast.expr, &cast.field),
            Expr::TryCast(cast) => (&cast.expr, &cast.field),
            _ => return None,
        };
        let (Expr::Column(column), Expr::Literal(value, _)) =
            (inner.as_ref(), binary.right.as_ref())
        else {
            return None;
        };
        let right = match (to.data_type(), value) {
            (DataType::Int64, ScalarValue::Int64(Some(number))) => Right::Integer(*number),
            // In Arrow's order, -0 is less than 0.
            (DataType::Float64, ScalarValue::Float64(Some(number)))
                if number.is_finite() && (*number != 0.0 || number.is_sign_positive()) =>
            {
                Right::Number(*number)
            }
            _ => return None,
        };
        Some(Self { field: column.name.clone(), operator, right })
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

    fn may_pass(&self, least: i64, most: i64) -> bool {
        match &self.right {
            Right::Value(_, number) | Right::Number(number) => {
                may_pass(self.operator, float(least), float(most), *number)
            }
            Right::Integer(number) => may_pass(self.operator, least, most, *number),
        }
    }

    /// Compares integers like the numbers that their texts stand for.
    fn passes(&self, values: &[i64]) -> BooleanBuffer {
        use ComparisonOperator::{Equal, NotEqual};
        match &self.right {
            Right::Value(right, number) if matches!(self.operator, Equal | NotEqual) => {
                each(values, |value| self.holds(value, right, *number))
            }
            Right::Value(_, number) | Right::Number(number) => {
                compared(self.operator, values, float, *number)
            }
            Right::Integer(number) => compared(self.operator, values, |value| value, *number),
        }
    }

    /// For (in)equality: different numbers are never equal, but whether equal ones match may depend on their
    /// notation.
    #[allow(clippy::float_cmp)]
    fn holds(&self, value: i64, right: &FieldValue, number: f64) -> bool {
        if float(value) != number {
            return self.operator == ComparisonOperator::NotEqual;
        }
        right.compare_text(self.operator, &NumberText::integer(value))
    }
}

fn operator_of(operator: Operator) -> Option<ComparisonOperator> {
    Some(match operator {
        Operator::Eq => ComparisonOperator::Equal,
        Operator::NotEq => ComparisonOperator::NotEqual,
        Operator::Lt => ComparisonOperator::Less,
        Operator::LtEq => ComparisonOperator::LessOrEqual,
        Operator::Gt => ComparisonOperator::Greater,
        Operator::GtEq => ComparisonOperator::GreaterOrEqual,
        _ => return None,
    })
}

/// Returns the nearest number, which is also what the text of the integer is parsed to.
#[allow(clippy::cast_precision_loss)]
fn float(value: i64) -> f64 {
    value as f64
}

/// Whether a value in a closed interval may satisfy a comparison.
fn may_pass<T: PartialOrd>(operator: ComparisonOperator, least: T, most: T, number: T) -> bool {
    match operator {
        ComparisonOperator::Less => least < number,
        ComparisonOperator::LessOrEqual => least <= number,
        ComparisonOperator::Greater => most > number,
        ComparisonOperator::GreaterOrEqual => most >= number,
        ComparisonOperator::Equal => least <= number && number <= most,
        ComparisonOperator::NotEqual => true,
    }
}

/// Returns which integers satisfy a comparison, after a conversion.
fn compared<T: PartialOrd>(
    operator: ComparisonOperator,
    values: &[i64],
    converted: impl Fn(i64) -> T,
    number: T,
) -> BooleanBuffer {
    match operator {
        ComparisonOperator::Less => each(values, |value| converted(value) < number),
        ComparisonOperator::LessOrEqual => each(values, |value| converted(value) <= number),
        ComparisonOperator::Greater => each(values, |value| converted(value) > number),
        ComparisonOperator::GreaterOrEqual => each(values, |value| converted(value) >= number),
        ComparisonOperator::Equal => each(values, |value| converted(value) == number),
        ComparisonOperator::NotEqual => each(values, |value| converted(value) != number),
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
                let right = Right::Value(value.clone(), number);
                let test = IntegerTest { field: "n".to_owned(), operator, right };
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
    fn integers_compare_with_numbers_as_where_compares_their_texts() {
        use plan::value::{Value, compare_values};
        let values = [0, 7, -7, 200, i64::MAX, i64::MIN, 9_007_199_254_740_993];
        for number in [0.0, 7.0, -7.0, 199.5, 9_007_199_254_740_992.0, 9.3e18, -1e300] {
            for operator in OPERATORS {
                let right = Right::Number(number);
                let test = IntegerTest { field: "n".to_owned(), operator, right };
                let found = test.passes(&values);
                for (at, value) in values.into_iter().enumerate() {
                    let text = value.to_string();
                    let expected =
                        compare_values(operator, Value::Text(&text), Value::Float(number));
                    assert_eq!(Some(found.value(at)), expected, "{value} {operator:?} {number}");
                    assert!(!found.value(at) || test.may_pass(value, value));
                }
            }
        }
    }

    #[test]
    fn casts_of_sql_compare_integers_exactly() {
        use datafusion::logical_expr::{cast, col, lit, try_cast};
        let big = 9_007_199_254_740_993_i64;
        let test = |filter: Expr| IntegerTest::of(&filter);
        let exact = test(cast(col("n"), DataType::Int64).gt(lit(big - 1))).unwrap();
        let found: Vec<bool> = exact.passes(&[big - 1, big, -big]).iter().collect();
        assert_eq!(found, [false, true, false]);
        assert!(exact.may_pass(big, big) && !exact.may_pass(-big, big - 1));
        let nearest =
            test(try_cast(col("n"), DataType::Float64).eq(lit(9_007_199_254_740_992.0))).unwrap();
        let found: Vec<bool> = nearest.passes(&[big - 1, big, -big]).iter().collect();
        assert_eq!(found, [true, true, false]);
        for other in [
            cast(col("n"), DataType::Float64).lt(lit(-0.0)),
            cast(col("n"), DataType::Float64).lt(lit(f64::NAN)),
            cast(col("n"), DataType::Int32).lt(lit(1_i32)),
            cast(col("n") + lit(1), DataType::Int64).lt(lit(1_i64)),
            col("n").lt(lit(1_i64)),
            lit(1_i64).lt(cast(col("n"), DataType::Int64)),
        ] {
            assert!(test(other.clone()).is_none(), "{other}");
        }
    }

    #[test]
    fn a_row_without_a_value_does_not_pass() {
        let value = FieldValue::new(plan::SearchPattern::literal("1"));
        let (field, operator) = ("n".to_owned(), ComparisonOperator::NotEqual);
        let test = IntegerTest { field, operator, right: Right::Value(value, 1.0) };
        let column: ArrayRef = Arc::new(Int64Array::from(vec![None, Some(2), Some(1)]));
        let stored = RecordBatch::try_from_iter([("n", column)]).unwrap();
        let place = |_: &str| FieldPlace::Column(ColumnKind::Integer);
        let found: Vec<bool> = test.mask(&stored, &place).unwrap().values().iter().collect();
        assert_eq!(found, [false, true, false]);
        assert!(test.mask(&stored, &|_: &str| FieldPlace::Absent).is_none());
    }
}
