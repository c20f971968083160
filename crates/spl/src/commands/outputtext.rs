//! `outputtext`: adds the text of events as a field.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::Command;
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `outputtext [usexml=<bool>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputtextCommand {
    /// `usexml=`: whether XML special characters are escaped (default true).
    pub usexml: bool,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "outputtext",
    aliases: &[],
    summary: "copies the event text to the field `_xml`",
    syntax: "outputtext [usexml=<bool>]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["usexml"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut usexml = true;
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(Command::Outputtext(OutputtextCommand { usexml }));
        }
        let option = p.option(OPTIONS)?;
        usexml = option.ok_or_else(|| p.unexpected("usexml=<bool>"))?.boolean()?;
    }
}

impl fmt::Display for OutputtextCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default().flag("usexml", self.usexml, true).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | outputtext", "* | outputtext usexml=false"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | outputtext a", "usexml=<bool>", "a");
    }
}
