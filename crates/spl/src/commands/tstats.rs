//! `tstats`: computes aggregations of indexed fields.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field, SearchCommand, StatsBy, StatsCall};
use crate::display::{Arguments, commas, field_name, quoted};
use crate::parser::{OptionValue, Parsed, Parser, StatsDialect};
use std::fmt;

/// `tstats <options> <calls> [from datamodel=...|<namespace>] [where ...] [by ...]`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TstatsCommand {
    /// The aggregations, at least one.
    pub calls: Vec<StatsCall>,
    /// `from datamodel=x`; `None` reads indexed fields.
    pub datamodel: Option<Field>,
    /// `from x` or `from sid=x`: the rows stored by `tscollect` or a job.
    pub namespace: Option<Field>,
    /// `where ...`, in the language of `search`, time modifiers included.
    pub filter: SearchCommand,
    /// The group keys.
    pub by: StatsBy,
    /// `prestats=`.
    pub prestats: bool,
    /// `append=`.
    pub append: bool,
    /// `local=`.
    pub local: bool,
    /// `summariesonly=`.
    pub summariesonly: bool,
    /// `allow_old_summaries=`.
    pub allow_old_summaries: bool,
    /// `use_summary_index_values=`: has no effect, because there are no summaries.
    pub use_summary_index_values: bool,
    /// `include_reduced_buckets=`.
    pub include_reduced_buckets: bool,
    /// `chunk_size=`: a hint without effect.
    pub chunk_size: Option<u64>,
    /// `fillnull_value=`: the value of a missing group key.
    pub fillnull_value: Option<String>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "tstats",
    aliases: &[],
    summary: "aggregates fields of events or data models",
    syntax: "tstats [<options>] <aggregation>... [FROM datamodel=<name>|<namespace>|sid=<sid>] [WHERE <terms>] [BY <field>... [span=<span>]]",
    kind: CommandKind::Generating,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Aggregations,
    parse,
};

const OPTIONS: &[&str] = &[
    "prestats",
    "local",
    "append",
    "summariesonly",
    "allow_old_summaries",
    "use_summary_index_values",
    "include_reduced_buckets",
    "chunk_size",
    "fillnull_value",
];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = TstatsCommand::default();
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        if p.eat_keyword("from") {
            from(p, &mut command)?;
        } else if p.eat_keyword("where") {
            command.filter = p.search(|p| p.at_keyword("by") || p.at_keyword("groupby"))?;
        } else if p.eat_keyword("by") || p.eat_keyword("groupby") {
            p.stats_by_until(&mut command.by, StatsDialect::Tstats, OPTIONS)?;
        } else if !command.by.is_empty() && p.at_option(&["span"]) {
            if let Some(span) = p.option(&["span"])? {
                span.group_span(&mut command.by)?;
            }
        } else if let Some(option) = p.option(OPTIONS)? {
            accept(&mut command, &option)?;
        } else {
            command.calls.push(p.stats_call(StatsDialect::Tstats)?);
        }
    }
    if command.calls.is_empty() {
        return Err(p.unexpected("an aggregation such as count or sum(field)"));
    }
    Ok(Command::Tstats(command))
}

/// Reads `datamodel=x`, `datamodel x`, or a namespace.
fn from(p: &mut Parser<'_>, command: &mut TstatsCommand) -> Parsed<()> {
    let named = p.attempt(|p| {
        p.option_name().filter(|name| name.node.eq_ignore_ascii_case("datamodel")).map(drop)
    });
    if !(named.is_some() || p.eat_keyword("datamodel")) {
        let ends = p.at_end() || ["where", "by", "groupby"].iter().any(|word| p.at_keyword(word));
        if ends {
            return Err(p.unexpected("datamodel=<name> after FROM"));
        }
        command.namespace = Some(p.text_argument("datamodel=<name> after FROM")?);
        return Ok(());
    }
    p.eat(":");
    p.skip_space();
    command.datamodel = Some(p.dataset_name("the name of a data model")?);
    Ok(())
}

fn accept(command: &mut TstatsCommand, option: &OptionValue) -> Parsed<()> {
    match option.name {
        "prestats" => command.prestats = option.boolean()?,
        "local" => command.local = option.boolean()?,
        "append" => command.append = option.boolean()?,
        "summariesonly" => command.summariesonly = option.boolean()?,
        "allow_old_summaries" => command.allow_old_summaries = option.boolean()?,
        "use_summary_index_values" => command.use_summary_index_values = option.boolean()?,
        "include_reduced_buckets" => command.include_reduced_buckets = option.boolean()?,
        "chunk_size" => command.chunk_size = Some(option.number()?),
        _ => command.fillnull_value = Some(option.text()),
    }
    Ok(())
}

impl fmt::Display for TstatsCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments
            .flag("prestats", self.prestats, false)
            .flag("local", self.local, false)
            .flag("append", self.append, false)
            .flag("summariesonly", self.summariesonly, false)
            .flag("allow_old_summaries", self.allow_old_summaries, false)
            .flag("use_summary_index_values", self.use_summary_index_values, false)
            .flag("include_reduced_buckets", self.include_reduced_buckets, false)
            .maybe("chunk_size", self.chunk_size)
            .maybe("fillnull_value", self.fillnull_value.as_ref())
            .push(commas(&self.calls));
        if let Some(datamodel) = &self.datamodel {
            arguments.push(format_args!("FROM datamodel={}", field_name(&datamodel.node)));
        }
        if let Some(namespace) = &self.namespace {
            arguments.push(format_args!("FROM {}", quoted(&namespace.node)));
        }
        if self.filter.expr.is_some() || !self.filter.time.is_empty() {
            arguments.push(format_args!("WHERE {}", self.filter));
        }
        arguments.push(&self.by).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "| tstats count",
            "| tstats count where index=web by host",
            "| tstats summariesonly=t allow_old_summaries=true count AS n max(_time) AS last from datamodel=Web.Web where Web.status=404 by Web.src _time span=1h",
            "| tstats prestats=t local=f append=t fillnull_value=unknown count where (index=a OR index=b) earliest=-1h TERM(x) by _time, host span=5m",
            "| tstats count max(PREFIX(took=)) where index=* by PREFIX(level=) host",
            "| tstats use_summary_index_values=t count from datamodel=Web",
            "| tstats values(host) where index=* groupby index",
            "| tstats count from datamodel Web",
            "| tstats count where index=* by _time, host prestats=true span=5m",
            "| tstats local=t count from net_summary where x=1 groupby _time span=1d",
            "| tstats count FROM sid=1433886.7 by src",
            "| tstats count FROM datamodel=\"Network_Traffic\".\"All_Traffic\" by host",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("| tstats", "expected an aggregation", "");
        refuses("| tstats count from where a=b", "datamodel=<name> after FROM", "where");
        refuses("| tstats count by _time span=automatic", "a span such as", "automatic");
        refuses("| tstats count where index=a by", "a field name after BY", "");
        refuses("| tstats count where x IN () by host", "at least one value, as in", "x IN ()");
        refuses("| tstats cnt", "unknown function 'cnt'", "cnt");
        refuses("| tstats summariesonly=5 count", "true or false", "5");
    }
}
