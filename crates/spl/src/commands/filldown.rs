//! `filldown`: replaces missing values of a field with its last value.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, FieldPattern};
use crate::display::field_patterns;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `filldown [fields]`.
#[derive(Debug, Clone, PartialEq)]
pub struct FilldownCommand {
    /// The fields; all fields if empty.
    pub fields: Vec<FieldPattern>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "filldown",
    aliases: &[],
    summary: "repeats the previous value where a value is missing",
    syntax: "filldown [<field>...]",
    kind: CommandKind::Centralised,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &[];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let fields = p.field_patterns(0)?;
    Ok(Command::Filldown(FilldownCommand { fields }))
}

impl fmt::Display for FilldownCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&field_patterns(&self.fields))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | filldown", "* | filldown a b*"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | filldown (a)", "expected a field name", "(");
    }
}
