//! Options of `karst cluster`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

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
    /// Take an indexer out of the cluster for good: what it has goes elsewhere first, then it stops.
    Offline(OfflineOptions),
    /// Put a directory of apps in force in all processes, as one change.
    Bundle(BundleOptions),
    /// While it is on, copies of journals that are lost are not replaced.
    MaintenanceMode(MaintenanceOptions),
}

#[derive(Debug, Args)]
pub(crate) struct MaintenanceOptions {
    /// Turn it on, off, or show whether it is on.
    #[arg(value_enum)]
    pub(crate) what: MaintenanceWhat,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MaintenanceWhat {
    /// Turn it on.
    Enable,
    /// Turn it off.
    Disable,
    /// Show whether it is on.
    Show,
}

#[derive(Debug, Args)]
pub(crate) struct BundleOptions {
    #[command(subcommand)]
    pub(crate) what: BundleWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BundleWhat {
    /// Show the apps of the bundle in force and of the one before, and by which apps each process works.
    Show(StatusOptions),
    /// Say what a directory of apps would change, and what is wrong in it.
    Validate(BundleDirectoryOptions),
    /// Put a directory of apps in force; apps of the bundle before that are not in it are taken out.
    Apply(BundleDirectoryOptions),
    /// Put the bundle in force again that was before the last one.
    Rollback(BundleRollbackOptions),
}

#[derive(Debug, Args)]
pub(crate) struct BundleDirectoryOptions {
    /// A directory that has a directory for each app, such as manager-apps.
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

#[derive(Debug, Args)]
pub(crate) struct BundleRollbackOptions {
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

#[derive(Debug, Args)]
pub(crate) struct OfflineOptions {
    /// Its ID or its name, as `karst cluster status` shows them.
    pub(crate) peer: String,
    /// Only say whether it may be taken out, and how many indexers would be left.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also if fewer indexers than replication_factor are left, or none, or during a rolling restart; copies
    /// of journals that nobody else can have are waited for 30 s only.
    #[arg(long)]
    pub(crate) force: bool,
    /// Keep it, as long as it has not begun to stop.
    #[arg(long, conflicts_with_all = ["dry_run", "force", "detach"])]
    pub(crate) cancel: bool,
    /// Do not wait until it has left.
    #[arg(long)]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
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
    /// Restart also if a process of the cluster does not answer, or if there is only one, and whatever
    /// searches suffer from it.
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
    /// Also if acknowledged events may be lost with its disk: without, it is said which.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ClusterInitOptions {
    /// Where to write them; copy the directory to every machine of the cluster (--cluster-dir).
    pub(crate) directory: PathBuf,
}
