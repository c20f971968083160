//! `require`: fails the search if there are no rows.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::Command;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `require`.
#[derive(Debug, Clone, PartialEq)]
pub struct RequireCommand;

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "require",
    aliases: &[],
    summary: "fails the search if it has no rows",
    syntax: "require",
    kind: CommandKind::Dataset,
    right: CommandRight::FREE,
    options: &[],
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    p.expect_end("the end of the command")?;
    Ok(Command::Require(RequireCommand))
}

impl fmt::Display for RequireCommand {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | require", "* | require | head 1"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | require a", "the end of the command", "a");
    }
}
