//! `fillnull`: replaces missing values of fields.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, FieldPattern};
use crate::display::{Arguments, field_patterns};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `fillnull [value=] [fields]`.
#[derive(Debug, Clone, PartialEq)]
pub struct FillnullCommand {
    /// `value=` (default `0`).
    pub value: String,
    /// All fields of the whole result if empty.
    pub fields: Vec<FieldPattern>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "fillnull",
    aliases: &[],
    summary: "replaces missing values",
    syntax: "fillnull [value=<text>] [<field>...]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["value"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = FillnullCommand { value: "0".to_owned(), fields: Vec::new() };
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(Command::Fillnull(command));
        }
        match p.option(OPTIONS)? {
            Some(option) => command.value = option.text(),
            None => command.fields.push(p.field_pattern("a field name")?),
        }
    }
}

impl fmt::Display for FillnullCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .option("value", &self.value)
            .push(field_patterns(&self.fields))
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | fillnull",
            "* | fillnull value=NULL",
            r#"* | fillnull value="n/a" a, b*"#,
            r#"* | fillnull value="" a"#,
            "* | fillnull value=0 avg(x) sum(y)",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | fillnull valeu=0", "unknown option 'valeu'", "valeu");
        refuses("* | fillnull value=", "a value after", "");
    }
}
