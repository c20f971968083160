//! `stats`: computes aggregations per group.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, StatsBy, StatsCall};
use crate::display::{Arguments, commas};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `stats <calls> [by <fields>]`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StatsCommand {
    /// The aggregations, at least one.
    pub calls: Vec<StatsCall>,
    /// The group keys.
    pub by: StatsBy,
    /// `partitions=`: number of reduce partitions; a hint.
    pub partitions: Option<u64>,
    /// `allnum=`: whether a field is aggregated only if all its values are numbers.
    pub allnum: bool,
    /// `delim=`: the separator between the values of `list` and `values`.
    pub delim: Option<String>,
    /// `dedup_splitvals=`: whether a repeated value of a multivalue group key counts once.
    pub dedup_splitvals: bool,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "stats",
    aliases: &[],
    summary: "aggregates rows, optionally by group",
    syntax: "stats [<options>] <aggregation>... [BY <field>...]",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Aggregations,
    parse,
};

pub(super) const OPTIONS: &[&str] = &["partitions", "allnum", "delim", "dedup_splitvals"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    arguments(p).map(Command::Stats)
}

/// Reads the arguments of `stats` and `sistats`.
pub(super) fn arguments(p: &mut Parser<'_>) -> Parsed<StatsCommand> {
    let mut command = StatsCommand::default();
    let found = p.stats_arguments(OPTIONS, |_, option| {
        match option.name {
            "partitions" => command.partitions = Some(option.number()?),
            "allnum" => command.allnum = option.boolean()?,
            "delim" => command.delim = Some(option.text()),
            _ => command.dedup_splitvals = option.boolean()?,
        }
        Ok(())
    })?;
    command.calls = found.calls;
    command.by = found.by;
    Ok(command)
}

impl fmt::Display for StatsCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .maybe("partitions", self.partitions)
            .flag("allnum", self.allnum, false)
            .maybe("delim", self.delim.as_ref())
            .flag("dedup_splitvals", self.dedup_splitvals, false)
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
            "* | stats count(dc(n)) values(FSP Name) AS x, max( sum(a b) )",
            "* | stats values(size(MB)) AS size(MB)",
            "* | stats count",
            r#"* | stats c, count() count(x) count(eval(status=404)) AS "not found" by host, source"#,
            "* | stats dc(user) distinct_count(user) estdc(user)",
            "* | stats sum(a) avg(b) mean(c) min(d) max(e) range(f) by g",
            "* | stats stdev(a) stdevp(a) var(a) varp(a) median(a) mode(a)",
            "* | stats perc95(x) p99.9(x) upperperc50(x) exactperc1(x)",
            "* | stats values(a) list(b) first(c) last(d) earliest(e) latest(f) earliest_time(g) latest_time(h) rate(i) sumsq(j)",
            "* | stats sparkline sparkline(count, 1h) AS trend sparkline(avg(x),5m)",
            "* | stats sparkline(avg(x),) AS trend sparkline(count, )",
            "* | stats avg(*time) AS *_mean by a.b{}",
            r#"* | stats delim=":" dedup_splitvals=t allnum=f values(x)"#,
            "* | stats count as c by _time span=1h",
            "* | stats sum(eval(if(a>1, b*2, 0))) as s",
            r#"* | STATS Count AS n BY "a b", c:d, e-f"#,
            r#"* | stats count(a.b{}.c) max("a b")"#,
            "* | stats count by index, host | where count > 5",
            "* | stats avg sum() by host",
            "* | stats avg(x) BY tags dedup_splitvals=true",
            "* | stats eval(sum(a)/count) AS r, eval(round(avg(x), 2)) by b",
            "* | stats eval(perc99.9(x) - min(x)) eval(max(avg(x), 5) + count(eval(y=1)))",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | stats", "expected an aggregation", "");
        refuses("* | stats by host", "expected an aggregation", "");
        refuses("* | stats cuont", "unknown function 'cuont'", "cuont");
        refuses("* | stats perc(n)", "needs a percentage behind its name, such as perc95", "perc");
        refuses("* | stats Percentile(n)", "such as Percentile95(field)", "Percentile");
        refuses("* | stats sum(x", "')' after the argument of sum", "");
        refuses("* | stats eval(a*2)", "computes with aggregations", "eval(a*2)");
        refuses("* | stats eval(avg(x) as y)", "AS is not allowed inside", "avg(x) as y");
        refuses("* | stats eval(sum(a)/)", "expected an expression", ")");
        refuses("* | stats sparkline(eval(sum(a)*2))", "sparkline takes", "eval(sum(a)*2)");
        refuses("* | stats rate_avg(x)", "in mstats only", "rate_avg");
        refuses("* | stats count by max (b)", "found '('", "(");
        refuses("* | stats count by lower(host)", "found '('", "(");
        refuses("* | stats count by a, bin(_time, 1h)", "found '('", "(");
        refuses("* | stats count by PREFIX(a=)", "found '('", "(");
        refuses("* | stats sum(a + b)", "found '+'", "+");
        refuses("* | stats sum(round(a))", "found '('", "(");
        refuses("* | stats sum(if(a))", "found '('", "(");
        refuses("* | stats sum(rond(a))", "unknown function 'rond'", "rond");
        refuses("* | stats avg(x) sum( lowwer(a, 2) )", "unknown function 'lowwer'", "lowwer");
        refuses("* | stats max(evl(a*2)) by b", "unknown function 'evl'", "evl");
        refuses("* | stats sparkline(sum(rond(a)))", "unknown function 'rond'", "rond");
        refuses("* | stats count by", "a field name after BY", "");
        refuses("* | stats count by a dlim=x", "unknown option 'dlim'", "dlim");
        refuses("* | stats perc101(x)", "between 0 and 100", "perc101");
        refuses("* | stats per_second(x)", "in chart and timechart only", "per_second");
        refuses("* | stats count as", "a field name after AS", "");
        refuses("* | stats sparkline(count, 5x)", "step must be a time", "5x");
        refuses("* | stats count(eval(a=))", "expected an expression", ")");
    }

    #[test]
    fn a_misspelt_function_is_a_field_where_the_text_says_so() {
        accepts(&[
            "* | stats sum(\"rond(a)\")",
            "* | stats avg(Rond(a)) max(rond)",
            "* | rename x AS rond(a) | stats sum(rond(a))",
            "* | stats count AS \"rond(a)\" by b | eventstats sum(rond(a))",
            "* | stats sum(lag(ms)) max(temp(C)) avg(sum(bytes)) min(count(x)) dc(perc95(x))",
            "* | stats sum(cost(USD)) sum(trip(km)) max(times(s)) min(line(n))",
        ]);
        let error = crate::parse("* | stats sum(rond(a))").expect_err("it is nearly round");
        let hint = error.first().and_then(|first| first.hint.clone()).unwrap_or_default();
        assert!(hint.contains("`sum(eval(round(...)))`"), "{hint}");
        assert!(hint.contains("sum(\"rond(a)\")"), "{hint}");
    }

    #[test]
    fn has_other_ways_to_say_the_same() {
        use crate::testing::same;
        same("* | stats count, sum(x) by a, b", "* | stats count sum(x) BY a b");
        same(
            "* | stats count by Severity(Min), a span=1h",
            "* | stats count by \"Severity(Min)\" a span=1h",
        );
        same("* | stats count by a max(b)", "* | stats count by a \"max(b)\"");
        same("* | stats count by Time(s)", "* | stats count by \"Time(s)\"");
        same("* | stats values(x), as y, count , AS n", "* | stats values(x) AS y count AS n");
        same("* | timechart avg(x), as y by z", "* | timechart avg(x) AS y by z");
    }
}
