//! The end of the server: the signals that ask for it, and its steps.
//!
//! ```text
//! signal --> not ready, everything is answered --> no new requests --> hot buckets into object storage
//!            (--drain-delay)                       (all of it within --drain-timeout)
//! ```

use std::time::Duration;

use anyhow::{Result, ensure};
use runtime::Shutdown;
use runtime::signals::{ON_ITS_WAY, Stop};
use tokio::time::Instant;

use super::assemble::Karst;
use super::credentials::OwnSession;
use crate::config::ServerOptions;

/// Maximum time for unfinished requests.
const REQUESTS: Duration = Duration::from_secs(8);
/// Maximum time for searches to end after they are cancelled.
pub(crate) const SEARCHES: Duration = Duration::from_secs(2);
/// Time-out of the stop of an indexer that is decommissioned: the events that it has received since all were
/// stored have to be uploaded, even to slow object storage.
const RETIREMENT: Duration = Duration::from_secs(600);
/// Time that is reserved for the last steps: pending commits, catalog, cache and lease.
const LAST_STEPS: Duration = Duration::from_secs(12);

/// # Errors
/// If the delay leaves too little of the time for the other steps.
pub(crate) fn check(options: &ServerOptions) -> Result<()> {
    const LEAST: u64 = 20;
    let (timeout, delay) = (options.drain_timeout, options.drain_delay);
    ensure!(
        delay.saturating_add(LEAST) <= timeout,
        "--drain-delay {delay} leaves less than {LEAST} s of --drain-timeout {timeout} for unfinished requests \
         and uploads: raise the time-out, or shorten the delay"
    );
    Ok(())
}

/// Maximum time to tell the cluster that forwarders are to go elsewhere: a part of --drain-delay, if there is
/// one.
const TELL: Duration = Duration::from_secs(2);

/// Announces that this process stops, and continues to answer until load balancers have noticed. A further
/// signal has no effect. `started` is the time in its entry in the list of the cluster.
pub(crate) async fn leave(karst: &Karst, options: &ServerOptions, started: Option<&str>) {
    karst.state.control.leave();
    if options.drain_delay > 0 {
        tracing::info!(
            seconds = options.drain_delay,
            "leaving: not ready any more, requests are still answered"
        );
    }
    let delay = tokio::time::sleep(Duration::from_secs(options.drain_delay));
    tokio::join!(send_forwarders_elsewhere(karst, started), delay);
}

async fn send_forwarders_elsewhere(karst: &Karst, started: Option<&str>) {
    let Some(started) = started else { return };
    // The entry in the list is that of the process which has the id now.
    if karst.failover.incarnation.is_over(&karst.catalog().snapshot()) {
        return;
    }
    let closing = peers::close_to_forwarders(karst.catalog(), &karst.state.info.guid, started);
    match tokio::time::timeout(TELL, closing).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => tracing::warn!(%error, "forwarders are not told to go elsewhere"),
        Err(_) => tracing::warn!("forwarders are not told to go elsewhere: no answer in time"),
    }
}

/// Stops all components, within the time that [`leave`] has left.
pub(crate) async fn stop(
    karst: Karst,
    options: &ServerOptions,
    (intake, shutdown, peers): (&Shutdown, &Shutdown, &Shutdown),
    session: &OwnSession,
) {
    let begin = Instant::now();
    let time = Duration::from_secs(options.drain_timeout - options.drain_delay);
    let time = if karst.state.control.retires() { time.max(RETIREMENT) } else { time };
    let until = begin + time.saturating_sub(LAST_STEPS);
    // A part of `shutdown`, whose tasks are its own.
    let work = karst.state.shutdown.clone();
    intake.stop();
    shutdown.stop();
    tracing::info!(
        seconds = time.as_secs(),
        "stopping: no new requests, hot buckets go to object storage"
    );
    let ended =
        tokio::join!(intake.finish(REQUESTS), work.finish(REQUESTS), shutdown.finish(REQUESTS));
    for error in [ended.0, ended.1, ended.2].into_iter().filter_map(Result::err) {
        tracing::warn!(%error, "some requests did not end in time");
    }
    karst.state.search.close(SEARCHES).await;
    session.remove();
    karst.close(until.saturating_duration_since(Instant::now()), peers).await;
    let seconds = begin.elapsed().as_secs_f64();
    tracing::info!(seconds, "stopped");
}

/// The signals that stop the server. A signal that has arrived earlier is reported to later callers, too.
/// Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct StopSignal {
    arrived: Shutdown,
    /// Whether the server is open, so that it handles signals itself.
    is_open: Shutdown,
}

impl StopSignal {
    /// Creates the signal from a listener.
    pub(crate) fn of(mut listener: Stop) -> Self {
        let own = Self { arrived: Shutdown::new(), is_open: Shutdown::new() };
        let arrived = own.arrived.clone();
        runtime::detached(async move {
            listener.arrived().await;
            arrived.stop();
        });
        own
    }

    pub(crate) async fn arrived(&self) {
        self.arrived.stopped().await;
    }

    /// Whether a signal has arrived until now, independent of other waiters.
    pub(crate) async fn has_arrived(&self) -> bool {
        tokio::time::timeout(ON_ITS_WAY, self.arrived()).await.is_ok()
    }

    /// From now on, signals are for the waiters of [`arrived`](Self::arrived), including one that has arrived
    /// already.
    pub(crate) fn open(&self) {
        self.is_open.stop();
    }

    /// A signal that arrives before the server is open; never resolves once it is.
    pub(crate) async fn arrived_early(&self) {
        self.arrived().await;
        if self.is_open.is_stopped() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::config::{Arguments, Command};

    fn checked(flags: &[&str]) -> Result<()> {
        let arguments = Arguments::try_parse_from([&["karst", "server"], flags].concat())?;
        let Command::Server(options) = arguments.command else { unreachable!("it is server") };
        check(&options)
    }

    #[tokio::test]
    async fn a_signal_in_the_moment_in_which_the_server_opens_is_for_the_server() {
        let signal = StopSignal { arrived: Shutdown::new(), is_open: Shutdown::new() };
        // Nobody looks between the two.
        signal.open();
        signal.arrived.stop();
        tokio::select! {
            biased;
            () = signal.arrived_early() => panic!("it would end without its drain"),
            () = signal.arrived() => {}
        }
        let early = StopSignal { arrived: Shutdown::new(), is_open: Shutdown::new() };
        assert!(!early.has_arrived().await);
        early.arrived.stop();
        early.arrived_early().await;
        assert!(early.has_arrived().await && signal.has_arrived().await);
    }

    #[test]
    fn a_delay_leaves_time_for_the_uploads() {
        checked(&[]).unwrap();
        checked(&["--drain-timeout", "540", "--drain-delay", "25"]).unwrap();
        let error = checked(&["--drain-delay", "25"]).unwrap_err().to_string();
        assert!(error.contains("--drain-delay 25") && error.contains("raise"), "{error}");
        let error = checked(&["--drain-timeout", "5"]).unwrap_err().to_string();
        assert!(error.contains("20..=86400"), "{error}");
    }
}
