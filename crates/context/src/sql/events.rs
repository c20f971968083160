//! The events that a `SELECT` begins with, and conditions of filters.

use spl::ast::{ComparisonOperator, SearchCommand, SearchExpr, TimeModifierKind};

use super::layer::{From, Layer};
use super::{Reason, SqlText, filter, identifier};

/// The events of a search that names its indexes.
pub fn events(search: &SearchCommand, text: &mut SqlText) -> Result<Layer, Reason> {
    for modifier in &search.time {
        match modifier.kind {
            TimeModifierKind::Earliest => text.earliest = Some(modifier.value.clone()),
            TimeModifierKind::Latest => text.latest = Some(modifier.value.clone()),
            _ => return Err("bounds of _indextime".to_owned()),
        }
    }
    let mut members = match search.expr.clone() {
        None => Vec::new(),
        Some(SearchExpr::And(members)) => members,
        Some(other) => vec![other],
    };
    let mut indexes = Vec::new();
    members.retain(|member| match named_indexes(member) {
        Some(names) => {
            indexes = names;
            false
        }
        None => true,
    });
    if members.iter().any(mentions_index) {
        return Err("it does not name one index, or a list of them".to_owned());
    }
    if indexes.is_empty() {
        text.notes.push("the search names no index; main is taken for the default".to_owned());
        indexes.push("main".to_owned());
    }
    let tables: Vec<String> = indexes.iter().map(|name| identifier(name)).collect();
    let from = match tables.as_slice() {
        [table] => From::Table(table.clone()),
        tables => {
            let parts: Vec<String> =
                tables.iter().map(|table| format!("SELECT * FROM {table}")).collect();
            From::Query(parts.join("\nUNION ALL BY NAME\n"), Vec::new())
        }
    };
    let mut layer = Layer::table(from);
    for member in &members {
        layer = conditions(Some(member), layer)?;
    }
    Ok(layer)
}

/// The indexes that a part of a filter names, if that is all it does.
fn named_indexes(expr: &SearchExpr) -> Option<Vec<String>> {
    let name = |value: &spl::ast::SearchValue| value.pattern.as_literal().map(str::to_owned);
    match expr {
        SearchExpr::Comparison(comparison)
            if comparison.field.node == model::columns::INDEX
                && comparison.operator == ComparisonOperator::Equal =>
        {
            name(&comparison.value).map(|name| vec![name])
        }
        SearchExpr::In(list) if list.field.node == model::columns::INDEX && !list.negated => {
            list.values.iter().map(name).collect()
        }
        SearchExpr::Or(members) => {
            let names: Option<Vec<Vec<String>>> = members.iter().map(named_indexes).collect();
            names.map(|names| names.concat())
        }
        _ => None,
    }
}

fn mentions_index(expr: &SearchExpr) -> bool {
    let mut found = false;
    expr.walk(&mut |part| {
        found |= part.field().is_some_and(|field| field.node == model::columns::INDEX);
    });
    found
}

/// Adds the conditions of a filter.
pub fn conditions(expr: Option<&SearchExpr>, mut layer: Layer) -> Result<Layer, Reason> {
    let members = match expr {
        None => return Ok(layer),
        Some(SearchExpr::And(members)) => members.as_slice(),
        Some(other) => std::slice::from_ref(other),
    };
    for member in members {
        let condition = filter::condition(member, &layer)?;
        if condition != "TRUE" {
            layer.filters.push(condition);
        }
    }
    Ok(layer)
}
