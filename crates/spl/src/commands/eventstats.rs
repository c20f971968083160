//! `eventstats`: adds aggregations of all rows to each row.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, StatsBy, StatsCall};
use crate::display::{Arguments, commas};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `eventstats <calls> [by <fields>]`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EventstatsCommand {
    /// The aggregations, at least one.
    pub calls: Vec<StatsCall>,
    /// The group keys.
    pub by: StatsBy,
    /// `allnum=`: whether a field is aggregated only if all its values are numbers.
    pub allnum: bool,
    /// `delim=`: the separator between the values of `list` and `values`.
    pub delim: Option<String>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "eventstats",
    aliases: &[],
    summary: "adds aggregates of all rows to each row",
    syntax: "eventstats [allnum=<bool>] [delim=<text>] <aggregation>... [BY <field>...]",
    kind: CommandKind::Dataset,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Aggregations,
    parse,
};

/// `limit=` bounds memory in Splunk; Karst has other limits, so it has no effect.
const OPTIONS: &[&str] = &["allnum", "limit", "delim"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut allnum, mut delim) = (false, None);
    let found = p.stats_arguments(OPTIONS, |_, option| {
        match option.name {
            "allnum" => allnum = option.boolean()?,
            "delim" => delim = Some(option.text()),
            _ => drop(option.number()?),
        }
        Ok(())
    })?;
    let (calls, by) = (found.calls, found.by);
    Ok(Command::Eventstats(EventstatsCommand { calls, by, allnum, delim }))
}

impl fmt::Display for EventstatsCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .flag("allnum", self.allnum, false)
            .maybe("delim", self.delim.as_ref())
            .push(commas(&self.calls))
            .push(&self.by)
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | eventstats avg(x) AS mean by host",
            "* | eventstats allnum=t count, dc(user)",
            "* | eventstats count limit=2",
            r#"* | eventstats delim="," values(x) by host"#,
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | eventstats by host", "expected an aggregation", "");
        refuses("* | eventstats avg x", "unknown function 'x'", "x");
    }
}
