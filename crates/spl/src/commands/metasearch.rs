//! `metasearch`: returns origin and time of events that match terms.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, SearchCommand};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `metasearch <terms>`.
#[derive(Debug, Clone, PartialEq)]
pub struct MetasearchCommand {
    /// The terms, with time modifiers.
    pub search: SearchCommand,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "metasearch",
    aliases: &[],
    summary: "shows the time and metadata of matching events, without their text",
    syntax: "metasearch [<terms>] [earliest=<time>] [latest=<time>]",
    kind: CommandKind::Generating,
    right: CommandRight::reads("get_metadata"),
    options: OPTIONS,
    takes: Takes::Search,
    parse,
};

const OPTIONS: &[&str] = &["earliest", "latest"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let search = p.search(|_| false)?;
    Ok(Command::Metasearch(MetasearchCommand { search }))
}

impl fmt::Display for MetasearchCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.search.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["| metasearch", "| metasearch index=web host=r* error earliest=-1h"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("| metasearch (a", "is not closed", "(");
    }
}
