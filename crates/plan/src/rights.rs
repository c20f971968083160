//! What commands need: one table, which planning enforces and `docs/rights.md` is made of.
//!
//! Guarantees: every command of the registry is in the table (a test says so), and one that is not is
//! refused. Objects that commands name - lookups, macros, data models - are the business of
//! [`Surroundings`](crate::Surroundings) and of the knowledge that a search is planned with.

use spl::ast::{Command, Spanned};

use crate::Error;
use crate::pipeline::Env;

/// What a command needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CommandRight {
    /// The capability that the user has to have, besides `search`.
    pub capability: Option<&'static str>,
    /// Whether it changes something outside the search.
    pub writes: bool,
    /// Whether it reads what buckets say of themselves, which no search filter reaches.
    pub unfiltered: bool,
}

const fn reads(capability: &'static str) -> CommandRight {
    CommandRight { capability: Some(capability), writes: false, unfiltered: false }
}

const fn writes(capability: &'static str) -> CommandRight {
    CommandRight { capability: Some(capability), writes: true, unfiltered: false }
}

const fn summary(capability: Option<&'static str>) -> CommandRight {
    CommandRight { capability, writes: false, unfiltered: true }
}

/// Commands that need more than `search`, by name.
pub const GUARDED: &[(&str, CommandRight)] = &[
    ("collect", writes("run_collect")),
    ("dbinspect", summary(None)),
    ("delete", writes("delete_by_keyword")),
    ("eventcount", summary(None)),
    ("inputcsv", reads("input_file")),
    ("inputlookup", reads("input_file")),
    ("mcatalog", summary(Some("list_metrics_catalog"))),
    ("mcollect", writes("run_mcollect")),
    ("metadata", summary(Some("get_metadata"))),
    ("metasearch", reads("get_metadata")),
    ("meventcollect", writes("run_mcollect")),
    ("mpreview", reads("run_msearch")),
    ("outputcsv", writes("output_file")),
    ("outputlookup", writes("output_file")),
    ("script", writes("run_custom_command")),
    ("sendalert", writes("run_sendalert")),
    ("sendemail", writes("run_sendalert")),
    ("typeahead", summary(Some("get_typeahead"))),
    ("walklex", summary(Some("run_walklex"))),
];

/// Commands that whoever may search may use, by name.
pub const FREE: &[&str] = &[
    "abstract",
    "accum",
    "addcoltotals",
    "addinfo",
    "addtotals",
    "analyzefields",
    "anomalies",
    "anomalousvalue",
    "anomalydetection",
    "append",
    "appendcols",
    "appendpipe",
    "arules",
    "associate",
    "autoregress",
    "bin",
    "chart",
    "cluster",
    "cofilter",
    "concurrency",
    "contingency",
    "convert",
    "correlate",
    "datamodel",
    "dedup",
    "delta",
    "diff",
    "erex",
    "eval",
    "eventstats",
    "extract",
    "fieldformat",
    "fields",
    "fieldsummary",
    "filldown",
    "fillnull",
    "findtypes",
    "folderize",
    "foreach",
    "format",
    "from",
    "fromjson",
    "gauge",
    "gentimes",
    "geom",
    "geomfilter",
    "geostats",
    "head",
    "highlight",
    "history",
    "iconify",
    "iplocation",
    "join",
    "kmeans",
    "kvform",
    "loadjob",
    "localize",
    "localop",
    "lookup",
    "makecontinuous",
    "makemv",
    "makeresults",
    "map",
    "mstats",
    "multikv",
    "multisearch",
    "mvcombine",
    "mvexpand",
    "nomv",
    "noop",
    "outlier",
    "outputtext",
    "overlap",
    "pivot",
    "predict",
    "rangemap",
    "rare",
    "redistribute",
    "regex",
    "relevancy",
    "reltime",
    "rename",
    "replace",
    "require",
    "rest",
    "return",
    "reverse",
    "rex",
    "rtorder",
    "savedsearch",
    "scrub",
    "search",
    "searchtxn",
    "selfjoin",
    "set",
    "setfields",
    "sichart",
    "sirare",
    "sistats",
    "sitimechart",
    "sitop",
    "sort",
    "spath",
    "stats",
    "strcat",
    "streamstats",
    "table",
    "tags",
    "tail",
    "timechart",
    "timewrap",
    "tojson",
    "top",
    "transaction",
    "transpose",
    "trendline",
    "tscollect",
    "tstats",
    "typelearner",
    "typer",
    "union",
    "uniq",
    "untable",
    "where",
    "x11",
    "xmlkv",
    "xmlunescape",
    "xpath",
    "xyseries",
];

/// What a command needs, by its registered name; none if there is no such command.
#[must_use]
pub fn right_of(command: &str) -> Option<CommandRight> {
    let guarded = GUARDED.iter().find(|(name, _)| *name == command).map(|(_, right)| *right);
    guarded.or_else(|| FREE.contains(&command).then(CommandRight::default))
}

/// Refuses a command that the user may not use, or not here.
pub(crate) fn check(command: &Spanned<Command>, env: &Env<'_>) -> Result<(), Error> {
    let (name, host) = (command.node.name(), &env.context.surroundings);
    let Some(right) = right_of(name) else {
        return Err(Error::forbidden(format!("{name}: nothing says who may use it"), command.span));
    };
    if let Some(capability) = right.capability.filter(|capability| !host.may(capability)) {
        let text =
            format!("{name} needs the capability {capability}, which none of your roles has");
        return Err(Error::forbidden(text, command.span));
    }
    if right.writes && host.reads_only() {
        let text =
            format!("{name} changes something, which a GET request may not: send it with POST");
        return Err(Error::forbidden(text, command.span));
    }
    if right.unfiltered && env.context.restriction.filter.is_some() {
        let text = format!(
            "{name} reads what buckets say of themselves, which the srchFilter of your roles cannot be \
             applied to; use search or tstats"
        );
        return Err(Error::forbidden(text, command.span));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_has_one_entry() {
        let known: BTreeSet<&str> = spl::COMMANDS.iter().map(|command| command.name).collect();
        let listed = GUARDED.iter().map(|(name, _)| *name).chain(FREE.iter().copied());
        let entries: Vec<&str> = listed.collect();
        let listed: BTreeSet<&str> = entries.iter().copied().collect();
        assert_eq!(listed, known);
        assert_eq!(entries.len(), listed.len(), "a command is in both tables");
    }
}
