//! `multireport`: combines the results of several pipelines over the current rows.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Subsearch};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `multireport [pipeline] [pipeline]...`.
#[derive(Debug, Clone, PartialEq)]
pub struct MultireportCommand {
    /// The pipelines, at least one; each runs over the current rows, a first `search` filters them.
    pub reports: Vec<Subsearch>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "multireport",
    aliases: &[],
    summary: "returns the results of several pipelines over the rows so far",
    syntax: "multireport [<commands>] [<commands>]...",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: &[],
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut reports = vec![p.subsearch()?];
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        reports.push(p.subsearch()?);
    }
    Ok(Command::Multireport(MultireportCommand { reports }))
}

impl fmt::Display for MultireportCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        for report in &self.reports {
            arguments.push(report);
        }
        arguments.write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | multireport [stats count by host] [stats count by source | where count > 3]",
            "* | multireport [| eval kept=\"yes\"]",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | multireport", "a subsearch in square brackets", "");
        refuses("* | multireport [stats count] x", "a subsearch in square brackets", "x");
    }
}
