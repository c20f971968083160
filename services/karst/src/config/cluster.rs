//! Options of `karst cluster`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ClientOptions;
use super::operate::StatusOptions;

#[derive(Debug, Args)]
pub(crate) struct ClusterOptions {
    #[command(subcommand)]
    pub(crate) what: ClusterWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClusterWhat {
    /// Write the credentials of a new cluster: its ID, secret and certificates.
    Init(ClusterInitOptions),
    /// List the processes of the cluster, and whether each answers.
    Status(StatusOptions),
    /// Remove a process that does not come back from the list; what only its disk has is given up.
    Remove(ClusterRemoveOptions),
    /// Restart the indexers one after the other, each once the one before is back.
    RollingRestart(RollingRestartOptions),
}

#[derive(Debug, Args)]
pub(crate) struct RollingRestartOptions {
    /// Which processes: indexer, or search-head.
    #[arg(long, default_value = "indexer")]
    pub(crate) role: String,
    /// How many percent of them at a time, and one at least [default: percent_peers_to_restart].
    #[arg(long)]
    pub(crate) percent: Option<usize>,
    /// Only say which processes would be restarted, in which order.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Restart also if a process of the cluster does not answer, or if there is only one.
    #[arg(long)]
    pub(crate) force: bool,
    /// End a rolling restart that is under way; processes that restart already do so.
    #[arg(long, conflicts_with_all = ["dry_run", "force", "percent"])]
    pub(crate) cancel: bool,
    /// Do not wait until it is over.
    #[arg(long)]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ClusterRemoveOptions {
    /// Its ID or its name, as `karst cluster status` shows them.
    pub(crate) peer: String,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ClusterInitOptions {
    /// Where to write them; copy the directory to every machine of the cluster (--cluster-dir).
    pub(crate) directory: PathBuf,
}
