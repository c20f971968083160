//! `correlate`: computes how often fields occur together.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, FieldPattern};
use crate::display::{Arguments, field_patterns};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `correlate [fields]`.
#[derive(Debug, Clone, PartialEq)]
pub struct CorrelateCommand {
    /// The fields; all fields if empty.
    pub fields: Vec<FieldPattern>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "correlate",
    aliases: &[],
    summary: "shows how often fields occur together",
    syntax: "correlate [<field>...]",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["type"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    while let Some(option) = p.option(OPTIONS)? {
        // This is the only supported type.
        if !option.value.eq_ignore_ascii_case("cocur") {
            return Err(option.error("cocur"));
        }
        p.skip_separators();
    }
    let fields = p.field_patterns(0)?;
    Ok(Command::Correlate(CorrelateCommand { fields }))
}

impl fmt::Display for CorrelateCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default().push(field_patterns(&self.fields)).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | correlate", "* | correlate a, b*"]);
        same("* | correlate", "* | correlate type=cocur");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | correlate type=pearson", "expects cocur", "pearson");
    }
}
