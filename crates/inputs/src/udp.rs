//! Syslog over UDP: one datagram, one event.
//!
//! ```text
//! kernel's receive buffer -> receive -> Waiting -> pass_on -> Sink
//! ```
//!
//! The kernel drops datagrams that are not read in time, so one task only reads, while the other one waits
//! for the sink. Dropped datagrams are counted, and so are those that arrive while ingest refuses events.

mod port;
mod waiting;

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::IndexName;
use runtime::{Shutdown, metrics as names};
use tokio::net::UdpSocket;

use super::remote::{RemoteHost, Senders};
use super::syslog::{header_host, without_mark};
use crate::{
    CutEvents, Error, HostNames, Input, MissingTime, OriginRef, Sink, StreamKey, settings,
};

pub(crate) use self::port::UdpPort;
use self::waiting::{Group, Waiting};

/// Maximum number of datagrams that are received before other tasks have their turn.
const SWEEP: usize = 512;
/// Maximum number of such turns after the signal to stop.
const LAST_SWEEPS: usize = 64;
/// Bytes of received datagrams that wait for the sink.
const WAITING: usize = 16 << 20;
/// Time between two looks at the number of dropped datagrams.
const COUNTING: Duration = Duration::from_secs(5);
/// Least time between two warnings about dropped datagrams.
const REPEAT: Duration = Duration::from_secs(60);
/// Time-out of the tasks of an input that ends.
const END: Duration = Duration::from_secs(5);

/// A UDP input.
#[derive(Debug, Clone)]
pub struct UdpInput {
    /// The index of events.
    pub index: IndexName,
    /// Source of the events; `None`: `udp:<port>`.
    pub source: Option<Arc<str>>,
    /// Their format; `None`: `syslog`.
    pub sourcetype: Option<Arc<str>>,
    /// Host of the events; `None`: the header's, else the peer's address.
    pub host: Option<Arc<str>>,
    /// Looks up the peer's name, which becomes the host in place of its address. Datagrams do not wait for
    /// it: the first ones of a sender may have its address.
    pub names: Option<HostNames>,
    /// The only host that may send; `None`: all.
    pub only_from: Option<RemoteHost>,
    /// Bytes of the socket's receive buffer; 0: as many as the system gives.
    pub receive_buffer: usize,
}

impl UdpInput {
    /// Creates an input with default settings.
    #[must_use]
    pub fn new(index: IndexName) -> Self {
        Self {
            index,
            source: None,
            sourcetype: None,
            host: None,
            names: None,
            only_from: None,
            receive_buffer: settings::RECEIVE_BUFFER.default_value(),
        }
    }

    /// Takes datagrams until the signal to stop.
    ///
    /// # Errors
    /// The socket fails.
    pub async fn serve(
        self,
        socket: UdpSocket,
        sink: Arc<dyn Sink>,
        shutdown: Shutdown,
    ) -> Result<(), Error> {
        self.serve_port(Arc::new(UdpPort::new(socket)), sink, shutdown).await
    }

    /// The same over a socket that outlives the input.
    ///
    /// # Errors
    /// The socket fails.
    pub(crate) async fn serve_port(
        self,
        port: Arc<UdpPort>,
        sink: Arc<dyn Sink>,
        shutdown: Shutdown,
    ) -> Result<(), Error> {
        let local = port.local_addr().map_err(|error| Error::read("udp socket", error))?;
        self.set_receive_buffer(&port, local);
        let waiting = Arc::new(Waiting::new(WAITING));
        let receiving = shutdown.part();
        receiving.spawn(receive(Arc::clone(&port), Arc::clone(&waiting), receiving.clone()));
        receiving.spawn(count_dropped(port, local, receiving.clone()));
        self.pass_on(&waiting, &*sink, &shutdown, local.port()).await;
        if let Err(error) = receiving.finish(END).await {
            tracing::warn!(%local, %error, "the reading of datagrams has not ended in time");
        }
        Ok(())
    }

    fn set_receive_buffer(&self, port: &UdpPort, local: SocketAddr) {
        let wanted = self.receive_buffer;
        match port.set_receive_buffer(wanted) {
            Ok(given) if given < wanted => tracing::warn!(%local, wanted, given,
                "the system limits the receive buffer of the socket (_rcvbuf), so bursts of datagrams \
                 may be lost: raise net.core.rmem_max"),
            Ok(_) => {}
            Err(error) => tracing::warn!(%local, wanted, %error,
                "the receive buffer of the socket cannot be set (_rcvbuf)"),
        }
    }

    /// Passes received datagrams to the sink until there are no more, or the sink is closed.
    async fn pass_on(&self, waiting: &Waiting, sink: &dyn Sink, shutdown: &Shutdown, port: u16) {
        let mut senders = Senders::new(self.only_from.clone());
        let stream = StreamKey(format!("udp:{port}").into());
        let mut wait = sink.limits().queue_wait;
        while let Some(group) = waiting.take().await {
            senders.refresh().await;
            let mut events = CutEvents::new(MissingTime::FromText);
            let mut refused = 0_u64;
            for (datagram, peer) in group.datagrams() {
                if senders.allow(peer.ip()) {
                    self.add(&mut events, datagram, peer, port);
                } else {
                    refused += 1;
                }
            }
            if refused > 0 {
                metrics::counter!(names::INGEST_REFUSED, "reason" => "host").increment(refused);
            }
            let count = events.len() as u64;
            if count == 0 {
                continue;
            }
            let input = Input::Events { stream: stream.clone(), events };
            match sink.enqueue(input, wait).await {
                // Nobody waits for an answer; a failure to write the journal is logged there.
                Ok(acknowledgement) => drop(acknowledgement),
                Err(Error::Closed) => return,
                Err(error) => {
                    metrics::counter!(names::INGEST_REFUSED, "reason" => "udp").increment(count);
                    tracing::warn!(%error, events = count, "datagrams are lost");
                    // A stop does not wait for each group of a sink without room.
                    if shutdown.is_stopped() {
                        wait = Duration::ZERO;
                    }
                }
            }
        }
    }

    fn add(&self, events: &mut CutEvents, datagram: &[u8], peer: SocketAddr, port: u16) {
        let end = datagram.iter().rposition(|byte| !b"\r\n\0".contains(byte));
        let Some(end) = end else { return };
        let message = without_mark(&datagram[..=end]);
        let peer_host;
        let host = match self.host.as_deref().or_else(|| header_host(&message)) {
            Some(host) => host,
            None => {
                peer_host = match &self.names {
                    Some(names) => names.host(peer.ip()),
                    None => peer.ip().to_string().into(),
                };
                &peer_host
            }
        };
        let named = format!("udp:{port}");
        let origin = OriginRef {
            index: &self.index,
            host,
            source: self.source.as_deref().unwrap_or(&named),
            sourcetype: Some(self.sourcetype.as_deref().unwrap_or("syslog")),
        };
        // A group of datagrams is far below any limit.
        let _ = events.push(origin, None, &message);
    }
}

/// Receives datagrams until the signal to stop, and at the end those that have arrived.
async fn receive(port: Arc<UdpPort>, waiting: Arc<Waiting>, shutdown: Shutdown) {
    let mut buffer = vec![0; 64 << 10];
    let mut group = Group::default();
    while !shutdown.is_stopped() {
        // Meanwhile, datagrams wait in the receive buffer of the socket.
        tokio::select! {
            () = shutdown.stopped() => break,
            () = waiting.room() => {}
        }
        tokio::select! {
            () = shutdown.stopped() => break,
            ready = port.socket().readable() => {
                if let Err(error) = ready {
                    tracing::warn!(%error, "a socket for datagrams cannot be read");
                    shutdown.sleep(Duration::from_millis(100)).await;
                }
            }
        }
        let is_last = sweep(&port, &mut buffer, &mut group);
        waiting.add(&mut group);
        if !is_last {
            // Under a flood, other tasks of this thread have their turn.
            tokio::task::yield_now().await;
        }
    }
    // A sweep receives only from a socket that is known to be readable.
    let _ = tokio::time::timeout(Duration::from_millis(10), port.socket().readable()).await;
    for _ in 0..LAST_SWEEPS {
        let is_last = sweep(&port, &mut buffer, &mut group);
        waiting.add(&mut group);
        if is_last {
            break;
        }
    }
    waiting.end();
}

/// Receives what has arrived, up to a limit. Returns whether nothing is left.
fn sweep(port: &UdpPort, buffer: &mut [u8], group: &mut Group) -> bool {
    for _ in 0..SWEEP {
        if group.is_full() {
            return false;
        }
        match port.socket().try_recv_from(buffer) {
            Ok((length, peer)) => group.push(&buffer[..length], peer),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
            // An ICMP response to another datagram is reported here; the socket is still usable.
            Err(error) => tracing::debug!(%error, "a datagram could not be read"),
        }
    }
    false
}

/// Counts the datagrams that the kernel drops, and logs them at most once per [`REPEAT`].
async fn count_dropped(port: Arc<UdpPort>, local: SocketAddr, shutdown: Shutdown) {
    let input = format!("udp:{}", local.port());
    let counter = metrics::counter!(names::INGEST_LOST_DATAGRAMS, "input" => input);
    counter.increment(0);
    let mut unlogged = 0_u64;
    let mut logged: Option<Instant> = None;
    let mut is_known = false;
    loop {
        let goes_on = shutdown.sleep(COUNTING).await;
        let dropped = match port.newly_dropped().await {
            Some(dropped) => dropped,
            // Without a free file descriptor, for example, the system tells it later.
            None if is_known && goes_on => continue,
            None if is_known => 0,
            None => return,
        };
        is_known = true;
        counter.increment(dropped.into());
        unlogged += u64::from(dropped);
        let is_due = !goes_on || logged.is_none_or(|at| at.elapsed() >= REPEAT);
        if unlogged > 0 && is_due {
            tracing::warn!(%local, datagrams = unlogged,
                "datagrams were lost because they arrived faster than they were read: raise _rcvbuf and \
                 net.core.rmem_max, or use TCP");
            logged = Some(Instant::now());
            unlogged = 0;
        }
        if !goes_on {
            return;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use testkit::wait_until;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn datagrams_are_received_while_the_sink_waits() {
        let port = UdpPort::bind("127.0.0.1:0".parse().unwrap(), 64 << 10).await.unwrap();
        let (port, waiting) = (Arc::new(port), Arc::new(Waiting::new(WAITING)));
        let shutdown = Shutdown::new();
        shutdown.spawn(receive(Arc::clone(&port), Arc::clone(&waiting), shutdown.clone()));
        let sender = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = port.local_addr().unwrap();
        // Together, they are far more than the receive buffer has room for.
        for sent in 1..=100 {
            for _ in 0..10 {
                sender.send_to(&[b'x'; 1_000], address).await.unwrap();
            }
            let received = || async { waiting.datagrams() == sent * 10 };
            assert!(wait_until(received, PATIENCE).await, "{sent}: {}", waiting.datagrams());
        }
        // What has arrived before the end is there after it.
        sender.send_to(b"last", address).await.unwrap();
        shutdown.finish(PATIENCE).await.unwrap();
        let mut taken = 0;
        while let Some(group) = waiting.take().await {
            taken += group.datagrams().count();
        }
        assert_eq!(taken, 1_001);
    }
}
