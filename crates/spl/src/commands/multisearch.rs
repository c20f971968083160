//! `multisearch`: combines the events of several searches.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Subsearch};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `multisearch [subsearch] [subsearch]...`.
#[derive(Debug, Clone, PartialEq)]
pub struct MultisearchCommand {
    /// The searches, at least two.
    pub searches: Vec<Subsearch>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "multisearch",
    aliases: &[],
    summary: "merges the events of several streaming searches",
    syntax: "multisearch [<subsearch>] [<subsearch>]...",
    kind: CommandKind::Generating,
    right: CommandRight::FREE,
    options: &[],
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut searches = Vec::new();
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        searches.push(p.subsearch()?);
    }
    if searches.len() < 2 {
        return Err(p.unexpected("at least two subsearches in square brackets"));
    }
    Ok(Command::Multisearch(MultisearchCommand { searches }))
}

impl fmt::Display for MultisearchCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        for search in &self.searches {
            arguments.push(search);
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
            "| multisearch [search index=a | eval t=\"a\"] [search index=b | eval t=\"b\"]",
            "| multisearch [index=a], [index=b] [index=c]",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("| multisearch [search a]", "at least two subsearches", "");
        refuses("| multisearch a b", "a subsearch in square brackets", "a");
    }
}
