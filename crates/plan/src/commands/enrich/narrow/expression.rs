//! Bounds of the events in which a calculated field may have a value, derived from the texts and fields among
//! which its expression chooses, and the conditions by which it chooses. All of these are conditions on
//! stored fields, as calculated fields see the original values.

use eval::value::parse_number;
use spl::ast::{BinaryOperator, Call, ComparisonOperator, Expr, ExprKind, SearchPattern};

use super::bound::Bound;
use super::{Narrowing, Question};

/// A comparison of a field with texts and numbers that is true if the field equals one of them.
struct Equality<'e> {
    field: &'e str,
    texts: Vec<&'e str>,
}

impl Narrowing<'_> {
    /// Where the value of an expression may pass a test.
    pub(super) fn value(&self, expr: &Expr, question: &Question) -> Bound {
        match &expr.kind {
            ExprKind::String(text) if question.holds(text) => Bound::Anything,
            ExprKind::String(_) => Bound::Nothing,
            ExprKind::Field(field) => self.stored(&field.name, question),
            ExprKind::Call(call) => self.call(call, question),
            _ => Bound::Anything,
        }
    }

    fn call(&self, call: &Call, question: &Question) -> Bound {
        let arguments = call.arguments.as_slice();
        let value = |expr| self.value(expr, question);
        match (call.function.node.as_str(), arguments) {
            ("null", []) => Bound::Nothing,
            ("coalesce" | "mvappend", _) => Bound::any(arguments.iter().map(value)),
            ("nullif", [first, _]) => value(first),
            ("if", [condition, then, otherwise]) => {
                let then = Bound::all([self.truth(condition), value(then)].into_iter());
                Bound::any([then, value(otherwise)].into_iter())
            }
            ("case", _) if arguments.len().is_multiple_of(2) => {
                let choices = arguments.chunks_exact(2);
                let choices = choices.map(|choice| {
                    Bound::all([self.truth(&choice[0]), value(&choice[1])].into_iter())
                });
                Bound::any(choices)
            }
            _ => Bound::Anything,
        }
    }

    /// Where a condition may be true.
    fn truth(&self, condition: &Expr) -> Bound {
        match &condition.kind {
            ExprKind::Binary(BinaryOperator::And, left, right) => {
                Bound::all([self.truth(left), self.truth(right)].into_iter())
            }
            ExprKind::Binary(BinaryOperator::Or, left, right) => {
                Bound::any([self.truth(left), self.truth(right)].into_iter())
            }
            _ => Equality::of(condition).map_or(Bound::Anything, |known| self.equal(&known)),
        }
    }

    fn equal(&self, equality: &Equality<'_>) -> Bound {
        // Texts of numbers are compared as numbers: `04` equals `4.0`.
        let (numbers, texts): (Vec<&str>, Vec<&str>) =
            equality.texts.iter().copied().partition(|text| parse_number(text).is_some());
        let asks = |operator, values: Vec<&str>| {
            let patterns = values.into_iter().map(SearchPattern::literal);
            self.stored(equality.field, &Question::new(operator, patterns.collect()))
        };
        let mut any = Vec::new();
        if !texts.is_empty() {
            any.push(asks(ComparisonOperator::Equal, texts));
        }
        let number = |text: &str| parse_number(text).unwrap_or(f64::NAN);
        let by_number = |a: &&str, b: &&str| number(a).total_cmp(&number(b));
        let least = numbers.iter().copied().min_by(by_number);
        let greatest = numbers.iter().copied().max_by(by_number);
        if let (Some(least), Some(greatest)) = (least, greatest) {
            let bounds = [
                asks(ComparisonOperator::GreaterOrEqual, vec![least]),
                asks(ComparisonOperator::LessOrEqual, vec![greatest]),
            ];
            any.push(Bound::all(bounds.into_iter()));
        }
        Bound::any(any.into_iter())
    }
}

impl<'e> Equality<'e> {
    fn of(condition: &'e Expr) -> Option<Self> {
        let (field, values): (_, Vec<&Expr>) = match &condition.kind {
            ExprKind::Binary(BinaryOperator::Compare(ComparisonOperator::Equal), left, right) => {
                match left.kind {
                    ExprKind::Field(_) => (left, vec![right]),
                    _ => (right, vec![left]),
                }
            }
            ExprKind::In { value, list, negated: false } => (value, list.iter().collect()),
            _ => return None,
        };
        let ExprKind::Field(field) = &field.kind else { return None };
        let texts = values.into_iter().map(|value| match &value.kind {
            ExprKind::String(text) if !text.is_empty() => Some(text.as_str()),
            // The search command would compare a number that it cannot parse as a text.
            ExprKind::Number(text) if parse_number(text).is_some() => Some(text.as_str()),
            _ => None,
        });
        Some(Self { field: &field.name, texts: texts.collect::<Option<_>>()? })
    }
}
