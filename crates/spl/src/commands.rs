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
mod fieldsummary;
mod filldown;
mod fillnull;
mod head;
mod makemv;
mod makeresults;
mod metadata;
mod mvexpand;
mod nomv;
mod rangemap;
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

/// The arguments of commands that stand with their grammar.
pub(crate) mod arguments {
    pub use super::fieldsummary::FieldsummaryCommand;
    pub use super::rangemap::{Range, RangemapCommand};
}

use crate::ast;
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

/// Declares every command once, in the order of names: its module, its variant and its arguments.
macro_rules! registry {
    ($($module:ident $variant:ident($arguments:ident),)*) => {
        /// One command with its arguments.
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "each variant is named after its command; see its struct")]
        pub enum Command {
            $($variant(ast::$arguments),)*
        }

        /// Every command.
        pub const COMMANDS: &[CommandDefinition] = &[$($module::DEFINITION,)*];

        impl Command {
            /// The registered name.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $module::DEFINITION.name,)*
                }
            }

            /// The arguments as text.
            pub(crate) fn arguments(&self) -> String {
                match self {
                    $(Self::$variant(arguments) => arguments.to_string(),)*
                }
            }
        }
    };
}

registry! {
    accum Accum(AccumCommand),
    addtotals Addtotals(AddtotalsCommand),
    append Append(AppendCommand),
    appendpipe Appendpipe(AppendpipeCommand),
    bin Bin(BinCommand),
    chart Chart(ChartCommand),
    convert Convert(ConvertCommand),
    dedup Dedup(DedupCommand),
    delta Delta(DeltaCommand),
    eval Eval(EvalCommand),
    eventstats Eventstats(EventstatsCommand),
    fields Fields(FieldsCommand),
    fieldsummary Fieldsummary(FieldsummaryCommand),
    filldown Filldown(FilldownCommand),
    fillnull Fillnull(FillnullCommand),
    head Head(HeadCommand),
    makemv Makemv(MakemvCommand),
    makeresults Makeresults(MakeresultsCommand),
    metadata Metadata(MetadataCommand),
    mvexpand Mvexpand(MvexpandCommand),
    nomv Nomv(NomvCommand),
    rangemap Rangemap(RangemapCommand),
    rare Rare(TopCommand),
    regex Regex(RegexCommand),
    rename Rename(RenameCommand),
    replace Replace(ReplaceCommand),
    reverse Reverse(ReverseCommand),
    rex Rex(RexCommand),
    search Search(SearchCommand),
    sort Sort(SortCommand),
    spath Spath(SpathCommand),
    stats Stats(StatsCommand),
    strcat Strcat(StrcatCommand),
    streamstats Streamstats(StreamstatsCommand),
    table Table(TableCommand),
    tail Tail(TailCommand),
    timechart Timechart(TimechartCommand),
    top Top(TopCommand),
    transpose Transpose(TransposeCommand),
    tstats Tstats(TstatsCommand),
    untable Untable(UntableCommand),
    where_ Where(WhereCommand),
    xyseries Xyseries(XyseriesCommand),
}

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
    /// The entry in the registry.
    pub fn definition(&self) -> &'static CommandDefinition {
        find(self.name()).expect("every variant is registered")
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
