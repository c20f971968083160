//! `x11`: removes seasonal patterns from a time series.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::{Arguments, field_name};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `x11 [add|mult][<period>](<field>) [AS <name>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct X11Command {
    /// Whether the seasonal component is added (`add`) or multiplied (`mult`, the default).
    pub additive: bool,
    /// The length of a period in rows, 5 to 1000; detected if absent.
    pub period: Option<u64>,
    /// The series.
    pub field: Field,
    /// The field for the result; `x11(<field>)` if absent.
    pub alias: Option<Field>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "x11",
    aliases: &[],
    summary: "removes seasonality from a time series",
    syntax: "x11 [add|mult][<period>](<field>)|<field> [AS <field>]",
    kind: CommandKind::Dataset,
    right: CommandRight::FREE,
    options: &[],
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    if let Some(field) = p.attempt(bare) {
        let alias = p.alias()?;
        return Ok(Command::X11(X11Command { additive: false, period: None, field, alias }));
    }
    p.skip_space();
    let start = p.pos();
    let word = p.take_while(|c| c.is_ascii_alphanumeric()).to_ascii_lowercase();
    let span = p.span_from(start);
    // The syntax in the documentation has brackets after the type: `add()15(x)`.
    let _ = p.attempt(|p| (p.eat("(") && p.eat(")")).then_some(()));
    let more = p.take_while(|c| c.is_ascii_digit()).to_owned();
    let digits = word.find(|c: char| c.is_ascii_digit()).unwrap_or(word.len());
    let additive = match &word[..digits] {
        "add" => true,
        "mult" | "" => false,
        _ => return Err(p.error(format!("'{word}' is neither add nor mult"), span)),
    };
    let number = format!("{}{more}", &word[digits..]);
    let period = match number.parse() {
        Ok(period) if (5..=1000).contains(&period) => Some(period),
        Err(_) if number.is_empty() => None,
        _ => return Err(p.error("the period is a whole number from 5 to 1000", span)),
    };
    p.expect("(", "before the field")?;
    let field = p.field("a field name")?;
    p.expect(")", "after the field")?;
    let alias = p.alias_of_call()?;
    Ok(Command::X11(X11Command { additive, period, field, alias }))
}

/// Reads a field without type and brackets.
fn bare(p: &mut Parser<'_>) -> Option<Field> {
    let field = p.field("a field name").ok()?;
    // `add7(x)` could also be a field name, because results of `stats` have such names.
    let is_bare = !field.node.contains('(') && (p.at_end() || p.at_keyword("as"));
    is_bare.then_some(field)
}

impl fmt::Display for X11Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.additive { "add" } else { "mult" };
        let period = self.period.map(|period| period.to_string()).unwrap_or_default();
        Arguments::default()
            .push(format_args!("{kind}{period}({})", field_name(&self.field.node)))
            .alias(self.alias.as_ref().map(|alias| alias.node.as_str()))
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | x11 mult15(count)", "* | x11 add20(count) AS adjusted", "* | x11 (a)"]);
        same("* | x11 15(count)", "* | x11 mult15(count)");
        same("* | x11 foo as fubar", "* | x11 mult(foo) AS fubar");
        same("* | x11 add()7(a)", "* | x11 add7(a)");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | x11", "expected '(' before the field", "");
        refuses("* | x11 mult3(a)", "from 5 to 1000", "mult3");
        refuses("* | x11 div7(a)", "'div7' is neither add nor mult", "div7");
    }
}
