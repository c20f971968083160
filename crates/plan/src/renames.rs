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

use crate::Error;

/// The field with the stored name.
pub(crate) const ORIGINAL: &str = "_sourcetype";

/// See the module.
pub(crate) struct Renames(Arc<BTreeMap<String, String>>);

impl Renames {
    pub(crate) fn of(knowledge: &Knowledge) -> Self {
        Self(Arc::clone(knowledge.renamed_sourcetypes()))
    }

    /// What a stored source type is called.
    pub(crate) fn shown(&self, stored: String) -> String {
        self.0.get(&stored).cloned().unwrap_or(stored)
    }

    /// What a condition asks of stored events.
    pub(crate) fn stored(&self, expr: &SearchExpr) -> SearchExpr {
        let all = |members: &[SearchExpr]| members.iter().map(|one| self.stored(one)).collect();
        match expr {
            SearchExpr::And(members) => SearchExpr::And(all(members)),
            SearchExpr::Or(members) => SearchExpr::Or(all(members)),
            SearchExpr::Not(inner, span) => SearchExpr::Not(Box::new(self.stored(inner)), *span),
            SearchExpr::Comparison(comparison) => {
                let value = FieldValue::new(comparison.value.pattern.clone());
                let holds = |name: &str| value.compare_text(comparison.operator, name);
                self.comparison(expr, &holds)
            }
            SearchExpr::Cased(comparison) => {
                let holds = |name: &str| comparison.value.pattern.matches(name);
                self.comparison(expr, &holds)
            }
            SearchExpr::In(list) => {
                let values = list.values.iter().map(|value| value.pattern.clone());
                let values: Vec<FieldValue> = values.map(FieldValue::new).collect();
                let holds = |name: &str| {
                    let mut all = values.iter();
                    let is_one = all.any(|one| one.compare_text(ComparisonOperator::Equal, name));
                    is_one != list.negated
                };
                self.comparison(expr, &holds)
            }
            other => other.clone(),
        }
    }

    /// A comparison of a field, which holds for texts as `holds` says.
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

    /// The events with their source types as they are called, and with the stored names if they are asked
    /// for.
    pub(crate) fn apply(&self, frame: Frame, wants_original: bool) -> Result<Frame, Error> {
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
