//! `setfields`: sets fields to the same values in all rows.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::{field_name, quoted};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `setfields <field>="<text>", ...`.
#[derive(Debug, Clone, PartialEq)]
pub struct SetfieldsCommand {
    /// Fields and their values, at least one.
    pub values: Vec<(Field, String)>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "setfields",
    aliases: &[],
    summary: "sets fields to constant values",
    syntax: "setfields <field>=\"<text>\" [, <field>=\"<text>\"]...",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: &[],
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut values = Vec::new();
    loop {
        p.skip_separators();
        if p.at_end() && !values.is_empty() {
            return Ok(Command::Setfields(SetfieldsCommand { values }));
        }
        let field = p.field("a field name and '='")?;
        p.expect("=", &format!("after field '{}'", field.node))?;
        p.skip_space();
        let value = match p.peek() {
            Some('"') => p.quoted('"')?.node,
            _ => match p.take_while(|c| !c.is_whitespace() && !",|]\"".contains(c)) {
                "" => return Err(p.unexpected("a value")),
                value => value.to_owned(),
            },
        };
        values.push((field, value));
    }
}

impl fmt::Display for SetfieldsCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = |(field, value): &(Field, String)| {
            format!("{}={}", field_name(&field.node), quoted(value))
        };
        f.write_str(&self.values.iter().map(value).collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            r#"* | setfields ip="10.10.10.10", foo="foo bar""#,
            r#"* | setfields "a b" = "" c="x\"y""#,
            r#"* | setfields a="""#,
            "* | setfields team=web, tier=front",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | setfields", "a field name and", "");
        refuses("* | setfields a", "expected '=' after field 'a'", "");
        refuses("* | setfields a=", "expected a value", "");
        refuses("* | setfields a=, b=1", "expected a value", ",");
    }
}
