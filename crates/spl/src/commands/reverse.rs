//! `reverse`: reverses the order of rows.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::Command;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `reverse`.
#[derive(Debug, Clone, PartialEq)]
pub struct ReverseCommand;

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "reverse",
    aliases: &[],
    summary: "reverses the order of rows",
    syntax: "reverse",
    kind: CommandKind::Dataset,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &[];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    p.expect_end("the end of the command")?;
    Ok(Command::Reverse(ReverseCommand))
}

impl fmt::Display for ReverseCommand {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | reverse", "* | reverse | head 1"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | reverse a", "the end of the command", "a");
    }
}
