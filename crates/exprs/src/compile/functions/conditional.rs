//! `if`, `case`, `coalesce`, `nullif`, `validate`, `isnull`, `isnotnull` as DataFusion's own expressions.

use datafusion::logical_expr::{Case, Expr};
use spl::ast::ComparisonOperator;

use crate::Typed;
use crate::compare::compare;
use crate::types::ValueType;

pub(super) fn if_(condition: Typed, then: Typed, otherwise: Typed) -> Typed {
    choose(vec![(condition, then)], Some(otherwise))
}

/// Compiles pairs of a condition and a value.
pub(super) fn case(arguments: impl Iterator<Item = Typed>) -> Typed {
    choose(pairs(arguments), None)
}

/// Compiles pairs of a condition and a message; the result is the message of the first condition that is not
/// true.
pub(super) fn validate(arguments: impl Iterator<Item = Typed>) -> Typed {
    let fails = |(condition, message): (Typed, Typed)| {
        let condition = condition.to(ValueType::Boolean).expr;
        (Typed::new(Expr::IsFalse(Box::new(condition)), ValueType::Boolean), message)
    };
    choose(pairs(arguments).into_iter().map(fails).collect(), None)
}

fn pairs(mut arguments: impl Iterator<Item = Typed>) -> Vec<(Typed, Typed)> {
    let mut branches = Vec::new();
    while let (Some(condition), Some(value)) = (arguments.next(), arguments.next()) {
        branches.push((condition, value));
    }
    branches
}

/// Returns the value of the first branch whose condition is true; all branches are converted to one type.
fn choose(branches: Vec<(Typed, Typed)>, otherwise: Option<Typed>) -> Typed {
    let kinds = branches.iter().map(|(_, value)| value.kind);
    let kind = kinds
        .chain(otherwise.as_ref().map(|value| value.kind))
        .fold(ValueType::Null, ValueType::union);
    let carries = |value: &Typed| value.carried().is_some();
    let any_carries =
        branches.iter().any(|(_, value)| carries(value)) || otherwise.as_ref().is_some_and(carries);
    if kind == ValueType::Float && any_carries {
        // The number of decimals is that of the selected branch.
        let places = |value: &Typed| match value.carried() {
            Some((_, places)) => Typed::new(places.clone(), ValueType::Integer),
            None => Typed::null(ValueType::Integer),
        };
        let of = |(condition, value): &(Typed, Typed)| (condition.clone(), places(value));
        let places = of_branches(branches.iter().map(of).collect(), otherwise.as_ref().map(places));
        let plain = |(condition, value): (Typed, Typed)| (condition, value.plain());
        let branches = branches.into_iter().map(plain).collect();
        return of_branches(branches, otherwise.map(Typed::plain)).with_places(places.expr);
    }
    of_branches(branches, otherwise)
}

fn of_branches(branches: Vec<(Typed, Typed)>, otherwise: Option<Typed>) -> Typed {
    let kinds = branches.iter().map(|(_, value)| value.kind);
    let kind = kinds
        .chain(otherwise.as_ref().map(|value| value.kind))
        .fold(ValueType::Null, ValueType::union);
    let pair = |(condition, value): (Typed, Typed)| {
        let condition = condition.to(ValueType::Boolean);
        (Box::new(condition.expr), Box::new(value.to(kind).expr))
    };
    let branches = branches.into_iter().map(pair).collect();
    let otherwise = otherwise.map(|value| Box::new(value.to(kind).expr));
    Typed::new(Expr::Case(Case::new(None, branches, otherwise)), kind)
}

pub(super) fn coalesce(arguments: impl Iterator<Item = Typed>) -> Typed {
    let mut present: Vec<_> = arguments.filter(|value| value.kind != ValueType::Null).collect();
    let Some(last) = present.pop() else { return Typed::null(ValueType::Null) };
    if present.is_empty() {
        return last;
    }
    let branch = |value: Typed| (is_null(value.clone(), true), value);
    choose(present.into_iter().map(branch).collect(), Some(last))
}

pub(super) fn nullif(left: Typed, right: Typed) -> Typed {
    let equal = compare(ComparisonOperator::Equal, left.clone().plain(), right.plain());
    choose(vec![(equal, Typed::null(ValueType::Null))], Some(left))
}

/// Whether a value is null; `negated`: whether it is not.
pub(super) fn is_null(value: Typed, negated: bool) -> Typed {
    let value = value.plain();
    if value.kind == ValueType::Null {
        return Typed::truth(!negated);
    }
    let value = Box::new(value.expr);
    let expr = if negated { Expr::IsNotNull(value) } else { Expr::IsNull(value) };
    Typed::new(expr, ValueType::Boolean)
}
