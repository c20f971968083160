//! `karst server`: the roles in one process, from the first file to the last acknowledgement.

mod assemble;
mod conf;
mod console;
mod credentials;
mod forwarding;
mod identity;
mod ingest_conf;
mod inputs;
mod listen;
mod logs;
mod request_conf;
mod store_conf;
mod streaming;
mod surroundings;
mod tls;
mod views;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use runtime::Shutdown;
use tokio::signal::unix::{SignalKind, signal};

use crate::config::{Role, ServerOptions};

/// How long a stop may take: unfinished requests, then hot buckets into object storage.
const DRAIN: Duration = Duration::from_secs(30);

/// How the allocator is to work: memory comes in huge pages where the system has them. Clearing small
/// ones was a tenth of what ingest costs.
const ALLOCATOR: [(&str, &str); 1] = [("MIMALLOC_ALLOW_LARGE_OS_PAGES", "1")];

/// Runs the server until it is told to stop.
pub(crate) fn run(options: Box<ServerOptions>) -> Result<ExitCode> {
    if let Err(error) = runtime::allocator::begin_again_with(&ALLOCATOR) {
        eprintln!("karst: cannot begin again with settings of the allocator: {error}");
    }
    let roles = [Role::Indexer, Role::SearchHead, Role::ControlPlane];
    let wanted = &options.roles;
    if !wanted.is_empty() && !roles.iter().all(|role| wanted.contains(role)) {
        anyhow::bail!(
            "a process with some roles only is not supported yet: leave out --role, or name all of \
             indexer, search-head and control-plane"
        );
    }
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores.max(2))
        .thread_name("karst-io")
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    // Searches get threads of their own, so that a heavy one does not hold up requests and acks.
    let searches = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores.max(2))
        .thread_name("karst-search")
        .enable_all()
        .build()
        .context("cannot start the search runtime")?;
    let result = runtime.block_on(serve(&options, searches.handle().clone()));
    searches.shutdown_background();
    runtime.shutdown_background();
    if matches!(result, Ok(Ended::ToBeginAgain)) {
        // Returns only where it cannot.
        return Err(::runtime::process::begin_again()).context("cannot start again");
    }
    result.map(|_| ExitCode::SUCCESS)
}

/// Why the server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// It was told to stop.
    Stopped,
    /// Somebody asked for a restart.
    ToBeginAgain,
}

async fn serve(options: &ServerOptions, searches: tokio::runtime::Handle) -> Result<Ended> {
    let shutdown = Shutdown::new();
    let karst = assemble::assemble(options, searches, &shutdown).await?;
    let listeners = listen::start(options, &karst, &shutdown).await?;
    inputs::start(options, &karst, &shutdown).await?;
    forwarding::start(options, &karst, &shutdown).await?;
    credentials::leave_local_session(options, &karst)?;
    listeners.announce();
    let ended = tokio::select! {
        stopped = stop_signal() => stopped.map(|()| Ended::Stopped)?,
        () = karst.state.control.restart_wanted() => Ended::ToBeginAgain,
    };
    shutdown.stop();
    tracing::info!("stopping: no new requests, hot buckets go to object storage");
    if let Err(error) = shutdown.finish(DRAIN).await {
        tracing::warn!(%error, "some requests did not end in time");
    }
    credentials::remove_local_session(options);
    karst.close(DRAIN).await?;
    Ok(ended)
}

async fn stop_signal() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}
