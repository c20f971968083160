//! `eventcount`: counts the events of indexes.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, SearchPattern};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser, pattern_of};
use std::fmt;

/// `eventcount [index=]... [summarize=] [report_size=] [list_vix=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct EventcountCommand {
    /// `index=`, wildcards allowed; the default indexes if empty.
    pub indexes: Vec<SearchPattern>,
    /// `summarize=`: whether there is one row for all indexes (default true).
    pub summarize: bool,
    /// `report_size=`: whether the size of the events in bytes is included.
    pub report_size: bool,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "eventcount",
    aliases: &[],
    summary: "counts the events of indexes",
    syntax: "eventcount [index=<index>]... [summarize=<bool>] [report_size=<bool>]",
    kind: CommandKind::Generating,
    right: CommandRight::summary(None),
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] =
    &["index", "summarize", "report_size", "list_vix", "list_federated_remote"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut indexes, mut summarize, mut report_size) = (Vec::new(), true, false);
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        if !indexes.is_empty() && p.eat_keyword("or") {
            continue;
        }
        let Some(option) = p.option(OPTIONS)? else {
            return Err(p.unexpected("an option such as index=<index>"));
        };
        match option.name {
            "index" => indexes.push(pattern_of(&option.value)),
            "summarize" => summarize = option.boolean()?,
            "report_size" => report_size = option.boolean()?,
            _ => drop(option.boolean()?),
        }
    }
    Ok(Command::Eventcount(EventcountCommand { indexes, summarize, report_size }))
}

impl fmt::Display for EventcountCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        for index in &self.indexes {
            arguments.option("index", index.text());
        }
        arguments
            .flag("summarize", self.summarize, true)
            .flag("report_size", self.report_size, false)
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "| eventcount",
            "| eventcount summarize=false index=* index=_* report_size=t list_vix=f | table index count",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("| eventcount main", "an option such as index=", "main");
        refuses("| eventcount summarize=x", "true or false", "x");
    }
}
