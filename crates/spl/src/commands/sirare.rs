//! `sirare`: makes rows for a summary index of which `rare` computes its result.

use super::{CommandDefinition, CommandKind, Takes, top};
use crate::ast::Command;
use crate::parser::{Parsed, Parser};

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "sirare",
    aliases: &[],
    summary: "makes rows for a summary index of which `rare` computes its result",
    syntax: "sirare [<n>] [<options>] <field>... [BY <field>...]",
    kind: CommandKind::Transforming,
    options: top::OPTIONS,
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    top::arguments(p, top::OPTIONS).map(Command::Sirare)
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
