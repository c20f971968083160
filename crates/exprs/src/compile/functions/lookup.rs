//! `lookup(table, json_object(field, value, ...), json_array(output, ...))`: fields of the matching row of a
//! lookup as a JSON object; null if no row matches.
//!
//! Guarantees: a lookup is read once for all events, before the expression is compiled ([`lookup_calls`]), so
//! only commands that read lookups first can use the function ([`Scope::lookup`]).

use std::sync::Arc;

use model::columns;
use serde_json::{Map, Value as Json};
use spl::Spanned;
use spl::ast::{Call, Expr, ExprKind, Span};

use crate::Error;
use crate::kernel::text;
use crate::types::ValueType;
use crate::{Scope, Typed, compile};

/// A call: the lookup, its input fields and its output fields.
#[derive(Debug)]
pub struct LookupQuestion<'a> {
    /// The name of the lookup.
    pub table: &'a str,
    /// Input fields of the lookup, with the expressions of their values.
    pub inputs: Vec<(Spanned<String>, &'a Expr)>,
    /// Output fields of the lookup.
    pub outputs: Vec<Spanned<String>>,
}

impl<'a> LookupQuestion<'a> {
    /// Parses a call.
    ///
    /// # Errors
    /// If its arguments do not have the form in the module documentation.
    pub fn of(call: &'a Call) -> Result<Self, Error> {
        let [table, inputs, outputs] = call.arguments.as_slice() else {
            return Err(Error::at("lookup() takes 3 arguments", call.function.span));
        };
        let ExprKind::String(table) = &table.kind else {
            let message = "the first argument of lookup() is the name of a lookup in double quotes";
            return Err(Error::at(message, table.span));
        };
        let pairs = arguments_of(inputs, "json_object").filter(|all| all.len().is_multiple_of(2));
        let pairs = pairs.ok_or_else(|| {
            let message = "the second argument of lookup() is json_object(\"field\", value, ...)";
            Error::at(message, inputs.span)
        })?;
        let outputs = arguments_of(outputs, "json_array").ok_or_else(|| {
            let message = "the third argument of lookup() is json_array(\"field\", ...)";
            Error::at(message, outputs.span)
        })?;
        let pair = |pair: &'a [Expr]| Ok((field(&pair[0])?, &pair[1]));
        Ok(Self {
            table,
            inputs: pairs.chunks_exact(2).map(pair).collect::<Result<_, Error>>()?,
            outputs: outputs.iter().map(field).collect::<Result<_, Error>>()?,
        })
    }

    /// Returns the names of the input fields.
    #[must_use]
    pub fn input_names(&self) -> Vec<String> {
        self.inputs.iter().map(|(name, _)| name.node.clone()).collect()
    }
}

/// Returns the arguments, at least one, if the expression is a call of the function.
fn arguments_of<'a>(expr: &'a Expr, function: &str) -> Option<&'a [Expr]> {
    match &expr.kind {
        ExprKind::Call(call) if call.function.node == function && !call.arguments.is_empty() => {
            Some(&call.arguments)
        }
        _ => None,
    }
}

fn field(expr: &Expr) -> Result<Spanned<String>, Error> {
    match &expr.kind {
        ExprKind::String(name) => Ok(Spanned::new(name.clone(), expr.span)),
        _ => Err(Error::at("fields of a lookup must be in double quotes here", expr.span)),
    }
}

/// Collects all calls of `lookup()` in an expression.
pub fn lookup_calls<'a>(expr: &'a Expr, found: &mut Vec<&'a Call>) {
    expr.walk(&mut |expr| match &expr.kind {
        ExprKind::Call(call) if call.function.node == "lookup" => found.push(call),
        _ => {}
    });
}

pub(super) fn call(call: &Call, span: Span, scope: &dyn Scope) -> Result<Typed, Error> {
    let asked = LookupQuestion::of(call)?;
    let lookup = scope.lookup(asked.table, &asked.input_names()).ok_or_else(|| {
        let message =
            "lookup() can be used in eval and where; use the command lookup before this one";
        Error::at(message, span)
    })?;
    let mut arguments = Vec::with_capacity(asked.inputs.len() + 1);
    for (_, value) in &asked.inputs {
        arguments.push(compile(value, scope)?.shown());
    }
    let inputs = arguments.len();
    if lookup.has_time() {
        let time = scope.field(columns::TIME).map(|kind| Typed::column(columns::TIME, kind));
        arguments.push(time.unwrap_or_else(|| Typed::null(ValueType::Float)));
    }
    let mut outputs = Vec::with_capacity(asked.outputs.len());
    for output in &asked.outputs {
        outputs.push((output.node.clone(), lookup.values(&output.node)?));
    }
    let names: Vec<&str> = outputs.iter().map(|(name, _)| name.as_str()).collect();
    let identity = format!("{} {names:?} {:p}", asked.table, Arc::as_ptr(&lookup).cast::<()>());
    let function = text("lookup", move |row, out| {
        let time = (row.len() > inputs).then(|| row.number(inputs)).flatten();
        let texts: Vec<_> = (0..inputs).map(|at| row.text(at)).collect();
        let texts: Vec<Option<&str>> = texts.iter().map(|text| text.as_deref()).collect();
        // As the command: without any input there is no default.
        if texts.iter().all(Option::is_none) {
            return None;
        }
        let rows = lookup.find(&texts, time);
        let default = lookup.default_match(rows.len());
        if rows.is_empty() && default.is_none() {
            return None;
        }
        let mut object = Map::new();
        for (name, values) in &outputs {
            let mut found = Vec::new();
            for row in rows.iter() {
                values.get(*row as usize).each_text(|text| found.push(Json::from(text)));
            }
            found.extend(default.map(Json::from));
            let value = if found.len() == 1 { found.pop() } else { None };
            object.insert(
                name.clone(),
                match value {
                    Some(only) => only,
                    None if found.is_empty() => Json::Null,
                    None => Json::Array(found),
                },
            );
        }
        out.push_str(&Json::Object(object).to_string());
        Some(())
    });
    Ok(function.with(identity).call(arguments))
}
