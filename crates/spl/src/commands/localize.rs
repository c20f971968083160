//! `localize`: returns a row for each time range that has events.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, TimeSpan, TimeUnit};
use crate::display::Arguments;
use crate::parser::{OptionValue, Parsed, Parser};
use std::fmt;

/// `localize [maxpause=] [timeafter=] [timebefore=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalizeCommand {
    /// `maxpause=`: maximum time between two events of one range; a minute if absent.
    pub maxpause: Option<TimeSpan>,
    /// `timeafter=`: time added to the end; 30 seconds if absent.
    pub timeafter: Option<TimeSpan>,
    /// `timebefore=`: time subtracted from the start; 30 seconds if absent.
    pub timebefore: Option<TimeSpan>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "localize",
    aliases: &[],
    summary: "lists the time ranges that contain events",
    syntax: "localize [maxpause=<time>] [timeafter=<time>] [timebefore=<time>]",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["maxpause", "timeafter", "timebefore"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = LocalizeCommand { maxpause: None, timeafter: None, timebefore: None };
    while let Some(option) = p.option(OPTIONS)? {
        let span = Some(option.duration()?);
        match option.name {
            "maxpause" => command.maxpause = span,
            "timeafter" => command.timeafter = span,
            _ => command.timebefore = span,
        }
        p.skip_separators();
    }
    p.expect_end("an option or the end of the command")?;
    Ok(Command::Localize(command))
}

impl OptionValue {
    /// Parses a duration, which may be zero: `30s`, `0s`.
    fn duration(&self) -> Parsed<TimeSpan> {
        if self.value.trim_start_matches('0').chars().all(char::is_alphabetic)
            && self.value.starts_with('0')
        {
            return Ok(TimeSpan { count: 0, unit: TimeUnit::Second, snap: None });
        }
        self.time_span()
    }
}

impl fmt::Display for LocalizeCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .maybe("maxpause", self.maxpause.as_ref())
            .maybe("timeafter", self.timeafter.as_ref())
            .maybe("timebefore", self.timebefore.as_ref())
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | localize",
            "* | localize timeafter=1m, timebefore=30s maxpause=2h",
            "* | localize timeafter=0s",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | localize maxpause=x", "a time such as", "x");
        refuses("* | localize a", "an option or the end of the command", "a");
    }
}
