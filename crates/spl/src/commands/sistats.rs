//! `sistats`: creates rows for a summary index, from which `stats` computes its result.

use super::{CommandDefinition, CommandKind, CommandRight, Takes, stats};
use crate::ast::{Command, StatsCommand};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `sistats` with the arguments of `stats`.
#[derive(Debug, Clone, PartialEq)]
pub struct SistatsCommand(pub StatsCommand);

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "sistats",
    aliases: &[],
    summary: "prepares `stats` for a summary index",
    syntax: "sistats [<options>] <aggregation>... [BY <field>...]",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: stats::OPTIONS,
    takes: Takes::Aggregations,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    stats::arguments(p).map(SistatsCommand).map(Command::Sistats)
}

impl fmt::Display for SistatsCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | sistats count avg(cpu) BY host",
            "* | sistats allnum=t p95(x), values(y) AS y",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | sistats", "an aggregation", "");
        refuses("* | sistats cnt", "unknown function 'cnt'", "cnt");
    }
}
