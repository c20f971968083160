//! Everything configured, bound and started.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use runtime::Shutdown;
use tokio::net::TcpListener;

use super::opening::{MONITORED, NotRunning, PAUSE, beside_sockets};
use super::{Configured, Parts};
use crate::monitor::Monitor;
use crate::s3::SqsReader;
use crate::tcp::{Signals, TcpInput, serve_port};
use crate::udp::UdpPort;
use crate::{Error, RemoteHost, Sink};

/// The ports of a [`Configured`], which nobody else can take any more.
#[derive(Debug, Default)]
pub struct Bound {
    pub(super) tcp: BTreeMap<SocketAddr, TcpListener>,
    pub(super) udp: BTreeMap<SocketAddr, UdpPort>,
    pub(super) forwarders: BTreeMap<SocketAddr, TcpListener>,
}

/// Binds the ports, and nothing else: data sent to them waits in the system until [`start_bound`]. If the
/// port of an app's input cannot be bound, the input is left out, with a warning.
///
/// # Errors
/// If another address cannot be bound.
pub async fn bind(configured: &Configured) -> Result<Bound, Error> {
    let mut bound = Bound::default();
    let tcp = configured.tcp.iter().map(|(address, one)| (*address, one.only_from.as_ref()));
    for address in configured.distinct("tcp", tcp)? {
        if let Some(port) = configured.taken("tcp", address, listener(address).await)? {
            bound.tcp.insert(address, port);
        }
    }
    let udp = configured.udp.iter().map(|(address, _)| (*address, None));
    for address in configured.distinct("udp", udp)? {
        let inputs = configured.udp.iter().filter(|(at, _)| *at == address);
        let buffer = inputs.map(|(_, input)| input.receive_buffer).max().unwrap_or_default();
        let socket = udp_port(address, buffer).await;
        if let Some(port) = configured.taken("udp", address, socket)? {
            bound.udp.insert(address, port);
        }
    }
    let forwarders = configured.forwarders.iter();
    let forwarders = forwarders.map(|(address, port)| (*address, port.only_from.as_ref()));
    for address in configured.distinct("tcp", forwarders)? {
        if let Some(port) = configured.taken("tcp", address, listener(address).await)? {
            bound.forwarders.insert(address, port);
        }
    }
    Ok(bound)
}

/// Takes a port for connections.
///
/// # Errors
/// [`Error::Listen`].
pub(super) async fn listener(address: SocketAddr) -> Result<TcpListener, Error> {
    TcpListener::bind(address).await.map_err(|error| cannot_listen("tcp", address, error))
}

/// Takes a port for datagrams, with a receive buffer of that many bytes; 0: as many as the system gives.
///
/// # Errors
/// [`Error::Listen`].
pub(super) async fn udp_port(address: SocketAddr, buffer: usize) -> Result<UdpPort, Error> {
    let port = UdpPort::bind(address, buffer).await;
    port.map_err(|error| cannot_listen("udp", address, error))
}

pub(super) fn cannot_listen(scheme: &str, address: SocketAddr, error: io::Error) -> Error {
    Error::Listen { address: format!("{scheme}://{address}"), source: Arc::new(error) }
}

impl Configured {
    fn taken<T>(
        &self,
        scheme: &str,
        address: SocketAddr,
        port: Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        match port {
            Err(error) if self.app_ports.contains(&address) => {
                tracing::warn!("{scheme}: {error}; the app's input is ignored");
                Ok(None)
            }
            port => port.map(Some),
        }
    }

    /// The addresses, once each: only inputs for different hosts share one.
    fn distinct<'a>(
        &self,
        scheme: &str,
        ports: impl Iterator<Item = (SocketAddr, Option<&'a RemoteHost>)>,
    ) -> Result<Vec<SocketAddr>, Error> {
        let mut seen: BTreeMap<SocketAddr, Vec<Option<&RemoteHost>>> = BTreeMap::new();
        for (address, only_from) in ports {
            let hosts = seen.entry(address).or_default();
            let shared = hosts.iter().all(|host| host.is_some() && *host != only_from);
            // The system gives a new port to each that asks for 0.
            let clash = !hosts.is_empty() && (only_from.is_none() || !shared);
            if clash && address.port() != 0 && !self.app_ports.contains(&address) {
                let used = io::Error::from(io::ErrorKind::AddrInUse);
                return Err(cannot_listen(scheme, address, used));
            }
            hosts.push(only_from);
        }
        Ok(seen.into_keys().collect())
    }
}

/// Inputs by their ports.
pub(super) fn by_port(inputs: Vec<(SocketAddr, TcpInput)>) -> BTreeMap<SocketAddr, Vec<TcpInput>> {
    let mut ports: BTreeMap<SocketAddr, Vec<TcpInput>> = BTreeMap::new();
    for (address, input) in inputs {
        ports.entry(address).or_default().push(input);
    }
    ports
}

/// Binds and starts all inputs over a sink; they end with the signal to stop. Gives the addresses that
/// are listened at, as `tcp://127.0.0.1:514`. Ports for forwarders are left out, and so are ports with TLS,
/// with a warning.
///
/// # Errors
/// An address cannot be listened at, or the checkpoints cannot be read, unless their disk is full.
pub async fn start(
    mut configured: Configured,
    parts: &Parts,
    sink: &Arc<dyn Sink>,
    shutdown: &Shutdown,
) -> Result<Vec<String>, Error> {
    configured.forwarders.clear();
    for (address, _) in configured.tcp.extract_if(.., |(_, input)| input.tls) {
        tracing::warn!(
            "[tcp-ssl://{address}]: only servers have inputs with TLS; the stanza is skipped, so send to \
             a server or to [tcp://<port>]"
        );
    }
    let bound = bind(&configured).await?;
    start_bound(configured, bound, parts, sink, shutdown).await
}

/// Opens an input and runs it. If the disk of its checkpoints is full, it is opened once that is possible.
///
/// # Errors
/// If the input cannot be opened for another reason.
async fn begin<T, F, R>(
    input: String,
    open: impl Fn() -> F + Send + Sync + 'static,
    run: impl FnOnce(T) -> R + Send + 'static,
    shutdown: &Shutdown,
) -> Result<(), Error>
where
    T: Send + 'static,
    F: Future<Output = Result<T, Error>> + Send,
    R: Future<Output = ()> + Send,
{
    let first = match open().await {
        Err(error) if !error.is_full_disk() => return Err(error),
        Err(error) => Err(warned(&input, &error)),
        Ok(opened) => Ok(opened),
    };
    let opening = NotRunning::default().opening(input.as_str(), shutdown);
    shutdown.spawn(async move {
        let opened = match first {
            Ok(opened) => opened,
            Err(reason) => {
                let last = Mutex::new(reason);
                let (input, open, last) = (&input, &open, &last);
                let again = move || async move {
                    let opened = open().await;
                    if let Err(error) = &opened {
                        let is_new = *last.lock() != error.to_string();
                        if is_new {
                            let reason = warned(input, error);
                            *last.lock() = reason;
                        }
                    }
                    opened
                };
                let Some(opened) = opening.until_open(again).await else { return };
                tracing::info!("{input}: the input runs now");
                opened
            }
        };
        run(opened).await;
    });
    Ok(())
}

/// Logs why an input does not run. Returns the reason.
fn warned(input: &str, error: &Error) -> String {
    let (seconds, reason) = (PAUSE.as_secs(), error.to_string());
    tracing::warn!("inputs do not run, and are tried again every {seconds} s: {input}: {reason}");
    reason
}

/// As [`start`], with ports that [`bind`] has bound for the same configuration.
///
/// # Errors
/// If the checkpoints cannot be opened, unless their disk is full.
pub async fn start_bound(
    configured: Configured,
    mut bound: Bound,
    parts: &Parts,
    sink: &Arc<dyn Sink>,
    shutdown: &Shutdown,
) -> Result<Vec<String>, Error> {
    let mut listeners = Vec::new();
    for warning in &configured.warnings {
        tracing::warn!("{warning}");
    }
    for (address, inputs) in by_port(configured.tcp) {
        let Some(listener) = bound.tcp.remove(&address) else { continue };
        listeners.push(format!("tcp://{}", listener.local_addr().unwrap_or(address)));
        let signals = Signals { accepting: shutdown.clone(), connections: shutdown.clone() };
        shutdown.spawn(serve_port(Arc::new(listener), inputs, Arc::clone(sink), None, signals));
    }
    for (address, input) in configured.udp {
        let Some(port) = bound.udp.remove(&address) else { continue };
        listeners.push(format!("udp://{}", port.local_addr().unwrap_or(address)));
        shutdown.spawn(input.serve_port(Arc::new(port), Arc::clone(sink), shutdown.clone()));
    }
    if !configured.monitor.is_empty() {
        let (book, settings) = (parts.state.join("monitor"), configured.monitor_settings);
        let targets = configured.monitor;
        let open = Arc::new(move || Monitor::new(targets.clone(), &book, settings));
        let open = move || beside_sockets(Arc::clone(&open));
        let (files, own) = (parts.files.clone(), parts.own.clone());
        let (sink, until) = (Arc::clone(sink), shutdown.clone());
        let run = move |monitor: Monitor| {
            Box::pin(monitor.with_status(files).without(own).run(sink, until))
        };
        begin(MONITORED.to_owned(), open, run, shutdown).await?;
    }
    for script in configured.scripts {
        shutdown.spawn(script.run(Arc::clone(sink), shutdown.clone()));
    }
    for fifo in configured.fifos {
        shutdown.spawn(fifo.run(Arc::clone(sink), shutdown.clone()));
    }
    for queue in configured.sqs {
        let taken = parts.state.join(format!("sqs-{}", queue.file_name()));
        let input = format!("the queue {}", queue.file_name());
        let (aws, sink, until) = (parts.aws.clone(), Arc::clone(sink), shutdown.clone());
        let open = move || {
            let (queue, taken, aws) = (queue.clone(), taken.clone(), aws.clone());
            async move { queue.open(&taken, &aws).await }
        };
        let run = move |reader: SqsReader| Box::pin(reader.run(sink, until));
        begin(input, open, run, shutdown).await?;
    }
    Ok(listeners)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_input_on_a_full_disk_begins_once_it_can_be_opened_and_other_errors_end_the_start() {
        let shutdown = Shutdown::new();
        let failure = |kind: io::ErrorKind| Error::checkpoints("book", kind.into());
        let last = vec![
            Ok(7),
            Err(failure(io::ErrorKind::PermissionDenied)),
            Err(failure(io::ErrorKind::StorageFull)),
        ];
        let attempts = Mutex::new(last);
        let open = move || std::future::ready(attempts.lock().pop().unwrap());
        let (sender, begun) = tokio::sync::oneshot::channel();
        let run = move |opened: u8| async move { sender.send(opened).unwrap() };
        begin("an input".to_owned(), open, run, &shutdown).await.unwrap();
        assert_eq!(begun.await.unwrap(), 7);
        let open = move || std::future::ready(Err::<u8, _>(failure(io::ErrorKind::InvalidData)));
        let run = |_: u8| std::future::ready(());
        begin("an input".to_owned(), open, run, &shutdown).await.unwrap_err();
    }
}
