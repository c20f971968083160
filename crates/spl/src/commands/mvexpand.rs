//! `mvexpand`: creates a row for each value of a field.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::{Arguments, field_name};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `mvexpand <field> [limit=N]`.
#[derive(Debug, Clone, PartialEq)]
pub struct MvexpandCommand {
    /// The field.
    pub field: Field,
    /// `limit=`: maximum number of rows per input row; 0 means all (default).
    pub limit: u64,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "mvexpand",
    aliases: &[],
    summary: "makes a row for each value of a field",
    syntax: "mvexpand <field> [limit=<n>]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["limit"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut limit = 0;
    let mut options = |p: &mut Parser<'_>| -> Parsed<()> {
        while let Some(option) = p.option(OPTIONS)? {
            limit = option.number()?;
        }
        Ok(())
    };
    options(p)?;
    let field = p.field("a field name")?;
    options(p)?;
    Ok(Command::Mvexpand(MvexpandCommand { field, limit }))
}

impl fmt::Display for MvexpandCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments.push(field_name(&self.field.node));
        if self.limit != 0 {
            arguments.option("limit", self.limit);
        }
        arguments.write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | mvexpand a{}.b", "* | mvexpand a limit=5", "* | mvexpand limit=5 a"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | mvexpand", "expected a field name", "");
        refuses("* | mvexpand a*", "wildcards are not allowed", "a*");
    }
}
