//! Everything configured, started.

use std::sync::Arc;

use runtime::Shutdown;
use tokio::net::{TcpListener, UdpSocket};

use super::{Configured, Parts};
use crate::monitor::Monitor;
use crate::{Error, Sink};

/// Starts all inputs over a sink; they end with the signal to stop. Gives the addresses that are
/// listened at, as `tcp://127.0.0.1:514`.
///
/// # Errors
/// An address cannot be listened at, or the checkpoints cannot be read.
pub async fn start(
    configured: Configured,
    parts: &Parts,
    sink: &Arc<dyn Sink>,
    shutdown: &Shutdown,
) -> Result<Vec<String>, Error> {
    let mut listeners = Vec::new();
    for warning in &configured.warnings {
        tracing::warn!("{warning}");
    }
    for (address, input) in configured.tcp {
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|error| Error::read(format!("tcp://{address}"), error))?;
        listeners.push(format!("tcp://{}", listener.local_addr().unwrap_or(address)));
        shutdown.spawn(input.serve(listener, Arc::clone(sink), shutdown.clone()));
    }
    for (address, input) in configured.udp {
        let socket = UdpSocket::bind(address).await;
        let socket = socket.map_err(|error| Error::read(format!("udp://{address}"), error))?;
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
