//! One rule of extraction by itself, for searches that name it: a stanza of `transforms.conf`, or
//! delimiters.

use std::borrow::Cow;

use super::{Reading, Transform};

/// A rule that reads one text and finds fields in it.
#[derive(Debug, Clone)]
pub struct Extractor(Transform);

impl Extractor {
    /// Pairs such as `a=1;b=2`: each character of `pairs` ends a pair, each of `keys` a key.
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

    /// The same with another `CLEAN_KEYS`.
    #[must_use]
    pub fn with_clean_keys(mut self, clean: bool) -> Self {
        self.0.clean_keys = clean;
        self
    }

    /// The same with another `MV_ADD`.
    #[must_use]
    pub fn with_several(mut self, several: bool) -> Self {
        self.0.add = several;
        self.0.repeat |= several;
        self
    }

    /// `MV_ADD`: whether a field found again has several values.
    #[must_use]
    pub fn is_several(&self) -> bool {
        self.0.add
    }

    /// The field that is read; `None` for `_raw`.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.0.source.as_deref()
    }

    /// The fields it can find, or `None` if their names stand in the text.
    #[must_use]
    pub fn names(&self) -> Option<Vec<String>> {
        self.0.names()
    }

    /// Visits every field of a text, in order.
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
