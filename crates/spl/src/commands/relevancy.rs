//! `relevancy`: computes how well events match the words of the search.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::Command;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `relevancy`.
#[derive(Debug, Clone, PartialEq)]
pub struct RelevancyCommand;

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "relevancy",
    aliases: &[],
    summary: "scores how well an event matches the search terms",
    syntax: "relevancy",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &[];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    p.expect_end("the end of the command")?;
    Ok(Command::Relevancy(RelevancyCommand))
}

impl fmt::Display for RelevancyCommand {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | relevancy"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | relevancy a", "the end of the command", "a");
    }
}
