//! `sitop`: creates rows for a summary index, from which `top` computes its result.

use super::{CommandDefinition, CommandKind, CommandRight, Takes, top};
use crate::ast::{Command, TopCommand};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `sitop` with the arguments of `top`.
#[derive(Debug, Clone, PartialEq)]
pub struct SitopCommand(pub TopCommand);

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "sitop",
    aliases: &[],
    summary: "prepares `top` for a summary index",
    syntax: "sitop [<n>] [<options>] <field>... [BY <field>...]",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: top::OPTIONS,
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    top::arguments(p, top::OPTIONS).map(SitopCommand).map(Command::Sitop)
}

impl fmt::Display for SitopCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | sitop 10 uri_path", "* | sitop limit=3 a, b BY c"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | sitop", "expected a field name", "");
    }
}
