//! `xmlunescape`: replaces XML references with the characters that they stand for.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::Command;
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `xmlunescape [maxinputs=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct XmlunescapeCommand {
    /// `maxinputs=`: number of rows per batch; has no effect on the result.
    pub maxinputs: Option<u64>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "xmlunescape",
    aliases: &[],
    summary: "decodes XML character references",
    syntax: "xmlunescape [maxinputs=<n>]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["maxinputs"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut maxinputs = None;
    while let Some(option) = p.option(OPTIONS)? {
        maxinputs = Some(option.number()?);
    }
    // Older searches write only the number.
    if maxinputs.is_none() {
        maxinputs = p.count()?;
    }
    p.expect_end("maxinputs=<n> or the end of the command")?;
    Ok(Command::Xmlunescape(XmlunescapeCommand { maxinputs }))
}

impl fmt::Display for XmlunescapeCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default().maybe("maxinputs", self.maxinputs).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | xmlunescape", "* | xmlunescape maxinputs=10000"]);
        same("* | xmlunescape 10", "* | xmlunescape maxinputs=10");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | xmlunescape a", "the end of the command", "a");
    }
}
