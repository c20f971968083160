//! Derives a condition on stored fields from a filter on fields that the configuration sets. The scan prunes
//! by this condition, and only the remaining events get calculated fields and lookups.
//!
//! Guarantees: every event that satisfies the filter satisfies the derived condition. Events whose stanzas do
//! not set a field are compared by their stored value. Other events are excluded only if their stanzas cannot
//! produce a requested value: according to the texts, fields and conditions in an expression, or the rows of
//! a lookup.

mod bound;
mod expression;
mod table;

use std::cell::Cell;
use std::collections::HashMap;

use eval::Pattern;
use exprs::predicate::FieldValue;
use exprs::required_fields::RequiredFields;
use knowledge::StanzaMatcher;
use model::columns;
use spl::ast::{
    ComparisonOperator, PatternPart, SearchComparison, SearchExpr, SearchIn, SearchPattern,
    SearchValue, Span,
};

use self::bound::Bound;
use super::Objects;
use super::lookups::Automatic;
use super::parsed::ParsedField;

/// Maximum number of comparisons in a derived condition; filters that need more are evaluated only on the
/// calculated values, as comparisons take time, too.
const MOST: usize = 300;
/// Maximum number of comparisons in a filter from which a condition is derived, such as that of an event
/// type: evaluating more of them twice is not worth it.
const MOST_ASKED: usize = 30;
/// Maximum number of lookup rows that are examined for one filter.
const MOST_ROWS: usize = 50_000;
/// Maximum number of chained lookups, where each one sets an input of the next.
const MAX_DEPTH: usize = 4;

/// A test of a value: a comparison with one value, or equality to any of several.
#[derive(Debug, Clone)]
struct Question {
    operator: ComparisonOperator,
    values: Vec<SearchPattern>,
    compiled: Vec<FieldValue>,
}

impl Question {
    fn new(operator: ComparisonOperator, values: Vec<SearchPattern>) -> Self {
        let compiled = values.iter().cloned().map(FieldValue::new).collect();
        Self { operator, values, compiled }
    }

    /// Whether a text passes the test.
    fn holds(&self, text: &str) -> bool {
        self.compiled.iter().any(|value| value.compare_text(self.operator, text))
    }

    /// The same test as a filter on a stored field.
    fn of_field(&self, name: &str) -> SearchExpr {
        let span = Span::default();
        let field = spl::Spanned::new(name.to_owned(), span);
        let quoted = true;
        let value =
            |pattern: &SearchPattern| SearchValue { pattern: pattern.clone(), quoted, span };
        match self.values.as_slice() {
            [one] => {
                let (operator, value) = (self.operator, value(one));
                SearchExpr::Comparison(SearchComparison { field, operator, value, span })
            }
            several => {
                let values = several.iter().map(value).collect();
                SearchExpr::In(SearchIn { field, values, negated: false, span })
            }
        }
    }
}

/// The objects that set a field.
#[derive(Default)]
struct Setters<'a> {
    calculated: Vec<&'a ParsedField>,
    lookups: Vec<&'a Automatic>,
}

impl Setters<'_> {
    /// The stanzas that set the field.
    fn stanzas(&self) -> impl Iterator<Item = &StanzaMatcher> {
        let calculated = self.calculated.iter().map(|one| &one.field.matcher);
        calculated.chain(self.lookups.iter().map(|one| one.matcher()))
    }
}

/// The derivation of conditions on stored fields from filters.
struct Narrowing<'a> {
    setters: HashMap<&'a str, Setters<'a>>,
    /// Number of comparisons that may still be added.
    left: Cell<usize>,
    /// Number of rows that may still be examined.
    rows_left: Cell<usize>,
}

/// Returns a condition on stored fields that holds wherever a filter may hold; `None` if there is no such
/// condition.
pub(super) fn narrowed(filter: &SearchExpr, objects: &Objects) -> Option<SearchExpr> {
    // The stanzas of lookups are chosen by these fields as they are after the calculated fields, so they are
    // unknown if a calculated field sets one of them.
    if [columns::SOURCETYPE, columns::SOURCE, columns::HOST]
        .iter()
        .any(|name| objects.set.contains(*name))
    {
        return None;
    }
    (comparisons(filter) <= MOST_ASKED)
        .then(|| Narrowing::new(objects).filter(filter).into_filter())?
}

/// The number of words and comparisons of a filter.
fn comparisons(filter: &SearchExpr) -> usize {
    match filter {
        SearchExpr::And(members) | SearchExpr::Or(members) => members.iter().map(comparisons).sum(),
        SearchExpr::Not(inner, _) => comparisons(inner),
        _ => 1,
    }
}

impl<'a> Narrowing<'a> {
    fn new(objects: &'a Objects) -> Self {
        let mut setters: HashMap<&'a str, Setters<'a>> = HashMap::new();
        for calculated in &objects.calculated {
            let of_field = setters.entry(calculated.0.field.field.as_str()).or_default();
            of_field.calculated.push(&calculated.0);
        }
        for lookup in &objects.lookups {
            for output in &lookup.outputs {
                setters.entry(output.as_str()).or_default().lookups.push(lookup);
            }
        }
        Self { setters, left: Cell::new(MOST), rows_left: Cell::new(MOST_ROWS) }
    }

    fn filter(&self, filter: &SearchExpr) -> Bound {
        let mut read = RequiredFields::default();
        read.search(filter);
        let setters: Vec<_> =
            read.names.iter().filter_map(|name| self.setters.get(name.as_str())).collect();
        match filter {
            _ if setters.is_empty() => self.made(filter.clone()),
            SearchExpr::And(members) => Bound::all(members.iter().map(|part| self.filter(part))),
            SearchExpr::Or(members) => Bound::any(members.iter().map(|part| self.filter(part))),
            SearchExpr::Comparison(comparison) => {
                let values = vec![comparison.value.pattern.clone()];
                let question = Question::new(comparison.operator, values);
                self.field(&comparison.field.node, &question, MAX_DEPTH)
            }
            SearchExpr::In(list) if !list.negated => {
                let values = list.values.iter().map(|value| value.pattern.clone()).collect();
                let question = Question::new(ComparisonOperator::Equal, values);
                self.field(&list.field.node, &question, MAX_DEPTH)
            }
            other => {
                let stanzas = setters.into_iter().flat_map(Setters::stanzas);
                let touched = stanzas.map(|matcher| self.stanza(matcher));
                Bound::any(std::iter::once(self.made(other.clone())).chain(touched))
            }
        }
    }

    /// Where a field may pass a test after all lookups.
    fn field(&self, name: &str, question: &Question, depth: usize) -> Bound {
        let stored = self.stored(name, question);
        let Some(setters) = self.setters.get(name) else { return stored };
        if depth == 0 {
            return Bound::Anything;
        }
        let calculated = setters.calculated.iter().map(|one| {
            let value = one.expr.as_ref().map(|expr| self.value(expr, question));
            let value = value.unwrap_or(Bound::Anything);
            Bound::all([self.stanza(&one.field.matcher), value].into_iter())
        });
        let looked_up = setters.lookups.iter().map(|one| {
            let found = self.looked_up(one, name, question, depth - 1);
            Bound::all([self.stanza(one.matcher()), found].into_iter())
        });
        // A stanza may have no value, or not replace the previous one, so the stored value is an alternative,
        // too.
        Bound::any(std::iter::once(stored).chain(calculated).chain(looked_up))
    }

    /// Where the stored value of a field passes a test.
    fn stored(&self, name: &str, question: &Question) -> Bound {
        // For example `_time`, which is not a text.
        if name.starts_with('_') {
            return Bound::Anything;
        }
        self.made(question.of_field(name))
    }

    /// The events that a stanza may apply to.
    fn stanza(&self, matcher: &StanzaMatcher) -> Bound {
        let (name, pattern) = match matcher {
            StanzaMatcher::Everything => return Bound::Anything,
            StanzaMatcher::Sourcetype(name) => {
                (columns::SOURCETYPE, Some(SearchPattern::literal(name.clone())))
            }
            StanzaMatcher::SourcetypePattern(pattern) => (columns::SOURCETYPE, wildcards(pattern)),
            StanzaMatcher::Source(pattern) => (columns::SOURCE, wildcards(pattern)),
            StanzaMatcher::Host(pattern) => (columns::HOST, wildcards(pattern)),
        };
        let Some(pattern) = pattern else { return Bound::Anything };
        let question = Question::new(ComparisonOperator::Equal, vec![pattern]);
        self.made(question.of_field(name))
    }

    fn made(&self, filter: SearchExpr) -> Bound {
        match self.left.get().checked_sub(1) {
            Some(left) => {
                self.left.set(left);
                Bound::Where(filter)
            }
            None => Bound::Anything,
        }
    }
}

/// Converts the pattern of a stanza to a wildcard pattern that matches at least the same texts; `None` if
/// that is not possible.
fn wildcards(pattern: &Pattern) -> Option<SearchPattern> {
    let text = pattern.as_str();
    let folded = text.strip_prefix("(?is)^(?:");
    let mut rest = folded.or_else(|| text.strip_prefix("(?s)^(?:"))?.strip_suffix(")$")?;
    let mut parts = Vec::new();
    let mut literal = String::new();
    while let Some(c) = rest.chars().next() {
        let any = rest.strip_prefix(".*").or_else(|| rest.strip_prefix(r"[^/\\]*"));
        // A non-ASCII letter may be another case of an ASCII letter: the Kelvin sign, the long s.
        let any =
            any.or_else(|| rest.strip_prefix(['k', 'K', 's', 'S']).filter(|_| folded.is_some()));
        if let Some(after) = any {
            if !literal.is_empty() {
                parts.push(PatternPart::Literal(std::mem::take(&mut literal)));
            }
            if parts.last() != Some(&PatternPart::Any) {
                parts.push(PatternPart::Any);
            }
            rest = after;
            continue;
        }
        rest = &rest[c.len_utf8()..];
        let c = match c {
            '\\' => {
                let escaped = rest.chars().next().filter(char::is_ascii_punctuation)?;
                rest = &rest[1..];
                escaped
            }
            c if c.is_ascii() && !r".+*?()|[]{}^$#".contains(c) => c,
            _ => return None,
        };
        literal.push(c);
    }
    if !literal.is_empty() {
        parts.push(PatternPart::Literal(literal));
    }
    Some(SearchPattern { parts })
}
