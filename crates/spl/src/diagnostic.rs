//! Messages about a search text, with their position.
//!
//! Guarantees: a message names the command, what was expected and what was found; rendering works for any
//! text and span. Leaves to others: how a client displays them.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::span::Span;

/// Maximum number of characters of the user's text that a message quotes.
const QUOTED_CHARACTERS: usize = 60;

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

    /// Adds "did you mean" if there is a suggestion.
    #[must_use]
    pub(crate) fn with_suggestion(mut self, suggestion: Option<&str>) -> Self {
        if let Some(name) = suggestion {
            self.hint = Some(format!("did you mean `{name}`?"));
        }
        self
    }

    /// Renders the message, the line of `text` that it is about, an underline of carets, and the hint.
    pub fn render(&self, text: &str) -> String {
        let start = floor_boundary(text, self.span.start);
        let end = floor_boundary(text, self.span.end).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let line_number = text[..start].matches('\n').count() + 1;
        let column = text[line_start..start].chars().count();
        let width = text[start..end.min(line_end).max(start)].chars().count().max(1);
        let line: String = text[line_start..line_end]
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let mut out = format!("{}\n", self.message);
        let prefix = format!("{line_number} | ");
        let _ = writeln!(out, "{prefix}{line}");
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
    /// Renders all messages, separated by empty lines.
    pub fn render(&self, text: &str) -> String {
        let all: Vec<String> = self.0.iter().map(|diagnostic| diagnostic.render(text)).collect();
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

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
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
}
