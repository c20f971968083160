//! `sendalert`: runs an alert action.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::{Arguments, field_name};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `sendalert <action> [results_link=] [param.<name>=<value>]...`; also `sendemail`.
#[derive(Debug, Clone, PartialEq)]
pub struct SendalertCommand {
    /// The action.
    pub action: Field,
    /// The parameters of the action.
    pub parameters: Vec<(String, String)>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "sendalert",
    aliases: &[],
    summary: "is accepted; there are no alert actions yet",
    syntax: "sendalert <action> [<parameter>=<value>]...",
    kind: CommandKind::Dataset,
    right: CommandRight::writes("run_sendalert"),
    options: &[],
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let action = p.field("the name of an alert action")?;
    let parameters = parameters(p)?;
    Ok(Command::Sendalert(SendalertCommand { action, parameters }))
}

/// Reads `name=value` pairs up to the end; names may contain dots.
pub(super) fn parameters(p: &mut Parser<'_>) -> Parsed<Vec<(String, String)>> {
    let mut parameters = Vec::new();
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(parameters);
        }
        let name = p.field("<parameter>=<value>")?;
        p.expect("=", "after the name of a parameter")?;
        p.skip_space();
        let value = p.text_argument("a value")?;
        parameters.push((name.node, value.node));
    }
}

impl fmt::Display for SendalertCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments.push(field_name(&self.action.node));
        for (name, value) in &self.parameters {
            arguments.push(format_args!("{name}={}", crate::display::quoted(value)));
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
            "* | sendalert webhook param.url=\"https://example.org/x\" param.n=5",
            "* | sendalert notable",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | sendalert", "the name of an alert action", "");
        refuses("* | sendalert a b", "'=' after the name", "");
    }
}
