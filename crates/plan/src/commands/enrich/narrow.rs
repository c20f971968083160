//! What a filter on fields that the configuration sets asks of the stored fields, so that the scan prunes by
//! it and only such events get calculated fields and lookups.
//!
//! Guarantees: every event that satisfies the filter satisfies it. Events whose stanzas do not set a field
//! are compared as they are stored; of the others only those are left out whose stanzas cannot give a value
//! that is asked for: by the texts, fields and conditions in an expression, by the rows of a lookup.

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

/// Comparisons that a filter may turn into; one that needs more is left to the calculated values: to compare
/// takes time, too.
const MOST: usize = 300;
/// Comparisons of a filter that is narrowed, such as one of event types: more are not worth making twice.
const MOST_ASKED: usize = 30;
/// Rows of lookups that are looked through for it, over all.
const MOST_ROWS: usize = 50_000;
/// Lookups behind each other, each of which gives what the next one asks for, at most.
const MAX_DEPTH: usize = 4;

/// What a value is asked: a comparison with one, or equality to any of several.
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

    /// Whether a text satisfies it.
    fn holds(&self, text: &str) -> bool {
        self.compiled.iter().any(|value| value.compare_text(self.operator, text))
    }

    /// The same of a stored field.
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

/// Which objects set a field.
#[derive(Default)]
struct Setters<'a> {
    calculated: Vec<&'a ParsedField>,
    lookups: Vec<&'a Automatic>,
}

impl Setters<'_> {
    /// The stanzas that set it.
    fn stanzas(&self) -> impl Iterator<Item = &StanzaMatcher> {
        let calculated = self.calculated.iter().map(|one| &one.field.matcher);
        calculated.chain(self.lookups.iter().map(|one| one.matcher()))
    }
}

/// Turns filters into those of stored fields.
struct Narrowing<'a> {
    setters: HashMap<&'a str, Setters<'a>>,
    /// Comparisons that may still be made.
    left: Cell<usize>,
    /// Rows that may still be looked through.
    rows_left: Cell<usize>,
}

/// What stored fields satisfy where a filter may hold; `None` if that is not known.
pub(super) fn narrowed(filter: &SearchExpr, objects: &Objects) -> Option<SearchExpr> {
    // Lookups are of the stanzas of an event as it is behind the calculated fields.
    if [columns::SOURCETYPE, columns::SOURCE, columns::HOST]
        .iter()
        .any(|name| objects.set.contains(*name))
    {
        return None;
    }
    (comparisons(filter) <= MOST_ASKED)
        .then(|| Narrowing::new(objects).filter(filter).into_filter())?
}

/// The words and comparisons of a filter.
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

    /// Where a field may satisfy a question behind all lookups.
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
        // Some stanza's value is not there, or does not replace that of before.
        Bound::any(std::iter::once(stored).chain(calculated).chain(looked_up))
    }

    /// Where a field as it is stored satisfies a question.
    fn stored(&self, name: &str, question: &Question) -> Bound {
        // Such as `_time`, which is no text.
        if name.starts_with('_') {
            return Bound::Anything;
        }
        self.made(question.of_field(name))
    }

    /// The events that a stanza may be about.
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

/// The pattern of a stanza with wildcards, which match no less; `None` if it takes more than those.
fn wildcards(pattern: &Pattern) -> Option<SearchPattern> {
    let text = pattern.as_str();
    let folded = text.strip_prefix("(?is)^(?:");
    let mut rest = folded.or_else(|| text.strip_prefix("(?s)^(?:"))?.strip_suffix(")$")?;
    let mut parts = Vec::new();
    let mut literal = String::new();
    while let Some(c) = rest.chars().next() {
        let any = rest.strip_prefix(".*").or_else(|| rest.strip_prefix(r"[^/\\]*"));
        // Other letters than those of ASCII are their other cases: the Kelvin sign, the long s.
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
