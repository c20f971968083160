//! `noop`: leaves rows unchanged; in Splunk, its options control how a search runs.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::Command;
use crate::display::quoted;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `noop [<name>=<value>...]`.
#[derive(Debug, Clone, PartialEq)]
pub struct NoopCommand {
    /// The options as written; none has an effect.
    pub options: Vec<(String, String)>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "noop",
    aliases: &[],
    summary: "is accepted and has no effect",
    syntax: "noop [<name>=<value>...]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: &["search_optimization"],
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut options = Vec::new();
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(Command::Noop(NoopCommand { options }));
        }
        let name = p.take_while(|c| c.is_alphanumeric() || "_.-".contains(c)).to_owned();
        if name.is_empty() || !p.eat("=") {
            return Err(p.unexpected("<name>=<value> or the end of the command"));
        }
        options.push((name, p.text_argument("a value")?.node));
    }
}

impl fmt::Display for NoopCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let option = |(name, value): &(String, String)| format!("{name}={}", quoted(value));
        f.write_str(&self.options.iter().map(option).collect::<Vec<_>>().join(" "))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | noop",
            "* | noop search_optimization=false",
            "* | noop search_optimization.predicate_push=f a=\"b c\"",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | noop a", "<name>=<value>", "");
    }
}
