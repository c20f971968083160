//! `gauge`: returns one row with a value and the ranges in which it is displayed.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Spanned};
use crate::display::{Arguments, quoted};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `gauge <value> [<bound>...]`.
#[derive(Debug, Clone, PartialEq)]
pub struct GaugeCommand {
    /// The value.
    pub value: GaugeNumber,
    /// The boundaries of the ranges; from 0 to 100 if empty.
    pub bounds: Vec<GaugeNumber>,
}

/// A number, or a field whose first value is a number.
#[derive(Debug, Clone, PartialEq)]
pub enum GaugeNumber {
    /// A number as written.
    Number(String),
    /// A field.
    Field(Spanned<String>),
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "gauge",
    aliases: &[],
    summary: "prepares the row that a gauge displays",
    syntax: "gauge <field>|<number> [<field>|<number>...]",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: &[],
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut numbers = Vec::new();
    p.skip_separators();
    while !p.at_end() {
        let is_quoted = matches!(p.peek(), Some('"' | '\''));
        let field = p.field("a field name or a number")?;
        let is_number = !is_quoted && field.node.parse::<f64>().is_ok_and(f64::is_finite);
        numbers.push(match is_number {
            true => GaugeNumber::Number(field.node),
            false => GaugeNumber::Field(field),
        });
        p.skip_separators();
    }
    let mut numbers = numbers.into_iter();
    let value = numbers.next().ok_or_else(|| p.unexpected("a field name or a number"))?;
    let bounds: Vec<GaugeNumber> = numbers.collect();
    if bounds.len() == 1 {
        return Err(p.unexpected("a second bound: a range has two"));
    }
    Ok(Command::Gauge(GaugeCommand { value, bounds }))
}

impl fmt::Display for GaugeCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        for number in std::iter::once(&self.value).chain(&self.bounds) {
            match number {
                GaugeNumber::Number(text) => arguments.push(text),
                GaugeNumber::Field(field) => arguments.push(quoted(&field.node)),
            };
        }
        arguments.write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | gauge count",
            "* | gauge myCount 750 1000 1250 1500",
            "* | gauge 12.5 low, \"the high\" -1",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | gauge", "expected a field name or a number", "");
        refuses("* | gauge a 1", "a second bound", "");
    }
}
