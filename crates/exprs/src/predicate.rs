//! The `search` command as a filter: terms of `_raw` and comparisons of fields.
//!
//! Guarantees: a compiled search consists of DataFusion's `AND`, `OR` and `NOT` over leaves that are never
//! null and that [`leaf`] can analyze, so that a scan can prune by them; trees of many alternatives are
//! balanced, so their depth stays small. `a=1 OR a=2` becomes the leaf of `a IN (1, 2)`. Time modifiers and
//! subsearches are left to the caller, which must resolve them first.

mod alternatives;
mod breakers;
mod field;
mod function;
mod list;
mod regex;
mod sequence;
mod sql;
mod term;
#[cfg(test)]
mod tests;

use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use spl::ast::{
    ComparisonOperator, DirectiveKind, PatternPart, SearchComparison, SearchExpr, SearchIn, Span,
    TimeModifier,
};

use crate::Error;
use crate::column::Value;
use crate::predicate::alternatives::alternatives;
use crate::{Scope, Typed};

pub use breakers::Breakers;
pub use field::FieldValue;
pub(crate) use function::{Predicate, Test};
pub use list::FieldList;
pub use regex::RegexTest;
pub use sql::sql_functions;
pub use term::TermPattern;

/// The column in which terms are searched.
const RAW: &str = model::columns::RAW;

/// Compiles a search expression as a filter.
///
/// # Errors
/// If it still contains a subsearch, which must be run and replaced first.
pub fn compile_search(expr: &SearchExpr, scope: &dyn Scope) -> Result<Expr, Error> {
    match expr {
        SearchExpr::And(members) => all(members, scope),
        SearchExpr::Or(members) => any(members, scope),
        SearchExpr::Not(inner, _) => Ok(negate(compile_search(inner, scope)?)),
        SearchExpr::Term(term) => Ok(raw(TermPattern::word(term.pattern.clone()), scope)),
        SearchExpr::Directive(directive) => {
            let pattern = directive.pattern.clone();
            let term = match directive.kind {
                DirectiveKind::Case => TermPattern::case(pattern),
                DirectiveKind::Term => TermPattern::term(pattern),
            };
            Ok(raw(term, scope))
        }
        SearchExpr::Comparison(comparison) => Ok(field(comparison, scope)),
        SearchExpr::Cased(comparison) => cased(comparison, scope),
        SearchExpr::In(list) => Ok(field_in(list, scope)),
        SearchExpr::Subsearch(subsearch) => Err(unresolved(subsearch.span)),
        SearchExpr::Computed(computed) => Err(unresolved(computed.subsearch.span)),
        SearchExpr::Time(TimeModifier { span, .. }) => {
            Err(Error::invalid("a time modifier is not allowed here", span.start..span.end))
        }
    }
}

fn unresolved(span: Span) -> Error {
    Error::invalid("a subsearch is not allowed here", span.start..span.end)
}

fn all(members: &[SearchExpr], scope: &dyn Scope) -> Result<Expr, Error> {
    let compiled = members.iter().map(|member| compile_search(member, scope));
    let compiled = compiled.collect::<Result<Vec<_>, _>>()?;
    Ok(balanced(Operator::And, compiled).unwrap_or_else(|| Typed::truth(true).expr))
}

fn any(members: &[SearchExpr], scope: &dyn Scope) -> Result<Expr, Error> {
    let compiled = alternatives(members).into_iter().map(|one| match one.list() {
        Some((field, values)) => Ok(field_equals_any(field, values, scope)),
        None => compile_search(one.first, scope),
    });
    let compiled = compiled.collect::<Result<Vec<_>, _>>()?;
    Ok(balanced(Operator::Or, compiled).unwrap_or_else(|| Typed::truth(false).expr))
}

/// Joins expressions by an operator into a tree of logarithmic depth.
pub fn balanced(operator: Operator, mut members: Vec<Expr>) -> Option<Expr> {
    while members.len() > 1 {
        let mut joined = Vec::with_capacity(members.len().div_ceil(2));
        let mut rest = members.into_iter();
        while let Some(left) = rest.next() {
            joined.push(match rest.next() {
                Some(right) => {
                    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), operator, Box::new(right)))
                }
                None => left,
            });
        }
        members = joined;
    }
    members.pop()
}

fn negate(expr: Expr) -> Expr {
    Expr::Not(Box::new(expr))
}

fn raw(pattern: TermPattern, scope: &dyn Scope) -> Expr {
    if scope.field(RAW).is_none() {
        return Typed::truth(false).expr;
    }
    if pattern.pattern().is_any() {
        return Typed::truth(true).expr;
    }
    Predicate::call(Test::Term(pattern), RAW)
}

fn field(comparison: &SearchComparison, scope: &dyn Scope) -> Expr {
    let name = &comparison.field.node;
    if scope.field(name).is_none() {
        return Typed::truth(false).expr;
    }
    let test = Test::Field {
        field: name.clone(),
        operator: comparison.operator,
        value: FieldValue::new(comparison.value.pattern.clone()),
    };
    Predicate::call(test, name)
}

/// Compiles a case-sensitive comparison of a field with a value.
fn cased(comparison: &SearchComparison, scope: &dyn Scope) -> Result<Expr, Error> {
    let mut source = String::from("(?s)^");
    for part in &comparison.value.pattern.parts {
        match part {
            PatternPart::Any => source.push_str(".*"),
            PatternPart::Literal(text) => text.chars().for_each(|c| match c {
                c if c.is_alphanumeric() => source.push(c),
                c => source.push_str(&format!("\\x{{{:X}}}", u32::from(c))),
            }),
        }
    }
    source.push_str("\\z");
    let span = comparison.span;
    let test = RegexTest::new(&source, false);
    let test = test.map_err(|message| Error::invalid(message, span.start..span.end))?;
    Ok(regex(&comparison.field.node, test, scope))
}

/// Returns whether a field of the scope matches a regular expression.
pub fn regex(field: &str, test: RegexTest, scope: &dyn Scope) -> Expr {
    if scope.field(field).is_none() {
        return Typed::truth(test.negated()).expr;
    }
    Predicate::call(Test::Regex { field: field.to_owned(), test }, field)
}

fn field_in(list: &SearchIn, scope: &dyn Scope) -> Expr {
    let values = FieldList::new(list.values.iter().map(|value| &value.pattern));
    let found = field_equals_any(&list.field.node, values, scope);
    if list.negated { negate(found) } else { found }
}

fn field_equals_any(name: &str, values: FieldList, scope: &dyn Scope) -> Expr {
    if scope.field(name).is_none() {
        return Typed::truth(false).expr;
    }
    Predicate::call(Test::In { field: name.to_owned(), values }, name)
}

/// A part of a filter other than `AND`, `OR` and `NOT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaf<'a> {
    /// A word or phrase of `_raw`.
    Term {
        /// The pattern of the term.
        pattern: &'a TermPattern,
    },
    /// A comparison of a field; `field=*` is [`FieldValue::is_any`].
    Field {
        /// Exact name.
        field: &'a str,
        /// The comparison.
        op: ComparisonOperator,
        /// The right side.
        value: &'a FieldValue,
    },
    /// A field that equals any of several values.
    In {
        /// Exact name.
        field: &'a str,
        /// The values.
        values: &'a FieldList,
    },
    /// A regular expression that a field matches, or does not.
    Regex {
        /// Exact name.
        field: &'a str,
        /// The expression.
        test: &'a RegexTest,
    },
    /// Another expression, which can only be evaluated.
    Other,
}

/// Analyzes a part of a filter; `None` for `AND`, `OR` and `NOT`, whose operands the caller visits.
#[must_use]
pub fn leaf(expr: &Expr) -> Option<Leaf<'_>> {
    match expr {
        Expr::Not(_) => None,
        Expr::BinaryExpr(binary) if matches!(binary.op, Operator::And | Operator::Or) => None,
        Expr::ScalarFunction(call) => {
            let Some(predicate) = call.func.inner().downcast_ref::<Predicate>() else {
                return Some(Leaf::Other);
            };
            // A predicate on a computed value gives no information about stored columns.
            let Some(Expr::Column(column)) = call.args.first() else { return Some(Leaf::Other) };
            Some(match &predicate.test {
                Test::Term(pattern) if column.name == RAW => Leaf::Term { pattern },
                Test::Field { field, operator, value } if column.name == *field => {
                    Leaf::Field { field, op: *operator, value }
                }
                Test::In { field, values } if column.name == *field => Leaf::In { field, values },
                Test::Regex { field, test } if column.name == *field => Leaf::Regex { field, test },
                _ => Leaf::Other,
            })
        }
        _ => Some(Leaf::Other),
    }
}

/// Returns the column that a part of a filter tests, and the test; `None` if it is not a test of a single
/// column.
pub(crate) fn column_test(expr: &Expr) -> Option<(&str, impl Fn(Value<'_>) -> bool)> {
    let Expr::ScalarFunction(call) = expr else { return None };
    let predicate = call.func.inner().downcast_ref::<Predicate>()?;
    match call.args.as_slice() {
        [Expr::Column(column)] => {
            Some((column.name.as_str(), |value: Value<'_>| predicate.test.holds(value)))
        }
        _ => None,
    }
}
