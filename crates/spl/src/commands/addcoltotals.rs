//! `addcoltotals`: adds a last row with the total of each column.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, FieldPattern};
use crate::display::{Arguments, field_patterns};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `addcoltotals [labelfield=] [label=] [fields]`.
#[derive(Debug, Clone, PartialEq)]
pub struct AddcoltotalsCommand {
    /// `labelfield=`: the field for the label of the row.
    pub labelfield: Option<String>,
    /// `label=` of the row (default `Total`).
    pub label: String,
    /// The fields to add up; all numeric fields if empty.
    pub fields: Vec<FieldPattern>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "addcoltotals",
    aliases: &[],
    summary: "adds a last row with column totals",
    syntax: "addcoltotals [labelfield=<field>] [label=<text>] [<field>...]",
    kind: CommandKind::Dataset,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["labelfield", "label", "fieldname"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut labelfield, mut label, mut fields) = (None, "Total".to_owned(), Vec::new());
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(Command::Addcoltotals(AddcoltotalsCommand { labelfield, label, fields }));
        }
        match p.option(OPTIONS)? {
            None => fields.push(p.field_pattern("a field name")?),
            Some(option) if option.name == "label" => label = option.text(),
            // This is the column name of row totals, which only `addtotals` computes.
            Some(option) if option.name == "fieldname" => drop(option.text()),
            Some(option) => labelfield = Some(option.text()),
        }
    }
}

impl fmt::Display for AddcoltotalsCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .maybe("labelfield", self.labelfield.as_ref())
            .option("label", &self.label)
            .push(field_patterns(&self.fields))
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | addcoltotals",
            "* | addcoltotals fieldname=all labelfield=x a",
            r#"* | addcoltotals labelfield=host label="All hosts" a* b"#,
            "* | addcoltotals a, b labelfield=c",
        ]);
        same("* | addcoltotals a", "* | addcoltotals label=Total a");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | addcoltotals col=t", "unknown option 'col'", "col");
    }
}
