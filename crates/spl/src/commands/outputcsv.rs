//! `outputcsv`: writes the rows to a CSV file.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, OutputlookupCommand};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `outputcsv` with the arguments of `outputlookup`.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputcsvCommand(pub OutputlookupCommand);

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "outputcsv",
    aliases: &[],
    summary: "writes a CSV file",
    syntax: "outputcsv [append=<bool>] [create_empty=<bool>] [override_if_empty=<bool>] <file>",
    kind: CommandKind::Dataset,
    right: CommandRight::writes("output_file"),
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] =
    &["append", "create_empty", "override_if_empty", "dispatch", "usexml", "singlefile"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    super::outputlookup::arguments(p, OPTIONS).map(OutputcsvCommand).map(Command::Outputcsv)
}

impl fmt::Display for OutputcsvCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
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
