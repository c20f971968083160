//! Words and phrases of `_raw`.

use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

use arrow::array::{Array, StringViewArray};
use arrow::buffer::BooleanBuffer;
use spl::ast::SearchPattern;

use crate::literal::LiteralSearch;
use crate::predicate::breakers::Breakers;
use crate::predicate::sequence::Sequence;

/// A compiled term of a search.
#[derive(Debug, Clone)]
pub struct TermPattern {
    pattern: SearchPattern,
    breakers: Breakers,
    case_sensitive: bool,
    sequence: Sequence,
    /// Computed when a column is searched for the first time.
    literal: OnceLock<Option<LiteralSearch>>,
}

impl TermPattern {
    /// Creates a case-insensitive word or phrase, between any breakers.
    #[must_use]
    pub fn word(pattern: SearchPattern) -> Self {
        Self::new(pattern, Breakers::Any, false)
    }

    /// Creates a term for `TERM(x)`: one token between major breakers, in any case.
    #[must_use]
    pub fn term(pattern: SearchPattern) -> Self {
        Self::new(pattern, Breakers::Major, false)
    }

    /// Creates a term for `CASE(x)`: a case-sensitive word.
    #[must_use]
    pub fn case(pattern: SearchPattern) -> Self {
        Self::new(pattern, Breakers::Any, true)
    }

    fn new(pattern: SearchPattern, breakers: Breakers, case_sensitive: bool) -> Self {
        let sequence = Sequence::new(&pattern, case_sensitive);
        Self { pattern, breakers, case_sensitive, sequence, literal: OnceLock::new() }
    }

    /// Returns the text with its wildcards.
    #[must_use]
    pub fn pattern(&self) -> &SearchPattern {
        &self.pattern
    }

    /// Returns its breakers.
    #[must_use]
    pub fn breakers(&self) -> Breakers {
        self.breakers
    }

    /// Whether case matters.
    #[must_use]
    pub fn case_sensitive(&self) -> bool {
        self.case_sensitive
    }

    /// Whether the text of an event contains the term.
    #[must_use]
    pub fn matches(&self, raw: &str) -> bool {
        self.sequence.occurs_bounded(raw, self.breakers)
    }

    /// Returns which of the texts contain the term.
    pub(crate) fn rows(&self, texts: &StringViewArray) -> BooleanBuffer {
        let candidates = self.literal.get_or_init(|| self.sequence.literal());
        let candidates = candidates.as_ref().map(|literal| literal.rows(texts));
        BooleanBuffer::collect_bool(texts.len(), |row| {
            candidates.as_ref().is_none_or(|candidates| candidates.value(row))
                && texts.is_valid(row)
                && self.matches(texts.value(row))
        })
    }
}

impl PartialEq for TermPattern {
    fn eq(&self, other: &Self) -> bool {
        self.pattern == other.pattern
            && self.breakers == other.breakers
            && self.case_sensitive == other.case_sensitive
    }
}

impl Eq for TermPattern {}

impl Hash for TermPattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.pattern.hash(state);
        self.breakers.hash(state);
        self.case_sensitive.hash(state);
    }
}
