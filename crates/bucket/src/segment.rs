//! Words: Splunk's minor segments, and the hash that stands for one in the term index.

/// Longest part of a word that the index tells apart, in bytes of its lower-cased form.
pub const MAX_TERM_BYTES: usize = 255;

/// A word as the term index knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TermHash(pub u64);

impl TermHash {
    /// The hash of a word in any case. Two words that are equal lower-cased have the same hash.
    #[must_use]
    pub fn of(_word: &str) -> Self {
        todo!()
    }
}

/// Whether the byte separates minor segments: every major breaker, and `/ : = @ . - $ # % \ _`.
#[must_use]
pub fn is_breaker(_byte: u8) -> bool {
    todo!()
}

/// Whether the byte separates major segments: `[ ] < > ( ) { } | ! ; , ' " * & ? +`, space, tab,
/// carriage return and newline.
#[must_use]
pub fn is_major_breaker(_byte: u8) -> bool {
    todo!()
}

/// The minor segments of a text in order, as they stand (not lower-cased).
pub fn segments(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_ascii() && is_breaker(c as u8)).filter(|s| !s.is_empty())
}
