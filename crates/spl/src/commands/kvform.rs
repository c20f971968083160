//! `kvform`: extracts fields from events with a form.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `kvform [form=] [field=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct KvformCommand {
    /// `form=`: the name of a form.
    pub form: Option<String>,
    /// `field=`: the field that names the form; `sourcetype` if absent.
    pub field: Option<Field>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "kvform",
    aliases: &[],
    summary: "extracts fields with a form template",
    syntax: "kvform [form=<name>] [field=<field>]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["form", "field"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = KvformCommand { form: None, field: None };
    while let Some(option) = p.option(OPTIONS)? {
        match option.name {
            "form" => command.form = Some(option.text()),
            _ => command.field = Some(option.field()?),
        }
        p.skip_separators();
    }
    p.expect_end("an option or the end of the command")?;
    Ok(Command::Kvform(command))
}

impl fmt::Display for KvformCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .maybe("form", self.form.as_ref())
            .maybe("field", self.field.as_ref().map(|field| &field.node))
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | kvform", "* | kvform field=eventtype", "* | kvform form=student"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | kvform student", "an option or the end of the command", "student");
    }
}
