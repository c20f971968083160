//! `abstract`: shortens the text of events to the lines that are relevant to the search.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::Command;
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `abstract [maxterms=] [maxlines=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct AbstractCommand {
    /// `maxterms=`: maximum number of terms of the search that are considered (1 to 1000, default 1000).
    pub maxterms: u64,
    /// `maxlines=`: maximum number of lines that are kept (1 to 500, default 10).
    pub maxlines: u64,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "abstract",
    aliases: &["excerpt"],
    summary: "shortens event text to the lines that are relevant for the search",
    syntax: "abstract [maxterms=<n>] [maxlines=<n>]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["maxterms", "maxlines"];

const DEFAULT: AbstractCommand = AbstractCommand { maxterms: 1_000, maxlines: 10 };

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = DEFAULT;
    while let Some(option) = p.option(OPTIONS)? {
        let number = option.number()?;
        let (place, most) = match option.name {
            "maxterms" => (&mut command.maxterms, 1_000),
            _ => (&mut command.maxlines, 500),
        };
        if !(1..=most).contains(&number) {
            return Err(option.error(&format!("a whole number from 1 to {most}")));
        }
        *place = number;
        p.skip_separators();
    }
    p.expect_end("an option or the end of the command")?;
    Ok(Command::Abstract(command))
}

impl fmt::Display for AbstractCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .option("maxterms", self.maxterms)
            .option("maxlines", self.maxlines)
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | abstract", "* | abstract maxlines=5 maxterms=3"]);
        same("* | abstract", "* | abstract maxlines=10");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | abstract maxlines=0", "from 1 to 500", "0");
        refuses("* | abstract 5", "an option or the end of the command", "5");
    }
}
