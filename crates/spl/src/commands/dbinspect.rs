//! `dbinspect`: the buckets of indexes.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, SearchPattern};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser, pattern_of};
use std::fmt;

/// `dbinspect [index=]... [timeformat=] [cached=] [corruptonly=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct DbinspectCommand {
    /// `index=`, wildcards allowed; the default indexes if empty.
    pub indexes: Vec<SearchPattern>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "dbinspect",
    aliases: &[],
    summary: "lists the buckets of indexes",
    syntax: "dbinspect [index=<index>]... [cached=<bool>] [corruptonly=<bool>]",
    kind: CommandKind::Generating,
    right: CommandRight::summary(None),
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] =
    &["index", "span", "bins", "timeformat", "corruptonly", "cached", "earliest", "latest"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut indexes = Vec::new();
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        let Some(option) = p.option(OPTIONS)? else {
            return Err(p.unexpected("an option such as index=<index>"));
        };
        match option.name {
            "index" => indexes.push(pattern_of(&option.value)),
            "corruptonly" | "cached" => drop(option.boolean()?),
            _ => drop(option.text()),
        }
    }
    Ok(Command::Dbinspect(DbinspectCommand { indexes }))
}

impl fmt::Display for DbinspectCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        for index in &self.indexes {
            arguments.option("index", index.text());
        }
        arguments.write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["| dbinspect", "| dbinspect index=_internal index=web* cached=t corruptonly=f"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("| dbinspect main", "an option such as index=", "main");
    }
}
