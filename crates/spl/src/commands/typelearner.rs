//! `typelearner`: suggests event types from groups of events.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::{Arguments, field_name};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `typelearner [<field>] [maxlen=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct TypelearnerCommand {
    /// The field whose values group events; `punct` if absent.
    pub field: Option<Field>,
    /// `maxlen=`: number of characters of a value that are compared (default 15, all if negative).
    pub maxlen: i64,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "typelearner",
    aliases: &[],
    summary: "suggests event types from groups of events",
    syntax: "typelearner [<field>] [maxlen=<n>]",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["maxlen"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = TypelearnerCommand { field: None, maxlen: 15 };
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(Command::Typelearner(command));
        }
        match p.option(OPTIONS)? {
            Some(option) => {
                let number = option.value.parse();
                command.maxlen = number.map_err(|_| option.error("a whole number"))?;
            }
            None if command.field.is_none() => command.field = Some(p.field("a field name")?),
            None => return Err(p.unexpected("an option or the end of the command")),
        }
    }
}

impl fmt::Display for TypelearnerCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = self.field.as_ref().map(|field| field_name(&field.node));
        Arguments::default().push(field.unwrap_or_default()).option("maxlen", self.maxlen).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | typelearner", "* | typelearner source maxlen=-1"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | typelearner maxlen=x", "a whole number", "x");
        refuses("* | typelearner a b", "found 'b'", "b");
    }
}
