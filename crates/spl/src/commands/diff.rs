//! `diff`: shows the differences between two rows, line by line.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `diff [position1=] [position2=] [attribute=] [diffheader=] [context=] [maxlen=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct DiffCommand {
    /// `position1=`: the position of the first row, counted from 1 (default 1).
    pub position1: u64,
    /// `position2=`: the position of the second row (default 2).
    pub position2: u64,
    /// `attribute=`: the field that is compared; `_raw` if absent.
    pub attribute: Option<Field>,
    /// `diffheader=`: whether two header lines name the rows.
    pub diffheader: bool,
    /// `context=`: whether the result is a context diff instead of a unified one.
    pub context: bool,
    /// `maxlen=`: maximum number of bytes of a row that are compared; 0 means all (default 100,000).
    pub maxlen: u64,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "diff",
    aliases: &[],
    summary: "shows how two rows differ",
    syntax: "diff [position1=<n>] [position2=<n>] [attribute=<field>] [diffheader=<bool>] [context=<bool>] [maxlen=<n>]",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] =
    &["position1", "position2", "pos1", "pos2", "attribute", "diffheader", "context", "maxlen"];

const DEFAULT: DiffCommand = DiffCommand {
    position1: 1,
    position2: 2,
    attribute: None,
    diffheader: false,
    context: false,
    maxlen: 100_000,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = DEFAULT;
    while let Some(option) = p.option(OPTIONS)? {
        match option.name {
            "position1" | "position2" | "pos1" | "pos2" => {
                let position = option.number()?;
                if position == 0 {
                    return Err(option.error("the number of a row, from 1"));
                }
                match option.name {
                    "position1" | "pos1" => command.position1 = position,
                    _ => command.position2 = position,
                }
            }
            "attribute" => command.attribute = Some(option.field()?),
            "diffheader" => command.diffheader = option.boolean()?,
            "context" => command.context = option.boolean()?,
            _ => command.maxlen = option.number()?,
        }
        p.skip_separators();
    }
    p.expect_end("an option or the end of the command")?;
    Ok(Command::Diff(command))
}

impl fmt::Display for DiffCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .option("position1", self.position1)
            .option("position2", self.position2)
            .maybe("attribute", self.attribute.as_ref().map(|field| &field.node))
            .flag("diffheader", self.diffheader, false)
            .flag("context", self.context, false)
            .option("maxlen", self.maxlen)
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | diff",
            "* | diff position1=9 position2=10 attribute=ip",
            "* | diff diffheader=true context=t maxlen=0",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | diff position1=0", "the number of a row, from 1", "0");
        refuses("* | diff a", "an option or the end of the command", "a");
    }
}
