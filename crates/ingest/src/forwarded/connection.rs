//! One forwarder's connection: batches in, receipts and refusals out.
//!
//! Batches are read as they arrive. While the pipeline is full, nothing more is read from the connection, so
//! the forwarder's window fills. A receipt is sent when the events are as durable as the `ackLevel` of their
//! index requires. After the shutdown signal no more batches are read, those in the pipeline are still
//! answered, and Goodbye says that no others were taken. A forwarder that reads parsing rules gets them with
//! or after the answer to its first message, and again after the next message when they have changed. Large
//! ones wait for their turn; neither the answer nor receipts wait with them.

use std::fmt;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::{SinkExt, Stream, StreamExt};
use inputs::{Acknowledgement, BatchId, Durability, Error, Receipt};
use model::{ErrorKind, IndexName, IndexerId};
use prost::Message;
use protocol::{
    AckLevel, Batch, Goodbye, Hello, Ping, Pong, Reason, Refusal, ToForwarder, ToIndexer, Welcome,
    to_forwarder, to_indexer,
};
use runtime::{Shutdown, metrics as names};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};
use tokio_util::codec::{Framed, LengthDelimitedCodec};
use uuid::Uuid;

use super::content::input_of;
use super::rules::{self, RulesLimit, RulesMessage, parsing_rules};
use crate::Ingest;
use crate::forwarders::Counted;

/// Maximum number of batches of a connection that wait for their acknowledgement.
const IN_FLIGHT: usize = 4096;
/// Maximum length of the first message, in bytes.
const MAX_HELLO: usize = 64 << 10;
/// Timeout for the first message of a forwarder.
const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum time for which a connection stays open after Goodbye, until the forwarder closes it.
const LINGER: Duration = Duration::from_secs(2);

/// The parameters of the indexer that a connection needs.
#[derive(Clone)]
pub struct Doors {
    /// The identity of this indexer.
    pub indexer: IndexerId,
    /// The machine's name.
    pub name: Arc<str>,
    /// The token that forwarders must send; `None` if they need none.
    pub token: Option<Arc<str>>,
    /// Whether an index exists.
    pub has_index: Arc<dyn Fn(&IndexName) -> bool + Send + Sync>,
    /// Maximum length of a frame, in bytes.
    pub max_frame: usize,
    /// Limits how many connections send parsing rules at the same time.
    pub rules: RulesLimit,
}

impl fmt::Debug for Doors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Doors").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The number of a batch and its outcome, for the writing half.
type Outcome = (u64, Result<Acknowledgement, Error>);

/// Serves a connection until either side ends it.
///
/// # Errors
/// A message of the forwarder is invalid, or the connection failed.
pub async fn converse<S>(
    ingest: Arc<Ingest>,
    doors: Doors,
    stream: S,
    peer: SocketAddr,
    shutdown: Shutdown,
) -> Result<(), String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    // Before its token is checked, a forwarder may only send short messages.
    let codec = LengthDelimitedCodec::builder().max_frame_length(MAX_HELLO).new_codec();
    let mut frames = Framed::new(stream, codec);
    let first = tokio::time::timeout(PATIENCE, read(&mut frames)).await;
    let hello = match first.map_err(|_| "it said nothing".to_owned())?? {
        Some(to_indexer::Kind::Hello(hello)) => hello,
        Some(_) => return Err("it did not begin with Hello".to_owned()),
        None => return Ok(()),
    };
    let channel = check(&hello, &doors)?;
    frames.codec_mut().set_max_frame_length(doors.max_frame);
    let told = current_rules(&ingest);
    // The checksum of the rules that the forwarder has; `None` if it does not read any.
    let mut known = hello.parsing_rules.as_ref().map(|_| told.rules.checksum.clone());
    // A forwarder gives up a connection without this answer after some seconds.
    let is_later = hello.parsing_rules != known && told.is_large();
    let welcome = Welcome {
        parsing_rules: rules::answer(hello.parsing_rules.as_ref(), &told.rules, is_later),
        ..welcome(&ingest, &doors, channel)
    };
    frames.send(encode(to_forwarder::Kind::Welcome(welcome))).await.map_err(text)?;
    let (later, in_line) = mpsc::channel(1);
    if let Some(told) = is_later.then_some(told) {
        later.try_send(told).map_err(text)?;
    }
    tracing::info!(%peer, host = hello.host, %channel, "forwarder connected");
    let counted = ingest.forwarders().open(peer, &hello);
    let (write, mut incoming) = frames.split();
    let (outcomes, settled) = mpsc::channel(IN_FLIGHT);
    let turns = take_turns(&doors.rules, in_line, outcomes.downgrade());
    let reading = async {
        let result = loop {
            let next = tokio::select! {
                () = shutdown.stopped() => {
                    // An error means that the connection has failed.
                    let _ = outcomes.send(Said::Goodbye).await;
                    break Ok(());
                }
                next = incoming.next() => next,
            };
            let frame = match next {
                None => break Ok(()),
                Some(Ok(frame)) => frame,
                Some(Err(error)) => break Err(error.to_string()),
            };
            let message = match ToIndexer::decode(frame.freeze()) {
                Ok(message) => message,
                Err(error) => break Err(error.to_string()),
            };
            let said = match message.kind {
                Some(to_indexer::Kind::Batch(batch)) => {
                    let sequence = batch.sequence;
                    let taken = take(&ingest, &doors, (channel, &counted), batch).await;
                    Said::Outcome((sequence, taken))
                }
                Some(to_indexer::Kind::Ping(Ping {})) => Said::Pong,
                // A newer forwarder may send messages that this version does not know.
                Some(to_indexer::Kind::Hello(_)) | None => continue,
            };
            if outcomes.send(said).await.is_err() {
                break Ok(());
            }
            let told = current_rules(&ingest);
            let checksum = told.rules.checksum.clone();
            let is_other = known.as_ref().is_some_and(|known| *known != checksum);
            // One waits at most: the next message tries again.
            if is_other && later.try_send(told).is_ok() {
                known = Some(checksum);
            }
        };
        drop(outcomes);
        result
    };
    let (read, written) = {
        let mut both = pin!(async { tokio::join!(reading, answer(write, settled)) });
        tokio::select! {
            ended = &mut both => ended,
            () = turns => both.await,
        }
    };
    if written.is_ok() && shutdown.is_stopped() {
        linger(&mut incoming).await;
    }
    read.and(written)
}

/// Reads on, and takes nothing, until the forwarder closes the connection: one that is closed with unread
/// data is reset, and the last messages to the forwarder may be lost with it.
async fn linger(incoming: &mut (impl Stream + Unpin)) {
    let rest = async { while incoming.next().await.is_some() {} };
    // A forwarder that does not close it is not waited for.
    let _ = tokio::time::timeout(LINGER, rest).await;
}

/// Hands rules over to the writing half when it is their turn. Waits beside it: a writing half that waits
/// for its forwarder would keep a turn without using it.
async fn take_turns(
    limit: &RulesLimit,
    mut in_line: mpsc::Receiver<Arc<RulesMessage>>,
    said: mpsc::WeakSender<Said>,
) {
    while let Some(told) = in_line.recv().await {
        let frame = told.frame.clone();
        let sending = async {
            let (sent, is_sent) = oneshot::channel();
            let is_taken = match said.upgrade() {
                Some(said) => said.send(Said::Rules(frame, sent)).await.is_ok(),
                // The reading half has ended.
                None => false,
            };
            if is_taken {
                // An error means that the connection has failed.
                let _ = is_sent.await;
            }
        };
        limit.send(told.frame.len(), sending).await;
    }
}

/// A message from the reading half to the writing half.
#[derive(Debug)]
enum Said {
    Outcome(Outcome),
    Pong,
    /// The indexer stops: no further message follows.
    Goodbye,
    /// An encoded message with rules, and the report that it is sent.
    Rules(bytes::Bytes, oneshot::Sender<()>),
}

/// The rules of the present configuration. They may be merged for the first time, during which the
/// configuration can be replaced.
fn current_rules(ingest: &Ingest) -> Arc<RulesMessage> {
    let knowledge = ingest.rules.read().knowledge().clone();
    parsing_rules(&knowledge)
}

/// The answer to a forwarder, without the parsing rules.
fn welcome(ingest: &Ingest, doors: &Doors, channel: Uuid) -> Welcome {
    let safe = ingest.delivered(channel);
    Welcome {
        version: protocol::VERSION,
        indexer: bytes::Bytes::copy_from_slice(doors.indexer.0.as_bytes()),
        name: doors.name.to_string(),
        below: safe.below(),
        ranges: safe.ranges().iter().flat_map(|(from, to)| [*from, *to]).collect(),
        max_frame: doors.max_frame as u64,
        parsing_rules: None,
    }
}

fn text(error: impl fmt::Display) -> String {
    error.to_string()
}

fn encode(kind: to_forwarder::Kind) -> bytes::Bytes {
    ToForwarder { kind: Some(kind) }.encode_to_vec().into()
}

async fn read<S>(
    frames: &mut Framed<S, LengthDelimitedCodec>,
) -> Result<Option<to_indexer::Kind>, String>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    match frames.next().await {
        None => Ok(None),
        Some(frame) => {
            let frame = match frame {
                Ok(frame) => frame.freeze(),
                // The codec reads the first bytes of a Splunk forwarder as a huge length.
                Err(_) if begins_cooked(frames.read_buffer()) => return Err(COOKED.to_owned()),
                Err(error) => return Err(text(error)),
            };
            Ok(ToIndexer::decode(frame).map_err(text)?.kind)
        }
    }
}

/// Begin of the stream of a Splunk forwarder; a version and padding follow.
const COOKED_SIGNATURE: &[u8] = b"--splunk-cooked-mode-v";
const COOKED: &str = "the sender uses the protocol of Splunk's forwarders, which is not supported: use \
                      karst-forwarder, HEC, or a [tcp://] input with sendCookedData = false at the sender";

/// Whether a connection begins with the signature of a Splunk forwarder, of which only a part may have
/// arrived.
fn begins_cooked(bytes: &[u8]) -> bool {
    let length = bytes.len().min(COOKED_SIGNATURE.len());
    length >= 4 && bytes[..length] == COOKED_SIGNATURE[..length]
}

fn check(hello: &Hello, doors: &Doors) -> Result<Uuid, String> {
    if hello.version != protocol::VERSION {
        return Err(format!("it speaks version {}, not {}", hello.version, protocol::VERSION));
    }
    if doors.token.as_ref().is_some_and(|token| **token != *hello.token) {
        return Err("its token is not the configured one".to_owned());
    }
    Uuid::from_slice(&hello.channel).map_err(|_| "its channel is not an id".to_owned())
}

async fn take(
    ingest: &Ingest,
    doors: &Doors,
    (channel, counted): (Uuid, &Counted),
    batch: Batch,
) -> Result<Acknowledgement, Error> {
    let invalid =
        |reason: String| Error::Refused { kind: ErrorKind::Invalid, reason: reason.into() };
    let id = BatchId { channel, sequence: batch.sequence, settled: batch.settled };
    let content =
        protocol::unpack(&batch, doors.max_frame).map_err(|error| invalid(text(error)))?;
    let input = input_of(content, channel, &*doors.has_index).map_err(invalid)?;
    drop(batch);
    counted.count(&input);
    ingest.deliver(id, input, Duration::MAX).await
}

/// Sends receipts and refusals until no more outcomes can arrive.
async fn answer<W>(mut write: W, mut said: mpsc::Receiver<Said>) -> Result<(), String>
where
    W: futures::Sink<bytes::Bytes, Error = std::io::Error> + Unpin,
{
    let mut waiting = FuturesUnordered::new();
    let (mut open, mut stops) = (true, false);
    while open || !waiting.is_empty() {
        let mut receipt = protocol::Receipt::default();
        let (mut others, mut rules) = (Vec::new(), None);
        tokio::select! {
            next = said.recv(), if open && waiting.len() < IN_FLIGHT => match next {
                None => open = false,
                Some(Said::Goodbye) => stops = true,
                Some(Said::Pong) => others.push(to_forwarder::Kind::Pong(Pong {})),
                Some(Said::Rules(frame, sent)) => rules = Some((frame, sent)),
                Some(Said::Outcome((sequence, Ok(outcome)))) => {
                    waiting.push(async move { (sequence, outcome.wait().await) });
                }
                Some(Said::Outcome((sequence, Err(error)))) => {
                    let reason = match error.kind() {
                        // It may be on its way from another connection.
                        ErrorKind::Conflict => Reason::Busy,
                        _ => Reason::NotTaken,
                    };
                    others.push(refusal(sequence, &error, reason));
                }
            },
            Some(done) = waiting.next(), if !waiting.is_empty() => {
                sort(done, &mut receipt, &mut others);
            }
        }
        // Outcomes that have arrived meanwhile go into the same receipt.
        while let Some(Some(done)) = futures::FutureExt::now_or_never(waiting.next()) {
            sort(done, &mut receipt, &mut others);
        }
        if !receipt.sequences.is_empty() {
            others.push(to_forwarder::Kind::Receipt(receipt));
        }
        for message in others {
            write.send(encode(message)).await.map_err(text)?;
        }
        if let Some((frame, sent)) = rules {
            write.send(frame).await.map_err(text)?;
            // Its turn may have ended.
            let _ = sent.send(());
        }
    }
    if stops {
        // Everything that was read has been answered.
        write.send(encode(to_forwarder::Kind::Goodbye(Goodbye {}))).await.map_err(text)?;
        // The forwarder may have closed it already.
        let _ = write.close().await;
    }
    Ok(())
}

fn sort(
    (sequence, result): (u64, Result<Receipt, Error>),
    receipt: &mut protocol::Receipt,
    others: &mut Vec<to_forwarder::Kind>,
) {
    match result {
        Ok(taken) => {
            receipt.sequences.push(sequence);
            receipt.levels.push(level_of(taken.findings.durability).into());
        }
        Err(error) => others.push(refusal(sequence, &error, Reason::Busy)),
    }
}

fn level_of(durability: Option<Durability>) -> AckLevel {
    match durability {
        None => AckLevel::Unknown,
        Some(Durability::Local) => AckLevel::Local,
        Some(Durability::Replicated) => AckLevel::Replicated,
        Some(Durability::Remote) => AckLevel::Remote,
    }
}

/// `reason` is that of a batch which is not invalid.
fn refusal(sequence: u64, error: &Error, reason: Reason) -> to_forwarder::Kind {
    let invalid = error.kind() == ErrorKind::Invalid;
    let reason = if invalid { Reason::Invalid } else { reason };
    let name = if invalid { "forwarded_invalid" } else { "forwarded_busy" };
    metrics::counter!(names::INGEST_REFUSED, "reason" => name).increment(1);
    to_forwarder::Kind::Refusal(Refusal { sequence, reason: reason.into(), text: text(error) })
}
