//! The sink of inputs: cuts data into batches of whole events, routes them, and puts them into the disk
//! queues. An input is acknowledged when all queues that get its data have it on disk.
//!
//! A stream stays in one pipeline set; sets share only the settings. If rules route single events of a
//! stream, the queue of every group gets a note of the position in the stream, with or without events:
//! after a restart, reading continues at the position that all of them have.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use foldhash::HashMap;
use foldhash::fast::FixedState;
use futures::future::BoxFuture;
use inputs::{
    Acknowledgement, CutEvents, Input, InputMeta, Note, Receipt, Sink, SinkLimits, StreamKey, Utf16,
};
use knowledge::Knowledge;
use model::{ErrorKind, EventTime};
use parking_lot::Mutex;
use protocol::{Compression, Content, Text, content_body::Body};
use runtime::{Clock, Shutdown, metrics as names};
use tokio::sync::oneshot;

use crate::content;
use crate::cutter::{Cutter, Sizes};
use crate::filter::{Filter, Target, place_of};
use crate::header::{self, Header};
use crate::indexer_rules::IndexerRules;
use crate::notes;
use crate::outputs::IndexFilter;
use crate::queue::{DiskQueue, Entry, PushError};
use crate::rules::{RoutingDecision, RuleBook, Ruling};
use crate::splitter::Splitter;
use crate::view::Coding;

/// Whole events.
#[derive(Debug)]
struct Whole {
    /// `None` for only a note, which all groups get.
    content: Option<Content>,
    to: Target,
    /// Bytes of the stream that remain after them; `None` if more text from before this position follows.
    behind: Option<u64>,
}

impl Whole {
    fn new(content: Content) -> Self {
        Self { content: Some(content), to: None, behind: None }
    }
}

/// State shared by the streams of all routes.
#[derive(Debug)]
pub(crate) struct Forward {
    /// The rules for breaking events by group; there is at least one group.
    pub(crate) parsing: Vec<Arc<IndexerRules>>,
    /// Given when the inputs stop.
    pub(crate) stopping: Shutdown,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) filter: IndexFilter,
    /// Rules that drop and route single events.
    pub(crate) rules: Arc<RuleBook>,
    /// Queues by pipeline set, then by group.
    pub(crate) sets: Vec<Set>,
    /// The compression level by group; `None` for no compression.
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
    /// The configuration with its rules, which is not kept in memory for the stream.
    knowledge: Weak<Knowledge>,
    /// The origin after the source type has been determined.
    origin: protocol::Origin,
    cutter: Cutter,
    /// The header of a table.
    header: Option<Header>,
    /// The byte order mark with which every batch has to begin.
    mark: &'static [u8],
    /// The filter of a stream with rules for single events.
    filter: Option<Filter>,
}

/// The sink of inputs with the same groups.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    forward: Arc<Forward>,
    /// Positions of the groups, each of which gets a copy.
    groups: Arc<[usize]>,
    /// Separates the notes of its sources from those of other routes.
    name: Arc<str>,
    /// The same for sources whose events may be routed to any group.
    name_routed: Arc<str>,
}

/// Acknowledges an input when the last of its copies is on disk, or reports that one is lost.
#[derive(Debug)]
struct Parts {
    receipt: Receipt,
    /// Number of copies that are not settled yet.
    left: AtomicUsize,
    done: Option<oneshot::Sender<Result<Receipt, inputs::Error>>>,
}

impl Drop for Parts {
    fn drop(&mut self) {
        if let Some(done) = self.done.take() {
            let failed = self.left.load(Ordering::Acquire) > 0;
            // The input may have ended.
            let _ = done.send(if failed { Err(inputs::Error::Closed) } else { Ok(self.receipt) });
        }
    }
}

impl Route {
    pub(crate) fn new(forward: Arc<Forward>, groups: Vec<usize>, name: &str) -> Self {
        let name_routed = format!("{name}*").into();
        Self { forward, groups: groups.into(), name: name.into(), name_routed }
    }

    /// The rules for breaking events of the first group. All groups get the same batches.
    fn parsing(&self) -> &IndexerRules {
        &self.forward.parsing[self.groups.first().copied().unwrap_or(0)]
    }

    fn set(&self, stream: &StreamKey) -> &Set {
        use std::hash::BuildHasher;
        let hash = FixedState::with_seed(11).hash_one(stream);
        // The number of sets is at least one, and small.
        let at = usize::try_from(hash % self.forward.sets.len() as u64).unwrap_or(0);
        &self.forward.sets[at]
    }

    /// Cuts whole events from a stream; also returns the number of remaining bytes.
    fn cut(
        &self,
        meta: &Arc<InputMeta>,
        key: &StreamKey,
        (bytes, end, modified): (Bytes, bool, Option<EventTime>),
    ) -> (Vec<Whole>, u64) {
        let set = self.set(key);
        let stream = {
            let mut streams = set.streams.lock();
            match streams.get(key) {
                Some(stream) => Arc::clone(stream),
                None if bytes.is_empty() => return (Vec::new(), 0),
                None => {
                    let opened = Arc::new(Mutex::new(self.open(meta, key, None, &bytes)));
                    streams.insert(key.clone(), Arc::clone(&opened));
                    opened
                }
            }
        };
        let mut stream = stream.lock();
        let now = self.forward.clock.now();
        let mut contents = Vec::new();
        if !Arc::ptr_eq(&stream.meta, meta) && stream.meta != *meta {
            // The stream continues under another name, so that its unfinished event is complete.
            contents.extend(stream.contents(key, Bytes::new(), true, None, now));
            *stream = self.open(meta, key, None, &bytes);
        }
        self.change_rules(&mut stream, key, &bytes);
        contents.extend(stream.contents(key, bytes, end, modified, now));
        let pending = stream.cutter.pending();
        drop(stream);
        if end {
            self.forget(key);
        }
        (contents, pending)
    }

    /// Cuts a stream by the rules that an indexer has sent since it was opened. Tables keep their rules,
    /// which their header depends on, as do streams that only showed their encoding or their header at their
    /// beginning.
    fn change_rules(&self, stream: &mut Stream, key: &StreamKey, bytes: &[u8]) {
        let knowledge = self.parsing().knowledge();
        if std::ptr::eq(stream.knowledge.as_ptr(), Arc::as_ptr(&knowledge)) {
            return;
        }
        if stream.header.is_some() || !stream.mark.is_empty() {
            stream.knowledge = Arc::downgrade(&knowledge);
            return;
        }
        let carry = stream.cutter.take_carry();
        let meta = Arc::clone(&stream.meta);
        let sourcetype: Option<Arc<str>> = stream.origin.sourcetype.as_deref().map(Arc::from);
        let first = if carry.is_empty() { bytes } else { &carry[..] };
        let mut opened = self.open(&meta, key, sourcetype, first);
        // Only the beginning of a file can be read again.
        if opened.header.is_some() && !key.0.starts_with(header::MONITORED) {
            stream.cutter.set_carry(&carry);
            stream.knowledge = opened.knowledge;
            return;
        }
        opened.cutter.set_carry(&carry);
        *stream = opened;
    }

    /// Opens a stream that begins with `first`; its source type is recognised unless it is given.
    fn open(
        &self,
        meta: &Arc<InputMeta>,
        key: &StreamKey,
        sourcetype: Option<Arc<str>>,
        first: &[u8],
    ) -> Stream {
        let sourcetype = sourcetype
            .or_else(|| meta.sourcetype.clone())
            .unwrap_or_else(|| self.recognise(&meta.source, first));
        let knowledge = self.parsing().knowledge();
        let rules = knowledge.parsing_rules(&sourcetype, &meta.source, &meta.host);
        let file = key.0.starts_with(header::MONITORED).then_some(&*meta.source);
        let coding = Coding::of(rules.charset, first, file);
        let table = rules.structured.as_ref();
        let header =
            table.and_then(|rules| Header::new(rules, &key.0, &meta.source, first, coding));
        let sizes = self.forward.sizes;
        let ruling = self.forward.rules.of(meta, &sourcetype, &self.groups);
        let filter = ruling.map(|ruling| {
            Filter::new(ruling, Splitter::new(Arc::clone(&rules), sizes.event), coding)
        });
        let cutter = Cutter::new(rules, coding, sizes);
        let mut origin = content::origin(meta);
        origin.sourcetype = Some(sourcetype.to_string());
        let (meta, mark) = (Arc::clone(meta), coding.mark());
        let knowledge = Arc::downgrade(&knowledge);
        Stream { meta, knowledge, origin, cutter, header, mark, filter }
    }

    fn forget(&self, key: &StreamKey) {
        let streams = &self.set(key).streams;
        streams.lock().remove(key);
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
        for Whole { content, to, behind } in contents {
            let note = note.as_ref().and_then(|note| Some((note.source, (note.at)(behind?)?)));
            let name = if content.is_some() { &self.name } else { &self.name_routed };
            let note = note.map(|(source, note)| notes::keep(name, source, &note));
            let note = note.unwrap_or_default();
            let everywhere: Vec<usize>;
            let groups = match (&content, &to) {
                (Some(_), Some(to)) => to,
                (Some(_), None) => &self.groups[..],
                (None, _) if note.is_empty() => continue,
                (None, _) => {
                    everywhere = (0..set.queues.len()).collect();
                    &everywhere
                }
            };
            let mut packed: Vec<(Option<i32>, Entry)> = Vec::new();
            for group in groups {
                let level = self.forward.levels[*group];
                let known = packed.iter().find(|(of, _)| *of == level);
                let entry = match known {
                    Some((_, entry)) => entry.clone(),
                    None => {
                        let entry = entry(content.as_ref(), level, note.clone());
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

fn entry(content: Option<&Content>, level: Option<i32>, note: Bytes) -> Entry {
    let (compression, plain_len, content) = match content {
        Some(content) => protocol::pack(content, level),
        None => (Compression::None, 0, Bytes::new()),
    };
    Entry { compression, plain_len, content, note }
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
        let mut contents = Vec::new();
        for piece in self.cutter.push(bytes, end, now) {
            let text = match &mut self.header {
                Some(header) => header.before(piece.text),
                None => piece.text,
            };
            let parts = self.filter.as_mut().and_then(|filter| filter.parts(&text, now));
            let parts = parts.unwrap_or_else(|| vec![(None, text)]);
            let routes = self.filter.as_ref().is_some_and(Filter::routes);
            let last = parts.len();
            for (number, (to, text)) in parts.into_iter().enumerate() {
                let body = Body::Text(Text {
                    origin: Some(self.origin.clone()),
                    bytes: self.marked(text),
                    modified: modified.map(|time| time.0),
                });
                let content = Content { stream: key.0.to_string(), body: Some(body) };
                let behind = (number + 1 == last && !routes).then_some(piece.behind);
                contents.push(Whole { to, behind, ..Whole::new(content) });
            }
            if routes && last > 0 {
                contents.push(Whole { content: None, to: None, behind: Some(piece.behind) });
            }
        }
        contents
    }

    /// Makes a text readable on its own by adding its mark.
    fn marked(&self, text: Bytes) -> Bytes {
        if self.mark.is_empty() || text.starts_with(self.mark) {
            return text;
        }
        [self.mark, &text].concat().into()
    }
}

impl Sink for Route {
    fn enqueue<'a>(
        &'a self,
        input: Input,
        wait: Duration,
    ) -> BoxFuture<'a, Result<Acknowledgement, inputs::Error>> {
        Box::pin(async move { self.take(input, None, wait).await })
    }

    fn enqueue_noted<'a>(
        &'a self,
        input: Input,
        note: Note,
        wait: Duration,
    ) -> BoxFuture<'a, Result<Acknowledgement, inputs::Error>> {
        Box::pin(async move { self.take(input, Some(note), wait).await })
    }

    fn notes(&self) -> Vec<Bytes> {
        let mut notes = Vec::new();
        for set in &self.forward.sets {
            let own: Vec<_> = self.groups.iter().map(|group| &set.queues[*group]).collect();
            notes.extend(in_all(&own).filter_map(|note| notes::of(&self.name, note)));
            let all: Vec<_> = set.queues.iter().collect();
            notes.extend(in_all(&all).filter_map(|note| notes::of(&self.name_routed, note)));
        }
        notes
    }

    fn utf16(&self, source: &str, sourcetype: Option<&str>, host: &str) -> Option<Utf16> {
        let knowledge = self.parsing().knowledge();
        let rules = knowledge.parsing_rules(sourcetype.unwrap_or(""), source, host);
        Utf16::of(rules.charset)
    }

    fn recognise(&self, source: &str, sample: &[u8]) -> Arc<str> {
        let sample = &sample[..sample.len().min(16 << 10)];
        let knowledge = self.parsing().knowledge();
        knowledge.sourcetype(source, &String::from_utf8_lossy(sample)).into()
    }

    fn limits(&self) -> SinkLimits {
        self.forward.limits
    }
}

/// The notes that all queues have. Data in only some of the queues is read again, so that the others get
/// it, too.
fn in_all<'q>(queues: &'q [&'q Arc<DiskQueue>]) -> impl Iterator<Item = &'q Bytes> {
    let (first, others) =
        queues.split_first().map_or((None, queues), |(one, rest)| (Some(one), rest));
    let notes = first.into_iter().flat_map(|queue| queue.notes());
    notes.filter(move |note| others.iter().all(|other| other.notes().contains(note)))
}

impl Route {
    /// Waits until the rules of the first group's indexers are known, so that the first batches are cut by
    /// them, too. Files wait until the limit after which `RulesReport` ends their wait. Other inputs are not
    /// read meanwhile, and wait only for a short time after the start.
    async fn await_rules(&self, stream: &StreamKey, wait: Duration) -> Result<(), inputs::Error> {
        let rules = self.parsing();
        if rules.are_known() {
            return Ok(());
        }
        let stopping = self.forward.stopping.stopped();
        if stream.0.starts_with(header::MONITORED) {
            return tokio::select! {
                () = rules.known() => Ok(()),
                () = stopping => Err(inputs::Error::Closed),
            };
        }
        let limit = wait.min(rules.patience());
        tokio::select! {
            known = tokio::time::timeout(limit, rules.known()) => {
                if known.is_err() {
                    rules.give_up();
                }
            }
            () = stopping => {}
        }
        Ok(())
    }

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
                self.await_rules(&stream, wait).await?;
                let (contents, pending) = self.cut(&origin, &stream, (bytes, end, modified));
                let receipt = receipt(&contents, pending);
                let queued = self.queue(&stream, contents, (receipt, note), wait).await;
                if queued.is_err() {
                    // The input sends these bytes again, and the stream must be cut from a new state.
                    self.forget(&stream);
                }
                queued
            }
            Input::Events { stream, events } => {
                let receipt = |events: &CutEvents| Receipt {
                    events: events.len() as u64,
                    bytes: events.text.len() as u64,
                    ..Receipt::default()
                };
                let mut total = Receipt::default();
                let mut contents = Vec::new();
                for (to, events) in self.sorted(events) {
                    let part = receipt(&events);
                    total.events += part.events;
                    total.bytes += part.bytes;
                    let found = content::of_events(&stream, &events, self.forward.sizes.batch);
                    let whole = |content| Whole { to: to.clone(), ..Whole::new(content) };
                    contents.extend(found.into_iter().map(whole));
                }
                self.queue(&stream, contents, (total, None), wait).await
            }
        }
    }

    /// Splits events by destination, without dropped events.
    fn sorted(&self, events: CutEvents) -> Vec<(Target, CutEvents)> {
        let mut rulings = self.rulings(&events);
        let free = |ruling: &Option<Ruling>| ruling.is_none();
        if rulings.iter().all(free) && events.origins.iter().all(|meta| self.allows(meta)) {
            return vec![(None, events)];
        }
        let now = self.forward.clock.now();
        let (mut targets, mut parts) = (Vec::new(), Vec::<CutEvents>::new());
        let mut fields = events.fields.iter().peekable();
        let origins = events
            .runs
            .iter()
            .flat_map(|run| std::iter::repeat_n(run.origin as usize, run.rows as usize));
        for (row, origin) in origins.enumerate() {
            let (meta, text) = (&events.origins[origin], events.text(row));
            let target = self.target(meta, text, rulings[origin].as_mut(), now);
            let mut part = target.map(|target| {
                let place = place_of(&mut targets, target);
                if place == parts.len() {
                    parts.push(CutEvents::new(events.missing_time));
                }
                &mut parts[place]
            });
            // A part is not larger than the whole, for which there was space.
            let pushed =
                part.as_mut().is_some_and(|part| part.push(meta.by_ref(), events.times[row], text));
            while let Some(field) = fields.next_if(|field| field.row as usize <= row) {
                if let Some(part) = part.as_mut().filter(|_| pushed) {
                    part.push_field(Arc::clone(&field.name), &field.value);
                }
            }
        }
        rulings.iter_mut().flatten().for_each(Ruling::count);
        targets.into_iter().zip(parts).collect()
    }

    /// The rules for the events of each origin.
    fn rulings(&self, events: &CutEvents) -> Vec<Option<Ruling>> {
        let rules = &self.forward.rules;
        if !rules.any() {
            return events.origins.iter().map(|_| None).collect();
        }
        let first_rows = events.first_rows();
        let of = |(meta, row): (&Arc<InputMeta>, usize)| match &meta.sourcetype {
            Some(sourcetype) => rules.of(meta, sourcetype, &self.groups),
            None => {
                let sourcetype = self.recognise(&meta.source, events.text(row));
                rules.of(meta, &sourcetype, &self.groups)
            }
        };
        events.origins.iter().zip(first_rows).map(of).collect()
    }

    /// The destination of an event; `None` if it is dropped.
    fn target(
        &self,
        meta: &InputMeta,
        text: &[u8],
        ruling: Option<&mut Ruling>,
        now: EventTime,
    ) -> Option<Target> {
        if !self.allows(meta) {
            count_filtered(text.len());
            return None;
        }
        let Some(ruling) = ruling else { return Some(None) };
        let fate = match std::str::from_utf8(text) {
            Ok(raw) => ruling.decide(raw, now, text.len()),
            Err(_) => ruling.decide(&inputs::text::repaired(text), now, text.len()),
        };
        match fate {
            RoutingDecision::Keep => Some(None),
            RoutingDecision::To(groups) => Some(Some(groups)),
            RoutingDecision::Drop => None,
        }
    }
}

/// Counts lines instead of events, because only the indexer finds events.
fn receipt(contents: &[Whole], pending: u64) -> Receipt {
    let mut receipt = Receipt { pending, ..Receipt::default() };
    for whole in contents {
        let body = whole.content.as_ref().and_then(|content| content.body.as_ref());
        if let Some(Body::Text(text)) = body {
            receipt.bytes += text.bytes.len() as u64;
            receipt.events += memchr::memchr_iter(b'\n', &text.bytes).count() as u64;
        }
    }
    receipt
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::Layers;
    use protocol::{ParsingRules, Setting, Stanza};
    use runtime::SystemClock;

    use super::*;
    use crate::indexer_rules::Compiler;
    use crate::rules::tests::{book, meta};

    /// Two groups without queues, and one pipeline set.
    fn forward(directory: &std::path::Path) -> Arc<Forward> {
        let knowledge = Arc::new(Knowledge::new(Layers::builtin()));
        let compiler = Arc::new(Compiler::new(knowledge));
        let open = |group: &str| {
            let directory = directory.join(group);
            std::fs::create_dir(&directory).unwrap();
            Arc::new(IndexerRules::open(Arc::clone(&compiler), &group.into(), &directory))
        };
        Arc::new(Forward {
            parsing: vec![open("a"), open("b")],
            stopping: Shutdown::new(),
            clock: Arc::new(SystemClock),
            filter: IndexFilter::default(),
            rules: book("", ""),
            sets: vec![Set::new(Vec::new())],
            levels: vec![None, None],
            sizes: Sizes { batch: 1000, event: 1 << 20 },
            limits: SinkLimits {
                queue_wait: Duration::from_secs(1),
                stream_idle: Duration::from_secs(1),
            },
        })
    }

    /// Settings of the source type `t`.
    fn rules(settings: &[(&str, &str)]) -> Option<ParsingRules> {
        let setting = |(key, value): &(&str, &str)| Setting {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
        };
        let settings = settings.iter().map(setting).collect();
        let stanza = Stanza { name: "t".to_owned(), settings };
        let checksum = Bytes::from_static(b"x");
        Some(ParsingRules { checksum, stanzas: vec![stanza], size: 1, limit: 100 })
    }

    /// The texts that a route cuts from a stream, and the number of bytes that wait.
    fn cut(route: &Route, key: &StreamKey, text: &'static str) -> (Vec<Bytes>, u64) {
        let bytes = Bytes::from_static(text.as_bytes());
        let (found, pending) = route.cut(&Arc::new(meta("t")), key, (bytes, false, None));
        let text_of = |whole: Whole| match whole.content.unwrap().body.unwrap() {
            Body::Text(text) => text.bytes,
            other => panic!("{other:?}"),
        };
        (found.into_iter().map(text_of).collect(), pending)
    }

    #[test]
    fn streams_are_cut_by_the_rules_of_their_first_group() {
        let data = tempfile::tempdir().unwrap();
        let forward = forward(data.path());
        let settings = [("SHOULD_LINEMERGE", "false"), ("LINE_BREAKER", "(;)")];
        forward.parsing[0].hear("a:1", rules(&settings));
        forward.parsing[1].hear("b:1", None);
        let one = Route::new(Arc::clone(&forward), vec![0, 1], "one");
        let other = Route::new(forward, vec![1, 0], "other");
        let (key, other_key) = (StreamKey("tcp:1".into()), StreamKey("tcp:2".into()));
        assert_eq!(cut(&one, &key, "1;2;3"), (vec![Bytes::from_static(b"1;2")], 1));
        assert_eq!(cut(&other, &other_key, "1;2;3"), (Vec::new(), 5));
    }

    #[test]
    fn a_connection_that_becomes_a_table_keeps_its_rules() {
        let data = tempfile::tempdir().unwrap();
        let forward = forward(data.path());
        let route = Route::new(Arc::clone(&forward), vec![0], "one");
        let (key, later) = (StreamKey("tcp:1".into()), StreamKey("tcp:2".into()));
        assert_eq!(cut(&route, &key, "a,b\nc,d\n"), (Vec::new(), 8));
        forward.parsing[0].hear("a:1", rules(&[("INDEXED_EXTRACTIONS", "csv")]));
        assert_eq!(cut(&route, &key, "e,f\n"), (Vec::new(), 12));
        cut(&route, &later, "a,b\nc,d\n");
        let streams = forward.sets[0].streams.lock();
        let has_header = |key: &StreamKey| streams[key].lock().header.is_some();
        assert_eq!((has_header(&key), has_header(&later)), (false, true));
    }
}
