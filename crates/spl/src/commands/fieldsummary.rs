//! `fieldsummary`: returns a row of statistics for each field.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, FieldPattern};
use crate::display::{Arguments, field_patterns};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `fieldsummary [maxvals=] [fields]`.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldsummaryCommand {
    /// `maxvals=`: maximum number of values that are listed (default 100).
    pub maxvals: u64,
    /// The fields; all fields if empty.
    pub fields: Vec<FieldPattern>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "fieldsummary",
    aliases: &[],
    summary: "computes statistics for each field",
    syntax: "fieldsummary [maxvals=<n>] [<field>...]",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["maxvals"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut maxvals = 100;
    while let Some(option) = p.option(OPTIONS)? {
        maxvals = option.number()?;
    }
    let fields = p.field_patterns(0)?;
    Ok(Command::Fieldsummary(FieldsummaryCommand { maxvals, fields }))
}

impl fmt::Display for FieldsummaryCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .option("maxvals", self.maxvals)
            .push(field_patterns(&self.fields))
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | fieldsummary", "* | fieldsummary maxvals=5 a, date_* \"b c\""]);
        same("* | fieldsummary", "* | fieldsummary maxvals=100");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | fieldsummary maxval=5", "unknown option 'maxval'", "maxval");
        refuses("* | fieldsummary maxvals=x", "a whole number", "x");
    }
}
