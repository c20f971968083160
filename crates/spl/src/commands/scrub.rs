//! `scrub`: anonymises names, numbers and words in events.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::Command;
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `scrub [<name>=<file>]...`.
#[derive(Debug, Clone, PartialEq)]
pub struct ScrubCommand {
    /// Files of terms as written, with the option names; they have no effect.
    pub files: Vec<(&'static str, String)>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "scrub",
    aliases: &[],
    summary: "anonymizes the text of events",
    syntax: "scrub [public-terms=<file>] [private-terms=<file>] [name-terms=<file>] [dictionary=<file>] [timeconfig=<file>] [namespace=<app>]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] =
    &["public-terms", "private-terms", "name-terms", "dictionary", "timeconfig", "namespace"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut files = Vec::new();
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(Command::Scrub(ScrubCommand { files }));
        }
        let Some(option) = p.option(OPTIONS)? else {
            return Err(p.unexpected("an option such as public-terms=<file>"));
        };
        files.push((option.name, option.text()));
    }
}

impl fmt::Display for ScrubCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        for (name, file) in &self.files {
            arguments.option(name, file);
        }
        arguments.write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | scrub", "* | scrub public-terms=words.txt namespace=search"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | scrub words", "an option such as", "words");
    }
}
