//! Options of `karst spl`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::ClientOptions;

#[derive(Debug, Args)]
pub(crate) struct SplOptions {
    #[command(subcommand)]
    pub(crate) what: SplWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SplWhat {
    /// Check searches in files: saved searches, dashboards, detections, plain text.
    Check(CheckOptions),
    /// Show how a search is parsed and how it would run.
    Explain(ExplainOptions),
}

/// The kind of a file with searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileKind {
    /// `search` and `definition` of stanzas.
    Conf,
    /// Elements `query` and `searchString` of dashboards.
    Xml,
    /// Strings, or the keys search, query and spl of objects.
    Json,
    /// One JSON value per line.
    Jsonl,
    /// `search:` and `query:` of detections.
    Yaml,
    /// One search per line; lines that begin with # are comments.
    Text,
}

/// Format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Readable text.
    Text,
    /// One JSON object.
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct CheckOptions {
    /// Files or directories; - for standard input.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Kind of the files. Default: by file name; text for standard input.
    #[arg(long, value_enum)]
    pub(crate) kind: Option<FileKind>,
    /// Searches in text files are blocks separated by empty lines.
    #[arg(long)]
    pub(crate) multiline: bool,
    /// Directory of .conf layers, or of an app, whose macros.conf and commands.conf are used.
    #[arg(long, value_name = "DIR")]
    pub(crate) macros: Option<PathBuf>,
    /// Format of the report.
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: ReportFormat,
    /// Print assumptions about unknown macros and tokens.
    #[arg(long)]
    pub(crate) notes: bool,
    /// Print the summary only.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Number of most frequent messages and macros to list.
    #[arg(long, default_value_t = 10)]
    pub(crate) top: usize,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainOptions {
    /// The search.
    pub(crate) search: String,
    /// Directory of .conf layers, or of an app, whose configuration is used.
    #[arg(long, value_name = "DIR")]
    pub(crate) macros: Option<PathBuf>,
    /// Start of the time range: -1h, -1d@d, 2026-11-20T09:00:00, epoch seconds.
    #[arg(long, short = 'e', allow_hyphen_values = true)]
    pub(crate) earliest: Option<String>,
    /// End of the time range.
    #[arg(long, short = 'l', allow_hyphen_values = true)]
    pub(crate) latest: Option<String>,
    /// Format of the report.
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: ReportFormat,
    /// With --uri, the server explains the search, with its indexes and fields; otherwise no server
    /// is needed.
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}
