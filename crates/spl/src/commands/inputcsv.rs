//! `inputcsv`: returns the rows of a CSV file.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, InputlookupCommand};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `inputcsv` with the arguments of `inputlookup`.
#[derive(Debug, Clone, PartialEq)]
pub struct InputcsvCommand(pub InputlookupCommand);

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "inputcsv",
    aliases: &[],
    summary: "reads a CSV file",
    syntax: "inputcsv [append=<bool>] [strict=<bool>] [start=<n>] [max=<n>] <file> [WHERE <terms>]",
    kind: CommandKind::Generating,
    right: CommandRight::reads("input_file"),
    options: OPTIONS,
    takes: Takes::Search,
    parse,
};

const OPTIONS: &[&str] = &["append", "strict", "start", "max", "dispatch", "events"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    super::inputlookup::arguments(p, OPTIONS).map(InputcsvCommand).map(Command::Inputcsv)
}

impl fmt::Display for InputcsvCommand {
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
            "| inputcsv hosts.csv",
            "| inputcsv dispatch=f events=t append=t start=1 max=5 hosts where a=1",
        ]);
    }
}
