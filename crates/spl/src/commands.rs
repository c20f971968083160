//! The registry of commands: one file each, one slice for parser, completion and docs.
//!
//! Guarantees: sorted by name. Leaves to others: what commands compute.

mod accum;
mod addtotals;
mod append;
mod appendpipe;
mod bin;
mod chart;
mod convert;
mod dedup;
mod delta;
mod eval;
mod eventstats;
mod fields;
mod filldown;
mod fillnull;
mod head;
mod makemv;
mod makeresults;
mod metadata;
mod mvexpand;
mod nomv;
mod rare;
mod regex;
mod rename;
mod replace;
mod reverse;
mod rex;
pub(crate) mod search;
mod sort;
mod spath;
mod stats;
mod strcat;
mod streamstats;
mod table;
mod tail;
mod timechart;
mod top;
mod transpose;
mod tstats;
mod untable;
#[path = "commands/where.rs"]
mod where_;
mod xyseries;

use crate::ast::Command;
use crate::parser::{Parsed, Parser};

/// How a command works on rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommandKind {
    /// Each row by itself, on any node.
    Streaming,
    /// Each row in turn, in order, where all rows come together.
    Centralised,
    /// All rows become a table; parts can be computed where the rows are.
    Transforming,
    /// Needs all rows, keeps them as they are.
    Dataset,
    /// Makes rows; stands first.
    Generating,
}

/// A command's entry.
#[derive(Clone, Copy)]
pub struct CommandDefinition {
    /// The registered name, lower-case.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// What it does, in one line.
    pub summary: &'static str,
    /// How it is written.
    pub syntax: &'static str,
    /// How it works on rows.
    pub kind: CommandKind,
    /// The names of its options.
    pub options: &'static [&'static str],
    /// What completion offers besides options.
    pub takes: Takes,
    /// Reads the arguments.
    pub(crate) parse: fn(&mut Parser<'_>) -> Parsed<Command>,
}

impl std::fmt::Debug for CommandDefinition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommandDefinition").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What stands in a command's arguments, for completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Fields or texts.
    Fields,
    /// Search terms.
    Search,
    /// Expressions with eval functions.
    Expression,
    /// Aggregation calls.
    Aggregations,
}

/// The command of a lower-case name or alias.
pub fn find(name: &str) -> Option<&'static CommandDefinition> {
    COMMANDS.iter().find(|command| command.name == name || command.aliases.contains(&name))
}

/// All names, aliases included.
pub fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS
        .iter()
        .flat_map(|command| std::iter::once(command.name).chain(command.aliases.iter().copied()))
}

/// Every command.
pub const COMMANDS: &[CommandDefinition] = &[
    accum::DEFINITION,
    addtotals::DEFINITION,
    append::DEFINITION,
    appendpipe::DEFINITION,
    bin::DEFINITION,
    chart::DEFINITION,
    convert::DEFINITION,
    dedup::DEFINITION,
    delta::DEFINITION,
    eval::DEFINITION,
    eventstats::DEFINITION,
    fields::DEFINITION,
    filldown::DEFINITION,
    fillnull::DEFINITION,
    head::DEFINITION,
    makemv::DEFINITION,
    makeresults::DEFINITION,
    metadata::DEFINITION,
    mvexpand::DEFINITION,
    nomv::DEFINITION,
    rare::DEFINITION,
    regex::DEFINITION,
    rename::DEFINITION,
    replace::DEFINITION,
    reverse::DEFINITION,
    rex::DEFINITION,
    search::DEFINITION,
    sort::DEFINITION,
    spath::DEFINITION,
    stats::DEFINITION,
    strcat::DEFINITION,
    streamstats::DEFINITION,
    table::DEFINITION,
    tail::DEFINITION,
    timechart::DEFINITION,
    top::DEFINITION,
    transpose::DEFINITION,
    tstats::DEFINITION,
    untable::DEFINITION,
    where_::DEFINITION,
    xyseries::DEFINITION,
];

/// Commands of Splunk that Karst does not have, so that the message can say so.
pub(crate) const NOT_YET: &[&str] = &[
    "abstract",
    "addcoltotals",
    "addinfo",
    "analyzefields",
    "anomalies",
    "anomalousvalue",
    "anomalydetection",
    "appendcols",
    "arules",
    "associate",
    "autoregress",
    "cluster",
    "cofilter",
    "collect",
    "concurrency",
    "contingency",
    "correlate",
    "ctable",
    "datamodel",
    "dbinspect",
    "delete",
    "diff",
    "erex",
    "eventcount",
    "extract",
    "fieldformat",
    "fieldsummary",
    "findtypes",
    "folderize",
    "foreach",
    "format",
    "from",
    "gauge",
    "gentimes",
    "geom",
    "geomfilter",
    "geostats",
    "highlight",
    "history",
    "iconify",
    "inputcsv",
    "inputlookup",
    "iplocation",
    "join",
    "kmeans",
    "kv",
    "kvform",
    "loadjob",
    "localize",
    "localop",
    "lookup",
    "makecontinuous",
    "map",
    "mcatalog",
    "mcollect",
    "metasearch",
    "meventcollect",
    "mpreview",
    "msearch",
    "mstats",
    "multikv",
    "multisearch",
    "mvcombine",
    "outlier",
    "outputcsv",
    "outputlookup",
    "outputtext",
    "overlap",
    "pivot",
    "predict",
    "rangemap",
    "redistribute",
    "relevancy",
    "reltime",
    "require",
    "rest",
    "return",
    "rtorder",
    "run",
    "savedsearch",
    "script",
    "scrub",
    "searchtxn",
    "selfjoin",
    "sendalert",
    "sendemail",
    "set",
    "setfields",
    "sichart",
    "sirare",
    "sistats",
    "sitimechart",
    "sitop",
    "snowevent",
    "tags",
    "timewrap",
    "tojson",
    "transaction",
    "trendline",
    "tscollect",
    "typeahead",
    "typelearner",
    "typer",
    "union",
    "uniq",
    "walklex",
    "x11",
    "xmlkv",
    "xmlunescape",
    "xpath",
];

impl Command {
    /// The registered name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Accum(_) => "accum",
            Self::Addtotals(_) => "addtotals",
            Self::Append(_) => "append",
            Self::Appendpipe(_) => "appendpipe",
            Self::Bin(_) => "bin",
            Self::Chart(_) => "chart",
            Self::Convert(_) => "convert",
            Self::Dedup(_) => "dedup",
            Self::Delta(_) => "delta",
            Self::Eval(_) => "eval",
            Self::Eventstats(_) => "eventstats",
            Self::Fields(_) => "fields",
            Self::Filldown(_) => "filldown",
            Self::Fillnull(_) => "fillnull",
            Self::Head(_) => "head",
            Self::Makemv(_) => "makemv",
            Self::Makeresults(_) => "makeresults",
            Self::Metadata(_) => "metadata",
            Self::Mvexpand(_) => "mvexpand",
            Self::Nomv(_) => "nomv",
            Self::Rare(_) => "rare",
            Self::Regex(_) => "regex",
            Self::Rename(_) => "rename",
            Self::Replace(_) => "replace",
            Self::Reverse(_) => "reverse",
            Self::Rex(_) => "rex",
            Self::Search(_) => "search",
            Self::Sort(_) => "sort",
            Self::Spath(_) => "spath",
            Self::Stats(_) => "stats",
            Self::Strcat(_) => "strcat",
            Self::Streamstats(_) => "streamstats",
            Self::Table(_) => "table",
            Self::Tail(_) => "tail",
            Self::Timechart(_) => "timechart",
            Self::Top(_) => "top",
            Self::Transpose(_) => "transpose",
            Self::Tstats(_) => "tstats",
            Self::Untable(_) => "untable",
            Self::Where(_) => "where",
            Self::Xyseries(_) => "xyseries",
        }
    }

    /// The entry in the registry.
    pub fn definition(&self) -> &'static CommandDefinition {
        find(self.name()).expect("every variant is registered")
    }

    /// The arguments as text.
    pub(crate) fn arguments(&self) -> String {
        match self {
            Self::Accum(arguments) => arguments.to_string(),
            Self::Addtotals(arguments) => arguments.to_string(),
            Self::Append(arguments) => arguments.to_string(),
            Self::Appendpipe(arguments) => arguments.to_string(),
            Self::Bin(arguments) => arguments.to_string(),
            Self::Chart(arguments) => arguments.to_string(),
            Self::Convert(arguments) => arguments.to_string(),
            Self::Dedup(arguments) => arguments.to_string(),
            Self::Delta(arguments) => arguments.to_string(),
            Self::Eval(arguments) => arguments.to_string(),
            Self::Eventstats(arguments) => arguments.to_string(),
            Self::Fields(arguments) => arguments.to_string(),
            Self::Filldown(arguments) => arguments.to_string(),
            Self::Fillnull(arguments) => arguments.to_string(),
            Self::Head(arguments) => arguments.to_string(),
            Self::Makemv(arguments) => arguments.to_string(),
            Self::Makeresults(arguments) => arguments.to_string(),
            Self::Metadata(arguments) => arguments.to_string(),
            Self::Mvexpand(arguments) => arguments.to_string(),
            Self::Nomv(arguments) => arguments.to_string(),
            Self::Rare(arguments) => arguments.to_string(),
            Self::Regex(arguments) => arguments.to_string(),
            Self::Rename(arguments) => arguments.to_string(),
            Self::Replace(arguments) => arguments.to_string(),
            Self::Reverse(arguments) => arguments.to_string(),
            Self::Rex(arguments) => arguments.to_string(),
            Self::Search(arguments) => arguments.to_string(),
            Self::Sort(arguments) => arguments.to_string(),
            Self::Spath(arguments) => arguments.to_string(),
            Self::Stats(arguments) => arguments.to_string(),
            Self::Strcat(arguments) => arguments.to_string(),
            Self::Streamstats(arguments) => arguments.to_string(),
            Self::Table(arguments) => arguments.to_string(),
            Self::Tail(arguments) => arguments.to_string(),
            Self::Timechart(arguments) => arguments.to_string(),
            Self::Top(arguments) => arguments.to_string(),
            Self::Transpose(arguments) => arguments.to_string(),
            Self::Tstats(arguments) => arguments.to_string(),
            Self::Untable(arguments) => arguments.to_string(),
            Self::Where(arguments) => arguments.to_string(),
            Self::Xyseries(arguments) => arguments.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_sorted_and_names_unique() {
        assert!(COMMANDS.is_sorted_by(|a, b| a.name < b.name));
        let mut all: Vec<&str> = names().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(all.iter().all(|name| !NOT_YET.contains(name)));
    }
}
