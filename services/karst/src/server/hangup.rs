//! SIGHUP never ends the server: [`runtime::signals`] listens for it before anything else. With TLS it makes
//! [`super::tls`] look for new certificates.

use runtime::Shutdown;
use tokio::signal::unix::Signal;

/// Handles SIGHUP for a server without TLS: logs that there is nothing to reload.
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
