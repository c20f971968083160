//! Options of `karst cluster`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

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
}

#[derive(Debug, Args)]
pub(crate) struct ClusterInitOptions {
    /// Where to write them; copy the directory to every machine of the cluster (--cluster-dir).
    pub(crate) directory: PathBuf,
}
