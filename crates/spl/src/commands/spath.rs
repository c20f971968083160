//! `spath`: extracts fields from JSON or XML.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field, Spanned};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `spath [input=] [output=] [path=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct SpathCommand {
    /// `input=`; `_raw` if absent.
    pub input: Option<Field>,
    /// `output=`; the path if absent.
    pub output: Option<Field>,
    /// `path=`; if absent, all values are extracted.
    pub path: Option<Spanned<String>>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "spath",
    aliases: &[],
    summary: "extracts fields from JSON or XML",
    syntax: "spath [input=<field>] [output=<field>] [path=<path>]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["input", "output", "path"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = SpathCommand { input: None, output: None, path: None };
    while !p.at_end() {
        let Some(option) = p.option(OPTIONS)? else {
            if command.path.is_some() {
                return Err(p.unexpected("an option or the end of the command"));
            }
            command.path = Some(p.text_argument("a path")?);
            continue;
        };
        match option.name {
            "input" => command.input = Some(option.field()?),
            "output" => command.output = Some(option.field()?),
            _ => command.path = Some(option.spanned()),
        }
    }
    if let (Some(output), None) = (&command.output, &command.path) {
        return Err(p.error("output= needs path=", output.span));
    }
    Ok(Command::Spath(command))
}

impl fmt::Display for SpathCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .maybe("input", self.input.as_ref().map(|field| &field.node))
            .maybe("output", self.output.as_ref().map(|field| &field.node))
            .maybe("path", self.path.as_ref().map(|path| &path.node))
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | spath",
            "* | spath input=payload output=user path=user.name",
            r#"* | spath path="a{}.b{2}.c""#,
            "* | spath a.b{@id}",
            "* | spath input=x",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | spath output=a", "output= needs path=", "a");
        refuses("* | spath inptu=a", "unknown option 'inptu'", "inptu");
        refuses("* | spath a b", "found 'b'", "b");
    }

    #[test]
    fn has_other_ways_to_say_the_same() {
        crate::testing::same("* | spath a.b", "* | spath path=a.b");
    }
}
