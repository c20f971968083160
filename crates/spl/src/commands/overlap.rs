//! `overlap`: finds gaps and overlaps of the searches that filled a summary index.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::Command;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `overlap`.
#[derive(Debug, Clone, PartialEq)]
pub struct OverlapCommand;

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "overlap",
    aliases: &[],
    summary: "finds gaps and overlaps in a summary index",
    syntax: "overlap",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &[];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    p.expect_end("the end of the command")?;
    Ok(Command::Overlap(OverlapCommand))
}

impl fmt::Display for OverlapCommand {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | overlap"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | overlap a", "the end of the command", "a");
    }
}
