//! A single extraction rule that a search refers to: a stanza of `transforms.conf`, or delimiters.

use std::borrow::Cow;

use super::{Reading, Transform};

/// A rule that reads a text and extracts fields from it.
#[derive(Debug, Clone)]
pub struct Extractor(Transform);

impl Extractor {
    /// Creates a rule for pairs such as `a=1;b=2`: each character of `pairs` ends a pair, each character of
    /// `keys` ends a key.
    #[must_use]
    pub fn delimited(pairs: &str, keys: &str) -> Self {
        Self(Transform {
            source: None,
            reading: Reading::Pairs { pairs: pairs.to_owned(), keys: keys.to_owned() },
            clean_keys: true,
            add: false,
            repeat: true,
            keep_empty: false,
        })
    }

    pub(crate) fn of(transform: Transform) -> Self {
        Self(transform)
    }

    /// Returns the rule with another value of `CLEAN_KEYS`.
    #[must_use]
    pub fn with_clean_keys(mut self, clean: bool) -> Self {
        self.0.clean_keys = clean;
        self
    }

    /// Returns the rule with another value of `MV_ADD`.
    #[must_use]
    pub fn with_several(mut self, several: bool) -> Self {
        self.0.add = several;
        self.0.repeat |= several;
        self
    }

    /// Returns whether a field that is found again becomes multivalue (`MV_ADD`).
    #[must_use]
    pub fn is_several(&self) -> bool {
        self.0.add
    }

    /// Returns the field that the rule reads; `None` for `_raw`.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.0.source.as_deref()
    }

    /// Returns the fields that the rule can produce; `None` if their names come from the text.
    #[must_use]
    pub fn names(&self) -> Option<Vec<String>> {
        self.0.names()
    }

    /// Visits all fields of a text, in order.
    pub fn find<'t>(&self, text: &'t str, visit: &mut dyn FnMut(&str, Cow<'t, str>)) {
        self.0.apply(text, visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(extractor: &Extractor, text: &str, expected: &[&str]) {
        let mut out = Vec::new();
        extractor.find(text, &mut |name, value| out.push(format!("{name}={value}")));
        assert_eq!(out, expected, "{text}");
    }

    #[test]
    fn any_of_the_delimiters_counts() {
        let extractor = Extractor::delimited("|;", "=:");
        check(&extractor, "a=1|b b:x y;c", &["a=1", "b_b=x y"]);
        check(&extractor.with_clean_keys(false), "b b:1", &["b b=1"]);
    }
}
