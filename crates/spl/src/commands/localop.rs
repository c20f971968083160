//! `localop`: runs the following commands on the search head; has no effect in Karst.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::Command;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `localop`.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalopCommand;

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "localop",
    aliases: &[],
    summary: "is accepted and has no effect",
    syntax: "localop",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: &[],
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    p.expect_end("the end of the command")?;
    Ok(Command::Localop(LocalopCommand))
}

impl fmt::Display for LocalopCommand {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | localop", "* | localop | head 1"]);
        crate::testing::same("| localop | makeresults", "| makeresults");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | localop a", "the end of the command", "a");
    }
}
