//! SIGHUP never ends the server. It is listened for before anything else, because without a listener the
//! system would end the process; with TLS it makes [`super::tls`] look for new certificates.

use anyhow::{Context, Result};
use runtime::Shutdown;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// From now on SIGHUP does not end the process, for as long as it runs.
///
/// # Errors
/// The system gives no listener.
pub(crate) fn listen() -> Result<Signal> {
    signal(SignalKind::hangup()).context("cannot listen for SIGHUP")
}

/// Of a server without TLS: says that there was nothing to do.
pub(crate) async fn ignore(mut hangups: Signal, shutdown: Shutdown) {
    loop {
        tokio::select! {
            () = shutdown.stopped() => return,
            _ = hangups.recv() => {
                tracing::info!("SIGHUP: no port speaks TLS, there is no certificate to load");
            }
        }
    }
}
