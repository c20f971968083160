//! `typer`: adds the event types of rows.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::Command;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `typer`.
#[derive(Debug, Clone, PartialEq)]
pub struct TyperCommand;

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "typer",
    aliases: &[],
    summary: "adds the event types of each row",
    syntax: "typer [eventtypes=<text>] [maxlen=<n>]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["eventtypes", "maxlen"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    while let Some(option) = p.option(OPTIONS)? {
        drop(option.text());
    }
    p.expect_end("an option or the end of the command")?;
    Ok(Command::Typer(TyperCommand))
}

impl fmt::Display for TyperCommand {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | typer", "* | typer maxlen=1000"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | typer a", "found 'a'", "a");
    }
}
