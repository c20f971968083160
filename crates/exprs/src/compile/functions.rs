//! The functions of `eval`, `where` and `fieldformat` as functions of DataFusion.
//!
//! The computation on the values of one row is in [`eval::functions`]; this module contains the functions
//! that depend on syntax or types rather than values ([`eval::functions::Form`]).
//!
//! Guarantees: constant arguments are compiled during planning. Operators are left to `operators`, and typing
//! to `typed` and `convert`.

#[cfg(test)]
mod comparison;
mod conditional;
mod each;
pub(super) mod lookup;
mod searchmatch;
#[cfg(test)]
mod tests;
mod to_json;

use eval::functions::{Body, Form, Refusal};
use spl::ast::{Call, Span};

use crate::Error;
use crate::convert::sigfig;
use crate::types::ValueType;
use crate::udf::{FunctionContext, of_values};
use crate::{Scope, Typed, compile};
use eval::value::Value;

/// Compiles a call.
pub(super) fn of_call(call: &Call, span: Span, scope: &dyn Scope) -> Result<Typed, Error> {
    let name = &call.function;
    let function = eval::functions::find(&name.node).ok_or_else(|| {
        let message = format!("unknown function \"{}\"", name.node);
        Error::invalid(message, name.span.start..name.span.end)
    })?;
    match &function.body {
        Body::Constant(value) => Ok(constant(*value)),
        Body::Values { .. } => {
            let arguments = compiled(call, scope)?;
            let (now, zone, report) = (scope.now(), scope.timezone().clone(), scope.report());
            let context = Some(FunctionContext { now, zone, report });
            of_values(function, arguments, context).map_err(|Refusal { argument, message }| {
                let at = call.arguments.get(argument).map_or(span, |expr| expr.span);
                Error::invalid(message, at.start..at.end)
            })
        }
        Body::Form(form) => of_form(*form, call, span, scope),
    }
}

fn compiled(call: &Call, scope: &dyn Scope) -> Result<Vec<Typed>, Error> {
    call.arguments.iter().map(|expr| compile(expr, scope)).collect()
}

fn constant(value: Value<'_>) -> Typed {
    match value {
        Value::Boolean(truth) => Typed::truth(truth),
        Value::Float(number) => Typed::number(number),
        _ => Typed::null(ValueType::Null),
    }
}

fn of_form(form: Form, call: &Call, span: Span, scope: &dyn Scope) -> Result<Typed, Error> {
    match form {
        Form::Lookup => return lookup::call(call, span, scope),
        Form::MvFilter => return each::mvfilter(call, span, scope),
        Form::MvMap => return each::mvmap(call, span, scope),
        Form::SearchMatch => return searchmatch::searchmatch(call, span, scope),
        _ => {}
    }
    let mut arguments = compiled(call, scope)?.into_iter();
    // The parser has checked the number of arguments.
    let mut next = || arguments.next().unwrap_or_else(|| Typed::null(ValueType::Null));
    Ok(match form {
        Form::Case => conditional::case(arguments),
        Form::Coalesce => conditional::coalesce(arguments),
        Form::Exact => next().plain().to(ValueType::Float),
        Form::If => conditional::if_(next(), next(), next()),
        Form::IsNotNull => conditional::is_null(next(), true),
        Form::IsNull => conditional::is_null(next(), false),
        Form::Now => Typed::number(scope.now().seconds().floor()),
        Form::NullIf => conditional::nullif(next(), next()),
        Form::Sigfig => sigfig(next()),
        Form::ToJson => to_json::to_json(&next(), scope),
        Form::Validate => conditional::validate(arguments),
        Form::Lookup | Form::MvFilter | Form::MvMap | Form::SearchMatch => {
            return Err(Error::internal("a function of syntax has no values"));
        }
    })
}
