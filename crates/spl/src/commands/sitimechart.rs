//! `sitimechart`: makes rows for a summary index of which `timechart` computes its result.

use super::{CommandDefinition, CommandKind, Takes, timechart};
use crate::ast::Command;
use crate::parser::{Parsed, Parser};

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "sitimechart",
    aliases: &[],
    summary: "makes rows for a summary index of which `timechart` computes its result",
    syntax: "sitimechart [<options>] <aggregation>... [BY <field> [<options>]]",
    kind: CommandKind::Transforming,
    options: timechart::OPTIONS,
    takes: Takes::Aggregations,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    p.timechart(timechart::OPTIONS).map(Command::Sitimechart)
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
