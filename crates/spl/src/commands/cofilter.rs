//! `cofilter`: counts how many users two items have in common.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::{Arguments, field_name};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `cofilter <user field> <item field>`.
#[derive(Debug, Clone, PartialEq)]
pub struct CofilterCommand {
    /// The field with the users.
    pub user: Field,
    /// The field with the items of the users.
    pub item: Field,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "cofilter",
    aliases: &[],
    summary: "counts the users that two items have in common",
    syntax: "cofilter <user field> <item field>",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: &[],
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    p.skip_separators();
    let user = p.field("the field with users")?;
    p.skip_separators();
    let item = p.field("the field with items")?;
    Ok(Command::Cofilter(CofilterCommand { user, item }))
}

impl fmt::Display for CofilterCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .push(field_name(&self.user.node))
            .push(field_name(&self.item.node))
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | cofilter user item", "* | cofilter user, \"item name\""]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | cofilter user", "expected the field with items", "");
        refuses("* | cofilter a b c", "found 'c'", "c");
    }
}
