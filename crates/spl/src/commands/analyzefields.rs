//! `analyzefields`: measures how well numeric fields predict a field.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `analyzefields classfield=<field>`.
#[derive(Debug, Clone, PartialEq)]
pub struct AnalyzefieldsCommand {
    /// `classfield=`: the field that is predicted.
    pub classfield: Field,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "analyzefields",
    aliases: &["af"],
    summary: "shows how well numeric fields predict a field",
    syntax: "analyzefields classfield=<field>",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["classfield"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let Some(option) = p.option(OPTIONS)? else {
        return Err(p.unexpected("classfield=<field>"));
    };
    Ok(Command::Analyzefields(AnalyzefieldsCommand { classfield: option.field()? }))
}

impl fmt::Display for AnalyzefieldsCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default().option("classfield", &self.classfield.node).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | analyzefields classfield=is_activated"]);
        same("* | af classfield=\"a\"", "* | analyzefields classfield=a");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | af", "expected classfield=<field>", "");
        refuses("* | af classfield=a*", "the name of one field", "a*");
    }
}
