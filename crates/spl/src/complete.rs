//! Completion: suggests texts for a position in a search.
//!
//! Guarantees: every text and cursor position gives a result; all suggestions come from the registries.
//! Leaves to others: names of fields, indexes and values.

use crate::ast::Span;
use crate::commands::{self, COMMANDS, CommandDefinition, Takes};
use crate::functions::FUNCTIONS;
use crate::stats_functions::STATS_FUNCTIONS;
use serde::{Deserialize, Serialize};

/// The kind of a suggestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SuggestionKind {
    /// A command.
    Command,
    /// An option of the command, including `=`.
    Option,
    /// A function, including the opening bracket.
    Function,
    /// A word such as `BY`.
    Keyword,
}

/// A suggested text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suggestion {
    /// The text that replaces `span`.
    pub text: String,
    /// The kind of the suggestion.
    pub kind: SuggestionKind,
    /// A one-line description; may be empty.
    pub summary: String,
    /// The part of the word that is already typed.
    pub span: Span,
}

/// Returns the suggestions at `cursor` (a byte offset), given the text before it.
pub fn complete(text: &str, cursor: usize) -> Vec<Suggestion> {
    let mut cursor = cursor.min(text.len());
    while !text.is_char_boundary(cursor) {
        cursor -= 1;
    }
    let before = &text[..cursor];
    let Some(segment_start) = segment_start(before) else { return Vec::new() };
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let word = &before[before.trim_end_matches(is_word).len()..];
    let mut found = Found {
        prefix: word.to_ascii_lowercase(),
        span: Span::new(cursor - word.len(), cursor),
        suggestions: Vec::new(),
    };
    let segment = before[segment_start..].trim_start();
    let behind_pipe = before[..segment_start].ends_with(['|', '[']);
    if behind_pipe && segment.len() == word.len() {
        for command in COMMANDS {
            found.add(command.name, SuggestionKind::Command, command.summary);
        }
        return found.suggestions;
    }
    let name = segment.split(|c: char| !is_word(c)).next().unwrap_or_default();
    let named = commands::find(&name.to_ascii_lowercase()).filter(|_| behind_pipe);
    let command = named.unwrap_or(&commands::search::DEFINITION);
    found.arguments(command, segment);
    found.suggestions
}

struct Found {
    prefix: String,
    span: Span,
    suggestions: Vec<Suggestion>,
}

impl Found {
    fn add(&mut self, text: &str, kind: SuggestionKind, summary: &str) {
        if text.to_ascii_lowercase().starts_with(&self.prefix) {
            let (text, summary, span) = (text.to_owned(), summary.to_owned(), self.span);
            self.suggestions.push(Suggestion { text, kind, summary, span });
        }
    }

    fn arguments(&mut self, command: &CommandDefinition, segment: &str) {
        for option in command.options {
            self.add(&format!("{option}="), SuggestionKind::Option, "");
        }
        let keywords: &[&str] = match command.takes {
            Takes::Fields => &["AS", "BY"],
            Takes::Search => &["AND", "OR", "NOT", "IN", "TERM(", "CASE("],
            Takes::Expression => &["AND", "OR", "NOT", "XOR", "LIKE", "IN"],
            Takes::Aggregations => &["AS", "BY", "OVER", "WHERE", "eval("],
        };
        let inside_eval = segment.to_ascii_lowercase().rfind("eval(").is_some_and(|at| {
            let behind = &segment[at..];
            behind.matches('(').count() > behind.matches(')').count()
        });
        if command.takes == Takes::Expression || inside_eval {
            for function in FUNCTIONS {
                self.add(
                    &format!("{}(", function.name),
                    SuggestionKind::Function,
                    function.summary,
                );
            }
        } else if command.takes == Takes::Aggregations {
            for function in STATS_FUNCTIONS {
                let number = if function.parameter { "95" } else { "" };
                self.add(
                    &format!("{}{number}(", function.name),
                    SuggestionKind::Function,
                    function.summary,
                );
            }
        }
        for keyword in keywords {
            self.add(keyword, SuggestionKind::Keyword, "");
        }
    }
}

/// Returns the start of the command at the end of `before`; `None` inside of a quoted text.
fn segment_start(before: &str) -> Option<usize> {
    let mut starts = vec![0];
    let mut quoted = false;
    let mut escaped = false;
    for (at, c) in before.char_indices() {
        if escaped {
            escaped = false;
            continue;
        }
        match c {
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            '[' if !quoted => starts.push(at + 1),
            ']' if !quoted && starts.len() > 1 => {
                starts.pop();
            }
            '|' if !quoted => {
                if let Some(start) = starts.last_mut() {
                    *start = at + 1;
                }
            }
            _ => {}
        }
    }
    if quoted { None } else { starts.last().copied() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        complete(text, text.len()).into_iter().map(|suggestion| suggestion.text).collect()
    }

    #[test]
    fn commands_are_offered_behind_a_pipe() {
        assert_eq!(texts("* | timec"), ["timechart"]);
        assert_eq!(texts("* | append [ metad"), ["metadata"]);
        assert_eq!(texts("* |").len(), COMMANDS.len());
    }

    #[test]
    fn options_and_functions_are_those_of_the_command() {
        assert_eq!(texts("* | timechart usen"), ["usenull="]);
        assert_eq!(texts("* | stats dc(x) exactp"), ["exactperc95("]);
        assert_eq!(texts("* | eval a=rou"), ["round("]);
        assert_eq!(texts("* | stats count(eval(isnotn"), ["isnotnull("]);
        assert_eq!(texts("index=a earl"), ["earliest="]);
    }

    #[test]
    fn quoted_texts_and_odd_cursors_get_nothing_harmful() {
        assert!(texts("* | eval a=\"rou").is_empty());
        assert!(complete("ä", 1).len() < 20);
        let _ = complete("", 99);
    }
}
