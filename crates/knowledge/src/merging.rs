//! How lines become events (`SHOULD_LINEMERGE`): the only place that decides where an event begins.
//!
//! An indexer merges lines by these rules, and a forwarder cuts its streams by them, so that each batch
//! begins where an indexer begins an event. Pure. Leaves to others: finding the lines and their timestamps.

use eval::Pattern;

use crate::parsing::ParsingRules;

/// The rules of a source type whose lines are merged.
#[derive(Debug, Clone)]
pub struct MergeRules {
    break_only_before: Option<Pattern>,
    break_only_before_date: bool,
    must_break_after: Option<Pattern>,
    must_not_break_before: Option<Pattern>,
    must_not_break_after: Option<Pattern>,
    max_lines: usize,
    max_bytes: usize,
}

/// Why a line begins an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    /// No event is open.
    First,
    /// It matches `BREAK_ONLY_BEFORE`.
    Pattern,
    /// It has a time (`BREAK_ONLY_BEFORE_DATE`).
    Date,
    /// The previous line matches `MUST_BREAK_AFTER`.
    After,
    /// The open event has `MAX_EVENTS` lines.
    TooManyLines,
    /// The open event is larger than an event may be.
    TooLarge,
}

/// The event that the next line may continue. The default: none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MergeState(Option<Open>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Open {
    lines: usize,
    bytes: usize,
    /// Whether its first line has a time and is not indented: then indented lines belong to it.
    is_dated: bool,
    /// Whether it has ended.
    is_complete: bool,
    /// Whether a line requires that it continues until a line matches `MUST_BREAK_AFTER`.
    is_held: bool,
}

/// Returns whether a line is indented: frames of a stack trace and values in a dump may contain times.
fn is_indented(line: &str) -> bool {
    line.starts_with([' ', '\t'])
}

fn matches(pattern: Option<&Pattern>, line: &str) -> bool {
    pattern.is_some_and(|pattern| pattern.is_match(line))
}

impl MergeRules {
    /// Returns the rules of a source type; `None` if each of its lines is an event. An event ends when it has
    /// more than `max_bytes` bytes.
    #[must_use]
    pub fn new(parsing: &ParsingRules, max_bytes: usize) -> Option<Self> {
        let merges = parsing.should_linemerge && parsing.structured.is_none();
        merges.then(|| Self {
            break_only_before: parsing.break_only_before.clone(),
            break_only_before_date: parsing.break_only_before_date,
            must_break_after: parsing.must_break_after.clone(),
            must_not_break_before: parsing.must_not_break_before.clone(),
            must_not_break_after: parsing.must_not_break_after.clone(),
            max_lines: parsing.max_events,
            max_bytes,
        })
    }

    /// Returns whether times of lines matter.
    #[must_use]
    pub fn reads_times(&self) -> bool {
        self.break_only_before.is_none() && self.break_only_before_date
    }

    /// Returns whether a line may keep an event open over lines that otherwise begin one.
    #[must_use]
    pub fn holds_events(&self) -> bool {
        self.must_not_break_after.is_some()
    }

    /// Adds the next line of a stream; returns why it begins an event, or `None` if it continues the open
    /// one. `has_time`: it has a timestamp. Empty lines and preambles are not lines.
    pub fn add(&self, state: &mut MergeState, line: &str, has_time: bool) -> Option<Begins> {
        let begins = match &state.0 {
            None => Some(Begins::First),
            Some(open) if open.is_complete && open.bytes > self.max_bytes => Some(Begins::TooLarge),
            Some(open) if open.is_complete => Some(Begins::After),
            Some(open) if open.lines >= self.max_lines => Some(Begins::TooManyLines),
            Some(open) if open.is_held => None,
            Some(open) => self.begins_within(line, has_time, open.is_dated),
        };
        let mut open = match state.0.filter(|_| begins.is_none()) {
            Some(open) => {
                Open { lines: open.lines + 1, bytes: open.bytes + 1 + line.len(), ..open }
            }
            None => Open {
                lines: 1,
                bytes: line.len(),
                is_dated: has_time && !is_indented(line),
                is_complete: false,
                is_held: false,
            },
        };
        open.is_complete = self.ends_event(line) || open.bytes > self.max_bytes;
        open.is_held |= matches(self.must_not_break_after.as_ref(), line);
        state.0 = Some(open);
        begins
    }

    /// Returns whether a line begins an event whatever precedes it, unless the open event is held.
    #[must_use]
    pub fn begins_event(&self, line: &str, has_time: bool) -> bool {
        self.begins_within(line, has_time, true).is_some()
    }

    /// Returns whether a line ends its event, whatever precedes and follows it.
    #[must_use]
    pub fn ends_event(&self, line: &str) -> bool {
        matches(self.must_break_after.as_ref(), line)
    }

    fn begins_within(&self, line: &str, has_time: bool, is_dated: bool) -> Option<Begins> {
        if matches(self.must_not_break_before.as_ref(), line) {
            return None;
        }
        match &self.break_only_before {
            Some(pattern) => pattern.is_match(line).then_some(Begins::Pattern),
            None => {
                let belongs = is_dated && is_indented(line);
                (self.break_only_before_date && has_time && !belongs).then_some(Begins::Date)
            }
        }
    }
}

impl MergeState {
    /// Returns whether the next line begins an event, whatever it is.
    #[must_use]
    pub fn is_closed(&self, rules: &MergeRules) -> bool {
        self.0.is_none_or(|open| open.is_complete || open.lines >= rules.max_lines)
    }

    /// Returns whether the open event is held.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.0.is_some_and(|open| open.is_held)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::{Layer, Layers};

    use super::*;
    use crate::Knowledge;

    /// Why each line begins an event; a line that starts with a digit, or a blank and a digit, has a time.
    fn begins(props: &str, lines: &[&str]) -> Vec<Option<Begins>> {
        let layers = Layers::builtin().with(Layer::SystemLocal, "props", &format!("[t]\n{props}"));
        let parsing = Knowledge::new(layers).parsing_rules("t", "s", "h");
        let rules = MergeRules::new(&parsing, 100).unwrap();
        let mut state = MergeState::default();
        let has_time = |line: &str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
        lines.iter().map(|line| rules.add(&mut state, line, has_time(line))).collect()
    }

    #[test]
    fn an_indented_time_belongs_to_an_event_with_an_outer_time() {
        let found = begins("", &["1 a", " 2 b", "c", "3 d"]);
        assert_eq!(found, [Some(Begins::First), None, None, Some(Begins::Date)]);
        let found = begins("", &["a", " 2 b", " 3 c", "4 d", " 5 e"]);
        let date = Some(Begins::Date);
        assert_eq!(found, [Some(Begins::First), date, date, date, None]);
    }

    #[test]
    fn a_held_event_ends_only_at_its_end_or_its_limit() {
        let props = "BREAK_ONLY_BEFORE = ^(B|2)\nMUST_NOT_BREAK_AFTER = ^B\nMUST_BREAK_AFTER = ^E";
        let found = begins(props, &["B", "2 a", "2 b", "E", "x", "2 c"]);
        let after = Some(Begins::After);
        assert_eq!(found, [Some(Begins::First), None, None, None, after, Some(Begins::Pattern)]);
        let found = begins(&format!("{props}\nMAX_EVENTS = 2"), &["B", "2 a", "2 b"]);
        assert_eq!(found, [Some(Begins::First), None, Some(Begins::TooManyLines)]);
    }

    #[test]
    fn an_event_that_is_too_large_ends() {
        let long = "x".repeat(60);
        let found = begins("", &[&long, &long, "y"]);
        assert_eq!(found, [Some(Begins::First), None, Some(Begins::TooLarge)]);
    }

    #[test]
    fn sources_without_merging_have_no_rules() {
        for props in ["SHOULD_LINEMERGE = false", "INDEXED_EXTRACTIONS = csv"] {
            let text = format!("[t]\n{props}");
            let layers = Layers::builtin().with(Layer::SystemLocal, "props", &text);
            let parsing = Knowledge::new(layers).parsing_rules("t", "s", "h");
            assert!(MergeRules::new(&parsing, 100).is_none(), "{props}");
        }
    }
}
