//! A pattern on PCRE2.
//!
//! The memory of a search is reused by the next one. Compiled code runs on the stack of the thread; only a
//! search that needs more than its small share of that stack gets a stack of its own, which is a memory
//! mapping: creating one for each search took longer than most searches.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use pcre2::bytes::{CaptureLocations, Regex, RegexBuilder};

/// Limits of a search: backtracking steps, and heap in KiB.
const LIMITS: &str = "(*LIMIT_MATCH=1000000)(*LIMIT_HEAP=65536)";
/// Maximum stack of compiled code, in bytes; it grows as a search needs it.
const STACK: usize = 1 << 20;
/// PCRE2's error code for compiled code that needs more stack than it has.
const STACK_LIMIT: i32 = -46;

pub(super) struct Backtracking {
    shared: Arc<Shared>,
    /// Each clone has its own value: threads that share one wait for its scratch memory.
    small: Searches,
    large: OnceLock<Option<Searches>>,
}

struct Shared {
    text: String,
    /// The pattern with a separate stack; `None` if the system forbids executable memory.
    large: OnceLock<Option<Regex>>,
}

/// Begin and end of each group; the first entry is the whole match.
type Spans = Vec<Option<(usize, usize)>>;

impl Clone for Backtracking {
    fn clone(&self) -> Self {
        let small = Searches::of(self.small.regex.clone());
        Self { shared: Arc::clone(&self.shared), small, large: OnceLock::new() }
    }
}

impl Backtracking {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// The message of PCRE2, with the offset.
    pub(super) fn new(text: &str) -> Result<Self, String> {
        // PCRE1 needed this prefix for UTF-8; here, texts are always UTF-8.
        let text = text.strip_prefix("(*UTF8)").unwrap_or(text);
        // If the system forbids executable memory, the interpreter runs the pattern.
        let built = regex(text, true, None).or_else(|_| regex(text, false, None));
        let regex = built.map_err(|error| {
            let message = error.to_string();
            let message = message.rsplit_once(": ").map_or(message.as_str(), |(_, last)| last);
            match error.offset() {
                Some(at) => format!("{message} at offset {}", at.saturating_sub(LIMITS.len())),
                None => message.to_owned(),
            }
        })?;
        let shared = Arc::new(Shared { text: text.to_owned(), large: OnceLock::new() });
        Ok(Self { shared, small: Searches::of(regex), large: OnceLock::new() })
    }

    /// Returns the names of the groups; the first entry is the whole match.
    pub(super) fn names(&self) -> &[Option<String>] {
        self.small.regex.capture_names()
    }

    /// Runs a search that may need more stack than a thread provides; `None` if the search exceeds a limit.
    fn search<T>(
        &self,
        search: impl Fn(&Searches) -> Result<Option<T>, pcre2::Error>,
    ) -> Option<T> {
        match search(&self.small) {
            Err(error) if error.code() == STACK_LIMIT => {
                let large = self.large.get_or_init(|| {
                    let build = || regex(&self.shared.text, true, Some(STACK)).ok();
                    self.shared.large.get_or_init(build).clone().map(Searches::of)
                });
                search(large.as_ref()?).ok().flatten()
            }
            found => found.ok().flatten(),
        }
    }

    /// Returns begin and end of the first match at or after a position.
    pub(super) fn find_at(&self, text: &str, from: usize) -> Option<(usize, usize)> {
        self.search(|searches| {
            let found = searches.regex.find_at(text.as_bytes(), from)?;
            Ok(found.map(|found| (found.start(), found.end())))
        })
    }

    /// Returns the groups of the first match at or after a position.
    pub(super) fn groups_at(&self, text: &str, from: usize) -> Option<Spans> {
        self.search(|searches| searches.groups_at(text, from))
    }

    /// Visits the groups of all matches in order, until the visitor returns `false`.
    pub(super) fn each_match(&self, text: &str, mut visit: impl FnMut(Spans) -> bool) {
        let mut from = 0;
        let mut last_end = None;
        while let Some(spans) = self.groups_at(text, from) {
            let (start, end) = spans.first().copied().flatten().unwrap_or((from, from));
            let is_empty = start == end;
            // After an empty match, or one that `\K` moved, the search would start at the same position
            // again.
            from = match is_empty || end <= from {
                true => match text.get(end.max(from)..).and_then(|rest| rest.chars().next()) {
                    Some(next) => end.max(from) + next.len_utf8(),
                    None => text.len() + 1,
                },
                false => end,
            };
            // An empty match directly after another match is part of that match.
            let belongs = is_empty && last_end == Some(end);
            if (!belongs && !visit(spans)) || from > text.len() {
                return;
            }
            last_end = Some(end);
        }
    }
}

/// A compiled pattern with the memory of its searches.
struct Searches {
    regex: Regex,
    /// Memory of finished searches; as many entries as searches ran at once.
    spare: Mutex<Vec<CaptureLocations>>,
}

impl Searches {
    fn of(regex: Regex) -> Self {
        Self { regex, spare: Mutex::default() }
    }

    fn groups_at(&self, text: &str, from: usize) -> Result<Option<Spans>, pcre2::Error> {
        let spare = self.spare.lock().pop();
        let mut groups = spare.unwrap_or_else(|| self.regex.capture_locations());
        let found = self.regex.captures_read_at(&mut groups, text.as_bytes(), from);
        let found = found
            .map(|found| found.map(|_| (0..groups.len()).map(|group| groups.get(group)).collect()));
        self.spare.lock().push(groups);
        found
    }
}

fn regex(text: &str, compiled: bool, stack: Option<usize>) -> Result<Regex, pcre2::Error> {
    let mut builder = RegexBuilder::new();
    builder.utf(true).jit_if_available(compiled).max_jit_stack_size(stack);
    builder.build(&format!("{LIMITS}{text}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn all(pattern: &str, text: &str) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        Backtracking::new(pattern).unwrap().each_match(text, |spans| {
            found.push(spans[0].unwrap());
            true
        });
        found
    }

    #[test]
    fn every_match_is_visited_once() {
        assert_eq!(all("(?=a)a", "aba"), [(0, 1), (2, 3)]);
        assert_eq!(all("(?=a)", "aba"), [(0, 0), (2, 2)]);
        assert_eq!(all("(?!b)", "éb"), [(0, 0), (3, 3)]);
        assert_eq!(all("(?>a*)", "aab"), [(0, 2), (3, 3)]);
        assert_eq!(all("(?>a*)", ""), [(0, 0)]);
        assert_eq!(all(r"a\Kb", "abab"), [(1, 2), (3, 4)]);
    }

    #[test]
    fn a_visitor_that_has_enough_ends_the_search() {
        let mut visits = 0;
        Backtracking::new("(?=a)a").unwrap().each_match("aaa", |_| {
            visits += 1;
            visits < 2
        });
        assert_eq!(visits, 2);
    }

    /// A group that is repeated for each character keeps a position for each of them on the stack.
    #[test]
    fn a_search_that_needs_a_larger_stack_gets_one() {
        let pattern = Backtracking::new(r"^(?:(?=x)x|y)+$").unwrap();
        let text = "xy".repeat(3_000);
        let direct = pattern.small.groups_at(&text, 0);
        assert_eq!(direct.unwrap_err().code(), STACK_LIMIT);
        assert_eq!(pattern.groups_at(&text, 0).unwrap()[0], Some((0, text.len())));
        assert_eq!(pattern.find_at(&text, 0), Some((0, text.len())));
        assert_eq!(pattern.clone().find_at(&text, 0), Some((0, text.len())));
    }
}
