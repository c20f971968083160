//! Conditions on words: the part of a search that the term index can evaluate before any row is read.

use hashbrown::HashSet;
use serde::{Deserialize, Serialize};

use crate::segment::{is_breaker, lower, segments};

/// A condition over the words of an event. Evaluated against a bucket
/// ([`BucketReader::candidates`](crate::BucketReader::candidates)) it gives a superset of the
/// granules that have a matching row, never a false negative.
///
/// A word is a minor segment ([`segments`]): text between two breakers or ends, compared
/// lower-cased character by character (`char::to_lowercase`, so `ſ` and `s` are different). Words
/// are found in `_raw`, in `host`, `source` and `sourcetype`, in indexed fields, and in the values
/// that the rules in `BucketSummary::rules` extract, also where such a value is only a part of a
/// segment of `_raw` or not in it at all. So `field=value` may use [`TermQuery::for_text`] on the
/// value exactly when the rules are still those of the bucket, and a comparison as numbers only if
/// it asks for the words of the value too (`status=200` then finds `200.0`, but not `2e2`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TermQuery {
    /// All of the conditions; an empty list is [`TermQuery::All`].
    And(Vec<TermQuery>),
    /// Any of the conditions; an empty list is [`TermQuery::Nothing`].
    Or(Vec<TermQuery>),
    /// The word occurs, in any case; if it has breakers, all its segments occur.
    Word(String),
    /// A word with this prefix occurs. The prefix has no breakers.
    Prefix(String),
    /// A word occurs that matches the whole pattern; `*` stands for any characters of that word. The pattern
    /// has no other breakers. Use it only if `*` cannot stand for a breaker.
    Pattern(String),
    /// The inner query, applied only to words of `_raw`: the meaning of a bare search term.
    InRaw(Box<TermQuery>),
    /// Every row may match.
    All,
    /// No row can match.
    Nothing,
}

impl TermQuery {
    /// Returns the query for a text with a breaker or an end on both sides: a bare search term, a quoted
    /// phrase, `TERM()`, or the whole value of a field. All its segments are complete.
    #[must_use]
    pub fn for_text(text: &str) -> Self {
        Self::all_words(segments(text))
    }

    /// Returns the query for a text that may occur anywhere, also inside words: `*text*`, a literal of a
    /// regex. Only segments that have a breaker of the text itself on both sides are complete.
    #[must_use]
    pub fn for_substring(text: &str) -> Self {
        Self::part(text, false, false)
    }

    /// Returns the query for a pattern with a breaker or an end on both sides; `*` stands for any characters,
    /// including breakers. `foo*` is a prefix; `*foo` and `foo*bar` keep the complete segments; `10.1.2.*`
    /// requires the words `10`, `1` and `2`.
    #[must_use]
    pub fn for_wildcard(pattern: &str) -> Self {
        let Some((first, rest)) = pattern.split_once('*') else { return Self::for_text(pattern) };
        let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
        let mut parts = vec![Self::part(first, true, false)];
        let end = first.rfind(|c: char| c.is_ascii() && is_breaker(c as u8));
        let prefix = &first[end.map_or(0, |at| at + 1)..];
        if !prefix.is_empty() {
            parts.push(Self::Prefix(lower(prefix)));
        }
        parts.extend(middle.split('*').map(Self::for_substring));
        parts.push(Self::part(last, false, true));
        Self::and(parts)
    }

    /// Restricts the query to `_raw`.
    #[must_use]
    pub fn in_raw(self) -> Self {
        Self::InRaw(Box::new(self))
    }

    /// Combines conditions that must all hold, and simplifies the result.
    #[must_use]
    pub fn and(parts: Vec<Self>) -> Self {
        let mut kept: Vec<Self> = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Self::All => {}
                Self::Nothing => return Self::Nothing,
                Self::And(inner) => kept.extend(inner),
                other => kept.push(other),
            }
        }
        let mut kept = distinct(kept);
        match kept.len() {
            0 => Self::All,
            1 => kept.remove(0),
            _ => Self::And(kept),
        }
    }

    /// Combines conditions of which one must hold, and simplifies the result.
    #[must_use]
    pub fn or(parts: Vec<Self>) -> Self {
        let mut kept: Vec<Self> = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Self::Nothing => {}
                Self::All => return Self::All,
                Self::Or(inner) => kept.extend(inner),
                other => kept.push(other),
            }
        }
        let mut kept = distinct(kept);
        match kept.len() {
            0 => Self::Nothing,
            1 => kept.remove(0),
            _ => Self::Or(kept),
        }
    }

    /// Returns the complete segments of a part of a text, which may be bounded on the left and on the right.
    fn part(text: &str, bounded_left: bool, bounded_right: bool) -> Self {
        let breaker = |c: char| c.is_ascii() && is_breaker(c as u8);
        let start = if bounded_left { Some(0) } else { text.find(breaker) };
        let end = if bounded_right { Some(text.len()) } else { text.rfind(breaker) };
        match (start, end) {
            (Some(start), Some(end)) if start < end => Self::all_words(segments(&text[start..end])),
            _ => Self::All,
        }
    }

    fn all_words<'a>(words: impl Iterator<Item = &'a str>) -> Self {
        Self::and(words.map(|word| Self::Word(lower(word))).collect())
    }
}

/// Removes duplicates and keeps the order. There may be 100,000 parts: `field IN (...)` has a word for each
/// value.
fn distinct(mut parts: Vec<TermQuery>) -> Vec<TermQuery> {
    let is_first: Vec<bool> = {
        let mut seen = HashSet::with_capacity(parts.len());
        parts.iter().map(|part| seen.insert(part)).collect()
    };
    let mut firsts = is_first.into_iter();
    parts.retain(|_| firsts.next().unwrap_or(true));
    parts
}

/// Whether the pattern matches the whole text; `*` stands for any bytes.
pub(crate) fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut seen) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while seen < text.len() {
        if pattern.get(at) == Some(&b'*') {
            retry = Some((at + 1, seen));
            at += 1;
        } else if pattern.get(at) == Some(&text[seen]) {
            at += 1;
            seen += 1;
        } else if let Some((after_star, from)) = retry {
            retry = Some((after_star, from + 1));
            (at, seen) = (after_star, from + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::TermQuery::{All, And, Prefix, Word};
    use super::*;

    fn word(text: &str) -> TermQuery {
        Word(text.into())
    }

    #[test]
    fn a_bounded_text_needs_all_its_segments() {
        assert_eq!(TermQuery::for_text("Error"), word("error"));
        assert_eq!(
            TermQuery::for_text("GET /a.html"),
            And(vec![word("get"), word("a"), word("html")])
        );
        assert_eq!(TermQuery::for_text(" = "), All);
    }

    #[test]
    fn a_substring_needs_only_segments_it_bounds_itself() {
        assert_eq!(TermQuery::for_substring("rro"), All);
        assert_eq!(TermQuery::for_substring("or code=7 f"), And(vec![word("code"), word("7")]));
        assert_eq!(TermQuery::for_substring("=x="), word("x"));
    }

    #[test]
    fn a_wildcard_keeps_the_complete_parts() {
        let prefix = |text: &str| Prefix(text.into());
        assert_eq!(TermQuery::for_wildcard("Err*"), prefix("err"));
        assert_eq!(TermQuery::for_wildcard("*rror"), All);
        assert_eq!(TermQuery::for_wildcard("foo*bar"), prefix("foo"));
        assert_eq!(TermQuery::for_wildcard("*.log"), word("log"));
        assert_eq!(
            TermQuery::for_wildcard("10.1.2.*"),
            And(vec![word("10"), word("1"), word("2")])
        );
        assert_eq!(
            TermQuery::for_wildcard("a.b*c d e*.f"),
            And(vec![word("a"), prefix("b"), word("d"), word("f")])
        );
        assert_eq!(TermQuery::for_wildcard("*"), All);
    }

    #[test]
    fn alternatives_are_kept_once_and_in_order() {
        let [a, b] = ["a", "b"].map(word);
        let nested = TermQuery::Or(vec![b.clone(), a.clone()]);
        let found = TermQuery::or(vec![a.clone(), TermQuery::Nothing, nested, a.clone()]);
        assert_eq!(found, TermQuery::Or(vec![a.clone(), b.clone()]));
        assert_eq!(TermQuery::and(vec![a.clone(), All, a.clone()]), a);
        // As many as a list of values may have: pairwise comparison would take minutes.
        let many: Vec<_> = (0..200_000).map(|at| word(&at.to_string())).collect();
        assert_eq!(TermQuery::or(many.clone()), TermQuery::Or(many));
    }

    #[test]
    fn a_star_matches_any_bytes() {
        for (pattern, text) in [("*", ""), ("a*", "a"), ("*b*d", "abcd"), ("a*a", "aba"), ("", "")]
        {
            assert!(glob(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
        for (pattern, text) in [("a*a", "a"), ("*b", "bc"), ("", "a"), ("a", "ab")] {
            assert!(!glob(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
    }
}
