//! `appendpipe`: appends the result of commands that run over the current rows.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Subsearch};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `appendpipe [run_in_preview=] [pipeline]`.
#[derive(Debug, Clone, PartialEq)]
pub struct AppendpipeCommand {
    /// The commands; a first `search` filters the current rows.
    pub subsearch: Subsearch,
    /// `run_in_preview=` (default true).
    pub run_in_preview: bool,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "appendpipe",
    aliases: &[],
    summary: "appends the result of commands over the rows so far",
    syntax: "appendpipe [run_in_preview=<bool>] [<commands>]",
    kind: CommandKind::Centralised,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["run_in_preview"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut run_in_preview = true;
    while let Some(option) = p.option(OPTIONS)? {
        run_in_preview = option.boolean()?;
    }
    let subsearch = p.subsearch()?;
    Ok(Command::Appendpipe(AppendpipeCommand { subsearch, run_in_preview }))
}

impl fmt::Display for AppendpipeCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .flag("run_in_preview", self.run_in_preview, true)
            .push(&self.subsearch)
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            r#"* | stats count by a | appendpipe [stats sum(count) AS count | eval a="all"]"#,
            "* | appendpipe [ where count > 3 ]",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | appendpipe stats count", "a subsearch in square brackets", "stats");
    }
}
