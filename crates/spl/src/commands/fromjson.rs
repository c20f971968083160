//! `fromjson`: adds a field for each key of a JSON object.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::{Arguments, field_name};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `fromjson <field> [prefix=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct FromjsonCommand {
    /// The field with the object.
    pub field: Field,
    /// `prefix=` of the names of the new fields.
    pub prefix: String,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "fromjson",
    aliases: &[],
    summary: "makes a field from each key of a JSON object",
    syntax: "fromjson <field> [prefix=<text>]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["prefix"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut field, mut prefix) = (None, String::new());
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        if let Some(option) = p.option(OPTIONS)? {
            prefix = option.text();
        } else if field.is_none() {
            field = Some(p.field("a field name")?);
        } else {
            return Err(p.unexpected("prefix= or the end of the command"));
        }
    }
    let field = field.ok_or_else(|| p.unexpected("a field name"))?;
    Ok(Command::Fromjson(FromjsonCommand { field, prefix }))
}

impl fmt::Display for FromjsonCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = Some(&self.prefix).filter(|prefix| !prefix.is_empty());
        Arguments::default().push(field_name(&self.field.node)).maybe("prefix", prefix).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | fromjson _raw", "* | fromjson \"a b\" prefix=json_"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | fromjson", "expected a field name", "");
        refuses("* | fromjson a b", "prefix= or the end", "b");
    }
}
