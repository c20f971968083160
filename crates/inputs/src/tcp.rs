//! Events over TCP, with or without TLS: plain streams with the line breaking rules of their sourcetype,
//! and syslog.
//!
//! TCP has no acknowledgement: what was received before a crash and is not in the journal is lost.
//! When ingest is slow the connection is read no further, and the sender's own buffers fill.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use model::IndexName;
use parking_lot::Mutex;
use runtime::{Shutdown, metrics as names};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::intake::Intake;
use super::remote::RemoteHost;
use super::syslog::{Framer, header_host, without_mark};
use super::tls::{Handshake, Socket, open};
use crate::{
    CutEvents, Error, HostNames, Input, InputMeta, MissingTime, OriginRef, Sink, StreamKey,
};

/// Bytes read at once at most.
const CHUNK: usize = 256 << 10;
/// Least time between two warnings of a connection about messages that were cut, and between two about
/// refused handshakes of a sender for the same reason.
const REPEAT: Duration = Duration::from_secs(60);
/// Maximum number of refused senders and reasons that a port remembers; more are counted, but not logged.
const REFUSALS: usize = 1_000;
/// Maximum time that a new connection waits for the name of its sender.
const NAMING: Duration = Duration::from_secs(3);

/// How messages are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Framing {
    /// By the line breaking rules of the source type.
    Lines,
    /// Syslog: line feeds or octet counts, host from the header.
    Syslog,
}

/// A TCP input.
#[derive(Debug, Clone)]
pub struct TcpInput {
    /// The index of events.
    pub index: IndexName,
    /// Source of the events; `None`: `tcp:<port>`.
    pub source: Option<Arc<str>>,
    /// Their format; `None` recognises it, syslog framing defaults to `syslog`.
    pub sourcetype: Option<Arc<str>>,
    /// Host of the events; `None`: the header's, else the peer's address.
    pub host: Option<Arc<str>>,
    /// Looks up the peer's name, which is the host in place of its address.
    pub names: Option<HostNames>,
    /// The only host that may send; `None`: all.
    pub only_from: Option<RemoteHost>,
    /// How messages are separated.
    pub framing: Framing,
    /// Whether connections are encrypted.
    pub tls: bool,
    /// Connections at the same time; more are closed at once and counted.
    pub max_connections: usize,
    /// Longest syslog message in bytes; the rest of a longer one is dropped and counted.
    pub max_message: usize,
    /// An unfinished event is complete when the connection is silent for this long.
    pub idle: Duration,
}

impl TcpInput {
    /// An input with usual limits.
    #[must_use]
    pub fn new(index: IndexName, framing: Framing) -> Self {
        Self {
            index,
            source: None,
            sourcetype: None,
            host: None,
            names: None,
            only_from: None,
            framing,
            tls: false,
            max_connections: 10_000,
            max_message: 1 << 20,
            idle: Duration::from_secs(3),
        }
    }

    /// Takes connections without TLS until the signal to stop.
    ///
    /// # Errors
    /// The listener fails.
    pub async fn serve(
        self,
        listener: TcpListener,
        sink: Arc<dyn Sink>,
        shutdown: Shutdown,
    ) -> Result<(), Error> {
        let signals = Signals { accepting: shutdown.clone(), connections: shutdown };
        serve_port(Arc::new(listener), vec![self], sink, None, signals).await
    }
}

/// When a port ends: it accepts nothing more, or its connections end as well.
#[derive(Debug, Clone)]
pub struct Signals {
    /// The signal to accept nothing more.
    pub accepting: Shutdown,
    /// The signal to end the connections; their tasks belong to it.
    pub connections: Shutdown,
}

/// Takes the connections of a port, each for the first input that its sender may use.
///
/// # Errors
/// The listener fails.
pub(crate) async fn serve_port(
    listener: Arc<TcpListener>,
    inputs: Vec<TcpInput>,
    sink: Arc<dyn Sink>,
    tls: Option<Handshake>,
    signals: Signals,
) -> Result<(), Error> {
    let local = listener.local_addr().map_err(|error| Error::read("tcp listener", error))?;
    let limit = inputs.iter().map(|input| input.max_connections).max().unwrap_or_default();
    let inputs: Arc<[Arc<TcpInput>]> = inputs.into_iter().map(Arc::new).collect();
    let slots = Arc::new(Semaphore::new(limit));
    let refusals = Arc::new(Refusals::default());
    loop {
        let accepted = tokio::select! {
            () = signals.accepting.stopped() => return Ok(()),
            accepted = listener.accept() => accepted,
        };
        let (socket, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // No free descriptors, or the peer has disconnected: neither ends the input.
                tracing::warn!(%local, %error, "cannot accept a connection");
                if !signals.accepting.sleep(Duration::from_millis(100)).await {
                    return Ok(());
                }
                continue;
            }
        };
        let Ok(slot) = Arc::clone(&slots).try_acquire_owned() else {
            metrics::counter!(names::INGEST_REFUSED, "reason" => "connections").increment(1);
            tracing::warn!(%local, %peer, limit, "too many connections");
            continue;
        };
        let (inputs, sink, tls) = (Arc::clone(&inputs), Arc::clone(&sink), tls.clone());
        let refusals = Arc::clone(&refusals);
        let shutdown = signals.connections.clone();
        signals.connections.spawn(async move {
            let _slot = slot;
            let Some(input) = input_for(&inputs, peer).await else {
                metrics::counter!(names::INGEST_REFUSED, "reason" => "host").increment(1);
                tracing::warn!(%local, %peer, "the input is restricted to another host");
                return;
            };
            let opened = tokio::select! {
                () = shutdown.stopped() => return,
                opened = open(socket, input.tls, tls) => opened,
            };
            let socket = match opened {
                Ok(Some(socket)) => socket,
                Ok(None) => return,
                Err(reason) => {
                    metrics::counter!(names::INGEST_REFUSED, "reason" => "tls").increment(1);
                    if refusals.is_due(peer.ip(), &reason, Instant::now()) {
                        tracing::warn!(%local, %peer, reason, "the connection is refused");
                    }
                    return;
                }
            };
            let intake = Intake::new(sink);
            let (port, logged) = (local.port(), LoggedTruncations::default());
            let connection = Connection { input, peer, port, intake, shutdown, logged };
            if let Err(error) = connection.read(socket).await {
                tracing::warn!(%peer, %error, "connection ended");
            }
        });
    }
}

/// Refused senders that were logged, by address and reason.
#[derive(Debug, Default)]
struct Refusals(Mutex<HashMap<(IpAddr, String), Instant>>);

impl Refusals {
    /// Whether a refusal is to be logged: a sender that tries repeatedly is logged once per [`REPEAT`].
    fn is_due(&self, peer: IpAddr, reason: &str, now: Instant) -> bool {
        let mut logged = self.0.lock();
        logged.retain(|_, at| now.duration_since(*at) < REPEAT);
        let key = (peer, reason.to_owned());
        if logged.len() >= REFUSALS || logged.contains_key(&key) {
            return false;
        }
        logged.insert(key, now);
        true
    }
}

async fn input_for(inputs: &[Arc<TcpInput>], peer: SocketAddr) -> Option<Arc<TcpInput>> {
    for input in inputs {
        let allowed = match &input.only_from {
            None => true,
            Some(host) => host.is_at(peer.ip()).await,
        };
        if allowed {
            return Some(Arc::clone(input));
        }
    }
    None
}

struct Connection {
    input: Arc<TcpInput>,
    peer: SocketAddr,
    port: u16,
    intake: Intake,
    shutdown: Shutdown,
    logged: LoggedTruncations,
}

impl Connection {
    /// The host where neither setting nor header tells one.
    async fn peer_host(&self) -> Arc<str> {
        match &self.input.names {
            Some(names) => names.host_within(self.peer.ip(), NAMING).await,
            None => self.peer.ip().to_string().into(),
        }
    }

    async fn meta(&self) -> InputMeta {
        let host = match &self.input.host {
            Some(host) => Arc::clone(host),
            None => self.peer_host().await,
        };
        let source = self.input.source.clone();
        let sourcetype = match self.input.framing {
            Framing::Lines => self.input.sourcetype.clone(),
            Framing::Syslog => {
                Some(self.input.sourcetype.clone().unwrap_or_else(|| "syslog".into()))
            }
        };
        InputMeta {
            index: self.input.index.clone(),
            host,
            source: source.unwrap_or_else(|| format!("tcp:{}", self.port).into()),
            sourcetype,
        }
    }

    async fn read(mut self, mut socket: Socket) -> Result<(), Error> {
        let meta = Arc::new(self.meta().await);
        let stream = StreamKey(format!("tcp:{}:{}", self.port, self.peer).into());
        let mut framer = Framer::default();
        let mut unfinished = false;
        loop {
            let mut chunk = BytesMut::with_capacity(CHUNK);
            let read = tokio::select! {
                () = self.shutdown.stopped() => Some(Ok(0)),
                read = tokio::time::timeout(self.input.idle, socket.read(&mut chunk)) => {
                    read.ok()
                }
            };
            let (end, broken) = match read {
                None if !unfinished => continue,
                None => (false, None),
                Some(Ok(read)) => (read == 0, None),
                Some(Err(error)) => (true, Some(Error::read(self.peer, error))),
            };
            // Includes data that has arrived meanwhile: larger chunks cost less per event.
            while !chunk.is_empty() && chunk.len() < CHUNK {
                match socket.try_read(&mut chunk) {
                    Ok(1..) => {}
                    // An end or an error is met again by the next read.
                    Ok(0) | Err(_) => break,
                }
            }
            let idle = read_is_idle(&chunk, end);
            let bytes = chunk.freeze();
            match self.input.framing {
                Framing::Lines => {
                    let ends = end || idle;
                    self.push_lines(&meta, &stream, bytes, ends).await?;
                    unfinished = !ends;
                }
                Framing::Syslog => {
                    self.push_messages(&mut framer, &meta, &stream, &bytes, end).await?;
                }
            }
            if end {
                self.intake.settle().await?;
                return broken.map_or(Ok(()), Err);
            }
        }
    }

    async fn push_lines(
        &mut self,
        meta: &Arc<InputMeta>,
        stream: &StreamKey,
        bytes: Bytes,
        end: bool,
    ) -> Result<(), Error> {
        let (origin, stream) = (Arc::clone(meta), stream.clone());
        self.intake.push(Input::Raw { origin, stream, bytes, modified: None, end }).await
    }

    async fn push_messages(
        &mut self,
        framer: &mut Framer,
        meta: &InputMeta,
        stream: &StreamKey,
        bytes: &[u8],
        end: bool,
    ) -> Result<(), Error> {
        let mut events = CutEvents::new(MissingTime::FromText);
        let cut = framer.cut;
        let mut emit = |message: &[u8]| {
            let message = without_mark(message);
            let named = || header_host(&message).unwrap_or(&meta.host);
            let host = self.input.host.as_deref().unwrap_or_else(named);
            // A connection sends at most its chunk and one message.
            let _ = events.push(OriginRef { host, ..meta.by_ref() }, None, &message);
        };
        framer.push(bytes, self.input.max_message, &mut emit);
        if end {
            framer.finish(&mut emit);
        }
        if framer.cut > cut {
            metrics::counter!(names::INGEST_TRUNCATED).increment(framer.cut - cut);
        }
        self.report_cut(framer, end);
        if events.is_empty() {
            return Ok(());
        }
        self.intake.push(Input::Events { stream: stream.clone(), events }).await
    }

    /// Warns of messages that were cut, once they are complete, and at most once per [`REPEAT`].
    fn report_cut(&mut self, framer: &Framer, end: bool) {
        let messages = framer.cut - self.logged.messages;
        let is_due = self.logged.at.is_none_or(|at| at.elapsed() >= REPEAT);
        if messages == 0 || !end && (framer.is_skipping() || !is_due) {
            return;
        }
        let dropped_bytes = framer.dropped - self.logged.bytes;
        tracing::warn!(peer = %self.peer, messages, dropped_bytes, limit = self.input.max_message,
            "syslog messages are longer than the limit and were truncated");
        self.logged = LoggedTruncations {
            at: Some(Instant::now()),
            messages: framer.cut,
            bytes: framer.dropped,
        };
    }
}

/// The truncated messages that were logged.
#[derive(Debug, Default)]
struct LoggedTruncations {
    at: Option<Instant>,
    messages: u64,
    bytes: u64,
}

fn read_is_idle(chunk: &BytesMut, end: bool) -> bool {
    chunk.is_empty() && !end
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn a_refused_sender_is_logged_once_a_minute_and_reason() {
        let refusals = Refusals::default();
        let peer = |last| IpAddr::from(Ipv4Addr::new(10, 0, 0, last));
        let start = Instant::now();
        assert!(refusals.is_due(peer(1), "timed out", start));
        assert!(!refusals.is_due(peer(1), "timed out", start + REPEAT / 2));
        assert!(refusals.is_due(peer(1), "no certificate", start));
        assert!(refusals.is_due(peer(2), "timed out", start));
        assert!(refusals.is_due(peer(1), "timed out", start + REPEAT));
    }

    #[test]
    fn the_number_of_remembered_refusals_is_limited() {
        let refusals = Refusals::default();
        let (peer, start) = (IpAddr::from(Ipv4Addr::LOCALHOST), Instant::now());
        for at in [start, start + REPEAT] {
            let reasons = 0..2 * REFUSALS;
            let due = reasons.filter(|n| refusals.is_due(peer, &n.to_string(), at)).count();
            assert_eq!(due, REFUSALS);
        }
    }
}
