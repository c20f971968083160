//! `tscollect`: stores rows in a namespace, which `tstats` reads.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Spanned};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `tscollect [namespace=<name>] [squashcase=<bool>] [keepresults=<bool>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct TscollectCommand {
    /// `namespace=`: the name under which rows are stored; that of the job if there is none.
    pub namespace: Option<Spanned<String>>,
    /// `squashcase=`: whether values are stored in lower case.
    pub squashcase: bool,
    /// `keepresults=`: whether the rows are passed on, instead of their number.
    pub keepresults: bool,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "tscollect",
    aliases: &[],
    summary: "stores rows in a namespace for `tstats`",
    syntax: "tscollect [namespace=<name>] [squashcase=<bool>] [keepresults=<bool>]",
    kind: CommandKind::Dataset,
    right: CommandRight::writes("run_collect"),
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["namespace", "squashcase", "keepresults"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = TscollectCommand { namespace: None, squashcase: false, keepresults: false };
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(Command::Tscollect(command));
        }
        let Some(option) = p.option(OPTIONS)? else {
            return Err(p.unexpected("an option such as namespace=<name>"));
        };
        match option.name {
            "namespace" if option.text().is_empty() => return Err(option.error("a name")),
            "namespace" => command.namespace = Some(option.spanned()),
            "squashcase" => command.squashcase = option.boolean()?,
            _ => command.keepresults = option.boolean()?,
        }
    }
}

impl fmt::Display for TscollectCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments
            .maybe("namespace", self.namespace.as_ref().map(|name| &name.node))
            .flag("squashcase", self.squashcase, false)
            .flag("keepresults", self.keepresults, false);
        arguments.write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | tscollect namespace=cpu_data",
            "* | tscollect",
            "* | tscollect namespace=\"cpu data\" squashcase=t keepresults=true",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | tscollect cpu", "an option such as namespace=", "cpu");
        refuses("* | tscollect keepresults=all", "true or false", "all");
    }
}
