//! `mpreview`: shows metric data points as they are stored.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, SearchCommand, Spanned};
use crate::display::{Arguments, quoted};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// Default number of points that are shown of a series.
const DEFAULT_TARGET: u64 = 5;

/// `mpreview [filter="..."] [index=...] [target_per_timeseries=...]`.
#[derive(Debug, Clone, PartialEq)]
pub struct MpreviewCommand {
    /// `filter=`, `index=` and the time modifiers, in the language of `search`.
    pub filter: SearchCommand,
    /// `target_per_timeseries=`: maximum number of points of each series; 0 means all (default 5).
    pub target: u64,
    /// `chunk_size=`: a hint without effect.
    pub chunk_size: Option<u64>,
    /// `splunk_server=`: a hint without effect.
    pub splunk_server: Option<String>,
    /// `splunk_server_group=`: a hint without effect.
    pub splunk_server_group: Option<String>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "mpreview",
    aliases: &["msearch"],
    summary: "shows stored metric data points",
    syntax: "mpreview [filter=\"<terms>\"] [index=<index>] [earliest=<time>] [latest=<time>] [target_per_timeseries=<number>]",
    kind: CommandKind::Generating,
    right: CommandRight::reads("run_msearch"),
    options: OPTIONS,
    takes: Takes::Search,
    parse,
};

const OPTIONS: &[&str] =
    &["filter", "target_per_timeseries", "chunk_size", "splunk_server", "splunk_server_group"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = MpreviewCommand {
        filter: SearchCommand::default(),
        target: DEFAULT_TARGET,
        chunk_size: None,
        splunk_server: None,
        splunk_server_group: None,
    };
    let mut given = None;
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        if !p.at_option(OPTIONS) {
            let terms = p.search(|p| p.at_option(OPTIONS))?;
            both(&mut command.filter, terms);
            continue;
        }
        let Some(option) = p.option(OPTIONS)? else { break };
        match option.name {
            "filter" => given = Some(option.spanned()),
            "target_per_timeseries" => command.target = option.number()?,
            "chunk_size" => command.chunk_size = Some(option.number()?),
            "splunk_server" => command.splunk_server = Some(option.text()),
            _ => command.splunk_server_group = Some(option.text()),
        }
    }
    if let Some(Spanned { node, span }) = given {
        let terms = crate::parse_search_terms(&node).map_err(|errors| {
            let message = errors.first().map_or_else(String::new, |first| first.message.clone());
            p.error(format!("mpreview: filter: {message}"), span)
        })?;
        both(&mut command.filter, terms);
    }
    Ok(Command::Mpreview(command))
}

/// Combines two filters with AND.
fn both(filter: &mut SearchCommand, other: SearchCommand) {
    filter.expr = crate::ast::SearchExpr::all(filter.expr.take(), other.expr);
    filter.time.extend(other.time);
}

impl fmt::Display for MpreviewCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        for modifier in &self.filter.time {
            arguments.push(modifier);
        }
        if let Some(expr) = &self.filter.expr {
            arguments.push(format_args!("filter={}", quoted(&expr.to_string())));
        }
        arguments
            .maybe("chunk_size", self.chunk_size)
            .maybe("splunk_server", self.splunk_server.as_ref())
            .maybe("splunk_server_group", self.splunk_server_group.as_ref());
        if self.target != DEFAULT_TARGET {
            arguments.option("target_per_timeseries", self.target);
        }
        arguments.write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "| mpreview",
            "| mpreview index=metrics filter=\"metric_name=cpu*\" target_per_timeseries=5",
            "| msearch index=a index=b earliest=-1h filter=\"metric_name=x AND (host=a OR host=\\\"b c\\\")\"",
            "| mpreview filter=\"dim=1\" index=m chunk_size=10 splunk_server=* splunk_server_group=g target_per_timeseries=0",
        ]);
        same("| msearch index=m", "| mpreview index=m");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("| mpreview target_per_timeseries=few", "a whole number", "few");
        refuses("| mpreview filter=\"(a\"", "unbalanced brackets", "\"(a\"");
    }
}
