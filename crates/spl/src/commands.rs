//! The registry of commands: one file per command, and one list from which modules, parser, completion and
//! documents are generated.
//!
//! Guarantees: sorted by name. Leaves to others: the results of commands.

use crate::parser::{Parsed, Parser};

/// How a command processes rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommandKind {
    /// Processes each row independently, on any node.
    Streaming,
    /// Processes the rows one by one, in order, on a single node.
    Centralised,
    /// Turns all rows into a table; partial results can be computed where the rows are stored.
    Transforming,
    /// Needs all rows, but does not turn them into a table.
    Dataset,
    /// Creates rows; is the first command.
    Generating,
}

/// The rights that a command requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandRight {
    /// The capability that the user needs besides `search`.
    pub capability: Option<&'static str>,
    /// Whether the command has effects outside of the search.
    pub writes: bool,
    /// Whether the command reads metadata of buckets, to which search filters do not apply.
    pub unfiltered: bool,
}

impl CommandRight {
    /// No rights other than `search`.
    pub const FREE: Self = Self { capability: None, writes: false, unfiltered: false };

    /// Creates the right to read the data that the capability protects.
    const fn reads(capability: &'static str) -> Self {
        Self { capability: Some(capability), ..Self::FREE }
    }

    /// Creates the right to change the data that the capability protects.
    const fn writes(capability: &'static str) -> Self {
        Self { capability: Some(capability), writes: true, ..Self::FREE }
    }

    /// Creates the right to read metadata of buckets.
    const fn summary(capability: Option<&'static str>) -> Self {
        Self { capability, unfiltered: true, ..Self::FREE }
    }
}

/// The registry entry of a command.
#[derive(Clone, Copy)]
pub struct CommandDefinition {
    /// The registered name, lower-case.
    pub name: &'static str,
    /// Aliases of the name.
    pub aliases: &'static [&'static str],
    /// A one-line description.
    pub summary: &'static str,
    /// The syntax, for documents.
    pub syntax: &'static str,
    /// How the command processes rows.
    pub kind: CommandKind,
    /// The rights that the command requires.
    pub right: CommandRight,
    /// The names of its options.
    pub options: &'static [&'static str],
    /// What completion suggests besides options.
    pub takes: Takes,
    /// The parser of the arguments.
    pub(crate) parse: fn(&mut Parser<'_>) -> Parsed<Command>,
}

impl std::fmt::Debug for CommandDefinition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommandDefinition").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The kinds of arguments, for completion.
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

/// Returns the command with this lower-case name or alias.
pub fn find(name: &str) -> Option<&'static CommandDefinition> {
    COMMANDS.iter().find(|command| command.name == name || command.aliases.contains(&name))
}

/// Iterates over all names, including aliases.
pub fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS
        .iter()
        .flat_map(|command| std::iter::once(command.name).chain(command.aliases.iter().copied()))
}

/// Calls a macro with all commands, ordered by name: module, variant and type of the arguments. Crates that
/// handle every command generate modules and a `match` from it, which fail to compile if a command is
/// missing.
#[macro_export]
macro_rules! for_each_command {
    ($callback:ident) => {
        $callback! {
            r#abstract Abstract(AbstractCommand),
            accum Accum(AccumCommand),
            addcoltotals Addcoltotals(AddcoltotalsCommand),
            addinfo Addinfo(AddinfoCommand),
            addtotals Addtotals(AddtotalsCommand),
            analyzefields Analyzefields(AnalyzefieldsCommand),
            anomalies Anomalies(AnomaliesCommand),
            anomalousvalue Anomalousvalue(AnomalousvalueCommand),
            anomalydetection Anomalydetection(AnomalydetectionCommand),
            append Append(AppendCommand),
            appendcols Appendcols(AppendcolsCommand),
            appendpipe Appendpipe(AppendpipeCommand),
            apply Apply(ApplyCommand),
            arules Arules(ArulesCommand),
            associate Associate(AssociateCommand),
            autoregress Autoregress(AutoregressCommand),
            bin Bin(BinCommand),
            chart Chart(ChartCommand),
            cluster Cluster(ClusterCommand),
            cofilter Cofilter(CofilterCommand),
            collect Collect(CollectCommand),
            concurrency Concurrency(ConcurrencyCommand),
            contingency Contingency(ContingencyCommand),
            convert Convert(ConvertCommand),
            correlate Correlate(CorrelateCommand),
            datamodel Datamodel(DatamodelCommand),
            dbinspect Dbinspect(DbinspectCommand),
            dedup Dedup(DedupCommand),
            delete Delete(DeleteCommand),
            delta Delta(DeltaCommand),
            diff Diff(DiffCommand),
            erex Erex(ErexCommand),
            eval Eval(EvalCommand),
            eventcount Eventcount(EventcountCommand),
            eventstats Eventstats(EventstatsCommand),
            extract Extract(ExtractCommand),
            fieldformat Fieldformat(FieldformatCommand),
            fields Fields(FieldsCommand),
            fieldsummary Fieldsummary(FieldsummaryCommand),
            filldown Filldown(FilldownCommand),
            fillnull Fillnull(FillnullCommand),
            findtypes Findtypes(FindtypesCommand),
            fit Fit(FitCommand),
            folderize Folderize(FolderizeCommand),
            foreach Foreach(ForeachCommand),
            format Format(FormatCommand),
            from From(FromCommand),
            fromjson Fromjson(FromjsonCommand),
            gauge Gauge(GaugeCommand),
            gentimes Gentimes(GentimesCommand),
            geom Geom(GeomCommand),
            geomfilter Geomfilter(GeomfilterCommand),
            geostats Geostats(GeostatsCommand),
            head Head(HeadCommand),
            highlight Highlight(HighlightCommand),
            history History(HistoryCommand),
            iconify Iconify(IconifyCommand),
            inputcsv Inputcsv(InputcsvCommand),
            inputlookup Inputlookup(InputlookupCommand),
            iplocation Iplocation(IplocationCommand),
            join Join(JoinCommand),
            kmeans Kmeans(KmeansCommand),
            kvform Kvform(KvformCommand),
            loadjob Loadjob(LoadjobCommand),
            localize Localize(LocalizeCommand),
            localop Localop(LocalopCommand),
            lookup Lookup(LookupCommand),
            makecontinuous Makecontinuous(MakecontinuousCommand),
            makejson Makejson(MakejsonCommand),
            makemv Makemv(MakemvCommand),
            makeresults Makeresults(MakeresultsCommand),
            map Map(MapCommand),
            mcatalog Mcatalog(McatalogCommand),
            mcollect Mcollect(McollectCommand),
            metadata Metadata(MetadataCommand),
            metasearch Metasearch(MetasearchCommand),
            meventcollect Meventcollect(MeventcollectCommand),
            mpreview Mpreview(MpreviewCommand),
            mstats Mstats(MstatsCommand),
            multikv Multikv(MultikvCommand),
            multireport Multireport(MultireportCommand),
            multisearch Multisearch(MultisearchCommand),
            mvcombine Mvcombine(MvcombineCommand),
            mvexpand Mvexpand(MvexpandCommand),
            nomv Nomv(NomvCommand),
            noop Noop(NoopCommand),
            outlier Outlier(OutlierCommand),
            outputcsv Outputcsv(OutputcsvCommand),
            outputlookup Outputlookup(OutputlookupCommand),
            outputtext Outputtext(OutputtextCommand),
            overlap Overlap(OverlapCommand),
            pivot Pivot(PivotCommand),
            predict Predict(PredictCommand),
            rangemap Rangemap(RangemapCommand),
            rare Rare(RareCommand),
            redistribute Redistribute(RedistributeCommand),
            regex Regex(RegexCommand),
            relevancy Relevancy(RelevancyCommand),
            reltime Reltime(ReltimeCommand),
            rename Rename(RenameCommand),
            replace Replace(ReplaceCommand),
            require Require(RequireCommand),
            rest Rest(RestCommand),
            r#return Return(ReturnCommand),
            reverse Reverse(ReverseCommand),
            rex Rex(RexCommand),
            rtorder Rtorder(RtorderCommand),
            savedsearch Savedsearch(SavedsearchCommand),
            script Script(ScriptCommand),
            scrub Scrub(ScrubCommand),
            search Search(SearchCommand),
            searchtxn Searchtxn(SearchtxnCommand),
            selfjoin Selfjoin(SelfjoinCommand),
            sendalert Sendalert(SendalertCommand),
            sendemail Sendemail(SendemailCommand),
            set Set(SetCommand),
            setfields Setfields(SetfieldsCommand),
            sichart Sichart(SichartCommand),
            sirare Sirare(SirareCommand),
            sistats Sistats(SistatsCommand),
            sitimechart Sitimechart(SitimechartCommand),
            sitop Sitop(SitopCommand),
            sort Sort(SortCommand),
            spath Spath(SpathCommand),
            stats Stats(StatsCommand),
            strcat Strcat(StrcatCommand),
            streamstats Streamstats(StreamstatsCommand),
            table Table(TableCommand),
            tags Tags(TagsCommand),
            tail Tail(TailCommand),
            timechart Timechart(TimechartCommand),
            timewrap Timewrap(TimewrapCommand),
            tojson Tojson(TojsonCommand),
            top Top(TopCommand),
            transaction Transaction(TransactionCommand),
            transpose Transpose(TransposeCommand),
            trendline Trendline(TrendlineCommand),
            tscollect Tscollect(TscollectCommand),
            tstats Tstats(TstatsCommand),
            typeahead Typeahead(TypeaheadCommand),
            typelearner Typelearner(TypelearnerCommand),
            typer Typer(TyperCommand),
            union Union(UnionCommand),
            uniq Uniq(UniqCommand),
            untable Untable(UntableCommand),
            walklex Walklex(WalklexCommand),
            r#where Where(WhereCommand),
            x11 X11(X11Command),
            xmlkv Xmlkv(XmlkvCommand),
            xmlunescape Xmlunescape(XmlunescapeCommand),
            xpath Xpath(XpathCommand),
            xyseries Xyseries(XyseriesCommand),
        }
    };
}

macro_rules! registry {
    ($($module:ident $variant:ident($arguments:ident),)*) => {
        $(pub(crate) mod $module;)*

        /// One command with its arguments.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs, reason = "each variant is named after its command; see its struct")]
        pub enum Command {
            $($variant(arguments::$arguments),)*
        }

        /// The types of arguments, and their parts.
        pub(crate) mod arguments {
            $(pub use super::$module::*;)*
        }

        /// All commands.
        pub const COMMANDS: &[CommandDefinition] = &[$($module::DEFINITION,)*];

        impl Command {
            /// Returns the registered name.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $module::DEFINITION.name,)*
                }
            }

            /// Returns the arguments as text.
            pub(crate) fn arguments(&self) -> String {
                match self {
                    $(Self::$variant(arguments) => arguments.to_string(),)*
                }
            }
        }
    };
}

for_each_command!(registry);

/// Commands whose own syntax has searches in brackets. In the arguments of other commands, a subsearch is
/// replaced with a text.
pub(crate) const WITH_BRACKETS: &[&str] = &[
    "append",
    "appendcols",
    "appendpipe",
    "foreach",
    "join",
    "map",
    "multireport",
    "multisearch",
    "set",
    "union",
];

/// Commands of Splunk that Karst does not support; the error message says so.
pub(crate) const NOT_YET: &[&str] = &["snowevent"];

/// Commands of Splunk's Machine Learning Toolkit that Karst does not support, with their alternatives.
pub(crate) const MACHINE_LEARNING: &[(&str, &str)] = &[
    ("deletemodel", "deleting the lookup file `__mlspl_<model>.csv`"),
    ("listmodels", "`| rest /services/data/lookup-table-files | search title=__mlspl_*`"),
    ("sample", "eval with random(), then where"),
    ("score", "stats with eval"),
    ("summary", "`| inputlookup __mlspl_<model>.csv`"),
];

impl Command {
    /// Returns the name in the search: the registered name, or that of a custom command.
    pub fn written_name(&self) -> &str {
        match self {
            Self::Script(script) => script.custom.as_deref().unwrap_or(self.name()),
            _ => self.name(),
        }
    }

    /// Returns the registry entry.
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
