//! `xpath`: extracts a value from XML by its path.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field, Spanned};
use crate::display::{Arguments, quoted};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `xpath [outfield=] "<path>" [field=] [default=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct XpathCommand {
    /// The path.
    pub path: Spanned<String>,
    /// `field=`: the field with the XML; `_raw` if absent.
    pub field: Option<Field>,
    /// `outfield=`: the field for the values; `xpath` if absent.
    pub outfield: Option<Field>,
    /// `default=`: the value if nothing is found.
    pub default: Option<String>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "xpath",
    aliases: &[],
    summary: "extracts a value from XML by XPath",
    syntax: "xpath [outfield=<field>] \"<path>\" [field=<field>] [default=<text>]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["outfield", "field", "default"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut path, mut field, mut outfield, mut default) = (None, None, None, None);
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        if let Some(option) = p.option(OPTIONS)? {
            match option.name {
                "field" => field = Some(option.field()?),
                "outfield" => outfield = Some(option.field()?),
                _ => default = Some(option.text()),
            }
        } else if path.is_none() {
            path = Some(p.text_argument("a path in double quotes")?);
        } else {
            return Err(p.unexpected("an option or the end of the command"));
        }
    }
    let path = path.ok_or_else(|| p.unexpected("a path in double quotes"))?;
    Ok(Command::Xpath(XpathCommand { path, field, outfield, default }))
}

impl fmt::Display for XpathCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .maybe("outfield", self.outfield.as_ref().map(|field| &field.node))
            .push(quoted(&self.path.node))
            .maybe("field", self.field.as_ref().map(|field| &field.node))
            .maybe("default", self.default.as_ref())
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            r#"* | xpath "//a/@b""#,
            r#"* | xpath outfield=name "//bar[@x='1']/text()" field=xml default="none""#,
            "* | xpath //a/b",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | xpath outfield=a", "a path in double quotes", "");
        refuses(r#"* | xpath "//a" "//b""#, "an option or the end of the command", "\"");
    }
}
