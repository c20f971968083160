//! Messages about a search text, with their position.
//!
//! Guarantees: a message names the command, what was expected and what was found; rendering works for any
//! text and span. Leaves to others: how a client displays them.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::span::Span;

/// Maximum number of characters of the user's text that a message quotes.
const QUOTED_CHARACTERS: usize = 60;

/// Maximum number of characters of a line that a message shows on each side of its position, and at it.
const EXCERPT_CHARACTERS: usize = 200;
/// Maximum number of errors of a text that are shown.
const SHOWN_ERRORS: usize = 20;

/// The beginning of the error of a command that does not exist. Programs match this error, which is Splunk's.
const UNKNOWN_COMMAND: &str = "Unknown search command '";

/// An error in a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Diagnostic {
    /// The message, in lower case and without a full stop.
    pub message: String,
    /// The position of the error.
    pub span: Span,
    /// How to fix the error.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// Creates a message about a position.
    pub fn new(message: impl Into<String>, span: Span) -> Self {
        Self { message: message.into(), span, hint: None }
    }

    /// Adds a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The error of a command that does not exist.
    pub(crate) fn of_unknown_command(name: &str, span: Span) -> Self {
        Self::new(format!("{UNKNOWN_COMMAND}{}'.", shorten(name)), span)
    }

    /// The name of the command that does not exist, if that is the error.
    pub(crate) fn unknown_command(&self) -> Option<&str> {
        self.message.strip_prefix(UNKNOWN_COMMAND)?.strip_suffix("'.")
    }

    /// Adds "did you mean" if there is a suggestion.
    #[must_use]
    pub(crate) fn with_suggestion(mut self, suggestion: Option<&str>) -> Self {
        if let Some(name) = suggestion {
            self.hint = Some(format!("did you mean `{name}`?"));
        }
        self
    }

    /// Renders the message, the line of `text` that it is about, an underline of carets, and the hint. Long
    /// lines are cut around the position.
    pub fn render(&self, text: &str) -> String {
        let start = floor_boundary(text, self.span.start);
        let end = floor_boundary(text, self.span.end).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let line_number = text[..start].matches('\n').count() + 1;
        let end = end.min(line_end);
        let before = ending(&text[line_start..start]);
        let (marked, after) = (beginning(&text[start..end]), beginning(&text[end..line_end]));
        let (column, width) = (before.chars().count(), marked.chars().count().max(1));
        // What follows a part that is cut is not beside it.
        let after = if width > EXCERPT_CHARACTERS { String::new() } else { after };
        let mut out = format!("{}\n", self.message);
        let prefix = format!("{line_number} | ");
        let _ = writeln!(out, "{prefix}{before}{marked}{after}");
        let _ = write!(out, "{}{}", " ".repeat(prefix.len() + column), "^".repeat(width));
        if let Some(hint) = &self.hint {
            let _ = write!(out, "\nhint: {hint}");
        }
        out
    }
}

/// All errors that were found; never empty when returned as an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}", .0.iter().map(|d| d.message.as_str()).collect::<Vec<_>>().join("; "))]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostics {
    /// Renders the messages, separated by empty lines: the first 20, and the number of the others.
    pub fn render(&self, text: &str) -> String {
        let shown = self.0.iter().take(SHOWN_ERRORS).map(|diagnostic| diagnostic.render(text));
        let mut all: Vec<String> = shown.collect();
        let others = self.0.len() - all.len();
        if others > 0 {
            all.push(format!("and {others} more errors"));
        }
        all.join("\n\n")
    }

    /// Returns the first message.
    pub fn first(&self) -> Option<&Diagnostic> {
        self.0.first()
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

/// Shortens `text` for use in a message.
pub(crate) fn shorten(text: &str) -> String {
    let mut shortened: String = text.chars().take(QUOTED_CHARACTERS).collect();
    if shortened.len() < text.len() {
        shortened.push('…');
    }
    shortened
}

/// Stands for the rest of a line that is cut.
const CUT: char = '…';

/// Returns the first characters of a part of a line.
fn beginning(part: &str) -> String {
    let mut shown: String = part.chars().take(EXCERPT_CHARACTERS).map(plain).collect();
    if part.chars().nth(EXCERPT_CHARACTERS).is_some() {
        shown.push(CUT);
    }
    shown
}

/// Returns the last characters of a part of a line.
fn ending(part: &str) -> String {
    let Some((at, _)) = part.char_indices().rev().nth(EXCERPT_CHARACTERS - 1) else {
        return part.chars().map(plain).collect();
    };
    let cut = (at > 0).then_some(CUT);
    cut.into_iter().chain(part[at..].chars().map(plain)).collect()
}

/// A control character would move the underline.
fn plain(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_rendered_message_underlines_its_place() {
        let text = "index=main\n| timchart count";
        let diagnostic = Diagnostic::new("Unknown search command 'timchart'.", Span::new(13, 21))
            .with_suggestion(Some("timechart"));
        assert_eq!(
            diagnostic.render(text),
            "Unknown search command 'timchart'.\n2 | | timchart count\n      ^^^^^^^^\n\
             hint: did you mean `timechart`?"
        );
    }

    #[test]
    fn rendering_accepts_places_outside_the_text() {
        let diagnostic = Diagnostic::new("odd", Span::new(1, 900));
        assert!(diagnostic.render("ä").contains('^'));
        assert!(diagnostic.render("").contains('^'));
    }

    #[test]
    fn a_long_line_is_cut_around_the_place_and_stays_underlined() {
        let (left, right) = ("ä".repeat(5_000), "ö".repeat(5_000));
        let text = format!("{left} nope {right}");
        let at = left.len() + 1;
        let shown = Diagnostic::new("odd", Span::new(at, at + 4)).render(&text);
        let lines: Vec<_> = shown.lines().collect();
        let (before, after) = ("ä".repeat(199), "ö".repeat(199));
        assert_eq!(lines[1], format!("1 | …{before} nope {after}…"));
        assert_eq!(lines[2], format!("{}^^^^", " ".repeat(4 + 1 + 199 + 1)));
        let whole = Diagnostic::new("odd", Span::new(0, text.len())).render(&text);
        assert!(whole.chars().count() < 500 && whole.contains("…\n"), "{whole}");
    }

    #[test]
    fn lines_up_to_the_limit_are_whole() {
        let text = format!("{}x{}", "a".repeat(200), "b".repeat(200));
        let shown = Diagnostic::new("odd", Span::new(200, 201)).render(&text);
        assert!(shown.contains(&text) && !shown.contains('…'), "{shown}");
    }

    #[test]
    fn a_search_that_is_too_long_is_not_repeated() {
        let text = "a".repeat(3_000_000);
        let shown = crate::parse(&text).unwrap_err().render(&text);
        assert!(shown.starts_with("search is longer than 1048576 bytes, "), "{shown}");
        assert!(shown.contains("3000000") && shown.len() < 1_000, "{shown}");
    }

    #[test]
    fn further_errors_are_counted() {
        let one = Diagnostic::new("odd", Span::new(0, 1));
        let all = |count| Diagnostics(vec![one.clone(); count]).render("x");
        assert_eq!(all(20).matches("odd").count(), 20);
        assert!(!all(20).contains("more errors"));
        let shown = all(22);
        assert!(
            shown.matches("odd").count() == 20 && shown.ends_with("and 2 more errors"),
            "{shown}"
        );
    }
}
