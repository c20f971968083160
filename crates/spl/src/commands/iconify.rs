//! `iconify`: displays an icon for each combination of values.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, FieldPattern};
use crate::display::field_patterns;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `iconify <fields>`.
#[derive(Debug, Clone, PartialEq)]
pub struct IconifyCommand {
    /// The fields, at least one.
    pub fields: Vec<FieldPattern>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "iconify",
    aliases: &[],
    summary: "displays an icon for each combination of values",
    syntax: "iconify <field>...",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: &[],
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let fields = p.field_patterns(1)?;
    Ok(Command::Iconify(IconifyCommand { fields }))
}

impl fmt::Display for IconifyCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&field_patterns(&self.fields))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | iconify eventtype", "* | iconify ip, host"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | iconify", "expected a field name", "");
    }
}
