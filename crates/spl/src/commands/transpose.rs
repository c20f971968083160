//! `transpose`: turns rows into columns.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `transpose [N] [column_name=] [header_field=] [include_empty=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct TransposeCommand {
    /// Maximum number of rows that become columns (default 5, 0 means all).
    pub limit: u64,
    /// `column_name=` (default `column`).
    pub column_name: String,
    /// `header_field=`: the field whose values name the columns; `row 1` and so on if absent.
    pub header_field: Option<Field>,
    /// `include_empty=` (default true).
    pub include_empty: bool,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "transpose",
    aliases: &[],
    summary: "turns rows into columns",
    syntax: "transpose [<n>] [column_name=<name>] [header_field=<field>] [include_empty=<bool>]",
    kind: CommandKind::Dataset,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["column_name", "header_field", "include_empty"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = TransposeCommand {
        limit: 5,
        column_name: "column".to_owned(),
        header_field: None,
        include_empty: true,
    };
    while !p.at_end() {
        if let Some(limit) = p.count()? {
            command.limit = limit;
            continue;
        }
        let Some(option) = p.option(OPTIONS)? else {
            return Err(p.unexpected("a number or an option"));
        };
        match option.name {
            "column_name" => command.column_name = option.text(),
            "header_field" => command.header_field = Some(option.field()?),
            _ => command.include_empty = option.boolean()?,
        }
    }
    Ok(Command::Transpose(command))
}

impl fmt::Display for TransposeCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .push(self.limit)
            .option("column_name", &self.column_name)
            .maybe("header_field", self.header_field.as_ref().map(|field| &field.node))
            .flag("include_empty", self.include_empty, true)
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | transpose",
            r#"* | transpose 0 header_field=host column_name="the field" include_empty=f"#,
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | transpose x", "a number or an option", "x");
        refuses("* | transpose headerfield=a", "unknown option 'headerfield'", "headerfield");
    }
}
