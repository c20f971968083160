//! Which indexes a search reads, from the `index=` terms of its filter.
//!
//! An index is read if the filter can be true for an event in it. Where a branch of the filter
//! names no index, the default indexes are meant. `*` does not reach internal indexes, `_*` does.

use model::IndexName;
use spl::ast::{ComparisonOperator, SearchComparison, SearchExpr, SearchPattern};

use crate::{Message, MessageKind, PlanContext};

/// The indexes that a filter reads, sorted.
pub(crate) fn select(expr: Option<&SearchExpr>, context: &PlanContext) -> Vec<IndexName> {
    let mut known = context.source.indexes();
    known.sort();
    known.dedup();
    let defaults = &context.default_indexes;
    let is_default = |index: &IndexName| defaults.contains(index);
    let Some(expr) = expr else {
        return known.into_iter().filter(is_default).collect();
    };
    known.into_iter().filter(|index| reachable(expr, index, is_default(index))).collect()
}

/// Warnings about names of indexes in a filter, as the user has written it, that match none. Event types of
/// apps name indexes that this server need not have.
pub(crate) fn unknown(written: Option<&SearchExpr>, context: &PlanContext) -> Vec<Message> {
    written.map_or_else(Vec::new, |expr| unknown_of(expr, &context.source.indexes()))
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

fn unknown_of(expr: &SearchExpr, known: &[IndexName]) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    let mut check = |pattern: &SearchPattern| {
        if !pattern.has_wildcard() && !known.iter().any(|index| covers(pattern, index)) {
            let text = format!("there is no index \"{}\"", pattern.text());
            let message = Message { kind: MessageKind::Warning, text };
            if !messages.contains(&message) {
                messages.push(message);
            }
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
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_that_does_not_exist_is_told_once() {
        let known = [IndexName::new("main").expect("a name")];
        let text = "index=main OR (index=none a) OR index IN (none, other, m*) OR index=none";
        let search = spl::parse_search_terms(text).expect("a filter");
        let messages = unknown_of(&search.expr.expect("a filter"), &known);
        let texts: Vec<&str> = messages.iter().map(|message| message.text.as_str()).collect();
        let expected = ["there is no index \"none\"", "there is no index \"other\""];
        assert_eq!(texts, expected);
    }
}
