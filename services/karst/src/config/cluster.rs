//! Options of `karst cluster`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
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
    /// List the processes of the cluster, and whether each responds.
    Status(StatusOptions),
    /// Remove a lost process from the list; data that is only on its disk is given up.
    Remove(ClusterRemoveOptions),
    /// Restart the indexers one after the other; each waits until the previous one is back.
    RollingRestart(RollingRestartOptions),
    /// Decommission an indexer: its data is first stored elsewhere, then it stops.
    Offline(OfflineOptions),
    /// Apply a directory of apps to all processes, as one change.
    Bundle(BundleOptions),
    /// Maintenance mode: while it is on, lost copies of journals are not replaced.
    MaintenanceMode(MaintenanceOptions),
}

#[derive(Debug, Args)]
pub(crate) struct MaintenanceOptions {
    /// Turn it on or off, or show whether it is on.
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
    /// Show the apps of the current and of the previous bundle, and which of them each process uses.
    Show(StatusOptions),
    /// Show what a directory of apps would change, and its mistakes.
    Validate(BundleValidateOptions),
    /// Apply a directory of apps; apps of the previous bundle that are not in it are removed.
    Apply(BundleApplyOptions),
    /// Restore the previous bundle.
    Rollback(BundleRollbackOptions),
}

#[derive(Debug, Args)]
pub(crate) struct BundleValidateOptions {
    #[command(flatten)]
    pub(crate) bundle: BundleDirectoryOptions,
    /// Exit with code 1 if there is a mistake: a line that begins with ignored, breaks or warning.
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BundleApplyOptions {
    #[command(flatten)]
    pub(crate) bundle: BundleDirectoryOptions,
    /// Apply it even if settings would be ignored because they are wrong, in the bundle or in other apps.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BundleDirectoryOptions {
    /// A directory that contains a directory for each app, such as manager-apps.
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

#[derive(Debug, Args)]
pub(crate) struct BundleRollbackOptions {
    /// Only show what it would change, and the mistakes of the previous bundle.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

#[derive(Debug, Args)]
pub(crate) struct OfflineOptions {
    /// The ID or name of the process, as shown by `karst cluster status`.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) peer: String,
    /// Only show whether it can be decommissioned, and how many indexers would remain.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Decommission it even if fewer indexers than replication_factor remain, or none, or during a rolling
    /// restart. Wait at most 30 s for copies of journals that no other indexer can have.
    #[arg(long)]
    pub(crate) force: bool,
    /// Cancel the decommissioning, if it has not begun to stop.
    #[arg(long, conflicts_with_all = ["dry_run", "force", "detach"])]
    pub(crate) cancel: bool,
    /// Do not wait until it has left the cluster.
    #[arg(long)]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

#[derive(Debug, Args)]
pub(crate) struct RollingRestartOptions {
    /// Role of the processes: indexer or search-head.
    #[arg(long, default_value = "indexer")]
    pub(crate) role: String,
    /// Percentage of processes that restart at the same time, at least one [default:
    /// percent_peers_to_restart].
    #[arg(long)]
    pub(crate) percent: Option<usize>,
    /// Only show which processes would be restarted, and in which order.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Restart even if a process of the cluster does not respond, if there is only one, or if searches are
    /// affected.
    #[arg(long)]
    pub(crate) force: bool,
    /// Cancel a rolling restart that is in progress; processes that are already restarting continue.
    #[arg(long, conflicts_with_all = ["dry_run", "force", "percent"])]
    pub(crate) cancel: bool,
    /// Do not wait until it has finished.
    #[arg(long)]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ClusterRemoveOptions {
    /// The ID or name of the process, as shown by `karst cluster status`.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) peer: String,
    /// Remove it even if acknowledged events on its disk may be lost. Without this flag, the events are
    /// named.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ClusterInitOptions {
    /// Directory for the credentials; copy it to every machine of the cluster (--cluster-dir).
    pub(crate) directory: PathBuf,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::Parser;

    use crate::config::Arguments;

    #[test]
    fn a_process_without_a_name_is_refused() {
        for command in ["offline", "remove"] {
            let arguments = |peer| ["karst", "cluster", command, peer];
            let error = Arguments::try_parse_from(arguments("")).unwrap_err().to_string();
            assert!(error.contains("<PEER>"), "{error}");
            Arguments::try_parse_from(arguments("web1")).unwrap();
        }
    }
}
