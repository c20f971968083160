//! `sistats`: makes rows for a summary index of which `stats` computes its result.

use super::{CommandDefinition, CommandKind, Takes, stats};
use crate::ast::Command;
use crate::parser::{Parsed, Parser};

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "sistats",
    aliases: &[],
    summary: "makes rows for a summary index of which `stats` computes its result",
    syntax: "sistats [<options>] <aggregation>... [BY <field>...]",
    kind: CommandKind::Transforming,
    options: stats::OPTIONS,
    takes: Takes::Aggregations,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    stats::arguments(p).map(Command::Sistats)
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
