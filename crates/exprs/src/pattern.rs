//! Regular expressions of commands and conditions, over columns.
//!
//! Engines and syntax are those of [`eval::Pattern`], so a pattern has the same meaning here as in functions
//! and in the configuration.

use std::ops::Range;
use std::sync::OnceLock;

use arrow::array::{Array, StringViewArray};
use arrow::buffer::BooleanBuffer;

use crate::literal::LiteralSearch;

/// A compiled regular expression.
#[derive(Debug)]
pub struct Pattern {
    regex: eval::Pattern,
    /// A literal that every matching text contains; computed when a column is searched for the first time.
    literal: OnceLock<Option<LiteralSearch>>,
}

impl Pattern {
    /// Compiles Perl-style syntax.
    ///
    /// # Errors
    /// The reason why it is not a regular expression.
    pub fn new(source: &str) -> Result<Self, String> {
        let regex = eval::Pattern::compile(source)?;
        Ok(Self { regex, literal: OnceLock::new() })
    }

    /// Whether the expression matches anywhere in the text.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// Whether a search takes time in proportion to the text.
    pub(crate) fn is_linear(&self) -> bool {
        self.regex.is_linear()
    }

    /// Returns a literal that every match contains, if one is known.
    pub(crate) fn required_literal(&self) -> Option<Vec<u8>> {
        self.regex.required_literal()
    }

    /// Returns the rows in whose text the expression matches.
    pub fn rows(&self, texts: &StringViewArray) -> BooleanBuffer {
        let literal =
            self.literal.get_or_init(|| LiteralSearch::new(&self.required_literal()?, false));
        let candidates = literal.as_ref().map(|literal| literal.rows(texts));
        BooleanBuffer::collect_bool(texts.len(), |row| {
            candidates.as_ref().is_none_or(|candidates| candidates.value(row))
                && texts.is_valid(row)
                && self.is_match(texts.value(row))
        })
    }

    /// Returns the named groups with their numbers.
    pub fn group_names(&self) -> Vec<(usize, String)> {
        let names = self.regex.names().iter().enumerate();
        names.filter_map(|(at, name)| Some((at, name.clone()?))).collect()
    }

    /// Calls `found` with the text of a group in each match, for at most `limit` matches (0 means all).
    pub fn each_match(&self, text: &str, group: usize, limit: usize, found: &mut dyn FnMut(&str)) {
        let mut matches = 0;
        self.regex.each_match(text, |groups| {
            groups.get(group).into_iter().for_each(&mut *found);
            matches += 1;
            matches != limit
        });
    }

    /// Calls `found` with the name and the byte range of each group in each match, for at most `limit`
    /// matches (0 means all).
    pub fn each_place(
        &self,
        text: &str,
        groups: &[(usize, String)],
        limit: usize,
        found: &mut dyn FnMut(&str, Range<usize>),
    ) {
        let mut matches = 0;
        self.regex.each_match(text, |captured| {
            for (group, name) in groups {
                if let Some((start, end)) = captured.span(*group) {
                    found(name, start..end);
                }
            }
            matches += 1;
            matches != limit
        });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_that_match_one_by_one() {
        let texts = ["error code 7", "no", "session=ab12f", "session=ab12", "", "ERROR", "aab ab"];
        let column = StringViewArray::from_iter_values(texts);
        for source in ["session=ab12[0-9a-f]+", "(?i)error", "^a", "(ab)+", "b$", "(?<=a)b", "x*"] {
            let pattern = Pattern::new(source).unwrap();
            let expected: Vec<bool> = texts.iter().map(|text| pattern.is_match(text)).collect();
            assert_eq!(pattern.rows(&column).iter().collect::<Vec<_>>(), expected, "{source}");
        }
    }
}
