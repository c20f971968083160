//! A connection to an indexer: batches out, receipts in.
//!
//! A link does not know about balancing or retries; it reports to its sender, and ends when the connection
//! ends or when the sender drops its orders.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt, StreamExt};
use prost::Message;
use protocol::{
    AckLevel, Batch, Hello, ParsingRules, Ping, Reason, Receipt, Sequences, ToForwarder, ToIndexer,
    to_forwarder, to_indexer,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_util::codec::{Framed, LengthDelimitedCodec};
use uuid::Uuid;

use crate::indexer_rules::IndexerRules;
use crate::outputs::Group;
use crate::queue::Place;
use crate::tls::{self, Tls};

/// Time to read the receipts that have arrived, once nothing more can be written.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// A bidirectional connection over any transport.
trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

type Frames = Framed<Box<dyn Duplex>, LengthDelimitedCodec>;

/// An order of a sender to a link.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) place: Place,
    /// Every batch below this number is acknowledged.
    pub(crate) settled: u64,
}

/// A report of a link.
#[derive(Debug)]
pub(crate) enum News {
    /// The connection is up; the indexer with this name and identity already has these batches.
    Up { safe: Sequences, indexer: String, id: Option<Uuid> },
    /// The indexer stops. What it took from this connection, it has acknowledged or refused.
    Goodbye,
    /// These batches are durable at the indexer, at these levels.
    Safe(Vec<(u64, AckLevel)>),
    /// A batch was refused, with the reason in words.
    Refused { sequence: u64, why: Reason, reason: String },
    /// A batch cannot be read from the queue.
    Unreadable { sequence: u64, reason: String },
    /// The connection has ended.
    Down(String),
}

/// A report with the number of its link.
pub(crate) type Report = (u64, News);

/// The parts of a link.
#[derive(Debug, Clone)]
pub(crate) struct LinkParts {
    /// The link's number.
    pub(crate) number: u64,
    pub(crate) address: String,
    pub(crate) tls: Option<Tls>,
    pub(crate) group: Arc<Group>,
    pub(crate) hello: Hello,
    /// Gets the rules that the indexer sends.
    pub(crate) rules: Arc<IndexerRules>,
    pub(crate) news: mpsc::Sender<Report>,
}

/// Connects, and works until the connection or the orders end.
pub(crate) async fn run(parts: LinkParts, orders: mpsc::UnboundedReceiver<Order>) {
    let (number, news) = (parts.number, parts.news.clone());
    let reason = match converse(parts, orders).await {
        Ok(()) => "closed".to_owned(),
        Err(reason) => reason,
    };
    // The sender may have ended.
    let _ = news.send((number, News::Down(reason))).await;
}

async fn converse(parts: LinkParts, orders: mpsc::UnboundedReceiver<Order>) -> Result<(), String> {
    let limit = parts.group.connection_timeout;
    let connected = tokio::time::timeout(limit, connect(&parts)).await;
    let connected = connected.map_err(|_| format!("no connection within {limit:?}"))??;
    let (frames, rules, news) = connected;
    hear(&parts, rules).await?;
    let number = parts.number;
    let tell = |one| {
        let news = parts.news.clone();
        async move { news.send((number, one)).await.map_err(|_| "the sender has ended".to_owned()) }
    };
    tell(news).await?;
    let (write, read) = frames.split();
    // No more orders: waits until batches in flight are acknowledged or the sender is dropped.
    until_over(send_orders(write, orders, &parts), read_answers(read, &parts)).await
}

/// Works until one of both ends. An indexer that stops sends receipts until it closes the connection. If a
/// batch is written right then, that fails before they are read, and another indexer would get what they
/// acknowledge once more.
async fn until_over(
    writing: impl Future<Output = Result<(), String>>,
    reading: impl Future<Output = Result<(), String>>,
) -> Result<(), String> {
    let mut reading = pin!(reading);
    let written = tokio::select! {
        result = writing => result,
        result = reading.as_mut() => return result,
    };
    if written.is_err() {
        // How reading ends does not matter: the connection is over.
        let _ = tokio::time::timeout(LAST_ANSWERS, reading).await;
    }
    written
}

/// Takes over the rules of the indexer.
async fn hear(parts: &LinkParts, rules: Option<ParsingRules>) -> Result<(), String> {
    let (known, indexer) = (Arc::clone(&parts.rules), parts.address.clone());
    // Patterns are compiled.
    tokio::task::spawn_blocking(move || known.hear(&indexer, rules)).await.map_err(text)
}

/// Connects; also returns the rules of the indexer.
async fn connect(parts: &LinkParts) -> Result<(Frames, Option<ParsingRules>, News), String> {
    let tcp = TcpStream::connect(&parts.address).await.map_err(text)?;
    tcp.set_nodelay(true).map_err(text)?;
    let stream: Box<dyn Duplex> = match &parts.tls {
        None => Box::new(tcp),
        Some(tls) => {
            let connected = tls.connector.connect(tls.name.clone(), tcp).await;
            Box::new(connected.map_err(|error| tls::reason(&error))?)
        }
    };
    let codec = LengthDelimitedCodec::builder().max_frame_length(protocol::MAX_FRAME).new_codec();
    let mut frames = Framed::new(stream, codec);
    // Frames are flushed as they are written, because a batch is larger than any reasonable buffer.
    frames.set_backpressure_boundary(64 << 10);
    frames.send(encode(to_indexer::Kind::Hello(parts.hello.clone()))).await.map_err(text)?;
    let frame = frames.next().await.ok_or("it closed the connection; is the token correct?")?;
    // The answer of a TLS port is not a valid frame.
    let hint = if parts.tls.is_none() { "; is useSSL missing?" } else { "" };
    let frame =
        frame.map_err(|error| format!("it does not answer as an indexer: {error}{hint}"))?;
    let message = ToForwarder::decode(frame.freeze()).map_err(text)?;
    let Some(to_forwarder::Kind::Welcome(welcome)) = message.kind else {
        return Err("it did not answer Hello with Welcome".to_owned());
    };
    if welcome.version != protocol::VERSION {
        return Err(format!("it speaks version {}", welcome.version));
    }
    let ranges = welcome.ranges.chunks_exact(2).map(|pair| (pair[0], pair[1]));
    let safe = Sequences::of(welcome.below, ranges);
    // An indexer without an identity sends zeros.
    let id = Uuid::from_slice(&welcome.indexer).ok().filter(|id| !id.is_nil());
    Ok((frames, welcome.parsing_rules, News::Up { safe, indexer: welcome.name, id }))
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn encode(kind: to_indexer::Kind) -> Bytes {
    ToIndexer { kind: Some(kind) }.encode_to_vec().into()
}

async fn send_orders(
    mut write: SplitSink<Frames, Bytes>,
    mut orders: mpsc::UnboundedReceiver<Order>,
    parts: &LinkParts,
) -> Result<(), String> {
    loop {
        let order = match tokio::time::timeout(parts.group.heartbeat, orders.recv()).await {
            Ok(Some(order)) => order,
            Ok(None) => return write.close().await.map_err(text),
            Err(_) => {
                write.send(encode(to_indexer::Kind::Ping(Ping {}))).await.map_err(text)?;
                continue;
            }
        };
        let sequence = order.place.header.sequence;
        let settled = order.settled;
        let read = tokio::task::spawn_blocking(move || {
            let content = order.place.read()?;
            Ok::<_, crate::Error>(Batch {
                sequence,
                settled,
                compression: i32::from(order.place.header.compression),
                plain_len: order.place.header.plain_len,
                content,
            })
        });
        match read.await.map_err(text)? {
            Ok(batch) => {
                let sent = write.send(encode(to_indexer::Kind::Batch(batch)));
                let limit = parts.group.read_timeout;
                let sent = tokio::time::timeout(limit, sent).await;
                sent.map_err(|_| format!("it accepted no data for {limit:?}"))?.map_err(text)?;
            }
            Err(error) => {
                let news = News::Unreadable { sequence, reason: error.to_string() };
                parts.news.send((parts.number, news)).await.map_err(text)?;
            }
        }
    }
}

async fn read_answers(mut read: SplitStream<Frames>, parts: &LinkParts) -> Result<(), String> {
    let silence: Duration = parts.group.read_timeout.max(parts.group.heartbeat * 2);
    loop {
        let frame = tokio::time::timeout(silence, read.next()).await;
        let frame = frame.map_err(|_| format!("it sent nothing for {silence:?}"))?;
        let frame = frame.ok_or("it closed the connection")?.map_err(text)?;
        let message = ToForwarder::decode(frame.freeze()).map_err(text)?;
        let news = match message.kind {
            Some(to_forwarder::Kind::Receipt(receipt)) => News::Safe(batches_of(receipt)),
            Some(to_forwarder::Kind::Refusal(refusal)) => News::Refused {
                sequence: refusal.sequence,
                // A newer indexer may have reasons that this version does not know.
                why: Reason::try_from(refusal.reason).unwrap_or(Reason::Busy),
                reason: refusal.text,
            },
            Some(to_forwarder::Kind::Rules(rules)) => {
                hear(parts, Some(rules)).await?;
                continue;
            }
            Some(to_forwarder::Kind::Goodbye(_)) => {
                parts.news.send((parts.number, News::Goodbye)).await.map_err(text)?;
                return Err("it stops".to_owned());
            }
            Some(to_forwarder::Kind::Pong(_) | to_forwarder::Kind::Welcome(_)) | None => continue,
        };
        parts.news.send((parts.number, news)).await.map_err(text)?;
    }
}

/// The batches of a receipt with their levels, which indexers of older versions do not send.
fn batches_of(receipt: Receipt) -> Vec<(u64, AckLevel)> {
    let Receipt { sequences, levels } = receipt;
    // A newer indexer may have levels that this version does not know.
    let known = |level: i32| AckLevel::try_from(level).unwrap_or(AckLevel::Unknown);
    let levels = levels.into_iter().map(known).chain(std::iter::repeat(AckLevel::Unknown));
    sequences.into_iter().zip(levels).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn receipts_that_have_arrived_are_read_although_nothing_can_be_written() {
        let is_read = Cell::new(false);
        let reading = async {
            tokio::task::yield_now().await;
            is_read.set(true);
            Err::<(), _>("it closed the connection".to_owned())
        };
        let writing = std::future::ready(Err::<(), _>("broken pipe".to_owned()));
        let over = until_over(writing, reading).await;
        assert_eq!((over, is_read.get()), (Err("broken pipe".to_owned()), true));
    }

    #[test]
    fn receipts_of_older_and_newer_indexers_have_unknown_levels() {
        let receipt = |levels| batches_of(Receipt { sequences: vec![3, 5], levels });
        assert_eq!(receipt(vec![]), [(3, AckLevel::Unknown), (5, AckLevel::Unknown)]);
        let levels = vec![99, AckLevel::Replicated.into()];
        assert_eq!(receipt(levels), [(3, AckLevel::Unknown), (5, AckLevel::Replicated)]);
    }
}
