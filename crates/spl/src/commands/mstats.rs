//! `mstats`: computes aggregations of metrics.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{BinOptions, Command, SearchCommand, SeriesOptions, StatsBy, StatsCall, TimeSpan};
use crate::display::{Arguments, commas};
use crate::parser::{OptionValue, Parsed, Parser, StatsDialect};
use std::fmt;

/// `mstats <options> <calls> [where ...] [by ...] [span=...]`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MstatsCommand {
    /// The aggregations, at least one. Their fields are metric names, or `_value`.
    pub calls: Vec<StatsCall>,
    /// `where ...`, in the language of `search`, time modifiers included.
    pub filter: SearchCommand,
    /// The group keys.
    pub by: StatsBy,
    /// `span=`; if the bins have no span, it is `span=auto`. `None` if results are not grouped by time.
    pub bins: Option<BinOptions>,
    /// `every=`: the period of which only the first span is read.
    pub every: Option<TimeSpan>,
    /// `chart=`: whether the result has rows and series, as that of `chart` and `timechart`.
    pub chart: bool,
    /// The series options, for `chart=`.
    pub series: SeriesOptions,
    /// `prestats=`.
    pub prestats: bool,
    /// `append=`.
    pub append: bool,
    /// `backfill=`: only for real-time searches.
    pub backfill: Option<bool>,
    /// `update_period=`, in milliseconds: only for real-time searches.
    pub update_period: Option<u64>,
    /// `fillnull_value=`: the value of a missing group key.
    pub fillnull_value: Option<String>,
    /// `chunk_size=`: a hint without effect.
    pub chunk_size: Option<u64>,
    /// Whether the command returns the points that it would aggregate, one row per point, or one row for all
    /// points of an event. No search text sets it: the planner adds the aggregating commands after it.
    pub points: bool,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "mstats",
    aliases: &[],
    summary: "aggregates metrics",
    syntax: "mstats [<options>] <aggregation>... [WHERE <terms>] [BY <field>...] [span=<span>]",
    kind: CommandKind::Generating,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Aggregations,
    parse,
};

const OPTIONS: &[&str] = &[
    "chart",
    "prestats",
    "append",
    "backfill",
    "update_period",
    "fillnull_value",
    "chunk_size",
    "span",
    "every",
    "limit",
    "useother",
    "usenull",
    "otherstr",
    "nullstr",
    "sep",
    "format",
    "cont",
];

/// The options that may follow the terms of `WHERE`. Other options could be names of dimensions.
const BEHIND: &[&str] = &[
    "span",
    "every",
    "chart",
    "prestats",
    "append",
    "backfill",
    "update_period",
    "fillnull_value",
    "chunk_size",
];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = MstatsCommand::default();
    let mut grouping = false;
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        if p.eat_keyword("where") {
            command.filter =
                p.search(|p| p.at_keyword("by") || p.at_keyword("groupby") || p.at_option(BEHIND))?;
        } else if p.eat_keyword("by") || p.eat_keyword("groupby") {
            p.stats_by_until(&mut command.by, StatsDialect::Mstats, BEHIND)?;
            grouping = true;
        } else if series_option(p, &mut command.series)? {
        } else if let Some(option) = p.option(OPTIONS)? {
            accept(&mut command, &option)?;
        } else if grouping && !p.at_option(BEHIND) {
            p.stats_by_until(&mut command.by, StatsDialect::Mstats, BEHIND)?;
        } else {
            command.calls.push(p.stats_call(StatsDialect::Mstats)?);
        }
    }
    if command.calls.is_empty() {
        return Err(p.unexpected("an aggregation such as avg(cpu.idle)"));
    }
    Ok(Command::Mstats(command))
}

/// Reads `chart.limit=5` or `agg=max`: series options that cannot be confused with other options.
fn series_option(p: &mut Parser<'_>, series: &mut SeriesOptions) -> Parsed<bool> {
    let prefixed = p.attempt(|p| p.eat("chart.").then_some(())).is_some();
    if let Some(call) = p.agg_option()? {
        series.agg = Some(call);
        return Ok(true);
    }
    if !prefixed {
        return Ok(false);
    }
    let Some(option) = p.option(OPTIONS)? else {
        return Err(p.unexpected("an option of charts such as chart.limit=5"));
    };
    if !option.series_option(series)? {
        return Err(option.error("an option of charts before it, such as chart.limit"));
    }
    Ok(true)
}

fn accept(command: &mut MstatsCommand, option: &OptionValue) -> Parsed<()> {
    match option.name {
        "chart" => command.chart = option.boolean()?,
        "prestats" => command.prestats = option.boolean()?,
        "append" => command.append = option.boolean()?,
        "backfill" => command.backfill = Some(option.boolean()?),
        "update_period" => command.update_period = Some(option.number()?),
        "fillnull_value" => command.fillnull_value = Some(option.text()),
        "chunk_size" => command.chunk_size = Some(option.number()?),
        "span" if option.is_auto() => {
            command.bins = Some(BinOptions::default());
        }
        "span" => {
            let span = Some(crate::ast::BinSpan::Time(option.time_span()?));
            command.bins = Some(BinOptions { span, ..BinOptions::default() });
        }
        "every" => command.every = Some(option.time_span()?),
        _ => {
            option.series_option(&mut command.series)?;
        }
    }
    Ok(())
}

impl fmt::Display for MstatsCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments
            .flag("chart", self.chart, false)
            .flag("prestats", self.prestats, false)
            .flag("append", self.append, false)
            .maybe("backfill", self.backfill)
            .maybe("update_period", self.update_period)
            .maybe("fillnull_value", self.fillnull_value.as_ref())
            .maybe("chunk_size", self.chunk_size)
            .push(&self.series)
            .push(commas(&self.calls));
        if self.filter.expr.is_some() || !self.filter.time.is_empty() {
            arguments.push(format_args!("WHERE {}", self.filter));
        }
        arguments.push(&self.by);
        match &self.bins {
            Some(BinOptions { span: None, .. }) => drop(arguments.option("span", "auto")),
            Some(bins) => drop(arguments.push(bins)),
            None => {}
        }
        arguments.maybe("every", self.every.as_ref()).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "| mstats avg(_value) WHERE metric_name=cpu.idle",
            "| mstats avg(cpu.idle) AS idle max(\"mem used\") WHERE index=m host=a BY host span=5m",
            "| mstats prestats=t append=t rate_avg(requests.count) rate_sum(x) WHERE index=m BY host",
            "| mstats chart=t chart.limit=5 useother=f avg(cpu.*) WHERE index=m BY host span=auto",
            "| mstats avg(cpu.*) WHERE index=m (by) (BY=x) BY by",
            "| mstats avg(cpu.*) AS mean.* WHERE index=m AND metric_name IN (a, b) earliest=-1h GROUPBY a, b",
            "| mstats count(_value) WHERE index=m span=1m every=1h fillnull_value=none BY host",
            "| mstats backfill=t update_period=5000 chunk_size=100 p95(x) WHERE index=m",
            "| mstats agg=max limit=top3 chart=true sum(x) WHERE index=m BY a b",
        ]);
    }

    #[test]
    fn options_stand_anywhere() {
        same(
            "| mstats avg(_value) prestats=t where index=m span=1m by host",
            "| mstats prestats=t avg(_value) where index=m by host span=1m",
        );
        same(
            "| mstats avg(x) where index=m by _time span=1m host",
            "| mstats avg(x) where index=m by _time host span=1m",
        );
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("| mstats where index=m", "expected an aggregation", "");
        refuses("| mstats avg(x) where index=m by", "a field name after BY", "");
        refuses("| mstats avg(x) span=soon", "a time such as", "soon");
        refuses("| mstats avg(x) by host span==1m", "unknown function 'span'", "span");
        refuses("| mstats mean_of(x)", "unknown function 'mean_of'", "mean_of");
        refuses("* | stats rate_avg(x)", "exists in mstats only", "rate_avg");
    }
}
