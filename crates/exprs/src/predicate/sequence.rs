//! Search for literals with wildcards between them: the common part of terms and field values.
//!
//! Guarantees: the time for each literal is linear in the length of the text; ASCII patterns never allocate.
//! Patterns with other characters are compared in lower case, character by character, as in the term index.

use std::borrow::Cow;

use memchr::memmem::Finder;
use memchr::{memchr, memchr2};
use spl::ast::{PatternPart, SearchPattern};

use crate::literal::LiteralSearch;
use crate::predicate::breakers::Breakers;

/// A compiled pattern.
#[derive(Debug, Clone)]
pub(crate) struct Sequence {
    literals: Vec<Literal>,
    open_start: bool,
    open_end: bool,
    lowers_text: bool,
}

/// One literal of a pattern.
#[derive(Debug, Clone)]
enum Literal {
    /// Case-sensitive.
    Exact(Box<Finder<'static>>),
    /// Case-insensitive; ASCII only.
    AnyCase(AnyCase),
}

/// A lower-case ASCII needle and the position of its rarest byte.
#[derive(Debug, Clone)]
struct AnyCase {
    needle: Box<[u8]>,
    rare: usize,
}

/// Returns how common a byte is in logs; only the order matters.
fn commonness(byte: u8) -> u8 {
    match byte {
        b' ' | b'0' | b'1' | b'2' | b'e' => 9,
        b'a' | b't' | b'i' | b'o' | b'n' | b's' | b'r' | b':' | b'.' | b'-' | b'3'..=b'9' => 8,
        b'c' | b'd' | b'l' | b'm' | b'p' | b'u' | b'=' | b'/' | b'"' | b',' => 6,
        b'f' | b'g' | b'h' | b'b' | b'_' => 5,
        b'w' | b'v' | b'y' | b'k' => 4,
        b'j' | b'q' | b'x' | b'z' => 2,
        _ => 3,
    }
}

impl AnyCase {
    fn new(needle: &str) -> Self {
        let needle = needle.to_ascii_lowercase().into_bytes().into_boxed_slice();
        let rare = (0..needle.len()).min_by_key(|at| commonness(needle[*at])).unwrap_or(0);
        Self { needle, rare }
    }

    fn find(&self, text: &[u8], from: usize) -> Option<usize> {
        if self.needle.is_empty() {
            return (from <= text.len()).then_some(from);
        }
        let last = text.len().checked_sub(self.needle.len())?;
        let byte = self.needle[self.rare];
        let upper = byte.to_ascii_uppercase();
        let mut at = from + self.rare;
        while at <= last + self.rare {
            let rest = &text[at..=last + self.rare];
            let found = if byte == upper { memchr(byte, rest) } else { memchr2(byte, upper, rest) };
            let start = at + found? - self.rare;
            if text[start..start + self.needle.len()].eq_ignore_ascii_case(&self.needle) {
                return Some(start);
            }
            at = start + self.rare + 1;
        }
        None
    }
}

impl Literal {
    fn exact(text: &str) -> Self {
        Self::Exact(Box::new(Finder::new(text).into_owned()))
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Exact(finder) => finder.needle(),
            Self::AnyCase(any) => &any.needle,
        }
    }

    fn len(&self) -> usize {
        self.bytes().len()
    }

    fn find(&self, text: &[u8], from: usize) -> Option<usize> {
        match self {
            Self::Exact(finder) => finder.find(text.get(from..)?).map(|at| from + at),
            Self::AnyCase(any) => any.find(text, from),
        }
    }

    fn is_at(&self, text: &[u8], at: usize) -> bool {
        let Some(part) = text.get(at..at + self.len()) else { return false };
        match self {
            Self::Exact(finder) => part == finder.needle(),
            Self::AnyCase(any) => part.eq_ignore_ascii_case(&any.needle),
        }
    }
}

/// Returns a text in lower case, converted character by character, without context.
pub(crate) fn lower(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

impl Sequence {
    /// Compiles a pattern.
    pub(crate) fn new(pattern: &SearchPattern, case_sensitive: bool) -> Self {
        let lowers_text = !case_sensitive && !pattern.literals().all(str::is_ascii);
        let prepare = |text: &str| match (case_sensitive, lowers_text) {
            (true, _) => Literal::exact(text),
            (false, true) => Literal::exact(&lower(text)),
            (false, false) => Literal::AnyCase(AnyCase::new(text)),
        };
        Self {
            literals: pattern.literals().filter(|text| !text.is_empty()).map(prepare).collect(),
            open_start: pattern.parts.first() == Some(&PatternPart::Any),
            open_end: pattern.parts.last() == Some(&PatternPart::Any),
            lowers_text,
        }
    }

    /// Returns the search for a literal that every matching text contains; `None` if there is none, or if
    /// texts must be converted to lower case first.
    pub(crate) fn literal(&self) -> Option<LiteralSearch> {
        let longest = self.literals.iter().max_by_key(|literal| literal.len())?;
        let any_case = matches!(longest, Literal::AnyCase(_));
        LiteralSearch::new(longest.bytes(), any_case).filter(|_| !self.lowers_text)
    }

    fn prepared<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.lowers_text { lower(text).into() } else { text.into() }
    }

    /// Whether the whole text matches.
    pub(crate) fn matches_whole(&self, text: &str) -> bool {
        let text = self.prepared(text);
        let text = text.as_bytes();
        let (Some(first), Some(last)) = (self.literals.first(), self.literals.last()) else {
            return self.open_start || text.is_empty();
        };
        if self.literals.len() == 1 && !self.open_start && !self.open_end {
            return text.len() == first.len() && first.is_at(text, 0);
        }
        let mut from = 0;
        let mut inner = &self.literals[..];
        if !self.open_start {
            if !first.is_at(text, 0) {
                return false;
            }
            from = first.len();
            inner = &inner[1..];
        }
        let mut end = text.len();
        if !self.open_end && !inner.is_empty() {
            match text.len().checked_sub(last.len()) {
                Some(at) if at >= from && last.is_at(text, at) => end = at,
                _ => return false,
            }
            inner = &inner[..inner.len() - 1];
        } else if !self.open_end {
            return from == text.len();
        }
        for literal in inner {
            match literal.find(&text[..end], from) {
                Some(at) => from = at + literal.len(),
                None => return false,
            }
        }
        true
    }

    /// Whether the pattern occurs in the text with a breaker, or an end of the text, on both sides; a side on
    /// which the pattern has a wildcard or a breaker of its own needs none.
    pub(crate) fn occurs_bounded(&self, text: &str, breakers: Breakers) -> bool {
        let text = self.prepared(text);
        let text = text.as_bytes();
        let Some((last, before)) = self.literals.split_last() else { return true };
        let mut from = 0;
        for (at, literal) in before.iter().enumerate() {
            let bounded_start = at == 0 && !self.open_start;
            match find_bounded(literal, text, from, breakers, (bounded_start, false)) {
                Some(found) => from = found + literal.len(),
                None => return false,
            }
        }
        let bounded = (before.is_empty() && !self.open_start, !self.open_end);
        find_bounded(last, text, from, breakers, bounded).is_some()
    }
}

fn find_bounded(
    literal: &Literal,
    text: &[u8],
    from: usize,
    breakers: Breakers,
    bounded: (bool, bool),
) -> Option<usize> {
    let mut from = from;
    loop {
        let at = literal.find(text, from)?;
        let end = at + literal.len();
        let start_free = !bounded.0 || at == 0 || breaks(breakers, text[at - 1], text[at]);
        let end_free =
            !bounded.1 || end == text.len() || breaks(breakers, text[end], text[end - 1]);
        if start_free && end_free {
            return Some(at);
        }
        from = at + 1;
    }
}

fn breaks(breakers: Breakers, outside: u8, inside: u8) -> bool {
    breakers.contains(outside) || breakers.contains(inside)
}
