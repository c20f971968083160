//! `typeahead`: suggests continuations of search texts.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, SearchPattern};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser, pattern_of};
use std::fmt;

/// `typeahead prefix=<text> count=<n> [index=<index>]...`.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeaheadCommand {
    /// `prefix=`: the text so far.
    pub prefix: String,
    /// `count=`: maximum number of rows.
    pub count: u64,
    /// `index=`, wildcards allowed; the default indexes if empty.
    pub indexes: Vec<SearchPattern>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "typeahead",
    aliases: &[],
    summary: "completes a search",
    syntax: "typeahead prefix=<text> count=<n> [index=<index>]...",
    kind: CommandKind::Generating,
    right: CommandRight::summary(Some("get_typeahead")),
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] =
    &["prefix", "count", "index", "max_time", "starttimeu", "endtimeu", "collapse"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut prefix, mut count, mut indexes) = (None, None, Vec::new());
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        let Some(option) = p.option(OPTIONS)? else {
            return Err(p.unexpected("an option such as prefix=<text>"));
        };
        match option.name {
            "prefix" => prefix = Some(option.text()),
            "count" => count = Some(option.number()?),
            "index" => indexes.push(pattern_of(&option.value)),
            "collapse" => drop(option.boolean()?),
            // The other options have no effect: the command is fast, and uses the time range of the search.
            _ => drop(option.number()?),
        }
    }
    let prefix = prefix.ok_or_else(|| p.unexpected("prefix=<text>"))?;
    let count = count.ok_or_else(|| p.unexpected("count=<n>"))?;
    Ok(Command::Typeahead(TypeaheadCommand { prefix, count, indexes }))
}

impl fmt::Display for TypeaheadCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments.option("prefix", &self.prefix).option("count", self.count);
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
        accepts(&[
            "| typeahead prefix=\"ho\" count=10 index=netflow",
            "| typeahead prefix=source count=5 max_time=3 collapse=f index=a* index=b",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("| typeahead count=1", "prefix=<text>", "");
        refuses("| typeahead prefix=a", "count=<n>", "");
        refuses("| typeahead a", "an option such as", "a");
    }
}
