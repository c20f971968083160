//! Parsing: the first stage, which converts the bytes of streams into text and lines.
//!
//! It holds the unfinished line of every open stream. The sourcetype of a stream, and with it its rules, is
//! decided at its first bytes.
//!
//! A large input is processed in parts that alternate with those of other large inputs and with new inputs,
//! so that a small request does not wait behind hundreds of megabytes of another sender. The deferred parts
//! are bounded by the memory budget of requests, which an input holds until it is parsed.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use foldhash::HashMap;
use inputs::{CutEvents, Input, InputMeta, Parts, StreamKey};
use model::{EventTime, Origin};
use runtime::metrics as names;

use super::breaker::{LineBreaker, Lines};
use super::decode::TextDecoder;
use super::messages::{Order, OriginInfo, Parsed, ParsedLines, StreamInfo, Work};
use super::queue::{Popped, Queue};
use super::rules::{RuleBook, StreamRules};
use crate::ack::AckShare;

#[derive(Debug)]
struct Stream {
    meta: Arc<InputMeta>,
    info: Arc<StreamInfo>,
    decoder: TextDecoder,
    breaker: LineBreaker,
}

/// A function that tells whether large inputs must wait.
pub(super) type IsBehind = Box<dyn Fn() -> bool + Send>;

/// See the module.
pub(crate) struct Parse {
    from: Arc<Queue<Work>>,
    to: Arc<Queue<Parsed>>,
    rules: RuleBook,
    /// Size of the pieces in which input is processed, so that a huge one does not take several times its
    /// size in memory.
    piece: usize,
    streams: HashMap<StreamKey, Stream>,
    /// The rules of the origins of cut events.
    origins: HashMap<Arc<InputMeta>, Arc<OriginInfo>>,
    /// Large inputs that are processed in turns.
    large: VecDeque<Large>,
    /// Bytes of other inputs since a large one had its turn.
    between: u64,
    /// Tells whether the stages behind are so busy that large inputs must wait.
    is_behind: IsBehind,
}

/// A large input that is not completely processed.
#[derive(Debug)]
enum Large {
    Raw(Raw, AckShare),
    Events(StreamKey, Parts, AckShare),
}

/// Bytes of a stream.
#[derive(Debug)]
struct Raw {
    meta: Arc<InputMeta>,
    key: StreamKey,
    bytes: Bytes,
    modified: Option<EventTime>,
    end: bool,
}

/// Maximum number of remembered origins of cut events; the table is emptied when there are more.
const ORIGINS: usize = 100_000;

/// Maximum size of cut events that are passed on as one batch, as a multiple of the batch size.
const BATCHES: usize = 2;
/// Maximum number of large inputs that take turns; further ones wait in the queue, as do the inputs after
/// them.
const MOST_LARGE: usize = 256;
/// Interval at which waiting large inputs check whether the stages behind have caught up.
const PAUSE: Duration = Duration::from_millis(2);

impl Parse {
    pub(crate) fn new(
        from: Arc<Queue<Work>>,
        to: Arc<Queue<Parsed>>,
        rules: RuleBook,
        piece: usize,
        is_behind: IsBehind,
    ) -> Self {
        let (streams, origins) = (HashMap::default(), HashMap::default());
        let (large, between) = (VecDeque::new(), 0);
        Self { from, to, rules, piece, streams, origins, large, between, is_behind }
    }

    /// Runs until the queue is closed and empty.
    pub(crate) fn run(mut self) {
        while let Some(work) = self.next_work() {
            match work {
                Work::Input(Input::Raw { origin, stream, bytes, modified, end }, share) => {
                    self.finish(Some(&stream));
                    let raw = Raw { meta: origin, key: stream, bytes, modified, end };
                    if raw.bytes.len() > self.part() {
                        self.large.push_back(Large::Raw(raw, share));
                    } else {
                        self.take_bytes(raw, share);
                    }
                }
                Work::Input(Input::Events { stream, events }, share) => {
                    self.finish(Some(&stream));
                    if events.memory() > self.part() {
                        let parts = events.divide(self.part());
                        self.large.push_back(Large::Events(stream, parts, share));
                    } else {
                        self.take_batch(events, share);
                    }
                }
                Work::Order(order, share) => {
                    // An order covers everything that arrived before it.
                    self.finish(None);
                    match &order {
                        Order::Flush => self.end_all(),
                        Order::Rules(rules) => self.change_rules(rules.clone()),
                        Order::Roll(_) => {}
                    }
                    self.send(Parsed::Order(order, share), 64);
                }
            }
        }
        self.end_all();
        self.to.close();
    }

    /// Returns the number of bytes of a large input that are processed at a time.
    fn part(&self) -> usize {
        self.piece.saturating_mul(BATCHES)
    }

    /// Returns the next input; `None` at the end. Large inputs are processed while no other input arrives,
    /// and in turns with others, as long as the stages behind keep up.
    fn next_work(&mut self) -> Option<Work> {
        while !self.large.is_empty() {
            let wait = (self.is_behind)();
            let popped = match self.large.len() < MOST_LARGE {
                true if wait => match self.from.pop_timeout(PAUSE) {
                    Popped::Item(work) => Some(work),
                    Popped::Timeout => continue,
                    Popped::Closed => None,
                },
                true if self.between < self.part() as u64 => self.from.try_pop(),
                _ => None,
            };
            let Some(work) = popped else {
                self.go_on();
                continue;
            };
            self.between += match &work {
                Work::Input(input, _) => input.size(),
                Work::Order(..) => 0,
            };
            return Some(work);
        }
        self.from.pop()
    }

    /// Processes a part of the large input whose turn it is.
    fn go_on(&mut self) {
        self.between = 0;
        let part = self.part();
        match self.large.pop_front() {
            Some(Large::Raw(mut raw, share)) if raw.bytes.len() > part => {
                let bytes = raw.bytes.split_to(part);
                let (meta, key) = (Arc::clone(&raw.meta), raw.key.clone());
                let first = Raw { meta, key, bytes, modified: raw.modified, end: false };
                self.take_bytes(first, share.another());
                self.large.push_back(Large::Raw(raw, share));
            }
            Some(Large::Raw(raw, share)) => self.take_bytes(raw, share),
            Some(Large::Events(stream, mut parts, share)) => match parts.next() {
                Some(batch) => {
                    self.take_batch(batch, share.another());
                    self.large.push_back(Large::Events(stream, parts, share));
                }
                None => share.complete(0, 0),
            },
            None => {}
        }
    }

    /// Processes large inputs until none of the stream is left, which keeps its order, or none at all.
    fn finish(&mut self, stream: Option<&StreamKey>) {
        let is_of = |large: &Large| {
            let (Large::Raw(Raw { key, .. }, _) | Large::Events(key, ..)) = large;
            stream.is_none_or(|stream| stream == key)
        };
        while self.large.iter().any(is_of) {
            self.go_on();
        }
    }

    /// Sends a message to merging. If it is refused, its share is dropped, which fails the input.
    fn send(&self, parsed: Parsed, bytes: u64) {
        if self.to.push(parsed, bytes).is_err() {
            tracing::debug!("merging has ended before parsing");
        }
    }

    fn take_bytes(&mut self, raw: Raw, share: AckShare) {
        let Raw { ref meta, key, mut bytes, modified, end } = raw;
        let is_other = |stream: &Stream| !Arc::ptr_eq(&stream.meta, meta) && stream.meta != *meta;
        if self.streams.get(&key).is_some_and(is_other) {
            // The same stream continues with another source or sourcetype, so its unfinished line is
            // complete.
            self.end_stream(&key, modified);
        }
        if !self.streams.contains_key(&key) {
            if bytes.is_empty() {
                share.complete(0, 0);
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

    /// Replaces the rules from here on. Open streams keep their sourcetype and their unfinished line; an
    /// event of several lines ends with the last whole line. Streams with a header keep their rules to their
    /// end.
    fn change_rules(&mut self, rules: RuleBook) {
        self.rules = rules;
        self.origins.clear();
        let open: Vec<_> = self.streams.keys().cloned().collect();
        for key in open {
            self.change_stream(&key);
        }
    }

    fn change_stream(&mut self, key: &StreamKey) {
        let Some(stream) = self.streams.get(key) else { return };
        let before = Arc::clone(&stream.info);
        let mut meta = InputMeta::clone(&stream.meta);
        meta.sourcetype = Some(Arc::clone(&before.origin.sourcetype));
        let now = self.info(&meta, key, &[]);
        if before.rules.is_structured() || now.rules.is_structured() {
            return;
        }
        // Merging completes the unfinished event of the stream by the old rules.
        let ended = ParsedLines {
            stream: before,
            lines: Lines::default(),
            repaired: false,
            charset: stream.decoder.charset(),
            unbroken: 0,
            input_per_text: 1,
            modified: None,
            end: true,
            share: AckShare::unattended(),
        };
        self.send(Parsed::Lines(ended), 64);
        let Some(stream) = self.streams.get_mut(key) else { return };
        stream.breaker.change(now.rules.breaks.clone(), now.rules.limit);
        stream.info = now;
    }

    fn push_piece(
        &mut self,
        key: &StreamKey,
        bytes: Bytes,
        modified: Option<EventTime>,
        end: bool,
        share: AckShare,
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
            repaired: decoded.repaired,
            charset: stream.decoder.charset(),
            lines,
            modified,
            end,
            share,
        };
        self.send(Parsed::Lines(parsed), size);
    }

    fn take_batch(&mut self, events: CutEvents, share: AckShare) {
        let first = events.first_rows();
        let infos = events.origins.iter().zip(first);
        let infos = infos.map(|(meta, row)| self.origin(meta, events.text(row))).collect();
        let size = events.memory() as u64 + 64;
        self.send(Parsed::Cut(events, infos, share), size);
    }

    /// Returns the rules of an origin of cut events, from a table, because senders name the same origins in
    /// every request.
    fn origin(&mut self, meta: &Arc<InputMeta>, first: &[u8]) -> Arc<OriginInfo> {
        if let Some(known) = self.origins.get(meta) {
            return Arc::clone(known);
        }
        let (origin, rules) = self.resolve(meta, first);
        let info = Arc::new(OriginInfo { origin, rules });
        // Not remembered without a given sourcetype, because the next event may be recognised differently.
        if meta.sourcetype.is_some() {
            if self.origins.len() >= ORIGINS {
                self.origins.clear();
            }
            self.origins.insert(Arc::clone(meta), Arc::clone(&info));
        }
        info
    }

    fn end_stream(&mut self, key: &StreamKey, modified: Option<EventTime>) {
        self.push_piece(key, Bytes::new(), modified, true, AckShare::unattended());
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
    let cut_lines = lines.cut_lines();
    if cut_lines == 0 {
        return;
    }
    metrics::counter!(names::INGEST_TRUNCATED).increment(cut_lines);
    tracing::warn!(
        events = cut_lines, dropped_bytes = lines.cut_bytes, source = %origin.source,
        host = %origin.host, sourcetype = %origin.sourcetype,
        "events are longer than TRUNCATE and were truncated"
    );
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use inputs::{MissingTime, OriginRef};
    use knowledge::Knowledge;
    use model::IndexName;

    use super::*;

    #[test]
    fn small_inputs_do_not_wait_for_large_ones_and_streams_keep_their_order() {
        let line = "a line of the large one\n".repeat(100);
        let inputs = vec![
            raw("large", &line),
            cut("cut", 100),
            raw("small", "a\n"),
            raw("large", "the end\n"),
        ];
        let order = parsed(inputs, Box::new(|| false));
        let last = |name: &str| order.iter().rposition(|(source, _)| source == name).unwrap();
        assert!(last("small") < last("large") && last("small") < last("cut"), "{order:?}");
        assert_eq!(order[last("large")].1, "the end\n");
        let of = |name: &str| {
            let parts = order.iter().filter(|(source, _)| source == name);
            parts.map(|(_, text)| text.as_str()).collect::<String>()
        };
        assert_eq!(of("large"), format!("{line}the end\n"));
        assert_eq!(of("cut"), "an event".repeat(100));
    }

    #[test]
    fn large_inputs_wait_for_the_stages_behind_and_small_ones_do_not() {
        let line = "a line of the large one\n".repeat(100);
        let mut inputs = vec![raw("large", &line)];
        // More inputs than those after which a large input has its turn.
        inputs.extend((0..100).map(|n| raw(&format!("small {n}"), "a line\n")));
        let asked = AtomicUsize::new(0);
        let is_behind = move || asked.fetch_add(1, Relaxed) < 100;
        let order = parsed(inputs, Box::new(is_behind));
        let first = order.iter().position(|(source, _)| source == "large").unwrap();
        assert_eq!(first, 100, "{order:?}");
        let large = order.iter().filter(|(source, _)| source == "large");
        assert_eq!(large.map(|(_, text)| text.as_str()).collect::<String>(), line);
    }

    /// Returns the output of the stage, with the source of each item.
    fn parsed(inputs: Vec<Input>, is_behind: IsBehind) -> Vec<(String, String)> {
        let from = Arc::new(Queue::new(0, "parsing", 1 << 30));
        let to = Arc::new(Queue::new(0, "merging", 1 << 30));
        for input in inputs {
            let size = input.size();
            from.push(Work::Input(input, AckShare::unattended()), size).unwrap();
        }
        from.close();
        let rules = RuleBook::new(Arc::new(Knowledge::builtin()), 1 << 20);
        Parse::new(from, Arc::clone(&to), rules, 10, is_behind).run();
        let mut order = Vec::new();
        while let Some(parsed) = to.pop() {
            let (source, text) = match parsed {
                Parsed::Lines(lines) => {
                    // After its lines, a text may have the beginning of the next line.
                    let whole = &lines.lines.text[..lines.lines.covered as usize];
                    let text = String::from_utf8_lossy(whole).into_owned();
                    (lines.stream.origin.source.to_string(), text)
                }
                Parsed::Cut(events, infos, _) => {
                    let text = String::from_utf8(events.text).unwrap();
                    (infos[0].origin.source.to_string(), text)
                }
                Parsed::Order(..) => continue,
            };
            // The end of a stream has no line.
            if !text.is_empty() {
                order.push((source, text));
            }
        }
        order
    }

    fn raw(name: &str, text: &str) -> Input {
        let meta = InputMeta {
            index: IndexName::new("main").unwrap(),
            host: "h".into(),
            source: name.into(),
            sourcetype: Some("t".into()),
        };
        Input::Raw {
            origin: Arc::new(meta),
            stream: StreamKey(name.into()),
            bytes: Bytes::copy_from_slice(text.as_bytes()),
            modified: None,
            end: false,
        }
    }

    fn cut(name: &str, count: usize) -> Input {
        let index = IndexName::new("main").unwrap();
        let mut events = CutEvents::new(MissingTime::Now);
        for _ in 0..count {
            let sourcetype = Some("t");
            let origin = OriginRef { index: &index, host: "h", source: name, sourcetype };
            assert!(events.push(origin, None, b"an event"));
        }
        Input::Events { stream: StreamKey(name.into()), events }
    }
}
