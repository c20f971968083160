//! The options of `karst thaw` and `karst freeze`.

use clap::Args;

use super::ClientOptions;

#[derive(Debug, Args)]
pub(crate) struct ThawOptions {
    #[command(flatten)]
    pub(crate) wanted: FreezeOptions,
    /// The archive to thaw from, in the format of coldToFrozenDir. Default: that of the index.
    #[arg(long)]
    pub(crate) from: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct FreezeOptions {
    /// The index.
    pub(crate) index: String,
    /// Buckets with events at or after this time: -30d, 2026-11-20T09:00:00, epoch seconds.
    #[arg(long, short = 'e', allow_hyphen_values = true)]
    pub(crate) earliest: Option<String>,
    /// Buckets with events before this time.
    #[arg(long, short = 'l', allow_hyphen_values = true)]
    pub(crate) latest: Option<String>,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}
