//! `concurrency`: counts the events that overlap the start of each event.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `concurrency duration=<field> [start=<field>] [output=<field>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ConcurrencyCommand {
    /// `duration=`: the field with the duration of an event, in the unit of `start`.
    pub duration: Field,
    /// `start=`: the field with the start (default `_time`).
    pub start: String,
    /// `output=`: the field for the number (default `concurrency`).
    pub output: String,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "concurrency",
    aliases: &[],
    summary: "counts concurrent events",
    syntax: "concurrency duration=<field> [start=<field>] [output=<field>]",
    kind: CommandKind::Dataset,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["duration", "start", "output"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut duration, mut start, mut output) = (None, None, None);
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        let Some(option) = p.option(OPTIONS)? else {
            return Err(p.unexpected("duration=<field>, start=<field> or output=<field>"));
        };
        match option.name {
            "duration" => duration = Some(option.field()?),
            "start" => start = Some(option.field()?.node),
            _ => output = Some(option.field()?.node),
        }
    }
    let duration = duration.ok_or_else(|| p.unexpected("duration=<field>"))?;
    let start = start.unwrap_or_else(|| "_time".to_owned());
    let output = output.unwrap_or_else(|| "concurrency".to_owned());
    Ok(Command::Concurrency(ConcurrencyCommand { duration, start, output }))
}

impl fmt::Display for ConcurrencyCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .option("duration", &self.duration.node)
            .option("start", &self.start)
            .option("output", &self.output)
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | concurrency duration=spent_in_seconds",
            "* | concurrency duration=\"total time\" start=began output=n",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | concurrency", "expected duration=<field>", "");
        refuses("* | concurrency duration", "expected duration=<field>", "duration");
    }
}
