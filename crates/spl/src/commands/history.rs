//! `history`: lists the searches that were run.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::Command;
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `history [events=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryCommand {
    /// `events=`: whether each search is returned as an event with its text in `_raw`.
    pub events: bool,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "history",
    aliases: &[],
    summary: "lists past searches",
    syntax: "history [events=<bool>]",
    kind: CommandKind::Generating,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["events"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut events = false;
    while let Some(option) = p.option(OPTIONS)? {
        events = option.boolean()?;
    }
    Ok(Command::History(HistoryCommand { events }))
}

impl fmt::Display for HistoryCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default().flag("events", self.events, false).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["| history", "| history events=true | head 5"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("| history all", "'|' or the end of the command", "all");
        refuses("| history events=x", "true or false", "x");
    }
}
