//! `highlight`: highlights words where events are displayed.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::Command;
use crate::display::quoted;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `highlight <text>...`.
#[derive(Debug, Clone, PartialEq)]
pub struct HighlightCommand {
    /// Words and phrases, at least one.
    pub texts: Vec<String>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "highlight",
    aliases: &["hilite"],
    summary: "highlights words in displayed events",
    syntax: "highlight <text>...",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: &[],
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut texts = Vec::new();
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        let is_quoted = p.peek() == Some('"');
        let text = p.text_argument("a word or a phrase in double quotes")?.node;
        if is_quoted {
            texts.push(text);
        } else {
            texts.extend(text.split(',').map(str::to_owned));
        }
    }
    texts.retain(|text| !text.is_empty());
    if texts.is_empty() {
        return Err(p.unexpected("a word or a phrase in double quotes"));
    }
    Ok(Command::Highlight(HighlightCommand { texts }))
}

impl fmt::Display for HighlightCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.texts.iter().map(|text| quoted(text)).collect();
        f.write_str(&texts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | highlight login, logout", r#"* | highlight "access denied" x=1"#]);
        same("* | highlight login,logout x", "* | highlight login, \"logout\" x");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | highlight", "a word or a phrase", "");
    }
}
