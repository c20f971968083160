//! `mvcombine`: combines rows that differ only in one field.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::{Arguments, field_name};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `mvcombine [delim=] <field>`.
#[derive(Debug, Clone, PartialEq)]
pub struct MvcombineCommand {
    /// The field whose values are combined.
    pub field: Field,
    /// `delim=`: separator of the values if a following `nomv` joins them.
    pub delim: Option<String>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "mvcombine",
    aliases: &[],
    summary: "combines rows that differ in one field only",
    syntax: "mvcombine [delim=<text>] <field>",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["delim"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut field, mut delim) = (None, None);
    while !p.at_end() {
        if let Some(option) = p.option(OPTIONS)? {
            delim = Some(option.text());
        } else if field.is_none() {
            field = Some(p.field("a field name")?);
        } else {
            return Err(p.unexpected("an option or the end of the command"));
        }
    }
    let field = field.ok_or_else(|| p.unexpected("a field name"))?;
    Ok(Command::Mvcombine(MvcombineCommand { field, delim }))
}

impl fmt::Display for MvcombineCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .maybe("delim", self.delim.as_ref())
            .push(field_name(&self.field.node))
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | mvcombine host",
            r#"* | mvcombine delim="," "a b""#,
            "* | mvcombine a delim=:",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | mvcombine", "expected a field name", "");
        refuses("* | mvcombine a b", "an option or the end of the command", "b");
        refuses("* | mvcombine a*", "wildcards are not allowed", "a*");
    }
}
