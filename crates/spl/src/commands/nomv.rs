//! `nomv`: joins the values of a field with line breaks.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::field_name;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `nomv <field>`.
#[derive(Debug, Clone, PartialEq)]
pub struct NomvCommand {
    /// The field.
    pub field: Field,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "nomv",
    aliases: &[],
    summary: "joins the values of a field",
    syntax: "nomv <field>",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &[];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let field = p.field("a field name")?;
    Ok(Command::Nomv(NomvCommand { field }))
}

impl fmt::Display for NomvCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&field_name(&self.field.node))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | nomv a", r#"* | nomv "a b""#]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | nomv", "expected a field name", "");
        refuses("* | nomv a b", "found 'b'", "b");
    }
}
