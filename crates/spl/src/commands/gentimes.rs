//! `gentimes`: creates a row for each step of a time range.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Spanned, TimeSpan};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `gentimes start= [end=] [increment=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct GentimesCommand {
    /// `start=`: `MM/DD/YYYY[:HH:MM:SS]`, or a number of days relative to today such as `-7`.
    pub start: Spanned<String>,
    /// `end=`: as `start=`; the beginning of today if absent.
    pub end: Option<Spanned<String>>,
    /// `increment=`: the length of a step; a day if absent.
    pub increment: Option<TimeSpan>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "gentimes",
    aliases: &[],
    summary: "generates a row for each step of a time range",
    syntax: "gentimes start=<time> [end=<time>] [increment=<time>]",
    kind: CommandKind::Generating,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["start", "end", "increment"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut start, mut end, mut increment) = (None, None, None);
    while let Some(option) = p.option(OPTIONS)? {
        match option.name {
            "start" => start = Some(option.spanned()),
            "end" => end = Some(option.spanned()),
            _ => increment = Some(option.time_span()?),
        }
        p.skip_separators();
    }
    p.expect_end("an option or the end of the command")?;
    let start = start.ok_or_else(|| p.unexpected("start=<time>"))?;
    Ok(Command::Gentimes(GentimesCommand { start, end, increment }))
}

impl fmt::Display for GentimesCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .option("start", &self.start.node)
            .maybe("end", self.end.as_ref().map(|end| &end.node))
            .maybe("increment", self.increment.as_ref())
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "| gentimes start=-30 end=-27",
            "| gentimes start=12/1/21 end=12/5/21 increment=1h",
            "| gentimes start=10/1/07:12:00:00",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("| gentimes end=-1", "expected start=<time>", "");
        refuses("| gentimes start=-1 increment=x", "a time such as", "x");
    }
}
