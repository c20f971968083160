//! Syslog over UDP: one datagram, one event.
//!
//! UDP loses datagrams that are not read in time; datagrams that arrive while ingest refuses events are
//! counted.

use std::net::SocketAddr;
use std::sync::Arc;

use model::IndexName;
use runtime::{Shutdown, metrics as names};
use tokio::net::UdpSocket;

use super::remote::{RemoteHost, Senders};
use super::syslog::{header_host, without_mark};
use crate::{CutEvents, Error, HostNames, Input, MissingTime, OriginRef, Sink, StreamKey};

/// Maximum number of datagrams that are sent to the sink together.
const GROUP: usize = 512;

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
}

impl UdpInput {
    /// Creates an input with default settings.
    #[must_use]
    pub fn new(index: IndexName) -> Self {
        Self { index, source: None, sourcetype: None, host: None, names: None, only_from: None }
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
        self.serve_socket(Arc::new(socket), sink, shutdown).await
    }

    /// The same over a socket that outlives the input.
    ///
    /// # Errors
    /// The socket fails.
    pub(crate) async fn serve_socket(
        self,
        socket: Arc<UdpSocket>,
        sink: Arc<dyn Sink>,
        shutdown: Shutdown,
    ) -> Result<(), Error> {
        let local = socket.local_addr().map_err(|error| Error::read("udp socket", error))?;
        let mut senders = Senders::new(self.only_from.clone());
        let stream = StreamKey(format!("udp:{}", local.port()).into());
        let mut buffer = vec![0; 64 << 10];
        loop {
            let received = tokio::select! {
                () = shutdown.stopped() => return Ok(()),
                received = socket.recv_from(&mut buffer) => received,
            };
            let (length, peer) = match received {
                Ok(received) => received,
                // An ICMP response to another datagram is reported here; the socket is still usable.
                Err(error) => {
                    tracing::debug!(%local, %error, "a datagram could not be read");
                    continue;
                }
            };
            senders.refresh().await;
            let mut events = CutEvents::new(MissingTime::FromText);
            let mut refused = 0_u64;
            let mut take = |datagram: &[u8], peer: SocketAddr| {
                if senders.allow(peer.ip()) {
                    self.add(&mut events, datagram, peer, local.port());
                } else {
                    refused += 1;
                }
            };
            take(&buffer[..length], peer);
            // Includes datagrams that have arrived meanwhile.
            for _ in 1..GROUP {
                let Ok((length, peer)) = socket.try_recv_from(&mut buffer) else { break };
                take(&buffer[..length], peer);
            }
            if refused > 0 {
                metrics::counter!(names::INGEST_REFUSED, "reason" => "host").increment(refused);
            }
            let count = events.len() as u64;
            if count == 0 {
                continue;
            }
            let input = Input::Events { stream: stream.clone(), events };
            let wait = sink.limits().queue_wait;
            match sink.enqueue(input, wait).await {
                // Nobody waits for an answer; a failure to write the journal is logged there.
                Ok(acknowledgement) => drop(acknowledgement),
                Err(Error::Closed) => return Ok(()),
                Err(error) => {
                    metrics::counter!(names::INGEST_REFUSED, "reason" => "udp").increment(count);
                    tracing::warn!(%error, events = count, "datagrams are lost");
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
