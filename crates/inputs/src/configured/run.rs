//! Everything configured, bound and started.

use std::net::SocketAddr;
use std::sync::Arc;

use model::IndexName;
use runtime::Shutdown;
use tokio::net::{TcpListener, UdpSocket};

use super::{Configured, Parts};
use crate::monitor::Monitor;
use crate::{Error, Sink};

/// The ports of a [`Configured`], which nobody else can take any more.
#[derive(Debug, Default)]
pub struct Bound {
    tcp: Vec<Option<TcpListener>>,
    udp: Vec<Option<UdpSocket>>,
}

impl Bound {
    /// Gives up the ports of the inputs for an index.
    pub(super) fn leave_out(&mut self, configured: &Configured, index: &IndexName) {
        let mut kept = configured.tcp.iter().map(|(_, one)| one.index != *index);
        self.tcp.retain(|_| kept.next().unwrap_or(true));
        let mut kept = configured.udp.iter().map(|(_, one)| one.index != *index);
        self.udp.retain(|_| kept.next().unwrap_or(true));
    }
}

/// Takes the ports, and nothing else: what is sent to them waits in the system until [`start_bound`]. An
/// app's port that cannot be taken is left out, with a warning.
///
/// # Errors
/// Another address cannot be listened at.
pub async fn bind(configured: &Configured) -> Result<Bound, Error> {
    let mut bound = Bound::default();
    for (address, _) in &configured.tcp {
        let listener = TcpListener::bind(address).await;
        bound.tcp.push(configured.taken("tcp", *address, listener)?);
    }
    for (address, _) in &configured.udp {
        let socket = UdpSocket::bind(address).await;
        bound.udp.push(configured.taken("udp", *address, socket)?);
    }
    Ok(bound)
}

impl Configured {
    fn taken<T>(
        &self,
        scheme: &str,
        address: SocketAddr,
        port: std::io::Result<T>,
    ) -> Result<Option<T>, Error> {
        let fail = |error: std::io::Error| Error::Listen {
            address: format!("{scheme}://{address}"),
            source: Arc::new(error),
        };
        match port.map_err(fail) {
            Err(error) if self.app_ports.contains(&address) => {
                tracing::warn!("{error}; the app's input is ignored");
                Ok(None)
            }
            port => port.map(Some),
        }
    }
}

/// Binds and starts all inputs over a sink; they end with the signal to stop. Gives the addresses that
/// are listened at, as `tcp://127.0.0.1:514`.
///
/// # Errors
/// An address cannot be listened at, or the checkpoints cannot be read.
pub async fn start(
    configured: Configured,
    parts: &Parts,
    sink: &Arc<dyn Sink>,
    shutdown: &Shutdown,
) -> Result<Vec<String>, Error> {
    let bound = bind(&configured).await?;
    start_bound(configured, bound, parts, sink, shutdown).await
}

/// As [`start`], over ports that [`bind`] has taken for the same configuration.
///
/// # Errors
/// The checkpoints cannot be read.
pub async fn start_bound(
    configured: Configured,
    bound: Bound,
    parts: &Parts,
    sink: &Arc<dyn Sink>,
    shutdown: &Shutdown,
) -> Result<Vec<String>, Error> {
    let mut listeners = Vec::new();
    for warning in &configured.warnings {
        tracing::warn!("{warning}");
    }
    for ((address, input), listener) in configured.tcp.into_iter().zip(bound.tcp) {
        let Some(listener) = listener else { continue };
        listeners.push(format!("tcp://{}", listener.local_addr().unwrap_or(address)));
        shutdown.spawn(input.serve(listener, Arc::clone(sink), shutdown.clone()));
    }
    for ((address, input), socket) in configured.udp.into_iter().zip(bound.udp) {
        let Some(socket) = socket else { continue };
        listeners.push(format!("udp://{}", socket.local_addr().unwrap_or(address)));
        shutdown.spawn(input.serve(socket, Arc::clone(sink), shutdown.clone()));
    }
    if !configured.monitor.is_empty() {
        let book = parts.state.join("monitor");
        let monitor = Monitor::new(configured.monitor, &book, configured.monitor_settings)?;
        let monitor = monitor.with_status(parts.files.clone());
        shutdown.spawn(monitor.run(Arc::clone(sink), shutdown.clone()));
    }
    for script in configured.scripts {
        shutdown.spawn(script.run(Arc::clone(sink), shutdown.clone()));
    }
    for fifo in configured.fifos {
        shutdown.spawn(fifo.run(Arc::clone(sink), shutdown.clone()));
    }
    for queue in configured.sqs {
        let taken = parts.state.join(format!("sqs-{}", queue.file_name()));
        let reader = queue.open(&taken, &parts.aws).await?;
        shutdown.spawn(reader.run(Arc::clone(sink), shutdown.clone()));
    }
    Ok(listeners)
}
