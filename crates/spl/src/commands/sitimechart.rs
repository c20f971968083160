//! `sitimechart`: creates rows for a summary index, from which `timechart` computes its result.

use super::{CommandDefinition, CommandKind, CommandRight, Takes, timechart};
use crate::ast::{Command, TimechartCommand};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `sitimechart` with the arguments of `timechart`.
#[derive(Debug, Clone, PartialEq)]
pub struct SitimechartCommand(pub TimechartCommand);

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "sitimechart",
    aliases: &[],
    summary: "prepares `timechart` for a summary index",
    syntax: "sitimechart [<options>] <aggregation>... [BY <field> [<options>]]",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: timechart::OPTIONS,
    takes: Takes::Aggregations,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    p.timechart(timechart::OPTIONS).map(SitimechartCommand).map(Command::Sitimechart)
}

impl fmt::Display for SitimechartCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | sitimechart span=1h avg(cpu) BY host", "* | sitimechart count"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | sitimechart span=1h", "an aggregation", "");
    }
}
