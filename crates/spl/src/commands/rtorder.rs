//! `rtorder`: orders the events of a real-time search by time.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::Command;
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `rtorder [discard=<bool>] [buffer_span=<span>] [max_buffer_size=<n>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct RtorderCommand {
    /// `discard=`: whether late events are dropped.
    pub discard: bool,
    /// `buffer_span=`: how long events are buffered.
    pub buffer_span: Option<String>,
    /// `max_buffer_size=`: maximum number of buffered events.
    pub max_buffer_size: Option<u64>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "rtorder",
    aliases: &[],
    summary: "is accepted and has no effect: there are no real-time searches",
    syntax: "rtorder [discard=<bool>] [buffer_span=<span>] [max_buffer_size=<n>]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["discard", "buffer_span", "max_buffer_size"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = RtorderCommand { discard: false, buffer_span: None, max_buffer_size: None };
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(Command::Rtorder(command));
        }
        let Some(option) = p.option(OPTIONS)? else {
            return Err(p.unexpected("an option such as discard=<bool>"));
        };
        match option.name {
            "discard" => command.discard = option.boolean()?,
            "buffer_span" => {
                option.time_span()?;
                command.buffer_span = Some(option.text());
            }
            _ => command.max_buffer_size = Some(option.number()?),
        }
    }
}

impl fmt::Display for RtorderCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .flag("discard", self.discard, false)
            .maybe("buffer_span", self.buffer_span.as_ref())
            .maybe("max_buffer_size", self.max_buffer_size)
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | rtorder", "* | rtorder discard=t buffer_span=5s max_buffer_size=50"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | rtorder buffer_span=x", "a time such as", "x");
    }
}
