//! Parsing: the first stage. Bytes of streams become text and lines.
//!
//! Holds the unfinished line of every open stream. What a stream is (its sourcetype, hence its
//! rules) is decided at its first bytes.

use std::sync::Arc;

use bytes::Bytes;
use foldhash::HashMap;
use inputs::{CutEvents, Input, InputMeta, StreamKey};
use model::{EventTime, Origin};
use runtime::metrics as names;

use super::ack::Share;
use super::breaker::{LineBreaker, Lines};
use super::decode::TextDecoder;
use super::messages::{Order, OriginInfo, Parsed, ParsedLines, StreamInfo, Work};
use super::queue::Queue;
use super::rules::{RuleBook, StreamRules};

#[derive(Debug)]
struct Stream {
    meta: Arc<InputMeta>,
    info: Arc<StreamInfo>,
    decoder: TextDecoder,
    breaker: LineBreaker,
}

/// See the module.
pub(crate) struct Parse {
    from: Arc<Queue<Work>>,
    to: Arc<Queue<Parsed>>,
    rules: RuleBook,
    /// Input is worked through in pieces of this size, so that a huge one does not hold several
    /// times its size in memory at once.
    piece: usize,
    streams: HashMap<StreamKey, Stream>,
    /// What origins of cut events mean.
    origins: HashMap<Arc<InputMeta>, Arc<OriginInfo>>,
}

/// Origins of cut events that are kept; more empty the table.
const ORIGINS: usize = 100_000;

/// How many times the size of a batch cut events may have to go on as one.
const BATCHES: usize = 8;

impl Parse {
    pub(crate) fn new(
        from: Arc<Queue<Work>>,
        to: Arc<Queue<Parsed>>,
        rules: RuleBook,
        piece: usize,
    ) -> Self {
        let (streams, origins) = (HashMap::default(), HashMap::default());
        Self { from, to, rules, piece, streams, origins }
    }

    /// Works until the queue is closed and empty.
    pub(crate) fn run(mut self) {
        while let Some(work) = self.from.pop() {
            match work {
                Work::Input(Input::Raw { origin, stream, bytes, modified, end }, share) => {
                    self.take_bytes(&origin, stream, bytes, modified, end, share);
                }
                Work::Input(Input::Events { events, .. }, share) => {
                    self.take_cut(events, share);
                }
                Work::Order(order, share) => {
                    if matches!(order, Order::Flush) {
                        self.end_all();
                    }
                    self.send(Parsed::Order(order, share), 64);
                }
            }
        }
        self.end_all();
        self.to.close();
    }

    /// A refused item fails its share by being dropped: the sender is told.
    fn send(&self, parsed: Parsed, bytes: u64) {
        if self.to.push(parsed, bytes).is_err() {
            tracing::debug!("merging has ended before parsing");
        }
    }

    fn take_bytes(
        &mut self,
        meta: &Arc<InputMeta>,
        key: StreamKey,
        mut bytes: Bytes,
        modified: Option<EventTime>,
        end: bool,
        share: Share,
    ) {
        let is_other = |stream: &Stream| !Arc::ptr_eq(&stream.meta, meta) && stream.meta != *meta;
        if self.streams.get(&key).is_some_and(is_other) {
            // The same stream under another name or sourcetype: what was unfinished is complete.
            self.end_stream(&key, modified);
        }
        if !self.streams.contains_key(&key) {
            if bytes.is_empty() {
                share.settle(0, 0);
                return;
            }
            let opened = self.open(meta, &key, &bytes);
            self.streams.insert(key.clone(), opened);
        }
        while bytes.len() > self.piece {
            let piece = bytes.split_to(self.piece);
            self.push_piece(&key, piece, modified, false, share.another());
        }
        self.push_piece(&key, bytes, modified, end, share);
        if end {
            self.streams.remove(&key);
        }
    }

    fn open(&self, meta: &Arc<InputMeta>, key: &StreamKey, first: &[u8]) -> Stream {
        let info = self.info(meta, key, first);
        let rules = &info.rules;
        Stream {
            meta: Arc::clone(meta),
            decoder: TextDecoder::new(rules.charset),
            breaker: LineBreaker::new(rules.breaks.clone(), rules.limit),
            info,
        }
    }

    fn info(&self, meta: &InputMeta, key: &StreamKey, first: &[u8]) -> Arc<StreamInfo> {
        let (origin, rules) = self.resolve(meta, first);
        Arc::new(StreamInfo { key: key.clone(), origin, rules })
    }

    fn resolve(&self, meta: &InputMeta, first: &[u8]) -> (Arc<Origin>, Arc<StreamRules>) {
        let (sourcetype, rules) = self.rules.rules_of(meta, first);
        let origin = Origin {
            index: meta.index.clone(),
            host: Arc::clone(&meta.host),
            source: Arc::clone(&meta.source),
            sourcetype,
        };
        (Arc::new(origin), rules)
    }

    fn push_piece(
        &mut self,
        key: &StreamKey,
        bytes: Bytes,
        modified: Option<EventTime>,
        end: bool,
        share: Share,
    ) {
        let Some(stream) = self.streams.get_mut(key) else { return };
        let decoded = stream.decoder.decode(bytes, end);
        let lines = stream.breaker.push(decoded.text, end);
        let origin = &stream.info.origin;
        if decoded.repaired {
            metrics::counter!(names::INGEST_INVALID_UTF8).increment(1);
            tracing::warn!(
                source = %origin.source, host = %origin.host, sourcetype = %origin.sourcetype,
                "text is not valid in its character set; bytes are shown as \\xHH (see CHARSET)"
            );
        }
        report_cut(&lines, origin);
        let size = lines.text.len() as u64 + 64;
        let parsed = ParsedLines {
            stream: Arc::clone(&stream.info),
            unbroken: stream.breaker.pending(),
            input_per_text: stream.decoder.input_per_text(),
            lines,
            modified,
            end,
            share,
        };
        self.send(Parsed::Lines(parsed), size);
    }

    /// A large request goes on in batches, so that it is not in every stage as a whole.
    fn take_cut(&mut self, events: CutEvents, share: Share) {
        let largest = self.piece.saturating_mul(BATCHES);
        if events.memory() <= largest {
            return self.take_batch(events, share);
        }
        events.divide(largest, |batch| self.take_batch(batch, share.another()));
        share.settle(0, 0);
    }

    fn take_batch(&mut self, events: CutEvents, share: Share) {
        let first = events.first_rows();
        let infos = events.origins.iter().zip(first);
        let infos = infos.map(|(meta, row)| self.origin(meta, events.text(row))).collect();
        let size = events.memory() as u64 + 64;
        self.send(Parsed::Cut(events, infos, share), size);
    }

    /// What an origin of cut events means; senders name the same ones in every request.
    fn origin(&mut self, meta: &Arc<InputMeta>, first: &[u8]) -> Arc<OriginInfo> {
        if let Some(known) = self.origins.get(meta) {
            return Arc::clone(known);
        }
        let (origin, rules) = self.resolve(meta, first);
        let info = Arc::new(OriginInfo { origin, rules });
        // Without a sourcetype of its own, the next event decides anew.
        if meta.sourcetype.is_some() {
            if self.origins.len() >= ORIGINS {
                self.origins.clear();
            }
            self.origins.insert(Arc::clone(meta), Arc::clone(&info));
        }
        info
    }

    fn end_stream(&mut self, key: &StreamKey, modified: Option<EventTime>) {
        self.push_piece(key, Bytes::new(), modified, true, Share::unattended());
        self.streams.remove(key);
    }

    fn end_all(&mut self) {
        let open: Vec<_> = self.streams.keys().cloned().collect();
        for key in open {
            self.end_stream(&key, None);
        }
    }
}

fn report_cut(lines: &Lines, origin: &Origin) {
    if lines.cut_lines == 0 {
        return;
    }
    metrics::counter!(names::INGEST_TRUNCATED).increment(lines.cut_lines);
    tracing::warn!(
        events = lines.cut_lines, dropped_bytes = lines.cut_bytes, source = %origin.source,
        host = %origin.host, sourcetype = %origin.sourcetype,
        "events are longer than TRUNCATE allows and were cut"
    );
}
