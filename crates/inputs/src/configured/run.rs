//! Everything configured, bound and started.

use std::net::SocketAddr;
use std::sync::Arc;

use runtime::Shutdown;
use tokio::net::{TcpListener, UdpSocket};

use super::{Configured, Parts};
use crate::monitor::Monitor;
use crate::{Error, Sink};

/// The ports of a [`Configured`], which nobody else can take any more.
#[derive(Debug, Default)]
pub struct Bound {
    tcp: Vec<TcpListener>,
    udp: Vec<UdpSocket>,
}

/// Takes the ports, and nothing else: what is sent to them waits in the system until [`start_bound`].
///
/// # Errors
/// An address cannot be listened at.
pub async fn bind(configured: &Configured) -> Result<Bound, Error> {
    let mut bound = Bound::default();
    for (address, _) in &configured.tcp {
        let listener = TcpListener::bind(address).await;
        bound.tcp.push(listener.map_err(|error| taken("tcp", *address, error))?);
    }
    for (address, _) in &configured.udp {
        let socket = UdpSocket::bind(address).await;
        bound.udp.push(socket.map_err(|error| taken("udp", *address, error))?);
    }
    Ok(bound)
}

fn taken(scheme: &str, address: SocketAddr, error: std::io::Error) -> Error {
    Error::Listen { address: format!("{scheme}://{address}"), source: Arc::new(error) }
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
        listeners.push(format!("tcp://{}", listener.local_addr().unwrap_or(address)));
        shutdown.spawn(input.serve(listener, Arc::clone(sink), shutdown.clone()));
    }
    for ((address, input), socket) in configured.udp.into_iter().zip(bound.udp) {
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
