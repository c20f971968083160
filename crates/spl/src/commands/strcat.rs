//! `strcat`: joins fields and texts.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field, Spanned};
use crate::display::{Arguments, field_name, quoted};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `strcat [allrequired=] <part>... <destination>`.
#[derive(Debug, Clone, PartialEq)]
pub struct StrcatCommand {
    /// `allrequired=`: whether there is a result only if all fields exist.
    pub allrequired: bool,
    /// The parts, at least two.
    pub parts: Vec<StrcatPart>,
    /// The field for the text.
    pub destination: Field,
}

/// A part of the text of `strcat`.
#[derive(Debug, Clone, PartialEq)]
pub enum StrcatPart {
    /// The value of a field.
    Field(Field),
    /// A quoted text.
    Literal(Spanned<String>),
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "strcat",
    aliases: &[],
    summary: "concatenates fields and strings",
    syntax: "strcat [allrequired=<bool>] <field or \"text\">... <field>",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["allrequired"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut allrequired = false;
    let mut parts = Vec::new();
    loop {
        p.skip_space();
        if p.at_end() {
            break;
        }
        if p.peek() == Some('"') {
            parts.push(StrcatPart::Literal(p.quoted('"')?));
        } else if let Some(option) = p.option(OPTIONS)? {
            allrequired = option.boolean()?;
        } else {
            parts.push(StrcatPart::Field(p.field("a field or a text")?));
        }
    }
    let destination = match parts.pop() {
        Some(StrcatPart::Field(field) | StrcatPart::Literal(field)) if parts.len() >= 2 => field,
        _ => return Err(p.unexpected("at least two parts and the name of the result")),
    };
    Ok(Command::Strcat(StrcatCommand { allrequired, parts, destination }))
}

impl fmt::Display for StrcatCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments.flag("allrequired", self.allrequired, false);
        for part in &self.parts {
            match part {
                StrcatPart::Field(field) => arguments.push(&field.node),
                StrcatPart::Literal(text) => arguments.push(quoted(&text.node)),
            };
        }
        arguments.push(field_name(&self.destination.node)).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[r#"* | strcat host ":" port address"#, "* | strcat allrequired=t a b c"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | strcat a b", "at least two parts", "");
        refuses("* | strcat", "at least two parts", "");
    }
}
