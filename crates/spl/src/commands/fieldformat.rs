//! `fieldformat`: changes how fields are displayed, without changing their values.

use super::{CommandDefinition, CommandKind, CommandRight, Takes, eval};
use crate::ast::{Assignment, Command};
use crate::display::commas;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `fieldformat <field>=<expression>, ...`.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldformatCommand {
    /// The fields and the expressions that are displayed for them, at least one.
    pub assignments: Vec<Assignment>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "fieldformat",
    aliases: &[],
    summary: "changes how a field is displayed, not its value",
    syntax: "fieldformat <field>=<expression> [, <field>=<expression>]...",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: &[],
    takes: Takes::Expression,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let assignments = eval::assignments(p)?;
    Ok(Command::Fieldformat(FieldformatCommand { assignments }))
}

impl fmt::Display for FieldformatCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&commas(&self.assignments))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            r#"* | fieldformat bytes=tostring(bytes, "commas")"#,
            r#"* | fieldformat "First seen"=strftime('First seen', "%c"), b=c . "x""#,
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | fieldformat", "a field name and", "");
        refuses("* | fieldformat a", "expected '=' after field", "");
        refuses("* | fieldformat a=rouund(1)", "unknown function 'rouund'", "rouund");
    }
}
