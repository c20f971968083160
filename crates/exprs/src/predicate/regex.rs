//! Regular expressions that the text of an event, or a field, must match or must not match.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::StringViewArray;
use arrow::buffer::BooleanBuffer;

use crate::column::Value;
use crate::pattern::Pattern;

/// A regular expression, and whether it must match or must not.
#[derive(Debug, Clone)]
pub struct RegexTest {
    source: String,
    negated: bool,
    pattern: Arc<Pattern>,
    literal: Option<String>,
}

impl RegexTest {
    /// Compiles an expression.
    ///
    /// # Errors
    /// The reason why it is not a regular expression.
    pub fn new(source: &str, negated: bool) -> Result<Self, String> {
        let pattern = Pattern::new(source)?;
        let literal = pattern.required_literal().and_then(|bytes| String::from_utf8(bytes).ok());
        let literal = literal.filter(|_| !negated);
        Ok(Self { source: source.to_owned(), negated, pattern: Arc::new(pattern), literal })
    }

    /// Returns a literal that every passing value contains, if one is known.
    #[must_use]
    pub fn literal(&self) -> Option<&str> {
        self.literal.as_deref()
    }

    pub(crate) fn is_linear(&self) -> bool {
        self.pattern.is_linear()
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    pub(crate) fn negated(&self) -> bool {
        self.negated
    }

    /// Whether a value passes. A missing value does not match, so that `!=` keeps its row.
    pub(crate) fn holds(&self, value: Value<'_>) -> bool {
        let mut found = false;
        value.each_text(|text| found = found || self.pattern.is_match(text));
        found != self.negated
    }

    /// Returns which of the texts pass.
    pub(crate) fn rows(&self, texts: &StringViewArray) -> BooleanBuffer {
        let found = self.pattern.rows(texts);
        if self.negated { !&found } else { found }
    }
}

impl PartialEq for RegexTest {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source && self.negated == other.negated
    }
}

impl Eq for RegexTest {}

impl Hash for RegexTest {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.source.hash(state);
        self.negated.hash(state);
    }
}
