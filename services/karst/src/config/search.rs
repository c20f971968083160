//! Options of `karst search`.

use clap::Args;

use super::{ClientOptions, Output};

#[derive(Debug, Args)]
pub(crate) struct SearchOptions {
    /// The search, for example 'index=main error | stats count by host'.
    pub(crate) search: String,
    /// Start of the time range: -1h, -1d@d, 2026-11-20T09:00:00, epoch seconds.
    #[arg(long, short = 'e', allow_hyphen_values = true)]
    pub(crate) earliest: Option<String>,
    /// End of the time range.
    #[arg(long, short = 'l', allow_hyphen_values = true)]
    pub(crate) latest: Option<String>,
    /// Format of the output. Default: table on a terminal, csv otherwise.
    #[arg(long, short = 'o', value_enum)]
    pub(crate) output: Option<Output>,
    /// Maximum number of rows to print; 0 for all.
    #[arg(long, short = 'n', default_value_t = 1000)]
    pub(crate) limit: usize,
    /// Print events as they arrive, until Ctrl-C: for searches whose commands process each event on its own,
    /// such as where, eval and rex. Events whose own time is before --earliest (-24h) are not printed.
    /// Default of --output: raw.
    #[arg(long, short = 'f', conflicts_with_all = ["latest", "limit", "stats", "explain"])]
    pub(crate) follow: bool,
    /// With --follow: begin with the newest events that are already there, at most 10000.
    #[arg(long, value_name = "EVENTS", requires = "follow",
        value_parser = clap::value_parser!(u64).range(..=10_000))]
    pub(crate) last: Option<u64>,
    /// Time zone of days and printed times, for example Europe/Berlin. Default: this machine's.
    #[arg(long, env = "TZ")]
    pub(crate) timezone: Option<String>,
    /// Print what the search read, the time of its phases and the cost of requests.
    #[arg(long)]
    pub(crate) stats: bool,
    /// Print the plans that ran, with rows and time of each operator, instead of the results.
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}
