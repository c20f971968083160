//! `sendemail`: sends the rows by email.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::Command;
use crate::display::{Arguments, quoted};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `sendemail to=<addresses> [<option>=<value>]...`.
#[derive(Debug, Clone, PartialEq)]
pub struct SendemailCommand {
    /// The options, including `to`.
    pub options: Vec<(String, String)>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "sendemail",
    aliases: &[],
    summary: "is accepted; no mail is sent",
    syntax: "sendemail to=\"<address>,...\" [from=<address>] [subject=<text>] [message=<text>] [sendresults=<bool>] [format=csv|table|raw] ...",
    kind: CommandKind::Dataset,
    right: CommandRight::writes("run_sendalert"),
    options: &["to", "from", "cc", "bcc", "subject", "message", "footer", "server", "format"],
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let options = super::sendalert::parameters(p)?;
    if !options.iter().any(|(name, _)| name == "to") {
        return Err(p.unexpected("to=\"<address>\""));
    }
    Ok(Command::Sendemail(SendemailCommand { options }))
}

impl fmt::Display for SendemailCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        for (name, value) in &self.options {
            arguments.push(format_args!("{name}={}", quoted(value)));
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
            "* | sendemail to=\"a@example.org,b@example.org\" subject=\"x\" sendresults=true format=csv inline=true",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | sendemail subject=x", "expected to=", "");
    }
}
