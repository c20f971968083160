//! A pattern on the engines that run in linear time, compiled by its first search.
//!
//! A configuration with add-ons has thousands of patterns, of which most never see an event; parsing
//! one takes microseconds, compiling it a hundred times that. So a configuration is checked, and loaded,
//! at the price of parsing.

use std::sync::{Arc, OnceLock};

use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Class, Hir, HirKind};

use super::sequence::{Outcome, Sequence};

/// Maximum number of states of a pattern that is compiled by its first search: with this many, compiling
/// it takes milliseconds and cannot exceed [`SIZE_LIMIT`].
const LATER: usize = 20_000;
/// Bytes of a compiled pattern; larger ones run on PCRE2.
const SIZE_LIMIT: usize = 64 << 20;

pub(super) struct Linear {
    shared: Arc<Shared>,
    /// Each clone has its own: threads that share one wait for its scratch memory.
    regex: OnceLock<Regex>,
}

struct Shared {
    translated: String,
    regex: OnceLock<Regex>,
    sequence: OnceLock<Option<Sequence>>,
}

impl Clone for Linear {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), regex: OnceLock::new() }
    }
}

impl Linear {
    /// Checks a pattern in the syntax of `regex`, and returns the names of its groups; `None` for one that
    /// `regex` cannot run.
    pub(super) fn new(translated: String) -> Option<(Self, Vec<Option<String>>)> {
        let hir = regex_syntax::parse(&translated).ok()?;
        let mut names = vec![None];
        name_groups(&hir, &mut names);
        let regex = OnceLock::new();
        if states(&hir) > LATER {
            let mut builder = RegexBuilder::new(&translated);
            let _ = regex.set(builder.size_limit(SIZE_LIMIT).build().ok()?);
        }
        let shared = Arc::new(Shared { translated, regex, sequence: OnceLock::new() });
        Some((Self { shared, regex: OnceLock::new() }, names))
    }

    /// The pattern in the syntax of `regex`.
    pub(super) fn translated(&self) -> &str {
        &self.shared.translated
    }

    pub(super) fn regex(&self) -> &Regex {
        self.regex.get_or_init(|| self.shared.regex().clone())
    }

    /// The matcher of our own, for a pattern that it can run.
    pub(super) fn sequence(&self) -> Option<&Sequence> {
        let shared = &*self.shared;
        shared.sequence.get_or_init(|| Sequence::compile(&shared.translated)).as_ref()
    }

    /// The first match at or after a place, by the matcher of our own.
    pub(super) fn search(&self, text: &str, from: usize) -> Outcome {
        self.sequence().map_or(Outcome::GaveUp, |sequence| sequence.search(text, from))
    }
}

impl Shared {
    fn regex(&self) -> &Regex {
        self.regex.get_or_init(|| {
            let mut builder = RegexBuilder::new(&self.translated);
            // It has been parsed, and the number of its states is bounded.
            #[allow(clippy::expect_used)]
            builder.size_limit(usize::MAX).build().expect("a pattern that has been checked")
        })
    }
}

/// Names of the groups in their order, behind that of the whole match.
fn name_groups(hir: &Hir, names: &mut Vec<Option<String>>) {
    match hir.kind() {
        HirKind::Capture(capture) => {
            let at = capture.index as usize;
            if names.len() <= at {
                names.resize(at + 1, None);
            }
            names[at] = capture.name.as_deref().map(str::to_owned);
            name_groups(&capture.sub, names);
        }
        HirKind::Repetition(repetition) => name_groups(&repetition.sub, names),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().for_each(|part| name_groups(part, names));
        }
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => {}
    }
}

/// About how many states a pattern is compiled to; rather too many than too few.
fn states(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        // A range of characters is up to a few sequences of up to four bytes.
        HirKind::Class(Class::Unicode(class)) if !class.is_ascii() => 16 * class.ranges().len(),
        HirKind::Class(_) => 2,
        HirKind::Capture(capture) => states(&capture.sub).saturating_add(2),
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min.saturating_add(1));
            states(&repetition.sub).saturating_add(2).saturating_mul(times.max(1) as usize)
        }
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().fold(2, |sum, part| sum.saturating_add(states(part)))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn names(pattern: &str) -> Option<Vec<Option<String>>> {
        Linear::new(pattern.to_owned()).map(|(_, names)| names)
    }

    #[test]
    fn groups_have_the_names_and_the_order_that_regex_gives_them() {
        let patterns = [
            "",
            "a",
            "(a)",
            "(?<x>a)(b)(?:c)(?P<y>d(?<z>e)?)*",
            "(?<a>x)|(?<b>y(z))",
            "(?<gone>x){0}(y)",
            "((?<in>a)|b)+",
        ];
        for pattern in patterns {
            let regex = Regex::new(pattern).unwrap();
            let expected: Vec<_> = regex.capture_names().map(|n| n.map(str::to_owned)).collect();
            assert_eq!(names(pattern), Some(expected), "{pattern}");
        }
    }

    #[test]
    fn what_regex_cannot_run_is_refused_before_the_first_search() {
        for pattern in ["(", "(?=a)b", r"(a)\1", "a{70000}{70000}", r"(?:\w{1000}){1000}"] {
            assert_eq!(names(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn only_a_pattern_of_many_states_is_compiled_before_its_first_search() {
        let (small, _) = Linear::new("[0-9a-z.]{1,64}@[0-9]+".to_owned()).unwrap();
        assert!(small.shared.regex.get().is_none());
        let clone = small.clone();
        assert!(clone.regex().is_match("bob@1"));
        assert!(small.shared.regex.get().is_some() && small.regex.get().is_none());
        let (large, _) = Linear::new("[0-9]{1,9000}".to_owned()).unwrap();
        assert!(large.shared.regex.get().is_some());
    }

    #[test]
    fn estimates_bound_what_is_compiled() {
        // What a pattern just below the bound takes has to stay far below the limit of bytes.
        for class in [r"\w", r"\p{L}", r"[^\x00-\x7F]", "(?i)straße", "[a-z]", "a?"] {
            let one = regex_syntax::parse(&format!("(?:{class}){{2}}")).unwrap();
            let times = 2 * LATER / states(&one);
            let text = format!("(?:{class}){{{}}}", times.clamp(1, 19_000));
            let mut builder = RegexBuilder::new(&text);
            assert!(builder.size_limit(SIZE_LIMIT).build().is_ok(), "{text}");
        }
    }
}
