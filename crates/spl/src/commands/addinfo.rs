//! `addinfo`: adds fields about the search itself.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::Command;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `addinfo`.
#[derive(Debug, Clone, PartialEq)]
pub struct AddinfoCommand;

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "addinfo",
    aliases: &[],
    summary: "adds fields about the search itself",
    syntax: "addinfo",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: &[],
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    p.expect_end("the end of the command")?;
    Ok(Command::Addinfo(AddinfoCommand))
}

impl fmt::Display for AddinfoCommand {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | addinfo", "* | addinfo | table info_sid"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | addinfo a", "the end of the command", "a");
    }
}
