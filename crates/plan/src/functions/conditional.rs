//! `if`, `case`, `coalesce`, `nullif`, `isnull`, `isnotnull`, `null`, `true`, `false`, `in`.

use datafusion::logical_expr::{Case, Expr};
use spl::ast::ComparisonOperator;

use crate::Error;
use crate::expr::{Typed, compare, one_of};
use crate::functions::{ANY, Function, Invocation, shown_values, values};
use crate::types::ValueType;

pub(crate) const FUNCTIONS: &[Function] = &[
    shown_values(&["if"], (3, 3), if_),
    shown_values(&["case"], (2, ANY), case),
    shown_values(&["coalesce"], (1, ANY), coalesce),
    shown_values(&["ifnull"], (2, 2), coalesce),
    shown_values(&["nullif"], (2, 2), nullif),
    values(&["isnull"], (1, 1), isnull),
    values(&["isnotnull"], (1, 1), isnotnull),
    values(&["null"], (0, 0), |_| Ok(Typed::null(ValueType::Null))),
    values(&["true"], (0, 0), |_| Ok(Typed::truth(true))),
    values(&["false"], (0, 0), |_| Ok(Typed::truth(false))),
    values(&["in"], (2, ANY), in_),
];

fn if_(call: Invocation<'_>) -> Result<Typed, Error> {
    let mut arguments = call.arguments.into_iter();
    let missing = || Error::internal("if has three arguments");
    let condition = arguments.next().ok_or_else(missing)?;
    let then = arguments.next().ok_or_else(missing)?;
    let otherwise = arguments.next().ok_or_else(missing)?;
    Ok(choose(vec![(condition, then)], Some(otherwise)))
}

fn case(call: Invocation<'_>) -> Result<Typed, Error> {
    if call.arguments.len() % 2 == 1 {
        let last = call.arguments.len() - 1;
        return Err(call.error(
            last,
            "case() takes pairs of a condition and a value; this condition has no value",
        ));
    }
    let mut arguments = call.arguments.into_iter();
    let mut branches = Vec::new();
    while let (Some(condition), Some(value)) = (arguments.next(), arguments.next()) {
        branches.push((condition, value));
    }
    Ok(choose(branches, None))
}

/// The value of the first branch whose condition is true; the branches take one type.
pub(crate) fn choose(branches: Vec<(Typed, Typed)>, otherwise: Option<Typed>) -> Typed {
    let kinds = branches.iter().map(|(_, value)| value.kind);
    let kind = kinds
        .chain(otherwise.as_ref().map(|value| value.kind))
        .fold(ValueType::Null, ValueType::union);
    let carries = |value: &Typed| value.carried().is_some();
    let any_carries =
        branches.iter().any(|(_, value)| carries(value)) || otherwise.as_ref().is_some_and(carries);
    if kind == ValueType::Float && any_carries {
        // The decimals are those of the branch that is taken.
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

fn coalesce(call: Invocation<'_>) -> Result<Typed, Error> {
    let present: Vec<_> =
        call.arguments.into_iter().filter(|value| value.kind != ValueType::Null).collect();
    let Some((last, before)) = present.split_last() else {
        return Ok(Typed::null(ValueType::Null));
    };
    if before.is_empty() {
        return Ok(last.clone());
    }
    let branch = |value: &Typed| (is_not_null(value.clone().plain()), value.clone());
    Ok(choose(before.iter().map(branch).collect(), Some(last.clone())))
}

fn is_not_null(value: Typed) -> Typed {
    Typed::new(Expr::IsNotNull(Box::new(value.expr)), ValueType::Boolean)
}

fn nullif(call: Invocation<'_>) -> Result<Typed, Error> {
    let [left, right] = &call.arguments[..] else {
        return Err(Error::internal("nullif has two arguments"));
    };
    let equal = compare(ComparisonOperator::Equal, left.clone().plain(), right.clone().plain());
    Ok(choose(vec![(equal, Typed::null(ValueType::Null))], Some(left.clone())))
}

fn isnull(call: Invocation<'_>) -> Result<Typed, Error> {
    let value = first(call)?;
    if value.kind == ValueType::Null {
        return Ok(Typed::truth(true));
    }
    Ok(Typed::new(Expr::IsNull(Box::new(value.expr)), ValueType::Boolean))
}

fn isnotnull(call: Invocation<'_>) -> Result<Typed, Error> {
    let value = first(call)?;
    if value.kind == ValueType::Null {
        return Ok(Typed::truth(false));
    }
    Ok(is_not_null(value))
}

fn first(call: Invocation<'_>) -> Result<Typed, Error> {
    call.arguments.into_iter().next().ok_or_else(|| Error::internal("one argument is missing"))
}

fn in_(call: Invocation<'_>) -> Result<Typed, Error> {
    let mut arguments = call.arguments.into_iter();
    let value = arguments.next().ok_or_else(|| Error::internal("in has arguments"))?;
    Ok(one_of(value, arguments.collect(), false))
}
