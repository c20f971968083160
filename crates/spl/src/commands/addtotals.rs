//! `addtotals`: adds the total of each row, of each column, or both.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, FieldPattern};
use crate::display::{Arguments, field_patterns};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `addtotals [row=] [col=] [fieldname=] [labelfield=] [label=] [fields]`.
#[derive(Debug, Clone, PartialEq)]
pub struct AddtotalsCommand {
    /// `row=`: whether each row gets a total (default true).
    pub row: bool,
    /// `col=`: whether a last row with column totals is added.
    pub col: bool,
    /// `fieldname=`: the name of the row total (default `Total`).
    pub fieldname: String,
    /// `labelfield=`: the field for the label of the last row.
    pub labelfield: Option<String>,
    /// `label=` of the last row (default `Total`).
    pub label: String,
    /// The fields to add up; all numeric fields if empty.
    pub fields: Vec<FieldPattern>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "addtotals",
    aliases: &[],
    summary: "adds a total per row, per column, or both",
    syntax: "addtotals [row=<bool>] [col=<bool>] [fieldname=<field>] [labelfield=<field>] [label=<text>] [<field>...]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["row", "col", "fieldname", "labelfield", "label"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = AddtotalsCommand {
        row: true,
        col: false,
        fieldname: "Total".to_owned(),
        labelfield: None,
        label: "Total".to_owned(),
        fields: Vec::new(),
    };
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(Command::Addtotals(command));
        }
        let Some(option) = p.option(OPTIONS)? else {
            command.fields.push(p.field_pattern("a field name")?);
            continue;
        };
        match option.name {
            "row" => command.row = option.boolean()?,
            "col" => command.col = option.boolean()?,
            "fieldname" => command.fieldname = option.text(),
            "labelfield" => command.labelfield = Some(option.text()),
            _ => command.label = option.text(),
        }
    }
}

impl fmt::Display for AddtotalsCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .flag("row", self.row, true)
            .flag("col", self.col, false)
            .option("fieldname", &self.fieldname)
            .maybe("labelfield", self.labelfield.as_ref())
            .option("label", &self.label)
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
            "* | addtotals",
            r#"* | addtotals row=f col=t labelfield=host label="All hosts" a* b"#,
            "* | addtotals fieldname=sum a, b",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | addtotals rows=t", "unknown option 'rows'", "rows");
        refuses("* | addtotals col=maybe", "true or false", "maybe");
    }
}
