//! `findtypes`: suggests event types.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::Command;
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `findtypes [max=] [notcovered] [useraw]`.
#[derive(Debug, Clone, PartialEq)]
pub struct FindtypesCommand {
    /// `max=`: maximum number of suggestions (default 10).
    pub max: u64,
    /// `notcovered`: whether only events without an event type are read.
    pub notcovered: bool,
    /// `useraw`: whether suggestions use words of `_raw`, too.
    pub useraw: bool,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "findtypes",
    aliases: &[],
    summary: "suggests event types",
    syntax: "findtypes [max=<n>] [notcovered] [useraw]",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["max"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = FindtypesCommand { max: 10, notcovered: false, useraw: false };
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(Command::Findtypes(command));
        }
        if p.eat_keyword("notcovered") {
            command.notcovered = true;
        } else if p.eat_keyword("useraw") {
            command.useraw = true;
        } else if let Some(option) = p.option(OPTIONS)? {
            command.max = option.number()?;
        } else {
            return Err(p.unexpected("max=<n>, notcovered or useraw"));
        }
    }
}

impl fmt::Display for FindtypesCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .option("max", self.max)
            .push(if self.notcovered { "notcovered" } else { "" })
            .push(if self.useraw { "useraw" } else { "" })
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | findtypes", "* | findtypes max=50 useraw", "* | findtypes notcovered"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | findtypes all", "expected max=<n>", "all");
    }
}
