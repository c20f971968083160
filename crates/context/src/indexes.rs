//! Selects the indexes of a search from the `index=` terms of its filter.
//!
//! An index is read if the filter can be true for an event in it. Where an alternative of the filter names no
//! index, or only takes some away (`index!=web`, `NOT index=web`), the default indexes are meant. Beside
//! `index=web`, such terms only take away from the indexes that are named. `*` does not reach internal
//! indexes, `_*` does.

use model::IndexName;
use spl::ast::{ComparisonOperator, SearchComparison, SearchExpr, SearchIn, SearchPattern};

use crate::plan_context::PlanContext;
use frames::{Message, MessageKind};

/// Returns the event indexes that a filter reads, sorted. Metric indexes are excluded, because otherwise a
/// count over `index=*` would include data points.
pub fn select(expr: Option<&SearchExpr>, context: &PlanContext) -> Vec<IndexName> {
    let mut indexes = select_with_metrics(expr, context);
    leave_out_metrics(&mut indexes, context);
    indexes
}

/// Removes metric indexes.
pub fn leave_out_metrics(indexes: &mut Vec<IndexName>, context: &PlanContext) {
    let metric = context.source.metric_indexes();
    indexes.retain(|index| !metric.contains(index));
}

/// Returns the indexes, of either `datatype`, that a filter of metric data points reads, sorted.
pub fn select_with_metrics(expr: Option<&SearchExpr>, context: &PlanContext) -> Vec<IndexName> {
    let mut known = context.source.indexes();
    known.sort();
    known.dedup();
    let defaults = &context.default_indexes;
    let is_default = |index: &IndexName| defaults.contains(index);
    let Some(expr) = expr else {
        return known.into_iter().filter(is_default).collect();
    };
    let is_read = |index: &IndexName| Reach::of(expr, index).includes(is_default(index));
    known.into_iter().filter(is_read).collect()
}

/// Returns why an index of this name is not read, if it is not among the indexes of the source.
#[must_use]
pub fn absence(name: &str, disabled: &[IndexName]) -> String {
    if disabled.iter().any(|index| index.as_str().eq_ignore_ascii_case(name)) {
        return format!("the index \"{name}\" is disabled");
    }
    format!("there is no index \"{name}\"")
}

/// Returns warnings about index names in a user-written filter that match no index. Event types of apps may
/// name indexes that do not exist on this server.
pub fn unknown(written: Option<&SearchExpr>, context: &PlanContext) -> Vec<Message> {
    let source = &context.source;
    written.map_or_else(Vec::new, |expr| {
        unknown_of(expr, &source.indexes(), &source.disabled_indexes())
    })
}

/// Returns warnings about index names in the user-written filter of an event search: names that match no
/// index, and metric indexes, which it excludes.
pub fn unread(written: Option<&SearchExpr>, context: &PlanContext) -> Vec<Message> {
    let mut messages = unknown(written, context);
    let Some(expr) = written else { return messages };
    let known = context.source.indexes();
    for index in context.source.metric_indexes() {
        let is_default = context.default_indexes.contains(&index);
        if known.contains(&index)
            && names_exactly(expr, &index)
            && Reach::of(expr, &index).includes(is_default)
        {
            messages.push(of_metrics(&index));
        }
    }
    messages
}

/// Returns the warning about a metric index in a command for events.
pub fn of_metrics(index: &IndexName) -> Message {
    let text = format!(
        "the index \"{index}\" has datatype=metric, so this search does not read it: use mpreview, mstats \
         or mcatalog"
    );
    Message { kind: MessageKind::Warning, text }
}

/// Whether a term names the index without wildcards.
fn names_exactly(expr: &SearchExpr, index: &IndexName) -> bool {
    let is_it = |pattern: &SearchPattern| !pattern.has_wildcard() && covers(pattern, index);
    let mut found = false;
    expr.walk(&mut |part| match part {
        SearchExpr::Comparison(comparison) if is_index(&comparison.field.node) => {
            found |= is_it(&comparison.value.pattern);
        }
        SearchExpr::In(list) if is_index(&list.field.node) => {
            found |= list.values.iter().any(|value| is_it(&value.pattern));
        }
        _ => {}
    });
    found
}

/// How an event of an index may satisfy a filter. The fields refer to alternatives of the filter, as if it
/// were an `OR` of conjunctions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reach {
    /// Through an alternative that names the index.
    named: bool,
    /// Through an alternative without an index, which reads the default indexes.
    unnamed: bool,
}

impl Reach {
    const NO_CHOICE: Self = Self { named: false, unnamed: true };

    fn of(expr: &SearchExpr, index: &IndexName) -> Self {
        match expr {
            SearchExpr::And(members) => members
                .iter()
                .map(|member| Self::of(member, index))
                .fold(Self::NO_CHOICE, Self::and),
            SearchExpr::Or(members) => members
                .iter()
                .map(|member| Self::of(member, index))
                .fold(Self { named: false, unnamed: false }, Self::or),
            SearchExpr::Not(inner, _) => Self { named: false, unnamed: may_fail(inner, index) },
            other => match names(other, index) {
                None => Self::NO_CHOICE,
                Some(Named::Wanted(is_meant)) => Self { named: is_meant, unnamed: false },
                Some(Named::Unwanted(is_meant)) => Self { named: false, unnamed: !is_meant },
            },
        }
    }

    fn and(self, other: Self) -> Self {
        let either = (self.named || self.unnamed) && (other.named || other.unnamed);
        Self {
            named: either && (self.named || other.named),
            unnamed: self.unnamed && other.unnamed,
        }
    }

    fn or(self, other: Self) -> Self {
        Self { named: self.named || other.named, unnamed: self.unnamed || other.unnamed }
    }

    fn includes(self, is_default: bool) -> bool {
        self.named || (self.unnamed && is_default)
    }
}

/// Whether a term includes or excludes the index.
enum Named {
    Wanted(bool),
    Unwanted(bool),
}

/// Returns the effect of a term on the index; `None` if the term does not name indexes.
fn names(term: &SearchExpr, index: &IndexName) -> Option<Named> {
    match term {
        SearchExpr::Comparison(SearchComparison { field, operator, value, .. })
            if is_index(&field.node) =>
        {
            match operator {
                ComparisonOperator::Equal => Some(Named::Wanted(covers(&value.pattern, index))),
                ComparisonOperator::NotEqual => {
                    Some(Named::Unwanted(covers(&value.pattern, index)))
                }
                _ => None,
            }
        }
        SearchExpr::In(SearchIn { field, values, negated, .. }) if is_index(&field.node) => {
            let is_meant = values.iter().any(|value| covers(&value.pattern, index));
            Some(if *negated { Named::Unwanted(is_meant) } else { Named::Wanted(is_meant) })
        }
        _ => None,
    }
}

/// Whether an event of the index may fail the expression. `NOT` never selects an index, even if its operand
/// is negated itself.
fn may_fail(expr: &SearchExpr, index: &IndexName) -> bool {
    match expr {
        SearchExpr::And(members) => members.iter().any(|member| may_fail(member, index)),
        SearchExpr::Or(members) => members.iter().all(|member| may_fail(member, index)),
        other => !matches!(names(other, index), Some(Named::Wanted(true))),
    }
}

/// Whether a pattern matches the index.
pub fn covers(pattern: &SearchPattern, index: &IndexName) -> bool {
    let text = pattern.text().to_lowercase();
    if index.is_internal() && pattern.has_wildcard() && !text.starts_with('_') {
        return false;
    }
    exprs::required_fields::wildcard(&text, index.as_str())
}

fn is_index(name: &str) -> bool {
    name == "index"
}

fn unknown_of(expr: &SearchExpr, known: &[IndexName], disabled: &[IndexName]) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    missing(expr, known, &mut |name| {
        let text = absence(name, disabled);
        let message = Message { kind: MessageKind::Warning, text };
        if !messages.contains(&message) {
            messages.push(message);
        }
    });
    messages
}

/// Passes the names of missing indexes to `tell`. A list with at least one existing index is skipped: apps
/// list all indexes that may hold their events, and most servers have only one of them.
fn missing(expr: &SearchExpr, known: &[IndexName], tell: &mut impl FnMut(&str)) {
    let exists = |pattern: &SearchPattern| known.iter().any(|index| covers(pattern, index));
    let mut tell_all = |patterns: &[&SearchPattern]| {
        let named = patterns.iter().filter(|pattern| !pattern.has_wildcard() && !exists(pattern));
        named.for_each(|pattern| tell(&pattern.text()));
    };
    if let Some(patterns) = listed(expr) {
        if !patterns.iter().any(|pattern| exists(pattern)) {
            tell_all(&patterns);
        }
        return;
    }
    match expr {
        SearchExpr::And(members) | SearchExpr::Or(members) => {
            members.iter().for_each(|member| missing(member, known, tell));
        }
        SearchExpr::Not(inner, _) => missing(inner, known, tell),
        SearchExpr::Comparison(comparison) if is_index(&comparison.field.node) => {
            tell_all(&[&comparison.value.pattern]);
        }
        SearchExpr::In(list) if is_index(&list.field.node) => {
            let patterns: Vec<_> = list.values.iter().map(|value| &value.pattern).collect();
            tell_all(&patterns);
        }
        _ => {}
    }
}

/// Returns the indexes of an expression that only lists them: `index=a OR index IN (b, c)`.
fn listed(expr: &SearchExpr) -> Option<Vec<&SearchPattern>> {
    match expr {
        SearchExpr::Or(members) => {
            let lists: Option<Vec<_>> = members.iter().map(listed).collect();
            Some(lists?.concat())
        }
        SearchExpr::Comparison(comparison)
            if is_index(&comparison.field.node)
                && comparison.operator == ComparisonOperator::Equal =>
        {
            Some(vec![&comparison.value.pattern])
        }
        SearchExpr::In(list) if is_index(&list.field.node) && !list.negated => {
            Some(list.values.iter().map(|value| &value.pattern).collect())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<String> {
        let [known, disabled] = ["main", "off"].map(|name| [IndexName::new(name).expect("a name")]);
        let search = spl::parse_search_terms(text).expect("a filter");
        let messages = unknown_of(&search.expr.expect("a filter"), &known, &disabled);
        messages.into_iter().map(|message| message.text).collect()
    }

    #[test]
    fn an_index_that_does_not_exist_is_told_once() {
        let text = "index=main OR (index=none a) OR index IN (none, other, x*) OR index=none";
        let expected = ["there is no index \"none\"", "there is no index \"other\""];
        assert_eq!(told(text), expected);
        assert_eq!(told("index=none OR index=other"), expected);
        assert_eq!(told("index=main NOT index=none"), expected[..1]);
    }

    #[test]
    fn a_disabled_index_is_not_told_to_be_missing() {
        let expected = ["the index \"off\" is disabled", "there is no index \"none\""];
        assert_eq!(told("index=off OR index=none"), expected);
        assert_eq!(told("index=OFF"), ["the index \"OFF\" is disabled"]);
    }

    #[test]
    fn of_a_list_of_indexes_one_has_to_exist() {
        for text in [
            "(index=main OR index=default OR index=x) a",
            "index=none OR (index=x OR index IN (m*, other))",
            "index IN (none, main)",
        ] {
            assert!(told(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn negations_take_away_from_the_indexes_that_are_named() {
        let cases = [
            ("index=web", "web"),
            ("error", "main"),
            ("index!=web", "main"),
            ("index!=main", ""),
            ("NOT index=main", ""),
            ("index=web index!=foo", "web"),
            ("index=web index!=web", ""),
            ("index=web NOT index=_internal", "web"),
            ("index=web NOT (index=_internal OR index=mon)", "web"),
            ("index=* index!=main", "mon web"),
            ("index=* NOT index=main error", "mon web"),
            ("index=* NOT (index=main host=a)", "main mon web"),
            ("index=* NOT index IN (main, web)", "mon"),
            ("index IN (web, main) index!=_internal", "main web"),
            ("(index=* OR index=_*) index!=_audit index!=m*", "_internal web"),
            // Each alternative by itself.
            ("(index=web index!=foo) OR index!=mon", "main web"),
            ("(index=web OR error) index!=_internal", "main web"),
            ("index=web (index!=main OR error)", "web"),
            ("index=* (index!=main OR error)", "main mon web"),
            ("index=web OR NOT index=mon", "main web"),
            // A term for another index leaves nothing.
            ("index=web index=main", ""),
            ("NOT index!=web", "main"),
        ];
        let names = ["_internal", "main", "mon", "web"];
        for (text, expected) in cases {
            let search = spl::parse_search_terms(text).expect("a filter");
            let expr = search.expr.expect("a filter");
            let is_read = |name: &&&str| {
                let index = IndexName::new(name).expect("a name");
                Reach::of(&expr, &index).includes(**name == "main")
            };
            let read: Vec<&str> = names.iter().filter(is_read).copied().collect();
            assert_eq!(read.join(" "), expected, "{text}");
        }
    }
}
