//! `delta`: computes the difference to an earlier row.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::{Arguments, field_name};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `delta <field> [AS <name>] [p=N]`.
#[derive(Debug, Clone, PartialEq)]
pub struct DeltaCommand {
    /// The field.
    pub field: Field,
    /// The field for the difference; `delta(field)` if absent.
    pub alias: Option<Field>,
    /// `p=`: number of rows back (default 1).
    pub p: u64,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "delta",
    aliases: &[],
    summary: "computes the difference from an earlier row",
    syntax: "delta <field> [AS <field>] [p=<n>]",
    kind: CommandKind::Centralised,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["p"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut rows = 1;
    let mut field = None;
    let mut alias = None;
    while !p.at_end() {
        if let Some(option) = p.option(OPTIONS)? {
            rows = option.number()?;
            if rows == 0 {
                return Err(option.error("a whole number of at least 1"));
            }
        } else if field.is_none() {
            field = Some(p.field("a field name")?);
            alias = p.alias()?;
        } else {
            return Err(p.unexpected("an option or the end of the command"));
        }
    }
    let field = field.ok_or_else(|| p.unexpected("a field name"))?;
    Ok(Command::Delta(DeltaCommand { field, alias, p: rows }))
}

impl fmt::Display for DeltaCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let alias = self.alias.as_ref().map(|alias| alias.node.as_str());
        let mut arguments = Arguments::default();
        arguments.push(field_name(&self.field.node)).alias(alias);
        if self.p != 1 {
            arguments.option("p", self.p);
        }
        arguments.write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | delta bytes", "* | delta bytes AS change p=3"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | delta", "expected a field name", "");
        refuses("* | delta x p=0", "at least 1", "0");
    }
}
