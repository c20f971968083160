//! `accum`: adds up a field from row to row.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::{Arguments, field_name};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `accum <field> [AS <name>]`: a running total.
#[derive(Debug, Clone, PartialEq)]
pub struct AccumCommand {
    /// The field summed.
    pub field: Field,
    /// The field for the total; the summed field itself if absent.
    pub alias: Option<Field>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "accum",
    aliases: &[],
    summary: "adds a running total of a field",
    syntax: "accum <field> [AS <field>]",
    kind: CommandKind::Centralised,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &[];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let field = p.field("a field name")?;
    let alias = p.alias()?;
    Ok(Command::Accum(AccumCommand { field, alias }))
}

impl fmt::Display for AccumCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let alias = self.alias.as_ref().map(|alias| alias.node.as_str());
        Arguments::default().push(field_name(&self.field.node)).alias(alias).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | accum bytes", r#"* | accum bytes AS "running total""#]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | accum", "expected a field name", "");
        refuses("* | accum a b", "found 'b'", "b");
    }
}
