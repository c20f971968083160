//! `lookup`: adds fields from the matching rows of a lookup.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::{Arguments, field_name};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `lookup [options] <name> <field> [AS <field>]... [OUTPUT|OUTPUTNEW <field> [AS <field>]...]`.
#[derive(Debug, Clone, PartialEq)]
pub struct LookupCommand {
    /// The lookup.
    pub name: Field,
    /// The fields that are compared, at least one.
    pub inputs: Vec<LookupField>,
    /// The fields to add; all other fields if absent.
    pub output: Option<LookupOutput>,
    /// `event_time_field=`: the field with the time of events, for time-based lookups.
    pub event_time_field: Option<Field>,
}

/// A field of a lookup, and the corresponding field of the event.
#[derive(Debug, Clone, PartialEq)]
pub struct LookupField {
    /// The name in the lookup.
    pub lookup: Field,
    /// The name in the event; the same if absent.
    pub event: Option<Field>,
}

impl LookupField {
    /// Returns the name in the event.
    pub fn event_name(&self) -> &str {
        self.event.as_ref().map_or(&self.lookup.node, |event| &event.node)
    }
}

/// The fields that a lookup adds.
#[derive(Debug, Clone, PartialEq)]
pub struct LookupOutput {
    /// Whether `OUTPUTNEW` was written: fields are added only if the event has none of them.
    pub only_new: bool,
    /// The fields, at least one.
    pub fields: Vec<LookupField>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "lookup",
    aliases: &[],
    summary: "adds fields from matching rows of a lookup",
    syntax: "lookup [local=<bool>] [update=<bool>] [event_time_field=<field>] <lookup> <field> [AS <event field>]... [OUTPUT | OUTPUTNEW <field> [AS <event field>]...]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["local", "update", "event_time_field"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    arguments(p).map(Command::Lookup)
}

/// Reads an option if one is next.
fn lookup_option(p: &mut Parser<'_>, event_time_field: &mut Option<Field>) -> Parsed<bool> {
    let Some(option) = p.option(OPTIONS)? else { return Ok(false) };
    match option.name {
        "event_time_field" => *event_time_field = Some(option.field()?),
        // The other options are about where the lookup runs, which has no effect on the result.
        _ => drop(option.boolean()?),
    }
    Ok(true)
}

/// Reads the arguments after the word `lookup`.
pub(crate) fn arguments(p: &mut Parser<'_>) -> Parsed<LookupCommand> {
    let mut event_time_field = None;
    while lookup_option(p, &mut event_time_field)? {}
    let name = p.field("the name of a lookup")?;
    let mut inputs = Vec::new();
    let mut output: Option<LookupOutput> = None;
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        if output.is_none() && inputs.is_empty() && p.at_option(OPTIONS) {
            lookup_option(p, &mut event_time_field)?;
            continue;
        }
        let (new, all) = (p.eat_keyword("outputnew"), p.eat_keyword("output"));
        if new || all {
            if output.is_some() {
                return Err(p.unexpected("a field name: OUTPUT is allowed only once"));
            }
            output = Some(LookupOutput { only_new: new, fields: Vec::new() });
            continue;
        }
        let lookup = p.field("a field name")?;
        let event = p.alias()?;
        let field = LookupField { lookup, event };
        match &mut output {
            Some(output) => output.fields.push(field),
            None => inputs.push(field),
        }
    }
    if inputs.is_empty() {
        return Err(p.unexpected("a field of the lookup"));
    }
    // OUTPUT without fields means all fields, as without OUTPUT.
    let output = output.filter(|output| !output.fields.is_empty());
    Ok(LookupCommand { name, inputs, output, event_time_field })
}

impl fmt::Display for LookupField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&name(&self.lookup.node))?;
        match &self.event {
            Some(event) => write!(f, " AS {}", name(&event.node)),
            None => Ok(()),
        }
    }
}

/// Returns a name in quotes if it would be read as a keyword of the command.
fn name(name: &str) -> String {
    let is_word = ["output", "outputnew"].iter().any(|word| name.eq_ignore_ascii_case(word));
    if is_word { format!("\"{name}\"") } else { field_name(name) }
}

impl fmt::Display for LookupCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments
            .maybe("event_time_field", self.event_time_field.as_ref().map(|field| &field.node))
            .push(name(&self.name.node));
        for input in &self.inputs {
            arguments.push(input);
        }
        if let Some(output) = &self.output {
            arguments.push(if output.only_new { "OUTPUTNEW" } else { "OUTPUT" });
            for field in &output.fields {
                arguments.push(field);
            }
        }
        arguments.write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | lookup hosts host",
            "* | lookup hosts.csv host AS src, user OUTPUT owner AS \"the owner\", site",
            "* | lookup local=true update=f t a OUTPUTNEW b",
            "* | lookup \"my lookup\" \"a b\" AS 'c d' output output_x outputnew_y",
            "* | lookup event_time_field=_indextime dhcp ip OUTPUT mac",
        ]);
        same("* | lookup hosts host OUTPUT", "* | lookup hosts host");
        same("* | lookup l a,b OUTPUT c,d", "* | lookup l a b output c d");
        // Lookups of autonomous systems have a field with this name.
        same("* | lookup l a OUTPUT b, as, c", "* | lookup l a OUTPUT b \"as\" c");
        same("* | lookup l a OUTPUT b, as", "* | lookup l a OUTPUT b \"as\"");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | lookup", "expected the name of a lookup", "");
        refuses("* | lookup hosts", "expected a field of the lookup", "");
        refuses("* | lookup locl=true hosts host", "unknown option 'locl'", "locl");
    }
}
