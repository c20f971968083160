//! `timechart`: computes aggregations per time bin and series.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{BinOptions, Command, SeriesOptions, SplitBy, SplitWhere, StatsCall};
use crate::display::{Arguments, commas};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `timechart <options> <calls> [by <field>]`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimechartCommand {
    /// The aggregations, at least one.
    pub calls: Vec<StatsCall>,
    /// The time bins.
    pub bins: BinOptions,
    /// The field whose values become series.
    pub column: Option<SplitBy>,
    /// Series options.
    pub series: SeriesOptions,
    /// The `where` clause.
    pub filter: Option<SplitWhere>,
    /// `partial=`: whether incomplete bins at the edges are kept (default true).
    pub partial: Option<bool>,
    /// `fixedrange=`: whether the chart covers the time range of the search (default true).
    pub fixedrange: Option<bool>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "timechart",
    aliases: &[],
    summary: "aggregates rows by time bin and series",
    syntax: "timechart [<options>] <aggregation>... [BY <field> [<options>]] [WHERE <condition>]",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Aggregations,
    parse,
};

pub(super) const OPTIONS: &[&str] = &[
    "span",
    "minspan",
    "bins",
    "start",
    "end",
    "aligntime",
    "limit",
    "useother",
    "usenull",
    "otherstr",
    "nullstr",
    "sep",
    "format",
    "cont",
    "partial",
    "fixedrange",
    "dedup_splitvals",
];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    p.timechart(OPTIONS).map(Command::Timechart)
}

impl fmt::Display for TimechartCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments
            .push(&self.bins)
            .maybe("partial", self.partial)
            .maybe("fixedrange", self.fixedrange)
            .push(&self.series)
            .push(commas(&self.calls));
        if let Some(column) = &self.column {
            arguments.push(format_args!("BY {column}"));
        }
        if let Some(filter) = &self.filter {
            arguments.push(filter);
        }
        arguments.write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | timechart count",
            "* | timechart span=5m count by host",
            "* | timechart span=1d@d limit=5 useother=f usenull=f avg(x) AS mean max(y) by host",
            "* | timechart count by host span=1h limit=0",
            "* | timechart bins=100 minspan=1m partial=f cont=t fixedrange=false count",
            "* | timechart per_second(bytes) per_minute(x) per_hour(y) per_day(z)",
            "* | timechart count by host where count in top5",
            "* | timechart count by tags dedup_splitvals=true",
            "* | timechart span=1m count by size span=log2 limit=5",
            "* | timechart count by size bins=20 minspan=10 start=0 end=100 span=1h",
            r#"* | timechart sum(x) by "a b" where max notin bottom3"#,
            "* | timechart agg=max(x) count by host where sum(x) > 1.5",
            r#"* | timechart aligntime=@d otherstr="other ones" nullstr=none count(eval(a=1)) as x by b"#,
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | timechart", "expected an aggregation", "");
        refuses("* | timechart span=5 x", "unknown function 'x'", "x");
        refuses("* | timechart span=1x count", "option 'span' expects", "1x");
        refuses("* | timechart count by a span=1x", "option 'span' expects", "1x");
        refuses("* | timechart count by a bins=1", "a whole number of at least 2", "1");
        refuses("* | timechart span=1h as y count", "unknown function 'as'", "as");
        refuses("* | timechart count by a as", "only one BY field", "as");
        refuses("* | timechart count by a b", "only one BY field", "b");
        refuses("* | timechart count by", "a field name after BY", "");
        refuses("* | timechart count by a where", "an aggregation", "");
        refuses("* | timechart limt=5 count", "unknown option 'limt'", "limt");
        refuses("* | timchart count", "Unknown search command 'timchart'.", "timchart");
    }

    #[test]
    fn has_other_ways_to_say_the_same() {
        crate::testing::same(
            "* | timechart count by host span=1h",
            "* | timechart span=1h count by host",
        );
        crate::testing::same(
            "* | timechart latest(x) span=10m limit=5 as y by z",
            "* | timechart span=10m limit=5 latest(x) AS y by z",
        );
        crate::testing::same(
            "* | timechart count by size bins=20 aligntime=@d minspan=1h",
            "* | timechart minspan=1h aligntime=@d count by size bins=20",
        );
        crate::testing::same("* | timechart span=auto count", "* | timechart count");
        crate::testing::same("* | timechart agg=count", "* | timechart count");
    }
}
