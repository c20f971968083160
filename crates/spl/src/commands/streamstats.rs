//! `streamstats`: adds aggregations of the previous rows to each row.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Expr, StatsBy, StatsCall, TimeSpan};
use crate::display::{Arguments, commas};
use crate::parser::{OptionValue, Parsed, Parser};
use std::fmt;

/// `streamstats <options> <calls> [by <fields>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamstatsCommand {
    /// The aggregations; none adds nothing.
    pub calls: Vec<StatsCall>,
    /// The group keys.
    pub by: StatsBy,
    /// `current=`: whether the row itself is included (default true).
    pub current: bool,
    /// `window=`: number of rows; 0 means all (default).
    pub window: u64,
    /// `time_window=`: length of the window in time.
    pub time_window: Option<TimeSpan>,
    /// `global=`: whether there is one window for all groups (default true).
    pub global: bool,
    /// `reset_on_change=`: whether aggregations are reset when a group key changes.
    pub reset_on_change: bool,
    /// `reset_before=`: the condition on a row before which aggregations are reset.
    pub reset_before: Option<Expr>,
    /// `reset_after=`: the condition on a row after which aggregations are reset (it may read results).
    pub reset_after: Option<Expr>,
    /// `allnum=`: whether a field is aggregated only if all its values are numbers.
    pub allnum: bool,
}

impl Default for StreamstatsCommand {
    fn default() -> Self {
        Self {
            calls: Vec::new(),
            by: StatsBy::default(),
            current: true,
            window: 0,
            time_window: None,
            global: true,
            reset_on_change: false,
            reset_before: None,
            reset_after: None,
            allnum: false,
        }
    }
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "streamstats",
    aliases: &[],
    summary: "adds aggregates of the rows so far to each row",
    syntax: "streamstats [<options>] <aggregation>... [BY <field>...]",
    kind: CommandKind::Centralised,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Aggregations,
    parse,
};

const OPTIONS: &[&str] = &[
    "current",
    "window",
    "time_window",
    "global",
    "reset_on_change",
    "reset_before",
    "reset_after",
    "allnum",
];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = StreamstatsCommand::default();
    let mut options = 0;
    let found = p.optional_stats_arguments(OPTIONS, |p, option| {
        options += 1;
        accept(&mut command, p, option)
    })?;
    // Splunk's documentation has `streamstats global=f`, which adds nothing.
    if found.calls.is_empty() && options == 0 {
        return Err(p.missing_aggregation());
    }
    command.calls = found.calls;
    command.by = found.by;
    Ok(Command::Streamstats(command))
}

fn accept(
    command: &mut StreamstatsCommand,
    p: &mut Parser<'_>,
    option: &OptionValue,
) -> Parsed<()> {
    match option.name {
        "current" => command.current = option.boolean()?,
        "window" => command.window = option.number()?,
        "time_window" => command.time_window = Some(option.seconds_or_span()?),
        "global" => command.global = option.boolean()?,
        "reset_on_change" => command.reset_on_change = option.boolean()?,
        "reset_before" => command.reset_before = Some(p.option_expr(option)?),
        "reset_after" => command.reset_after = Some(p.option_expr(option)?),
        _ => command.allnum = option.boolean()?,
    }
    Ok(())
}

impl fmt::Display for StreamstatsCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments.flag("current", self.current, true);
        if self.window != 0 {
            arguments.option("window", self.window);
        }
        arguments
            .maybe("time_window", self.time_window.as_ref())
            // Without a call, an option has to be left.
            .flag("global", self.global, !self.global || !self.calls.is_empty())
            .flag("reset_on_change", self.reset_on_change, false)
            .flag("allnum", self.allnum, false);
        if let Some(expr) = &self.reset_before {
            arguments.push(format_args!("reset_before=({expr})"));
        }
        if let Some(expr) = &self.reset_after {
            arguments.push(format_args!("reset_after=({expr})"));
        }
        arguments.push(commas(&self.calls)).push(&self.by).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | streamstats count",
            "* | streamstats current=f window=5 global=false sum(x) AS total by host",
            "* | streamstats time_window=1h reset_on_change=t avg(x)",
            r#"* | streamstats reset_before=(a > 1 AND b="x)") reset_after=(count>5) count"#,
            r#"* | streamstats reset_after="("match(test,\"yes\")")" count"#,
            r#"* | streamstats count reset_before="("hour==0")" by host"#,
            "* | streamstats global=f",
            "* | streamstats current=t",
            "* | streamstats window=5 by host",
        ]);
    }

    #[test]
    fn has_other_ways_to_say_the_same() {
        let text = "* | streamstats time_window=3600 count";
        crate::testing::same(text, "* | streamstats time_window=3600s count");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | streamstats window=x count", "a whole number", "x");
        refuses("* | streamstats windw=5 count", "unknown option 'windw'", "windw");
        refuses("* | streamstats reset_after=(a>) count", "expected an expression", ")");
        refuses("* | streamstats reset_after=(a>1 count", "is not closed", "(");
        refuses(r#"* | streamstats reset_after="("a>1 count"#, "is not closed", r#""(""#);
        refuses("* | streamstats", "expected an aggregation", "");
        refuses("* | streamstats by host", "expected an aggregation", "");
    }
}
