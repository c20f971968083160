//! Options of `karst status`, `cost`, `reload`, `stop`, `login`, `logout`, `completions` and `man`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clap_complete::Shell;

use super::{ClientOptions, DataDir, OutputOption};

#[derive(Debug, Args)]
pub(crate) struct StatusOptions {
    #[command(flatten)]
    pub(crate) format: OutputOption,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

#[derive(Debug, Args)]
pub(crate) struct CostOptions {
    /// Volume of events per day, in GB. Default: as measured.
    #[arg(long, value_name = "GB", allow_hyphen_values = true)]
    pub(crate) raw_gb_per_day: Option<String>,
    /// Retention of events in days. Default: as configured.
    #[arg(long, value_name = "DAYS", allow_hyphen_values = true)]
    pub(crate) retention_days: Option<String>,
    /// Number of nodes by instance type, for example i8g.xlarge=3 (may be given more than once). Without it,
    /// the cost of nodes is not included.
    #[arg(long, value_name = "TYPE=NUMBER", value_delimiter = ',')]
    pub(crate) nodes: Vec<String>,
    /// Any other input, for example stored_per_raw=0.2 (may be given more than once). They are listed below
    /// the bill.
    #[arg(long = "set", value_name = "INPUT=VALUE")]
    pub(crate) inputs: Vec<String>,
    /// Start of the measured time range. Default: -7d.
    #[arg(long, short = 'e', allow_hyphen_values = true, conflicts_with = "offline")]
    pub(crate) earliest: Option<String>,
    /// Do not query a server: inputs that are not given have their defaults.
    #[arg(long, requires = "raw_gb_per_day")]
    pub(crate) offline: bool,
    #[command(flatten)]
    pub(crate) format: OutputOption,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

/// What can be reloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reloadable {
    /// The files of the configuration directory (--conf-dir): system/local and apps.
    Apps,
    /// serverclass.conf and the apps of forwarders.
    DeployServer,
}

#[derive(Debug, Args)]
pub(crate) struct ReloadOptions {
    /// What to reload.
    #[arg(value_enum)]
    pub(crate) what: Reloadable,
    /// With `apps`: also if settings of apps would be ignored because they are invalid.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) client: ClientOptions,
}

#[derive(Debug, Args)]
pub(crate) struct StopOptions {
    #[command(flatten)]
    pub(crate) data: DataDir,
    /// Seconds to wait until the server has stopped; 0 does not wait.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) wait: u64,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsOptions {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManOptions {
    /// Write a page for each command into this directory. Default: print karst(1), for `karst man |
    /// man -l -`.
    #[arg(long)]
    pub(crate) directory: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct LoginOptions {
    /// Management address of the server, for example `https://karst.example:8089`.
    #[arg(long, env = "KARST_URI")]
    pub(crate) uri: String,
    /// The user. The password is prompted for, or read from standard input.
    #[arg(long, short = 'u', default_value = "admin")]
    pub(crate) user: String,
    /// Accept any certificate, now and with this session.
    #[arg(long, env = "KARST_INSECURE")]
    pub(crate) insecure: bool,
    #[command(flatten)]
    pub(crate) data: DataDir,
}

#[derive(Debug, Args)]
pub(crate) struct LogoutOptions {
    /// Management address of the server.
    #[arg(long, env = "KARST_URI")]
    pub(crate) uri: String,
    /// Accept any certificate; not needed for a session that was opened with --insecure.
    #[arg(long, env = "KARST_INSECURE")]
    pub(crate) insecure: bool,
    #[command(flatten)]
    pub(crate) data: DataDir,
}

impl LoginOptions {
    /// The options of a client of this server.
    pub(crate) fn client(&self) -> ClientOptions {
        client(&self.uri, self.insecure, &self.data)
    }
}

impl LogoutOptions {
    /// The options of a client of this server.
    pub(crate) fn client(&self) -> ClientOptions {
        client(&self.uri, self.insecure, &self.data)
    }
}

fn client(uri: &str, insecure: bool, data: &DataDir) -> ClientOptions {
    let data = data.clone();
    ClientOptions { data, uri: Some(uri.to_owned()), auth: None, timeout: None, insecure }
}
