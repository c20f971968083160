//! `untable`: converts columns to rows.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::field_names;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `untable <row field> <name field> <value field>`.
#[derive(Debug, Clone, PartialEq)]
pub struct UntableCommand {
    /// The field that is kept.
    pub row: Field,
    /// The field for the names of the other fields.
    pub name: Field,
    /// The field for the values of the other fields.
    pub value: Field,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "untable",
    aliases: &[],
    summary: "turns columns into rows",
    syntax: "untable <row field> <name field> <value field>",
    kind: CommandKind::Dataset,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &[];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let row = p.field("the field that stays")?;
    p.skip_separators();
    let name = p.field("the field for names")?;
    p.skip_separators();
    let value = p.field("the field for values")?;
    Ok(Command::Untable(UntableCommand { row, name, value }))
}

impl fmt::Display for UntableCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = [&self.row, &self.name, &self.value];
        f.write_str(&field_names(fields.map(|field| field.node.as_str())))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | untable _time host count", "* | untable a, b, c"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | untable a b", "the field for values", "");
        refuses("* | untable a b c d", "found 'd'", "d");
    }
}
