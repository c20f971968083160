//! Source types that are renamed at search time (`rename` in props.conf).
//!
//! Buckets keep the names that the events came with, and scans prune by those. So conditions on source types
//! become conditions on stored names before the scan, and behind it the events show the new names.

use std::collections::BTreeMap;
use std::sync::Arc;

use exprs::kernel::text;
use exprs::predicate::FieldValue;
use frames::Frame;
use knowledge::Knowledge;
use model::columns::SOURCETYPE;
use spl::ast::{
    ComparisonOperator, SearchComparison, SearchExpr, SearchPattern, SearchValue, Span,
};

use frames::Error;

/// The field with the stored name.
pub const ORIGINAL: &str = "_sourcetype";

/// The renames; see the module documentation.
#[derive(Debug)]
pub struct Renames(Arc<BTreeMap<String, String>>);

impl Renames {
    pub fn of(knowledge: &Knowledge) -> Self {
        Self(Arc::clone(knowledge.renamed_sourcetypes()))
    }

    /// Returns the displayed name of a stored source type.
    pub fn shown(&self, stored: String) -> String {
        self.0.get(&stored).cloned().unwrap_or(stored)
    }

    /// Converts a condition to one on stored names.
    pub fn stored(&self, expr: &SearchExpr) -> SearchExpr {
        let all = |members: &[SearchExpr]| members.iter().map(|one| self.stored(one)).collect();
        match expr {
            SearchExpr::And(members) => SearchExpr::And(all(members)),
            SearchExpr::Or(members) => SearchExpr::Or(all(members)),
            SearchExpr::Not(inner, span) => SearchExpr::Not(Box::new(self.stored(inner)), *span),
            other => match holding(other) {
                Some(holds) => self.comparison(other, &*holds),
                None => other.clone(),
            },
        }
    }

    /// Converts a comparison of a field, whose result for a text is `holds`.
    fn comparison(&self, expr: &SearchExpr, holds: &dyn Fn(&str) -> bool) -> SearchExpr {
        match expr.field().map(|field| field.node.as_str()) {
            Some(ORIGINAL) => {
                let mut stored = expr.clone();
                match &mut stored {
                    SearchExpr::Comparison(comparison) | SearchExpr::Cased(comparison) => {
                        SOURCETYPE.clone_into(&mut comparison.field.node)
                    }
                    SearchExpr::In(list) => SOURCETYPE.clone_into(&mut list.field.node),
                    _ => {}
                }
                stored
            }
            Some(SOURCETYPE) => {
                let differing =
                    self.0.iter().filter(|(stored, shown)| holds(stored) != holds(shown));
                let (hidden, added): (Vec<_>, Vec<_>) =
                    differing.map(|(stored, _)| stored).partition(|stored| holds(stored));
                let is = |operator| move |name: &&String| named(name, operator);
                let mut members = vec![expr.clone()];
                members.extend(hidden.iter().map(is(ComparisonOperator::NotEqual)));
                let kept = one_or(members, SearchExpr::And);
                let mut members = vec![kept];
                members.extend(added.iter().map(is(ComparisonOperator::Equal)));
                one_or(members, SearchExpr::Or)
            }
            _ => expr.clone(),
        }
    }

    /// Renames the source types of events, and adds the stored names if they are needed.
    pub fn apply(&self, frame: Frame, wants_original: bool) -> Result<Frame, Error> {
        let stored = || frame.field(SOURCETYPE);
        let mut columns = Vec::new();
        if wants_original {
            columns.push((ORIGINAL.to_owned(), stored()));
        }
        if !self.0.is_empty() {
            let names = Arc::clone(&self.0);
            let function = text("renamed_sourcetype", move |row, out| {
                let stored = row.text(0)?;
                out.push_str(names.get(&*stored).map_or(&*stored, String::as_str));
                Some(())
            });
            let identity = format!("{:?}", self.0);
            columns.push((SOURCETYPE.to_owned(), function.with(identity).call(vec![stored()])));
        }
        if columns.is_empty() { Ok(frame) } else { Ok(frame.with_columns(columns)?) }
    }
}

/// Extends a search filter of a role so that it also excludes events by new names, wherever the configuration
/// assigns them. A rename never makes the filter admit more events, because its positive conditions are
/// compared with stored names only.
#[must_use]
pub fn excluding_renamed(filter: &SearchExpr, knowledge: &Knowledge) -> SearchExpr {
    /// Pairs of a stored name and a new name that some layer assigns.
    struct Given(Vec<(String, String)>);
    let given = knowledge.compiled(|knowledge| {
        let mut given = Vec::new();
        // All layers are used instead of the effective setting: a rename in another app must not undo that of
        // an administrator.
        for (_, stanza) in knowledge.layers().stanzas("props") {
            if let Some(shown) = stanza.get("rename") {
                given.push((stanza.name.clone(), shown.value.clone()));
            }
        }
        given.sort_unstable();
        given.dedup();
        Given(given)
    });
    excluding(filter, &given.0, false)
}

fn excluding(expr: &SearchExpr, given: &[(String, String)], is_negated: bool) -> SearchExpr {
    let all = |members: &[SearchExpr]| {
        members.iter().map(|one| excluding(one, given, is_negated)).collect()
    };
    match expr {
        SearchExpr::And(members) => SearchExpr::And(all(members)),
        SearchExpr::Or(members) => SearchExpr::Or(all(members)),
        SearchExpr::Not(inner, span) => {
            SearchExpr::Not(Box::new(excluding(inner, given, !is_negated)), *span)
        }
        other => {
            let is_of_type = other.field().is_some_and(|field| field.node == SOURCETYPE);
            let (true, Some(holds)) = (is_of_type, holding(other)) else { return other.clone() };
            let is_unequal = match other {
                SearchExpr::Comparison(comparison) => {
                    comparison.operator == ComparisonOperator::NotEqual
                }
                SearchExpr::In(list) => list.negated,
                _ => false,
            };
            // `NOT sourcetype!=x` includes x, as `sourcetype=x` does.
            if is_unequal == is_negated {
                return other.clone();
            }
            let excluded = given.iter().filter(|(_, shown)| holds(shown) != is_unequal);
            let mut members = vec![other.clone()];
            if is_unequal {
                let is_not =
                    |(stored, _): &(String, String)| named(stored, ComparisonOperator::NotEqual);
                members.extend(excluded.map(is_not));
                one_or(members, SearchExpr::And)
            } else {
                let is = |(stored, _): &(String, String)| named(stored, ComparisonOperator::Equal);
                members.extend(excluded.map(is));
                one_or(members, SearchExpr::Or)
            }
        }
    }
}

/// A predicate on texts: whether a comparison holds.
type Holds<'a> = Box<dyn Fn(&str) -> bool + 'a>;

/// Returns the predicate of a comparison of a field; `None` for other expressions.
fn holding(expr: &SearchExpr) -> Option<Holds<'_>> {
    match expr {
        SearchExpr::Comparison(comparison) => {
            let value = FieldValue::new(comparison.value.pattern.clone());
            Some(Box::new(move |name: &str| value.compare_text(comparison.operator, name)))
        }
        SearchExpr::Cased(comparison) => {
            Some(Box::new(move |name: &str| comparison.value.pattern.matches(name)))
        }
        SearchExpr::In(list) => {
            let values = list.values.iter().map(|value| value.pattern.clone());
            let values: Vec<FieldValue> = values.map(FieldValue::new).collect();
            Some(Box::new(move |name: &str| {
                let mut all = values.iter();
                let is_one = all.any(|one| one.compare_text(ComparisonOperator::Equal, name));
                is_one != list.negated
            }))
        }
        _ => None,
    }
}

fn one_or(
    mut members: Vec<SearchExpr>,
    several: impl FnOnce(Vec<SearchExpr>) -> SearchExpr,
) -> SearchExpr {
    match members.len() {
        1 => members.remove(0),
        _ => several(members),
    }
}

fn named(name: &str, operator: ComparisonOperator) -> SearchExpr {
    let span = Span::default();
    let value = SearchValue { pattern: SearchPattern::literal(name), quoted: true, span };
    let field = spl::Spanned::new(SOURCETYPE.to_owned(), span);
    SearchExpr::Comparison(SearchComparison { field, operator, value, span })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::{Layer, Layers};

    use super::*;

    #[test]
    fn a_filter_excludes_new_names_and_asks_for_stored_ones() {
        let layers = Layers::builtin()
            .with(Layer::SystemLocal, "props", "[pay_v1]\nrename = payroll\n")
            .with(Layer::AppLocal("other".to_owned()), "props", "[pay_v1]\nrename = other\n");
        let knowledge = Knowledge::new(layers);
        let parsed = |text: &str| spl::parse_search_terms(text).unwrap().expr.unwrap();
        let narrowed = |text: &str| excluding_renamed(&parsed(text), &knowledge).to_string();
        for (filter, expected) in [
            ("NOT sourcetype=payroll", "NOT (sourcetype=payroll OR sourcetype=\"pay_v1\")"),
            ("NOT sourcetype=oth*", "NOT (sourcetype=oth* OR sourcetype=\"pay_v1\")"),
            (
                "host=a OR sourcetype!=payroll",
                "host=a OR (sourcetype!=payroll sourcetype!=\"pay_v1\")",
            ),
        ] {
            assert_eq!(narrowed(filter), parsed(expected).to_string(), "{filter}");
        }
        for same in [
            "sourcetype=payroll",
            "sourcetype=pay_v1",
            "NOT sourcetype!=payroll",
            "NOT host=payroll",
            "NOT sourcetype=web",
        ] {
            assert_eq!(narrowed(same), parsed(same).to_string(), "{same}");
        }
    }
}
