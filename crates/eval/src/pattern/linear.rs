//! A pattern on the engines that run in linear time, compiled by its first search.
//!
//! A configuration with add-ons has thousands of patterns, most of which are never applied to an event;
//! parsing a pattern takes microseconds, compiling it a hundred times as long. Therefore patterns are only
//! parsed when a configuration is checked or loaded.

use std::sync::{Arc, OnceLock};

use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Class, Hir, HirKind};

use super::sequence::{Outcome, Sequence};

/// Maximum number of states of a pattern whose compilation is deferred to its first search: at this size,
/// compilation takes milliseconds and cannot exceed [`SIZE_LIMIT`].
const LATER: usize = 20_000;
/// Maximum size of a compiled pattern in bytes; larger patterns run on PCRE2.
const SIZE_LIMIT: usize = 64 << 20;

pub(super) struct Linear {
    shared: Arc<Shared>,
    /// Each clone has its own value: threads that share one wait for its scratch memory.
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
    /// Validates a pattern in the syntax of `regex`, and returns the names of its groups; `None` if `regex`
    /// cannot run it.
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

    /// Returns the pattern in the syntax of `regex`.
    pub(super) fn translated(&self) -> &str {
        &self.shared.translated
    }

    pub(super) fn regex(&self) -> &Regex {
        self.regex.get_or_init(|| self.shared.regex().clone())
    }

    /// Returns our own matcher, if it can run the pattern.
    pub(super) fn sequence(&self) -> Option<&Sequence> {
        let shared = &*self.shared;
        shared.sequence.get_or_init(|| Sequence::compile(&shared.translated)).as_ref()
    }

    /// Finds the first match at or after a position with our own matcher.
    pub(super) fn search(&self, text: &str, from: usize) -> Outcome {
        self.sequence().map_or(Outcome::GaveUp, |sequence| sequence.search(text, from))
    }
}

impl Shared {
    fn regex(&self) -> &Regex {
        self.regex.get_or_init(|| {
            let mut builder = RegexBuilder::new(&self.translated);
            // The pattern was parsed before, and its number of states is bounded.
            #[allow(clippy::expect_used)]
            builder.size_limit(usize::MAX).build().expect("a pattern that has been checked")
        })
    }
}

/// Collects the names of the groups in order, after that of the whole match.
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

/// Estimates the number of states of the compiled pattern; the estimate is rather too high than too low.
fn states(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        // A range of characters is compiled to a few sequences of up to four bytes.
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
        // A pattern just below the limit of states must stay far below the size limit.
        for class in [r"\w", r"\p{L}", r"[^\x00-\x7F]", "(?i)straße", "[a-z]", "a?"] {
            let one = regex_syntax::parse(&format!("(?:{class}){{2}}")).unwrap();
            let times = 2 * LATER / states(&one);
            let text = format!("(?:{class}){{{}}}", times.clamp(1, 19_000));
            let mut builder = RegexBuilder::new(&text);
            assert!(builder.size_limit(SIZE_LIMIT).build().is_ok(), "{text}");
        }
    }
}
