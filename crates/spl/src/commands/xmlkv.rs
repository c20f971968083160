//! `xmlkv`: extracts fields from XML elements.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::{Arguments, field_name};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `xmlkv [<field>] [maxinputs=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct XmlkvCommand {
    /// `maxinputs=`: number of rows per batch; has no effect on the result.
    pub maxinputs: Option<u64>,
    /// The field with the XML; `_raw` if absent.
    pub field: Option<Field>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "xmlkv",
    aliases: &[],
    summary: "extracts fields from XML elements",
    syntax: "xmlkv [<field>] [maxinputs=<n>]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["maxinputs"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut maxinputs, mut field) = (None, None);
    loop {
        p.skip_separators();
        if let Some(option) = p.option(OPTIONS)? {
            maxinputs = Some(option.number()?);
        } else if let Some(number) = p.count()? {
            // Older searches write only the number.
            maxinputs = Some(number);
        } else if field.is_none() && !p.at_end() {
            field = Some(p.field("a field name, maxinputs=<n> or the end of the command")?);
        } else {
            break;
        }
    }
    p.expect_end("maxinputs=<n> or the end of the command")?;
    Ok(Command::Xmlkv(XmlkvCommand { maxinputs, field }))
}

impl fmt::Display for XmlkvCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        if let Some(field) = &self.field {
            arguments.push(field_name(&field.node));
        }
        arguments.maybe("maxinputs", self.maxinputs).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | xmlkv", "* | xmlkv maxinputs=10000", "* | xmlkv Message maxinputs=5"]);
        same("* | xmlkv 10", "* | xmlkv maxinputs=10");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | xmlkv a b", "the end of the command", "b");
    }
}
