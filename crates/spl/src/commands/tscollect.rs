//! `tscollect`: stores rows for `tstats`; Karst does not support it.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Spanned};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `tscollect namespace=<name> [squashcase=<bool>] [keepresults=<bool>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct TscollectCommand {
    /// `namespace=`: the name under which rows would be stored.
    pub namespace: Option<Spanned<String>>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "tscollect",
    aliases: &[],
    summary: "is not supported: use `collect`",
    syntax: "tscollect namespace=<name> [squashcase=<bool>] [keepresults=<bool>]",
    kind: CommandKind::Dataset,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["namespace", "squashcase", "keepresults"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut namespace = None;
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(Command::Tscollect(TscollectCommand { namespace }));
        }
        let Some(option) = p.option(OPTIONS)? else {
            return Err(p.unexpected("an option such as namespace=<name>"));
        };
        match option.name {
            "namespace" => namespace = Some(option.spanned()),
            _ => drop(option.boolean()?),
        }
    }
}

impl fmt::Display for TscollectCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let namespace = self.namespace.as_ref().map(|name| &name.node);
        Arguments::default().maybe("namespace", namespace).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | tscollect namespace=cpu_data", "* | tscollect"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | tscollect cpu", "an option such as namespace=", "cpu");
    }
}
