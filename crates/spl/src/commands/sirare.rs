//! `sirare`: creates rows for a summary index, from which `rare` computes its result.

use super::{CommandDefinition, CommandKind, CommandRight, Takes, top};
use crate::ast::{Command, TopCommand};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `sirare` with the arguments of `rare`.
#[derive(Debug, Clone, PartialEq)]
pub struct SirareCommand(pub TopCommand);

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "sirare",
    aliases: &[],
    summary: "prepares `rare` for a summary index",
    syntax: "sirare [<n>] [<options>] <field>... [BY <field>...]",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: top::OPTIONS,
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    top::arguments(p, top::OPTIONS).map(SirareCommand).map(Command::Sirare)
}

impl fmt::Display for SirareCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | sirare uri_path BY host"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | sirare a BY", "expected a field name after BY", "");
    }
}
