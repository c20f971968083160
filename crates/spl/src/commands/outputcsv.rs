//! `outputcsv`: writes the rows to a CSV file.

use super::{CommandDefinition, CommandKind, Takes};
use crate::ast::Command;
use crate::parser::{Parsed, Parser};

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "outputcsv",
    aliases: &[],
    summary: "writes the rows to a CSV file",
    syntax: "outputcsv [append=<bool>] [create_empty=<bool>] [override_if_empty=<bool>] <file>",
    kind: CommandKind::Dataset,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] =
    &["append", "create_empty", "override_if_empty", "dispatch", "usexml", "singlefile"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    super::outputlookup::arguments(p, OPTIONS).map(Command::Outputcsv)
}

#[cfg(test)]
mod tests {
    use crate::testing::accepts;

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | outputcsv hosts",
            "* | outputcsv append=t create_empty=f singlefile=t a.csv",
        ]);
    }
}
