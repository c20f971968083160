//! `rangemap`: adds the name of the range that contains a number.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field, Span};
use crate::display::{Arguments, field_name, quoted};
use crate::parser::{Parsed, Parser, is_name_character};
use std::fmt;

/// `rangemap field=<field> (<name>=<number>-<number>)... [default=<text>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct RangemapCommand {
    /// The field with the number.
    pub field: Field,
    /// The ranges, each with its name.
    pub ranges: Vec<Range>,
    /// The name for a number in none of the ranges (default `None`).
    pub default: String,
}

/// A range of numbers, including both ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Range {
    /// The name.
    pub name: String,
    /// The minimum, as text.
    pub least: String,
    /// The maximum, as text.
    pub greatest: String,
    /// Its place.
    pub span: Span,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "rangemap",
    aliases: &[],
    summary: "names the range that contains a number",
    syntax: "rangemap field=<field> [<name>=<number>-<number>]... [default=<text>]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: &["field", "default"],
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut field, mut ranges, mut default) = (None, Vec::new(), "None".to_owned());
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        let start = p.pos();
        let name = match p.peek() {
            Some('"') => p.quoted('"')?.node,
            _ => p.take_while(is_name_character).to_owned(),
        };
        if name.is_empty() || !p.eat("=") {
            return Err(p.unexpected("field=<field>, <name>=<number>-<number> or default=<text>"));
        }
        let value = p.text_argument("a value")?;
        match name.to_ascii_lowercase().as_str() {
            "field" => field = Some(value),
            "default" => default = value.node,
            _ => {
                let value = value.node.trim_end_matches(',');
                let span = p.span_from(start);
                let Some((least, greatest)) = bounds(value) else {
                    let message = format!("'{value}' is not a range such as 0-30 or -5-10");
                    return Err(p.error(message, span));
                };
                ranges.push(Range { name, least, greatest, span });
            }
        }
    }
    let field = field.ok_or_else(|| p.unexpected("field=<field>"))?;
    Ok(Command::Rangemap(RangemapCommand { field, ranges, default }))
}

/// Parses the two numbers of `0-30`, `-10--5`, `1.5-2`.
fn bounds(text: &str) -> Option<(String, String)> {
    let number = |text: &str| text.parse::<f64>().is_ok_and(f64::is_finite);
    let mut dashes = text.match_indices('-').filter(|(at, _)| *at > 0);
    dashes.find_map(|(at, _)| {
        let (least, greatest) = (&text[..at], &text[at + 1..]);
        (number(least) && number(greatest)).then(|| (least.to_owned(), greatest.to_owned()))
    })
}

impl fmt::Display for RangemapCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments.push(format_args!("field={}", field_name(&self.field.node)));
        for Range { name, least, greatest, .. } in &self.ranges {
            arguments.push(format_args!("{}={least}-{greatest}", field_name(name)));
        }
        arguments.push(format_args!("default={}", quoted(&self.default))).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | rangemap field=count low=0-0 elevated=1-100 default=severe",
            "* | rangemap field=\"a b\" \"very low\"=-10--5 low=-5-1.5",
            "* | rangemap field=count low=0-30, guarded=31-100",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | rangemap low=1-2", "expected field=<field>", "");
        refuses("* | rangemap field=a low=1", "'1' is not a range", "low=1");
        refuses("* | rangemap field=a low", "expected field=<field>", "");
    }
}
