//! `rare`: counts the least frequent values.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, TopCommand};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `rare` with the arguments of `top`.
#[derive(Debug, Clone, PartialEq)]
pub struct RareCommand(pub TopCommand);

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "rare",
    aliases: &[],
    summary: "counts the least frequent values",
    syntax: "rare [<n>] [<options>] <field>... [BY <field>...]",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] =
    &["limit", "countfield", "percentfield", "showcount", "showperc", "useother", "otherstr"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    super::top::arguments(p, OPTIONS).map(RareCommand).map(Command::Rare)
}

impl fmt::Display for RareCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | rare host", "* | rare limit=3 host by status"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | rare", "expected a field name", "");
        refuses("* | rare a by", "expected a field name after BY", "");
    }
}
