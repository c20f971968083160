//! `reltime`: adds how long ago a time is.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `reltime [timefield=] [prefix=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ReltimeCommand {
    /// `timefield=`: the field with a time in epoch seconds; `_time` if absent.
    pub timefield: Option<Field>,
    /// `prefix=`: prefix of the name of the time field in the name of the result.
    pub prefix: Option<String>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "reltime",
    aliases: &[],
    summary: "shows how long ago a time was",
    syntax: "reltime [timefield=<field>] [prefix=<text>]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["timefield", "prefix"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = ReltimeCommand { timefield: None, prefix: None };
    while let Some(option) = p.option(OPTIONS)? {
        match option.name {
            "timefield" => command.timefield = Some(option.field()?),
            _ => command.prefix = Some(option.text()),
        }
        p.skip_separators();
    }
    p.expect_end("an option or the end of the command")?;
    Ok(Command::Reltime(command))
}

impl fmt::Display for ReltimeCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .maybe("timefield", self.timefield.as_ref().map(|field| &field.node))
            .maybe("prefix", self.prefix.as_ref())
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | reltime", "* | reltime timefield=\"first seen\" prefix=age_"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | reltime a", "an option or the end of the command", "a");
        refuses("* | reltime timefield=a*", "the name of one field", "a*");
    }
}
