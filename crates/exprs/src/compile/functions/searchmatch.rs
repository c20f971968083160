//! `searchmatch("a search")`: whether the event matches a search expression.

use spl::ast::{Call, ExprKind, Span};

use crate::Error;
use crate::predicate::compile_search;
use crate::types::ValueType;
use crate::{Scope, Typed};

pub(super) fn searchmatch(call: &Call, span: Span, scope: &dyn Scope) -> Result<Typed, Error> {
    let ExprKind::String(text) = &call.arguments[0].kind else {
        let message = "the argument of searchmatch() is a search in double quotes";
        return Err(Error::invalid(message, span.start..span.end));
    };
    let refuse = |reason: String| {
        let message = format!("the search in searchmatch() is not valid: {reason}");
        Error::invalid(message, span.start..span.end)
    };
    let parsed = spl::parse_search_terms(text).map_err(|error| refuse(error.to_string()))?;
    match parsed.expr {
        Some(expr) => Ok(Typed::new(compile_search(&expr, scope)?, ValueType::Boolean)),
        None => Ok(Typed::truth(true)),
    }
}
