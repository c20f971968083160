//! `uniq`: removes rows that are equal to the previous row.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::Command;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `uniq`.
#[derive(Debug, Clone, PartialEq)]
pub struct UniqCommand;

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "uniq",
    aliases: &[],
    summary: "removes rows equal to the previous row",
    syntax: "uniq",
    kind: CommandKind::Centralised,
    right: CommandRight::FREE,
    options: &[],
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    p.expect_end("the end of the command")?;
    Ok(Command::Uniq(UniqCommand))
}

impl fmt::Display for UniqCommand {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | uniq", "* | uniq | head 1"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | uniq a", "the end of the command", "a");
    }
}
