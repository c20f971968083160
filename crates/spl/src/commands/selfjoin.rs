//! `selfjoin`: joins rows with other rows of the same result.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::{Arguments, field_names};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `selfjoin [overwrite=] [max=] [keepsingle=] <fields>`.
#[derive(Debug, Clone, PartialEq)]
pub struct SelfjoinCommand {
    /// The fields that must be equal; at least one.
    pub fields: Vec<Field>,
    /// `overwrite=`: whether values of the other row take precedence (default true).
    pub overwrite: bool,
    /// `max=`: maximum number of rows that a row is joined with (default 1, 0 means all).
    pub max: u64,
    /// `keepsingle=`: whether rows without a matching row are kept.
    pub keepsingle: bool,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "selfjoin",
    aliases: &[],
    summary: "joins rows with other rows of the same result",
    syntax: "selfjoin [overwrite=<bool>] [max=<n>] [keepsingle=<bool>] <field>...",
    kind: CommandKind::Dataset,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["overwrite", "max", "keepsingle"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut overwrite, mut max, mut keepsingle) = (true, 1, false);
    let mut fields = Vec::new();
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        let quoted = matches!(p.peek(), Some('"' | '\''));
        let option = if quoted { None } else { p.option(OPTIONS)? };
        let Some(option) = option else {
            fields.push(p.field("a field name")?);
            continue;
        };
        match option.name {
            "overwrite" => overwrite = option.boolean()?,
            "max" => max = option.number()?,
            _ => keepsingle = option.boolean()?,
        }
    }
    if fields.is_empty() {
        return Err(p.unexpected("a field name"));
    }
    Ok(Command::Selfjoin(SelfjoinCommand { fields, overwrite, max, keepsingle }))
}

impl fmt::Display for SelfjoinCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments.flag("overwrite", self.overwrite, true);
        if self.max != 1 {
            arguments.option("max", self.max);
        }
        arguments
            .flag("keepsingle", self.keepsingle, false)
            .push(field_names(self.fields.iter().map(|field| field.node.as_str())))
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | selfjoin id",
            "* | selfjoin overwrite=f max=0 keepsingle=t pid, \"host name\"",
        ]);
        same("* | selfjoin id max=0", "* | selfjoin max=0 id");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | selfjoin", "a field name", "");
        refuses("* | selfjoin max=x id", "a whole number", "x");
    }
}
