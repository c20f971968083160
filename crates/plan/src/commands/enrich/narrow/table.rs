//! Bounds of the events in which a lookup may return a value, derived from the keys of the rows with this
//! value.

use std::collections::BTreeSet;

use exprs::types::ValueType;
use knowledge::MatchType;
use spl::ast::{ComparisonOperator, PatternPart, SearchPattern};

use super::bound::Bound;
use super::{Narrowing, Question};
use crate::commands::enrich::lookups::Automatic;
use crate::commands::lookup::outputs;

/// Maximum number of keys in a condition that replaces a condition on an output.
const MOST_KEYS: usize = 100;

impl Narrowing<'_> {
    /// Where a lookup may set the field to a value that passes a test.
    pub(super) fn looked_up(
        &self,
        automatic: &Automatic,
        name: &str,
        question: &Question,
        depth: usize,
    ) -> Bound {
        let (command, lookup) = (&automatic.command, &automatic.lookup);
        let default = lookup.definition.default_match.as_deref();
        let is_known =
            lookup.program.is_none() && !default.is_some_and(|text| question.holds(text));
        let rows_left = self.rows_left.get().checked_sub(lookup.rows.count);
        let (true, Some(rows_left)) = (is_known, rows_left) else { return Bound::Anything };
        self.rows_left.set(rows_left);
        let fields = outputs(command, lookup);
        let fields = fields.iter().filter(|field| field.event_name() == name);
        Bound::any(fields.map(|field| {
            let Some(giving) = rows(automatic, &field.lookup.node, question) else {
                return Bound::Anything;
            };
            if giving.is_empty() {
                return Bound::Nothing;
            }
            Bound::all(command.inputs.iter().map(|input| {
                match keys(automatic, &input.lookup.node, &giving) {
                    Some(keys) => {
                        let asked = Question::new(ComparisonOperator::Equal, keys);
                        self.field(input.event_name(), &asked, depth)
                    }
                    None => Bound::Anything,
                }
            }))
        }))
    }
}

/// The rows whose field passes a test; `None` if they cannot be determined.
fn rows(automatic: &Automatic, field: &str, question: &Question) -> Option<Vec<usize>> {
    let rows = &automatic.lookup.rows;
    if field.starts_with('_') || rows.column(field).is_some_and(|of| of.kind != ValueType::Text) {
        return None;
    }
    let texts = rows.texts(field).ok()?;
    let texts = texts.iter().enumerate();
    let giving = texts.filter(|(_, text)| text.as_deref().is_some_and(|text| question.holds(text)));
    Some(giving.map(|(row, _)| row).collect())
}

/// The keys that find these rows, as patterns of the search command; `None` if there are too many keys, or if
/// other keys may find the rows, too.
fn keys(automatic: &Automatic, field: &str, giving: &[usize]) -> Option<Vec<SearchPattern>> {
    let (definition, rows) = (&automatic.lookup.definition, &automatic.lookup.rows);
    let kind = definition.match_types.get(field).copied().unwrap_or(MatchType::Exact);
    let is_text = rows.column(field).is_some_and(|of| of.kind == ValueType::Text);
    if !matches!(kind, MatchType::Exact) || !is_text {
        return None;
    }
    let texts = rows.texts(field).ok()?;
    let keys: BTreeSet<&str> = giving.iter().filter_map(|row| texts[*row].as_deref()).collect();
    if keys.is_empty() || keys.len() > MOST_KEYS || keys.iter().any(|key| key.is_empty()) {
        return None;
    }
    keys.into_iter().map(|key| pattern(key, definition.case_sensitive)).collect()
}

/// Returns a pattern that matches all values that find a key.
fn pattern(key: &str, case_sensitive: bool) -> Option<SearchPattern> {
    if case_sensitive {
        return Some(SearchPattern::literal(key));
    }
    // Lookups ignore the case of all letters, the search command only that of ASCII letters: for a lookup,
    // the Kelvin sign equals k.
    let mut parts = Vec::new();
    for (at, literal) in key.split(['k', 'K']).enumerate() {
        if at > 0 && parts.last() != Some(&PatternPart::Any) {
            parts.push(PatternPart::Any);
        }
        if !literal.is_empty() {
            parts.push(PatternPart::Literal(literal.to_owned()));
        }
    }
    key.is_ascii().then_some(SearchPattern { parts })
}
