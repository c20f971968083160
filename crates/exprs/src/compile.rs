//! Compiles the syntax tree of an expression, including the functions that need syntax (`functions`).
//!
//! Both are one module because each calls the other: arguments are compiled, and `mvmap()` compiles its
//! inner expression in a scope of its own.

mod functions;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use functions::lookup::{LookupQuestion, lookup_calls};

use eval::operators::truth_word;
use eval::value::{decimals_in, parse_number};
use spl::ast::{Expr, ExprKind, FieldRef, Span};

use crate::Error;
use crate::membership::of_constants;
use crate::operators::{binary, unary};
use crate::predicate::balanced;
use crate::types::ValueType;
use crate::{Scope, Typed};

use spl::ast::{BinaryOperator, ComparisonOperator, UnaryOperator};

/// Compiles an expression for DataFusion.
///
/// # Errors
/// An unknown function, a wrong number of arguments, or an invalid literal (regular expression, time format);
/// each with its position in the text.
pub fn compile(expr: &Expr, scope: &dyn Scope) -> Result<Typed, Error> {
    match &expr.kind {
        ExprKind::Number(text) => number(text, expr.span),
        ExprKind::String(text) => Ok(Typed::text(text)),
        ExprKind::Field(field) => Ok(field_value(field, scope)),
        ExprKind::Unary(operator, operand) => Ok(unary(*operator, compile(operand, scope)?)),
        ExprKind::Binary(operator, left, right) => {
            Ok(binary(*operator, compile(left, scope)?, compile(right, scope)?))
        }
        ExprKind::In { value, list, negated } => {
            let value = compile(value, scope)?;
            let list =
                list.iter().map(|item| compile(item, scope)).collect::<Result<Vec<_>, _>>()?;
            Ok(one_of(value, list, *negated))
        }
        ExprKind::Call(call) => functions::of_call(call, expr.span, scope),
        ExprKind::Subsearch(found) => Err(Error::at("a subsearch is not allowed here", found.span)),
    }
}

fn number(text: &str, span: Span) -> Result<Typed, Error> {
    let number = parse_number(text);
    let number = number.ok_or_else(|| {
        Error::invalid(format!("\"{text}\" is not a number"), span.start..span.end)
    })?;
    Ok(match decimals_in(text) {
        Some(places) => Typed::number(number).with_decimals(places),
        None => Typed::number(number),
    })
}

fn field_value(field: &FieldRef, scope: &dyn Scope) -> Typed {
    if let Some(truth) = truth_word(field) {
        return Typed::truth(truth);
    }
    match scope.field(&field.name) {
        Some(kind) => Typed::column(&field.name, kind),
        None => Typed::null(ValueType::Null),
    }
}

/// Compiles `value IN (list)`: equality with any element.
fn one_of(value: Typed, mut list: Vec<Typed>, negated: bool) -> Typed {
    let equal =
        |item| binary(BinaryOperator::Compare(ComparisonOperator::Equal), value.clone(), item);
    let constants = of_constants(&value, &mut list);
    let each = list.into_iter().map(|item| equal(item).to(ValueType::Boolean));
    let each = constants.into_iter().chain(each).map(|equal| equal.expr).collect();
    let any = balanced(datafusion::logical_expr::Operator::Or, each);
    let any = any.map_or_else(|| Typed::truth(false), |any| Typed::new(any, ValueType::Boolean));
    if negated { unary(UnaryOperator::Not, any) } else { any }
}
