//! `delete`: hides events from searches; Karst does not support it.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::Command;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `delete`.
#[derive(Debug, Clone, PartialEq)]
pub struct DeleteCommand;

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "delete",
    aliases: &[],
    summary: "is not supported: buckets are immutable",
    syntax: "delete",
    kind: CommandKind::Streaming,
    right: CommandRight::writes("delete_by_keyword"),
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &[];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    p.expect_end("the end of the command")?;
    Ok(Command::Delete(DeleteCommand))
}

impl fmt::Display for DeleteCommand {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | delete"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | delete a", "the end of the command", "a");
    }
}
