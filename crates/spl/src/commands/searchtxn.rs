//! `searchtxn`: finds transactions of a configured type.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field, SearchCommand};
use crate::display::{Arguments, field_name};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `searchtxn <name> [max_terms=] [use_disjunct=] [eventsonly=] <search>`.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchtxnCommand {
    /// A stanza of `transactiontypes.conf`.
    pub name: Field,
    /// `max_terms=`: maximum number of values of a field that are searched (default 1000).
    pub max_terms: u64,
    /// `use_disjunct=`: whether initial events need to match only one of the terms (default true).
    pub use_disjunct: bool,
    /// `eventsonly=`: whether events are returned instead of transactions (default false).
    pub eventsonly: bool,
    /// The condition on transactions.
    pub search: SearchCommand,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "searchtxn",
    aliases: &[],
    summary: "finds transactions of a configured type",
    syntax: "searchtxn <name> [max_terms=<n>] [use_disjunct=<bool>] [eventsonly=<bool>] <search>",
    kind: CommandKind::Generating,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Search,
    parse,
};

const OPTIONS: &[&str] = &["max_terms", "use_disjunct", "eventsonly"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let name = p.field("the name of a transaction type")?;
    let (mut max_terms, mut use_disjunct, mut eventsonly) = (1000, true, false);
    while at_option(p) {
        let Some(option) = p.option(OPTIONS)? else { break };
        match option.name {
            "max_terms" => {
                max_terms = option.number()?;
                if !(1..=1000).contains(&max_terms) {
                    return Err(option.error("a whole number from 1 to 1000"));
                }
            }
            "use_disjunct" => use_disjunct = option.boolean()?,
            _ => eventsonly = option.boolean()?,
        }
    }
    let search = p.search(|_| false)?;
    let command = SearchtxnCommand { name, max_terms, use_disjunct, eventsonly, search };
    Ok(Command::Searchtxn(command))
}

/// Returns whether an option of the command is next rather than a comparison.
fn at_option(p: &mut Parser<'_>) -> bool {
    let mut ahead = false;
    let _: Option<()> = p.attempt(|p| {
        let name = p.option_name()?.node.to_ascii_lowercase();
        ahead = OPTIONS.contains(&name.as_str());
        None
    });
    ahead
}

impl fmt::Display for SearchtxnCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .push(field_name(&self.name.node))
            .option("max_terms", self.max_terms)
            .flag("use_disjunct", self.use_disjunct, true)
            .flag("eventsonly", self.eventsonly, false)
            .push(&self.search)
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "| searchtxn email to=root from=\"David Smith\"",
            "| searchtxn email max_terms=5 eventsonly=t use_disjunct=f to=root (a OR b)",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("| searchtxn", "expected the name of a transaction type", "");
        refuses("| searchtxn email max_terms=0 a", "from 1 to 1000", "0");
    }
}
