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
    /// Verify the chain of the records, with or without a running server. Exit code 0 if it is
    /// intact, 1 if not, with the first record that is altered, missing, inserted or moved.
    Verify(AuditVerifyOptions),
    /// Print the raw records.
    Export(AuditExportOptions),
}

#[derive(Debug, Args)]
pub(crate) struct AuditVerifyOptions {
    /// Verify the records in the index _audit of a running server instead of the files.
    #[arg(long)]
    pub(crate) from_index: bool,
    /// First record to verify: after a known problem, or the first record that the index still has.
    #[arg(long, default_value_t = 1)]
    pub(crate) from: u64,
    /// A head saved elsewhere, as NUMBER:HASH printed by an earlier verification.
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
