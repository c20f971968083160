//! `chart`: computes aggregations per row field and series.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, SeriesOptions, SplitBy, SplitWhere, StatsCall};
use crate::display::{Arguments, commas};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `chart <calls> [over <row>] [by <column>]` or `by <row> <column>`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChartCommand {
    /// The aggregations, at least one.
    pub calls: Vec<StatsCall>,
    /// The field whose values become rows: `over x`, or the first field after `by`.
    pub row: Option<SplitBy>,
    /// The field whose values become series.
    pub column: Option<SplitBy>,
    /// Series options.
    pub series: SeriesOptions,
    /// The `where` clause.
    pub filter: Option<SplitWhere>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "chart",
    aliases: &[],
    summary: "aggregates rows by a row field and a series field",
    syntax: "chart [<options>] <aggregation>... [OVER <field> [<bins>]] [BY <field> [<bins>] [<field> [<bins>]]] [WHERE <condition>]",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Aggregations,
    parse,
};

pub(super) const OPTIONS: &[&str] = &[
    "limit",
    "useother",
    "usenull",
    "otherstr",
    "nullstr",
    "sep",
    "format",
    "cont",
    "span",
    "minspan",
    "bins",
    "start",
    "end",
    "aligntime",
    "dedup_splitvals",
];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    p.chart(OPTIONS).map(Command::Chart)
}

impl fmt::Display for ChartCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments.push(&self.series).push(commas(&self.calls));
        if let Some(row) = &self.row {
            arguments.push(format_args!("OVER {row}"));
        }
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
            "* | chart count by host",
            "* | chart count over host by status limit=5 useother=f",
            "* | chart avg(x) max(x) AS peak by host, status span=10 where avg in top3",
            r#"* | chart limit=bottom2 usenull=f otherstr="the rest" sum(bytes) over _time span=1d by host"#,
            r#"* | chart count(eval(status>=500)) AS "server errors" BY host"#,
            r#"* | chart agg=max(x) sep=":" format="$VAL$:$AGG$" sum(x) sum(y) by a b"#,
            "* | chart count by _time span=1h host",
            "* | chart count over a where count > 5",
            "* | chart dedup_splitvals=t count by tags, user",
            "* | chart eval(avg(size)/max(delay)) AS ratio BY host user",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | chart by host", "expected an aggregation", "");
        refuses("* | chart sum by host", "needs a field", "sum");
        refuses("* | chart agg=sum by host", "needs a field", "sum");
        refuses("* | chart count over", "a field name after OVER", "");
        refuses("* | chart count by a b c", "found 'c'", "c");
        refuses("* | chart span=5m count", "there is no field whose values", "5m");
        refuses("* | chart count limit=many by a", "a number, top<N>", "many");
        refuses("* | chart count by a where count near 5", "in, notin or a comparison", "near");
    }

    #[test]
    fn has_other_ways_to_say_the_same() {
        crate::testing::same("* | chart count by a, b", "* | chart count over a by b");
        crate::testing::same("* | chart agg=count by n", "* | chart count by n");
        for automatic in [
            "* | chart count over n span=auto",
            "* | chart count by n span=auto",
            "* | chart span=auto count by n",
        ] {
            crate::testing::same(automatic, "* | chart count over n bins=100");
        }
        crate::testing::same(
            "* | chart count by n bins=5 span=auto",
            "* | chart count by n bins=5",
        );
        crate::testing::same("* | chart agg=sum(n) over h by k", "* | chart sum(n) over h by k");
    }
}
