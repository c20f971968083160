//! Which indexes a search reads, from the `index=` terms of its filter.
//!
//! An index is read if the filter can be true for an event in it. Where a branch of the filter
//! names no index, the default indexes are meant. `*` does not reach internal indexes, `_*` does.

use model::IndexName;
use spl::ast::{ComparisonOperator, SearchComparison, SearchExpr, SearchPattern};

use crate::{Message, MessageKind, PlanContext};

/// The indexes read, sorted, and warnings about names that match none.
pub(crate) fn select(
    expr: Option<&SearchExpr>,
    context: &PlanContext,
) -> (Vec<IndexName>, Vec<Message>) {
    let mut known = context.source.indexes();
    known.sort();
    known.dedup();
    let defaults = &context.default_indexes;
    let is_default = |index: &IndexName| defaults.contains(index);
    let Some(expr) = expr else {
        return (known.into_iter().filter(is_default).collect(), Vec::new());
    };
    let mut messages = Vec::new();
    warn_unknown(expr, &known, &mut messages);
    let reaches = |index: &IndexName| reachable(expr, index, is_default(index));
    (known.iter().filter(|index| reaches(index)).cloned().collect(), messages)
}

/// Whether an event of the index may satisfy the filter.
fn reachable(expr: &SearchExpr, index: &IndexName, default: bool) -> bool {
    if !names_index(expr) {
        return default;
    }
    match expr {
        // A branch that names no index leaves the choice to the others.
        SearchExpr::And(members) => {
            members.iter().filter(|m| names_index(m)).all(|m| reachable(m, index, default))
        }
        SearchExpr::Or(members) => members.iter().any(|m| reachable(m, index, default)),
        SearchExpr::Not(..) => default,
        SearchExpr::Comparison(comparison) => matches(comparison, index, default),
        SearchExpr::In(list) if list.negated => default,
        SearchExpr::In(list) => list.values.iter().any(|value| covers(&value.pattern, index)),
        _ => default,
    }
}

fn matches(comparison: &SearchComparison, index: &IndexName, default: bool) -> bool {
    match comparison.operator {
        ComparisonOperator::Equal => covers(&comparison.value.pattern, index),
        ComparisonOperator::NotEqual => default && !covers(&comparison.value.pattern, index),
        _ => default,
    }
}

/// Whether a pattern means the index.
pub(crate) fn covers(pattern: &SearchPattern, index: &IndexName) -> bool {
    let text = pattern.text().to_lowercase();
    if index.is_internal() && pattern.has_wildcard() && !text.starts_with('_') {
        return false;
    }
    exprs::required_fields::wildcard(&text, index.as_str())
}

fn is_index(name: &str) -> bool {
    name == "index"
}

/// Whether the expression compares `index` anywhere.
fn names_index(expr: &SearchExpr) -> bool {
    let mut found = false;
    expr.walk(&mut |part| found |= part.field().is_some_and(|field| is_index(&field.node)));
    found
}

fn warn_unknown(expr: &SearchExpr, known: &[IndexName], messages: &mut Vec<Message>) {
    let mut check = |pattern: &SearchPattern| {
        if !pattern.has_wildcard() && !known.iter().any(|index| covers(pattern, index)) {
            let text = format!("there is no index \"{}\"", pattern.text());
            messages.push(Message { kind: MessageKind::Warning, text });
        }
    };
    expr.walk(&mut |part| match part {
        SearchExpr::Comparison(comparison) if is_index(&comparison.field.node) => {
            check(&comparison.value.pattern);
        }
        SearchExpr::In(list) if is_index(&list.field.node) => {
            list.values.iter().for_each(|value| check(&value.pattern));
        }
        _ => {}
    });
}
