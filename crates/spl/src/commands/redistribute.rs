//! `redistribute`: a hint for distributing work; Karst distributes work without it.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, FieldPattern};
use crate::display::{Arguments, field_patterns};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `redistribute [num_of_reducers=] [by <fields>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct RedistributeCommand {
    /// `num_of_reducers=`.
    pub num_of_reducers: Option<u64>,
    /// `by`.
    pub by: Vec<FieldPattern>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "redistribute",
    aliases: &[],
    summary: "is accepted and has no effect",
    syntax: "redistribute [num_of_reducers=<n>] [by <field>...]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["num_of_reducers"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = RedistributeCommand { num_of_reducers: None, by: Vec::new() };
    while let Some(option) = p.option(OPTIONS)? {
        command.num_of_reducers = Some(option.number()?);
    }
    if p.eat_keyword("by") {
        command.by = p.field_patterns(1)?;
    }
    p.expect_end("num_of_reducers=, 'by' or the end of the command")?;
    Ok(Command::Redistribute(command))
}

impl fmt::Display for RedistributeCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments.maybe("num_of_reducers", self.num_of_reducers);
        if !self.by.is_empty() {
            arguments.push(format_args!("BY {}", field_patterns(&self.by)));
        }
        arguments.write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | redistribute", "* | redistribute num_of_reducers=4 by ip, host"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | redistribute ip", "'by' or the end of the command", "ip");
    }
}
