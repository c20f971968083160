//! Options of `karst audit`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{ClientOptions, DataDir};

#[derive(Debug, Args)]
pub(crate) struct AuditOptions {
    #[command(subcommand)]
    pub(crate) what: AuditWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditWhat {
    /// Check the chain of the records, of a running server or offline: exit code 0 if they are what was
    /// written, 1 if not, with the first record that is altered, missing, put in or in another place.
    Verify(AuditVerifyOptions),
    /// Print the records as they were written.
    Export(AuditExportOptions),
}

#[derive(Debug, Args)]
pub(crate) struct AuditVerifyOptions {
    /// Check the records of the index _audit of a running server rather than the files.
    #[arg(long)]
    pub(crate) from_index: bool,
    /// Check from this record on: behind one that is known to be missing, or the first one that the
    /// index still has.
    #[arg(long, default_value_t = 1)]
    pub(crate) from: u64,
    /// A head that was noted elsewhere, NUMBER:HASH as an earlier verification printed it.
    #[arg(long)]
    pub(crate) head: Option<String>,
    /// The key of the chain. Default: auth/audit.key in the data directory.
    #[arg(long)]
    pub(crate) key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

#[derive(Debug, Args)]
pub(crate) struct AuditExportOptions {
    /// The first record.
    #[arg(long, default_value_t = 1)]
    pub(crate) from: u64,
    /// The last record.
    #[arg(long)]
    pub(crate) to: Option<u64>,
    #[command(flatten)]
    pub(crate) data: DataDir,
}
