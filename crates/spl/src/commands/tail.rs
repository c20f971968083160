//! `tail`: keeps the last rows, in reverse order.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::Command;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `tail [N]`.
#[derive(Debug, Clone, PartialEq)]
pub struct TailCommand {
    /// Maximum number of rows (default 10).
    pub limit: u64,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "tail",
    aliases: &[],
    summary: "keeps the last rows, in reverse order",
    syntax: "tail [<n>]",
    kind: CommandKind::Dataset,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &[];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let limit = p.count()?.unwrap_or(10);
    p.expect_end("a number or the end of the command")?;
    Ok(Command::Tail(TailCommand { limit }))
}

impl fmt::Display for TailCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.limit)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | tail", "* | tail 3"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | tail x", "a number or the end", "x");
    }
}
