//! Where inputs hand things to: cut into batches of whole events, routed, and put into the queues on
//! disk. An input is acknowledged when every queue that gets it has it on the disk.
//!
//! A stream sticks to a pipeline set; sets share nothing but the settings.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use foldhash::HashMap;
use foldhash::fast::FixedState;
use inputs::{
    Acknowledgement, CutEvents, Input, InputMeta, Note, Receipt, Sink, SinkLimits, StreamKey,
};
use knowledge::Knowledge;
use model::{ErrorKind, EventTime};
use protocol::{Content, Text, content_body::Body};
use runtime::{Clock, metrics as names};
use tokio::sync::oneshot;

use crate::content;
use crate::cutter::{Cutter, Piece, Sizes};
use crate::header::Header;
use crate::notes;
use crate::outputs::IndexFilter;
use crate::queue::{DiskQueue, Entry, PushError};

/// Events that are whole.
#[derive(Debug)]
struct Whole {
    content: Content,
    /// Bytes of the stream behind them.
    behind: u64,
}

/// What the streams of all routes share.
#[derive(Debug)]
pub(crate) struct Forward {
    pub(crate) knowledge: Arc<Knowledge>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) filter: IndexFilter,
    /// Queues by pipeline set, then by group.
    pub(crate) sets: Vec<Set>,
    /// By group: the level of compression, if any.
    pub(crate) levels: Vec<Option<i32>>,
    pub(crate) sizes: Sizes,
    pub(crate) limits: SinkLimits,
}

/// A pipeline set.
#[derive(Debug)]
pub(crate) struct Set {
    pub(crate) queues: Vec<Arc<DiskQueue>>,
    streams: Mutex<HashMap<StreamKey, Arc<Mutex<Stream>>>>,
}

impl Set {
    pub(crate) fn new(queues: Vec<Arc<DiskQueue>>) -> Self {
        Self { queues, streams: Mutex::default() }
    }
}

/// A stream of bytes.
#[derive(Debug)]
struct Stream {
    meta: Arc<InputMeta>,
    /// The same with its sourcetype decided.
    origin: protocol::Origin,
    cutter: Cutter,
    /// Of a table.
    header: Option<Header>,
}

/// The sink of inputs that go to the same groups.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    pub(crate) forward: Arc<Forward>,
    /// Places of the groups that get a copy each.
    pub(crate) groups: Vec<usize>,
    /// Keeps the notes of its sources apart from those of other routes.
    pub(crate) name: Arc<str>,
}

/// Settles an input when the last of its copies is on the disk, or lost.
#[derive(Debug)]
struct Parts {
    receipt: Receipt,
    /// Copies that are not on a disk yet, or never will be.
    left: AtomicUsize,
    done: Option<oneshot::Sender<Result<Receipt, inputs::Error>>>,
}

impl Drop for Parts {
    fn drop(&mut self) {
        if let Some(done) = self.done.take() {
            let failed = self.left.load(Ordering::Acquire) > 0;
            // An input that does not want to know has gone.
            let _ = done.send(if failed { Err(inputs::Error::Closed) } else { Ok(self.receipt) });
        }
    }
}

impl Route {
    fn set(&self, stream: &StreamKey) -> &Set {
        use std::hash::BuildHasher;
        let hash = FixedState::with_seed(11).hash_one(stream);
        // There is at least one set, and not many.
        let at = usize::try_from(hash % self.forward.sets.len() as u64).unwrap_or(0);
        &self.forward.sets[at]
    }

    /// The events of a stream that are whole now, and how many bytes wait.
    fn cut(
        &self,
        meta: &Arc<InputMeta>,
        key: &StreamKey,
        (bytes, end, modified): (Bytes, bool, Option<EventTime>),
    ) -> (Vec<Whole>, u64) {
        let set = self.set(key);
        let stream = {
            let mut streams = set.streams.lock().unwrap_or_else(PoisonError::into_inner);
            match streams.get(key) {
                Some(stream) => Arc::clone(stream),
                None if bytes.is_empty() => return (Vec::new(), 0),
                None => {
                    let opened = Arc::new(Mutex::new(self.open(meta, key, &bytes)));
                    streams.insert(key.clone(), Arc::clone(&opened));
                    opened
                }
            }
        };
        let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.forward.clock.now();
        let mut contents = Vec::new();
        if !Arc::ptr_eq(&stream.meta, meta) && stream.meta != *meta {
            // The same stream under another name: what was unfinished is complete.
            contents.extend(stream.contents(key, Bytes::new(), true, None, now));
            *stream = self.open(meta, key, &bytes);
        }
        contents.extend(stream.contents(key, bytes, end, modified, now));
        let pending = stream.cutter.pending();
        drop(stream);
        if end {
            self.forget(key);
        }
        (contents, pending)
    }

    fn open(&self, meta: &Arc<InputMeta>, key: &StreamKey, first: &[u8]) -> Stream {
        let sourcetype = match &meta.sourcetype {
            Some(sourcetype) => Arc::clone(sourcetype),
            None => self.recognise(&meta.source, first),
        };
        let knowledge = &self.forward.knowledge;
        let rules = knowledge.parsing_rules(&sourcetype, &meta.source, &meta.host);
        let table = rules.structured.as_ref();
        let header = table.and_then(|rules| Header::new(rules, &key.0, &meta.source, first));
        let cutter = Cutter::new(rules, self.forward.sizes);
        let mut origin = content::origin(meta);
        origin.sourcetype = Some(sourcetype.to_string());
        Stream { meta: Arc::clone(meta), origin, cutter, header }
    }

    fn forget(&self, key: &StreamKey) {
        let streams = &self.set(key).streams;
        streams.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// Puts contents into the queues of all groups.
    async fn queue(
        &self,
        key: &StreamKey,
        contents: Vec<Whole>,
        (receipt, note): (Receipt, Option<Note>),
        wait: Duration,
    ) -> Result<Acknowledgement, inputs::Error> {
        let (done, outcome) = Acknowledgement::new();
        let parts = Arc::new(Parts { receipt, left: AtomicUsize::new(0), done: Some(done) });
        let set = self.set(key);
        for Whole { content, behind } in contents {
            let note = note.as_ref().and_then(|note| Some((note.source, (note.at)(behind)?)));
            let note = note.map(|(source, note)| notes::keep(&self.name, source, &note));
            let note = note.unwrap_or_default();
            let mut packed: Vec<(Option<i32>, Entry)> = Vec::new();
            for group in &self.groups {
                let level = self.forward.levels[*group];
                let known = packed.iter().find(|(of, _)| *of == level);
                let entry = match known {
                    Some((_, entry)) => entry.clone(),
                    None => {
                        let (compression, plain_len, content) = protocol::pack(&content, level);
                        let note = note.clone();
                        let entry = Entry { compression, plain_len, content, note };
                        packed.push((level, entry.clone()));
                        entry
                    }
                };
                let part = Arc::clone(&parts);
                parts.left.fetch_add(1, Ordering::AcqRel);
                let settle = move |taken: bool| {
                    part.left.fetch_sub(usize::from(taken), Ordering::AcqRel);
                };
                let pushed = set.queues[*group].push(entry, wait, settle).await;
                pushed.map_err(|error| refused(error, wait))?;
            }
        }
        Ok(outcome)
    }

    fn allows(&self, meta: &InputMeta) -> bool {
        self.forward.filter.allows(meta.index.as_str())
    }
}

fn refused(error: PushError, wait: Duration) -> inputs::Error {
    match error {
        PushError::Closed => inputs::Error::Closed,
        PushError::Full => inputs::Error::Refused {
            kind: ErrorKind::Exhausted,
            reason: format!("the forwarder's queue stayed full for {wait:?}").into(),
        },
    }
}

fn count_filtered(bytes: usize) {
    metrics::counter!(names::FORWARDER_FILTERED, "reason" => "forwardedindex")
        .increment(bytes as u64);
}

impl Stream {
    fn contents(
        &mut self,
        key: &StreamKey,
        bytes: Bytes,
        end: bool,
        modified: Option<EventTime>,
        now: EventTime,
    ) -> Vec<Whole> {
        let pieces = self.cutter.push(bytes, end, now);
        let (origin, header) = (&self.origin, &mut self.header);
        let content = |text: Bytes| Content {
            stream: key.0.to_string(),
            body: Some(Body::Text(Text {
                origin: Some(origin.clone()),
                bytes: text,
                modified: modified.map(|time| time.0),
            })),
        };
        let whole = |piece: Piece| {
            let text = match header {
                Some(header) => header.before(piece.text),
                None => piece.text,
            };
            Whole { content: content(text), behind: piece.behind }
        };
        pieces.into_iter().map(whole).collect()
    }
}

#[async_trait]
impl Sink for Route {
    async fn enqueue(
        &self,
        input: Input,
        wait: Duration,
    ) -> Result<Acknowledgement, inputs::Error> {
        self.take(input, None, wait).await
    }

    async fn enqueue_noted(
        &self,
        input: Input,
        note: Note,
        wait: Duration,
    ) -> Result<Acknowledgement, inputs::Error> {
        self.take(input, Some(note), wait).await
    }

    fn notes(&self) -> Vec<Bytes> {
        let sets = self.forward.sets.iter();
        let found = sets.map(|set| {
            let mut queues = self.groups.iter().map(|group| set.queues[*group].notes());
            let Some(first) = queues.next() else { return Vec::new() };
            // What only some of the groups have is read again: the others must not miss it.
            let others: Vec<_> = queues.collect();
            let in_all = |note: &&Bytes| others.iter().all(|other| other.contains(note));
            first.iter().filter(in_all).cloned().collect::<Vec<_>>()
        });
        found.flatten().filter_map(|note| notes::of(&self.name, &note)).collect()
    }

    fn recognise(&self, source: &str, sample: &[u8]) -> Arc<str> {
        let sample = &sample[..sample.len().min(16 << 10)];
        self.forward.knowledge.sourcetype(source, &String::from_utf8_lossy(sample)).into()
    }

    fn limits(&self) -> SinkLimits {
        self.forward.limits
    }
}

impl Route {
    async fn take(
        &self,
        input: Input,
        note: Option<Note>,
        wait: Duration,
    ) -> Result<Acknowledgement, inputs::Error> {
        match input {
            Input::Raw { origin, stream, bytes, modified, end } => {
                let length = bytes.len();
                if !self.allows(&origin) {
                    count_filtered(length);
                    let nothing = (Receipt::default(), None);
                    return self.queue(&stream, Vec::new(), nothing, wait).await;
                }
                let (contents, pending) = self.cut(&origin, &stream, (bytes, end, modified));
                let receipt = receipt(&contents, pending);
                let queued = self.queue(&stream, contents, (receipt, note), wait).await;
                if queued.is_err() {
                    // Whoever reads again begins anew.
                    self.forget(&stream);
                }
                queued
            }
            Input::Events { stream, events } => {
                let events = self.filtered(events);
                let contents = content::of_events(&stream, &events, self.forward.sizes.batch);
                let whole = |content| Whole { content, behind: 0 };
                let contents = contents.into_iter().map(whole).collect();
                let bytes = events.text.len() as u64;
                let receipt = Receipt { events: events.len() as u64, bytes, pending: 0 };
                self.queue(&stream, contents, (receipt, None), wait).await
            }
        }
    }

    /// Without the events of indexes that are not forwarded.
    fn filtered(&self, events: CutEvents) -> CutEvents {
        if events.origins.iter().all(|meta| self.allows(meta)) {
            return events;
        }
        let mut kept = CutEvents::new(events.missing_time);
        let mut fields = events.fields.iter().peekable();
        for (row, meta) in events.each_origin().enumerate() {
            let text = events.text(row);
            let allowed = self.allows(meta);
            if !allowed {
                count_filtered(text.len());
            }
            let pushed = allowed && kept.push(meta.by_ref(), events.times[row], text);
            while let Some(field) = fields.next_if(|field| field.row as usize <= row) {
                if pushed {
                    kept.push_field(Arc::clone(&field.name), &field.value);
                }
            }
        }
        kept
    }
}

/// Lines stand for events: the indexer finds those.
fn receipt(contents: &[Whole], pending: u64) -> Receipt {
    let mut receipt = Receipt { pending, ..Receipt::default() };
    for whole in contents {
        if let Some(Body::Text(text)) = &whole.content.body {
            receipt.bytes += text.bytes.len() as u64;
            receipt.events += memchr::memchr_iter(b'\n', &text.bytes).count() as u64;
        }
    }
    receipt
}
