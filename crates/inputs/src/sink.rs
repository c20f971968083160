//! The interface between inputs and their destination: an indexer or a forwarder.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use model::EventTime;
use tokio::sync::oneshot;

use crate::{Error, Input, Utf16};

/// The outcome of an input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Receipt {
    /// Events that are safe now.
    pub events: u64,
    /// Bytes of their text.
    pub bytes: u64,
    /// Bytes of the stream, up to the end of this input, that wait for the rest of their event and
    /// are not safe yet. A reader of a file may only forget what lies before them.
    pub pending: u64,
    /// Statistics of the events, for a report.
    pub findings: Findings,
}

/// The durability of events when they were acknowledged, the lowest first. The names are those of `ackLevel`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// In the journal of the indexer, synced.
    Local,
    /// In the journals of several indexers, synced.
    Replicated,
    /// In object storage.
    Remote,
}

impl Durability {
    /// The value of `ackLevel` that asks for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Replicated => "replicated",
            Self::Remote => "remote",
        }
    }
}

/// Statistics of the events of an input, which show whether its format was recognized.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Findings {
    /// The earliest time that an event shows; `None` if no event shows one.
    pub earliest: Option<EventTime>,
    /// The latest time that an event shows.
    pub latest: Option<EventTime>,
    /// Events whose text shows no time: they have that of the event before them, or of the file.
    pub undated: u64,
    /// Events that were longer than `TRUNCATE` and lost their ends.
    pub truncated: u64,
    /// Events that ended because they had `MAX_EVENTS` lines.
    pub split: u64,
    /// Lines that were taken as the header of a table and are not events.
    pub headers: u64,
    /// The lowest durability of the events; `None` without events.
    pub durability: Option<Durability>,
}

impl Findings {
    /// Notes an event and the time that it shows.
    pub fn event(&mut self, time: Option<EventTime>) {
        match time {
            Some(time) => self.dated(time, time),
            None => self.undated += 1,
        }
    }

    /// Adds the statistics of another part.
    pub fn add(&mut self, other: &Self) {
        if let (Some(earliest), Some(latest)) = (other.earliest, other.latest) {
            self.dated(earliest, latest);
        }
        self.undated += other.undated;
        self.truncated += other.truncated;
        self.split += other.split;
        self.headers += other.headers;
        let levels = self.durability.into_iter().chain(other.durability);
        self.durability = levels.min();
    }

    fn dated(&mut self, earliest: EventTime, latest: EventTime) {
        self.earliest = Some(self.earliest.map_or(earliest, |known| known.min(earliest)));
        self.latest = Some(self.latest.map_or(latest, |known| known.max(latest)));
    }
}

/// The future outcome of an input. Dropping it does not revoke the input.
#[derive(Debug)]
pub struct Acknowledgement(oneshot::Receiver<Result<Receipt, Error>>);

impl Acknowledgement {
    /// An acknowledgement and the sender of its outcome.
    #[must_use]
    pub fn new() -> (oneshot::Sender<Result<Receipt, Error>>, Self) {
        let (done, outcome) = oneshot::channel();
        (done, Self(outcome))
    }

    /// Waits until everything that the input completed is safe.
    ///
    /// # Errors
    /// The input, or a part of it, was not kept.
    pub async fn wait(self) -> Result<Receipt, Error> {
        self.0.await.unwrap_or(Err(Error::Abandoned))
    }
}

/// The position of a source after an input is safe.
pub struct Note {
    /// The number of the source among those that use the sink.
    pub source: u64,
    /// The data that the source needs to continue, if the input is safe up to that many bytes before its end;
    /// `None` if the source does not know.
    pub at: Box<dyn Fn(u64) -> Option<Bytes> + Send + Sync>,
}

impl Debug for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Note").field("source", &self.source).finish_non_exhaustive()
    }
}

/// The properties of a sink that inputs depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SinkLimits {
    /// Maximum time that an input with its own time limit waits for space in the queue.
    pub queue_wait: Duration,
    /// Time without data after which a stream's unfinished event is complete.
    pub stream_idle: Duration,
}

/// Receives inputs, and reports when they are safe.
pub trait Sink: Send + Sync + Debug {
    /// Hands an input over, waiting for room up to `wait`, and returns before it is safe. Inputs of
    /// a stream keep the order in which this returned.
    ///
    /// # Errors
    /// There was no room in time, or the sink is closed.
    fn enqueue<'a>(
        &'a self,
        input: Input,
        wait: Duration,
    ) -> BoxFuture<'a, Result<Acknowledgement, Error>>;

    /// As [`Sink::enqueue`], for a source that can be read again from a place. A sink that keeps inputs
    /// over a restart keeps the note with them, so that neither is safe without the other.
    fn enqueue_noted<'a>(
        &'a self,
        input: Input,
        note: Note,
        wait: Duration,
    ) -> BoxFuture<'a, Result<Acknowledgement, Error>> {
        Box::pin(async move {
            drop(note);
            self.enqueue(input, wait).await
        })
    }

    /// Returns the last note of each source whose inputs were safe before this process began, if the sink
    /// keeps notes. After a crash, a source's own record may be older.
    fn notes(&self) -> Vec<Bytes> {
        Vec::new()
    }

    /// The byte order of the text of a source, if its configured character set is UTF-16. Other text has no
    /// bytes that are zero, unless it begins with a byte order mark.
    fn utf16(&self, source: &str, sourcetype: Option<&str>, host: &str) -> Option<Utf16> {
        let _ = (source, sourcetype, host);
        None
    }

    /// The sourcetype of a source whose first bytes are `sample`.
    fn recognise(&self, source: &str, sample: &[u8]) -> Arc<str>;

    /// Returns the sink's properties that inputs depend on.
    fn limits(&self) -> SinkLimits;
}

/// Operations of all sinks, implemented with those of [`Sink`].
pub trait SinkExt: Sink {
    /// Hands an input over and waits until it is safe.
    ///
    /// # Errors
    /// As [`Sink::enqueue`] and [`Acknowledgement::wait`].
    fn submit<'a>(&'a self, input: Input) -> BoxFuture<'a, Result<Receipt, Error>> {
        Box::pin(async move { self.enqueue(input, self.limits().queue_wait).await?.wait().await })
    }
}

impl<S: Sink + ?Sized> SinkExt for S {}
