//! `sichart`: creates rows for a summary index, from which `chart` computes its result.

use super::{CommandDefinition, CommandKind, CommandRight, Takes, chart};
use crate::ast::{ChartCommand, Command};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `sichart` with the arguments of `chart`.
#[derive(Debug, Clone, PartialEq)]
pub struct SichartCommand(pub ChartCommand);

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "sichart",
    aliases: &[],
    summary: "prepares `chart` for a summary index",
    syntax: "sichart [<options>] <aggregation>... [OVER <field> [<bins>]] [BY <field> [<bins>] [<field> [<bins>]]]",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: chart::OPTIONS,
    takes: Takes::Aggregations,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    p.chart(chart::OPTIONS).map(SichartCommand).map(Command::Sichart)
}

impl fmt::Display for SichartCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | sichart avg(cpu) OVER host", "* | sichart count BY host status limit=5"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | sichart BY host", "an aggregation", "");
    }
}
