//! `inputlookup`: returns the rows of a lookup.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field, SearchCommand};
use crate::display::{Arguments, field_name};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `inputlookup [append=] [strict=] [start=] [max=] <name> [WHERE <terms>]`; also `inputcsv`.
#[derive(Debug, Clone, PartialEq)]
pub struct InputlookupCommand {
    /// The lookup or file.
    pub name: Field,
    /// `append=`: whether the rows are appended to the current rows.
    pub append: bool,
    /// `strict=`: whether a missing lookup fails the search; otherwise, there are no rows.
    pub strict: bool,
    /// `start=`: number of rows to skip.
    pub start: u64,
    /// `max=`: maximum number of rows.
    pub max: Option<u64>,
    /// `WHERE`: the filter of the rows.
    pub filter: Option<SearchCommand>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "inputlookup",
    aliases: &[],
    summary: "reads the rows of a lookup",
    syntax: "inputlookup [append=<bool>] [strict=<bool>] [start=<n>] [max=<n>] <lookup or file> [WHERE <terms>]",
    kind: CommandKind::Generating,
    right: CommandRight::reads("input_file"),
    options: OPTIONS,
    takes: Takes::Search,
    parse,
};

const OPTIONS: &[&str] = &["append", "strict", "start", "max"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    arguments(p, OPTIONS).map(Command::Inputlookup)
}

/// Reads the arguments of `inputlookup` and `inputcsv`.
pub(super) fn arguments(
    p: &mut Parser<'_>,
    options: &'static [&'static str],
) -> Parsed<InputlookupCommand> {
    let mut name: Option<Field> = None;
    let mut filter = None;
    let (mut append, mut strict, mut start, mut max) = (false, false, 0, None);
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        if p.eat_keyword("where") {
            filter = Some(p.search(|_| false)?);
            break;
        }
        if let Some(option) = p.option(options)? {
            match option.name {
                "append" => append = option.boolean()?,
                "strict" => strict = option.boolean()?,
                "start" => start = option.number()?,
                "max" => max = Some(option.number()?),
                // The other options are about the location, which has no effect on the result.
                _ => drop(option.boolean()?),
            }
            continue;
        }
        if name.is_some() {
            // The word WHERE is optional before comparisons.
            filter = Some(p.search(|_| false)?);
            break;
        }
        name = Some(p.field("the name of a lookup")?);
    }
    let name = name.ok_or_else(|| p.unexpected("the name of a lookup"))?;
    Ok(InputlookupCommand { name, append, strict, start, max, filter })
}

impl fmt::Display for InputlookupCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments.flag("append", self.append, false).flag("strict", self.strict, false);
        if self.start > 0 {
            arguments.option("start", self.start);
        }
        arguments.maybe("max", self.max).push(field_name(&self.name.node));
        if let Some(filter) = &self.filter {
            arguments.push(format_args!("WHERE {filter}"));
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
            "| inputlookup hosts.csv",
            "| inputlookup append=t strict=true start=5 max=10 hosts where owner=a* (site=x OR site=y)",
            "| makeresults | inputlookup append=true \"my hosts.csv\"",
            "* | append [| inputlookup a WHERE NOT b=1 | fields c]",
        ]);
        same("| inputlookup hosts append=t", "| inputlookup append=t hosts");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("| inputlookup", "expected the name of a lookup", "");
        refuses("| inputlookup max=x hosts", "a whole number", "x");
    }
}
