//! Where a lookup may give a value: by the values that its rows with that value are found by.

use std::collections::BTreeSet;

use exprs::types::ValueType;
use knowledge::MatchType;
use spl::ast::{ComparisonOperator, PatternPart, SearchPattern};

use super::bound::Bound;
use super::{Narrowing, Question};
use crate::commands::enrich::lookups::Automatic;
use crate::commands::lookup::outputs;

/// Values of a field that are asked for instead of the rows that they find.
const MOST_KEYS: usize = 100;

impl Narrowing<'_> {
    /// Where a lookup may give the field a value that satisfies a question.
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

/// The rows whose field satisfies a question; `None` if that is not known.
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

/// The values of a field that find rows, as the search command compares them; `None` if they are too many
/// or more than these find them.
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

/// What finds all values that a key is found by.
fn pattern(key: &str, case_sensitive: bool) -> Option<SearchPattern> {
    if case_sensitive {
        return Some(SearchPattern::literal(key));
    }
    // Lookups compare the cases of all letters, the search command those of ASCII: to lookups a Kelvin sign
    // is a k.
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
