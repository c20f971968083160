//! Expressions over aggregations: `eval(sum(bytes) / count)`.
//!
//! Guarantees: the result contains the aggregates of its calls, so any operator that computes aggregates can
//! evaluate the expression over their results. A field outside of an aggregation is refused.

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::Expr;
use jiff::tz::TimeZone;
use model::EventTime;
use spl::ast::{StatsArgument, StatsCall, StatsKind, aggregation_name};

use super::{Place, aggregate_with, error};
use crate::Error;
use crate::required_fields::RequiredFields;
use crate::types::ValueType;
use crate::{Scope, Typed, compile};

/// A scope with only the results of the aggregates.
struct Results<'a> {
    outer: &'a dyn Scope,
    parts: &'a [(String, Typed)],
}

impl Scope for Results<'_> {
    fn field(&self, name: &str) -> Option<ValueType> {
        let found = self.parts.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.kind).filter(|kind| *kind != ValueType::Null)
    }

    fn now(&self) -> EventTime {
        self.outer.now()
    }

    fn timezone(&self) -> &TimeZone {
        self.outer.timezone()
    }
}

/// Compiles the expression together with its aggregates.
pub(super) fn aggregate(
    call: &StatsCall,
    expr: &spl::ast::Expr,
    calls: &[StatsCall],
    place: &Place<'_>,
) -> Result<Typed, Error> {
    let mut parts = Vec::with_capacity(calls.len());
    for (at, part) in calls.iter().enumerate() {
        if means_many_fields(part) {
            let message = "an aggregation inside of eval(...) is of one field";
            return Err(error(part, message));
        }
        let value = aggregate_with(part, place.scope, place.order, place.options)?;
        parts.push((aggregation_name(at), value));
    }
    let mut read = RequiredFields::default();
    read.expr(expr);
    let known = |name: &String| parts.iter().any(|(part, _)| part == name);
    if let Some(name) = read.names.iter().find(|name| !known(name)) {
        let message = format!("the field \"{name}\" is outside of an aggregation in eval(...)");
        return Err(error(call, message));
    }
    let value = compile(expr, &Results { outer: place.scope, parts: &parts })?.shown();
    if value.kind == ValueType::Boolean {
        let message = "a result cannot be a comparison; use if(..., \"true\", \"false\")";
        return Err(error(call, message));
    }
    let filled = value.expr.transform_down(|node| {
        let Expr::Column(column) = &node else { return Ok(Transformed::no(node)) };
        let part = parts.iter().find(|(name, _)| *name == column.name);
        Ok(match part {
            Some((_, value)) => Transformed::new(value.expr.clone(), true, TreeNodeRecursion::Jump),
            None => Transformed::no(node),
        })
    })?;
    Ok(Typed::new(filled.data, value.kind))
}

fn means_many_fields(call: &StatsCall) -> bool {
    match &call.argument {
        StatsArgument::Field(pattern) => pattern.has_wildcard(),
        StatsArgument::None => call.function.kind != StatsKind::Count,
        _ => false,
    }
}
