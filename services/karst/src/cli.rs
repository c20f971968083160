//! Commands that call a server, and commands that read files.
//!
//! Exit codes: 0 success, 1 the server or a file failed, 2 wrong usage (from the argument parser), 3 the
//! search is invalid, 4 the server cannot be reached, 5 not logged in, 130 and 143 ended by SIGINT and
//! SIGTERM (`karst search --follow` ends with 0 after SIGINT).

pub(crate) mod add;
pub(crate) mod app;
mod app_check;
pub(crate) mod audit;
pub(crate) mod btool;
pub(crate) mod bucket;
mod bundle;
mod cache;
pub(crate) mod catalog;
mod client;
pub(crate) mod cluster;
mod cluster_offline;
pub(crate) mod cost;
pub(crate) mod inspect;
mod inspection;
pub(crate) mod list;
pub(crate) mod login;
mod pinned;
mod plural;
mod printable;
pub(crate) mod reload;
pub(crate) mod roll;
pub(crate) mod search;
mod sessions;
pub(crate) mod shell;
pub(crate) mod spl;
pub(crate) mod status;
mod table;
pub(crate) mod thaw;
pub(crate) mod token;
pub(crate) mod user;

use std::future::Future;
use std::process::ExitCode;

use anyhow::Context;

pub(crate) use client::{Failure, LocalSession};

/// Runs a command.
pub(crate) fn run(
    command: impl Future<Output = anyhow::Result<ExitCode>>,
) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let done = runtime.block_on(command);
    // A write to a pipe that nobody reads would hold up a command that was interrupted.
    runtime.shutdown_background();
    done
}
