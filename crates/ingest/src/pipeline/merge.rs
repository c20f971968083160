//! Merging: lines become events with a time.
//!
//! With `SHOULD_LINEMERGE`, [`knowledge::MergeRules`] decide which lines begin an event. Records of a
//! structured source get the fields that its header names. An event without a timestamp gets the
//! time of the event before it in its stream, else the time its file was written, else now.

use std::sync::Arc;

use bytes::Bytes;
use foldhash::HashMap;
use inputs::{CutEvents, EventLimits, Findings, InputMeta, MissingTime, StreamKey, otlp, text};
use knowledge::structured::{StructuredReader, ToldBy};
use knowledge::timestamp::TimestampFinder;
use knowledge::{Begins, MergeState};
use model::{EventBatch, EventBatchBuilder, EventTime, IndexName, Origin, Origins};
use runtime::{Clock, metrics as names};

use super::breaker::Line;
use super::messages::{Merged, Order, OriginInfo, Parsed, ParsedLines, StreamInfo};
use super::queue::Queue;
use super::resume;
use super::rules::StreamRules;
use super::trace::{Began, TimeFrom, Trace, Traces};
use crate::ack::AckShare;

/// The merging state of one stream.
#[derive(Debug)]
struct Stream {
    info: Arc<StreamInfo>,
    finder: TimestampFinder,
    last_time: Option<EventTime>,
    /// The event that the next line may continue.
    open: Option<OpenEvent>,
    /// What the rules for merging know about it.
    merging: MergeState,
    /// The buffer of the previous event, reused so that events need no allocation.
    spare: String,
    /// The reader of a structured source, with the fields of the current record.
    reader: Option<StructuredReader>,
    fields: Vec<(Arc<str>, String)>,
}

#[derive(Debug)]
struct OpenEvent {
    text: String,
    dated: Dated,
    began: Began,
    /// Bytes of the stream from the start of the event to the start of the current chunk.
    before: u64,
    /// Offset in the current chunk of the start of the event, and of the end of its last line.
    start: u64,
    end: u64,
}

/// See the module.
pub(crate) struct Merge {
    from: Arc<Queue<Parsed>>,
    to: Arc<Queue<Merged>>,
    clock: Arc<dyn Clock>,
    batch_size: usize,
    streams: HashMap<StreamKey, Stream>,
    /// The notes for a preview; `None` if events are stored.
    traces: Option<Traces>,
}

/// The time of an event.
#[derive(Debug, Clone, Copy)]
struct Dated {
    time: EventTime,
    from: TimeFrom,
    /// Whether the text has the time, or is not searched for one.
    shown: bool,
}

/// Assigns times to the events of a message.
struct Times<'a> {
    rules: &'a StreamRules,
    now: EventTime,
    modified: Option<EventTime>,
    /// Number of events whose text should have had a time.
    fallbacks: u64,
}

impl<'a> Times<'a> {
    fn new(rules: &'a StreamRules, now: EventTime, modified: Option<EventTime>) -> Self {
        Self { rules, now, modified, fallbacks: 0 }
    }

    /// Returns the time that was found, or its replacement. `last` is the time of the previous event.
    fn of(&mut self, found: Option<(EventTime, TimeFrom)>, last: &mut Option<EventTime>) -> Dated {
        let (time, from) =
            found.unwrap_or_else(|| self.rules.time_without_text(self.now, *last, self.modified));
        let odd = found.is_none() && self.rules.looks_for_time();
        self.fallbacks += u64::from(odd);
        *last = Some(time);
        Dated { time, from, shown: !odd }
    }
}

/// Returns the time that a finder finds in a line.
fn find(
    finder: &mut TimestampFinder,
    line: Line,
    raw: &str,
    now: EventTime,
) -> Option<(EventTime, TimeFrom)> {
    finder.find(raw, now).map(|time| (time, place_of(finder, line)))
}

/// Returns the place of the time that was found last in a line.
fn place_of(finder: &TimestampFinder, line: Line) -> TimeFrom {
    let start = line.start as usize;
    TimeFrom::Text(finder.place().map(|(from, to)| (start + from, start + to)))
}

/// The batches that are being filled from one message.
struct Output<'a> {
    to: &'a Queue<Merged>,
    info: &'a StreamInfo,
    share: &'a AckShare,
    batch_size: usize,
    builder: Option<EventBatchBuilder>,
    expected: usize,
    findings: Findings,
    traces: Option<&'a mut Traces>,
}

/// A complete event.
struct Event<'e> {
    /// Start and end in the text of its lines.
    span: (usize, usize),
    began: Began,
    dated: Dated,
    raw: &'e str,
    fields: &'e [(Arc<str>, String)],
}

impl<'e> Event<'e> {
    /// Creates an event that is a line.
    fn of_line(line: Line, dated: Dated, raw: &'e str) -> Self {
        let span = (line.start as usize, line.end as usize);
        let began = if span.0 == 0 { Began::Beginning } else { Began::Line };
        Self { span, began, dated, raw, fields: &[] }
    }
}

impl Output<'_> {
    fn push(&mut self, event: &Event<'_>) {
        let info = self.info;
        self.push_as(&info.origin, event);
    }

    fn push_as(&mut self, origin: &Arc<Origin>, event: &Event<'_>) {
        let Event { span, began, dated: Dated { time, from, shown }, raw, fields } = *event;
        self.findings.event(shown.then_some(time));
        if let Some(traces) = &mut self.traces {
            traces.events.push(Trace { span, began, time_from: from, dated: shown });
        }
        let builder = self.builder.get_or_insert_with(|| {
            let room = self.expected.min(self.batch_size.saturating_add(64 << 10));
            EventBatchBuilder::new(self.info.origin.index.clone(), room)
        });
        builder.push(origin, time, raw);
        for (name, value) in fields {
            builder.push_field(Arc::clone(name), value);
        }
        if builder.raw_bytes() >= self.batch_size {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if let Some(builder) = self.builder.take() {
            send_batch(self.to, builder.finish(), self.share.another());
        }
    }
}

fn send_batch(to: &Queue<Merged>, batch: EventBatch, share: AckShare) {
    let size = batch.raw.len() as u64 + batch.rows() as u64 * 12 + 64;
    if to.push(Merged::Batch(batch, share), size).is_err() {
        tracing::debug!("typing has ended before merging");
    }
}

impl Merge {
    pub(crate) fn new(
        from: Arc<Queue<Parsed>>,
        to: Arc<Queue<Merged>>,
        clock: Arc<dyn Clock>,
        batch_size: usize,
    ) -> Self {
        Self { from, to, clock, batch_size, streams: HashMap::default(), traces: None }
    }

    /// Runs until the queue is closed and empty, and returns the notes about the events.
    pub(crate) fn run_traced(mut self) -> Traces {
        self.traces = Some(Traces::default());
        self.work();
        self.traces.unwrap_or_default()
    }

    /// Runs until the queue is closed and empty.
    pub(crate) fn run(mut self) {
        self.work();
    }

    fn work(&mut self) {
        while let Some(parsed) = self.from.pop() {
            match parsed {
                Parsed::Lines(lines) => self.take_lines(lines),
                Parsed::Cut(events, infos, share) => self.take_cut(events, &infos, share),
                Parsed::Order(order, share) => self.forward(order, share),
            }
        }
        self.to.close();
    }

    fn forward(&self, order: Order, share: AckShare) {
        if self.to.push(Merged::Order(order, share), 64).is_err() {
            tracing::debug!("typing has ended before merging");
        }
    }

    fn take_lines(&mut self, parsed: ParsedLines) {
        let now = self.clock.now();
        let key = &parsed.stream.key;
        let known = self.streams.get(key).is_some_and(|s| Arc::ptr_eq(&s.info, &parsed.stream));
        if !known {
            let stream = Stream::new(Arc::clone(&parsed.stream), &parsed.lines.text);
            self.streams.insert(key.clone(), stream);
        }
        let Some(stream) = self.streams.get_mut(key) else { return };
        let mut out = Output {
            to: &self.to,
            info: &parsed.stream,
            share: &parsed.share,
            batch_size: self.batch_size,
            builder: None,
            expected: parsed.lines.text.len(),
            findings: Findings { truncated: parsed.lines.cut_lines(), ..Findings::default() },
            traces: self.traces.as_mut(),
        };
        stream.finder.set_date(parsed.modified.unwrap_or(now));
        if stream.reader.is_some() {
            stream.each_record(&parsed, now, &mut out);
        } else if stream.info.rules.otlp {
            stream.each_request(&parsed, now, &mut out);
        } else if stream.info.rules.merge.is_some() {
            stream.merge(&parsed, now, &mut out);
        } else {
            stream.each_line(&parsed, now, &mut out);
        }
        out.flush();
        parsed.share.note(&out.findings);
        if let Some(traces) = out.traces {
            traces.findings.add(&out.findings);
        }
        count_jumps(&mut stream.finder);
        let open = stream.open.as_ref().map_or(0, |open| open.before);
        parsed.share.set_pending((parsed.unbroken + open) * parsed.input_per_text);
        parsed.share.complete(0, 0);
        if parsed.end {
            self.streams.remove(&parsed.stream.key);
        }
    }

    fn take_cut(&self, mut events: CutEvents, infos: &[Arc<OriginInfo>], share: AckShare) {
        if events.is_empty() {
            share.complete(0, 0);
            return;
        }
        if !is_text(&events) {
            repair(&mut events);
        }
        let times = self.times(&events, infos);
        let Some(first) = infos.first() else { return };
        let index = &first.origin.index;
        if infos.iter().all(|info| info.origin.index == *index) {
            send_batch(&self.to, whole(events, infos, times), share);
            return;
        }
        for batch in by_index(&events, infos, &times) {
            send_batch(&self.to, batch, share.another());
        }
        share.complete(0, 0);
    }

    /// Returns the time of every event: that of the sender, otherwise according to the rules.
    fn times(&self, events: &CutEvents, infos: &[Arc<OriginInfo>]) -> Vec<EventTime> {
        let now = self.clock.now();
        if events.missing_time == MissingTime::Now {
            return events.times.iter().map(|time| time.unwrap_or(now)).collect();
        }
        let mut finders: Vec<TimestampFinder> = Vec::new();
        // Origins with the same rules share a finder, which remembers the last format that it found.
        let mut places: HashMap<usize, usize> = HashMap::default();
        let mut finder_of = Vec::with_capacity(infos.len());
        for info in infos {
            let rules = &info.rules.timestamps;
            let place = *places.entry(Arc::as_ptr(rules) as usize).or_insert_with(|| {
                finders.push(TimestampFinder::new(Arc::clone(rules)));
                finders.len() - 1
            });
            finder_of.push(place);
        }
        let mut fallbacks = 0;
        let mut times = Vec::with_capacity(events.len());
        for run in &events.runs {
            let finder = &mut finders[finder_of[run.origin as usize]];
            let rules = &infos[run.origin as usize].rules;
            for _ in 0..run.rows {
                let row = times.len();
                let time = events.times[row].unwrap_or_else(|| {
                    let raw = std::str::from_utf8(events.text(row)).unwrap_or_default();
                    finder.find(raw, now).unwrap_or_else(|| {
                        fallbacks += u64::from(rules.looks_for_time());
                        rules.time_without_text(now, times.last().copied(), None).0
                    })
                });
                times.push(time);
            }
        }
        count_fallbacks(fallbacks);
        finders.iter_mut().for_each(count_jumps);
        times
    }
}

/// Whether every event is UTF-8: the whole text is, and no border splits a character.
fn is_text(events: &CutEvents) -> bool {
    let borders = |text: &str| events.ends.iter().all(|end| text.is_char_boundary(*end as usize));
    simdutf8::basic::from_utf8(&events.text).is_ok_and(borders)
}

/// Replaces invalid bytes by `\xHH`.
fn repair(events: &mut CutEvents) {
    let mut text = Vec::with_capacity(events.text.len() + 64);
    let mut start = 0;
    let mut repaired = 0;
    for end in &mut events.ends {
        let bytes = &events.text[start..*end as usize];
        start = *end as usize;
        match simdutf8::basic::from_utf8(bytes) {
            Ok(_) => text.extend_from_slice(bytes),
            Err(_) => {
                repaired += 1;
                text.extend_from_slice(text::repaired(bytes).as_bytes());
            }
        }
        *end = u32::try_from(text.len()).expect("four times a bounded request is under 4 GiB");
    }
    metrics::counter!(names::INGEST_INVALID_UTF8).increment(repaired);
    events.text = text;
}

/// Makes a batch of events of one index, without copying their text.
fn whole(events: CutEvents, infos: &[Arc<OriginInfo>], time: Vec<EventTime>) -> EventBatch {
    let mut origins = Origins::default();
    for run in &events.runs {
        origins.push(&infos[run.origin as usize].origin, run.rows);
    }
    let (origins, runs) = origins.finish();
    let mut offsets = Vec::with_capacity(events.ends.len() + 1);
    offsets.push(0);
    offsets.extend_from_slice(&events.ends);
    EventBatch {
        index: infos[0].origin.index.clone(),
        origins,
        runs,
        raw: Bytes::from(events.text),
        offsets,
        time,
        fields: events.fields,
    }
}

/// Makes a batch for each index.
fn by_index(events: &CutEvents, infos: &[Arc<OriginInfo>], times: &[EventTime]) -> Vec<EventBatch> {
    let mut builders: HashMap<&IndexName, EventBatchBuilder> = HashMap::default();
    let mut fields = events.fields.iter().peekable();
    let origins = events
        .runs
        .iter()
        .flat_map(|run| std::iter::repeat_n(&infos[run.origin as usize].origin, run.rows as usize));
    for (row, origin) in origins.enumerate() {
        let builder = builders
            .entry(&origin.index)
            .or_insert_with(|| EventBatchBuilder::new(origin.index.clone(), 0));
        let raw = std::str::from_utf8(events.text(row)).unwrap_or_default();
        builder.push(origin, times[row], raw);
        while let Some(field) = fields.next_if(|field| field.row as usize <= row) {
            builder.push_field(Arc::clone(&field.name), &field.value);
        }
    }
    builders.into_values().map(EventBatchBuilder::finish).collect()
}

fn count_fallbacks(count: u64) {
    if count > 0 {
        metrics::counter!(names::INGEST_TIMESTAMP_FALLBACKS).increment(count);
    }
}

fn count_jumps(finder: &mut TimestampFinder) {
    let jumps = finder.take_jumps();
    if jumps > 0 {
        metrics::counter!(names::INGEST_TIMESTAMP_JUMPS).increment(jumps);
    }
}

impl Stream {
    fn new(info: Arc<StreamInfo>, first: &[u8]) -> Self {
        let finder = TimestampFinder::new(Arc::clone(&info.rules.timestamps));
        let reader = resume::reader(&info, first);
        let (spare, fields) = (String::new(), Vec::new());
        let merging = MergeState::default();
        Self { info, finder, last_time: None, open: None, merging, spare, reader, fields }
    }

    /// Makes an event with fields of every record that is not a header.
    fn each_record(&mut self, parsed: &ParsedLines, now: EventTime, out: &mut Output<'_>) {
        let info = Arc::clone(&self.info);
        let Some(reader) = &mut self.reader else { return };
        let mut times = Times::new(&info.rules, now, parsed.modified);
        let headers = reader.headers();
        for_each_line(parsed, &info, |line, raw| {
            if !reader.is_event(raw) {
                return;
            }
            self.fields.clear();
            let fields = &mut self.fields;
            reader.fields(raw, |name, value| fields.push((Arc::clone(name), value.to_owned())));
            let found = reader.find_time(&mut self.finder, raw, fields, now);
            let found = found.map(|(time, told_by)| {
                let from = match told_by {
                    ToldBy::Text => place_of(&self.finder, line),
                    ToldBy::Field(at) => TimeFrom::Field(at),
                    ToldBy::TimestampFields => TimeFrom::TimestampFields,
                    ToldBy::Directive => TimeFrom::Directive,
                };
                (time, from)
            });
            let dated = times.of(found, &mut self.last_time);
            out.push(&Event { fields, ..Event::of_line(line, dated, raw) });
        });
        out.findings.headers += reader.headers() - headers;
        count_fallbacks(times.fallbacks);
    }

    /// Makes an event of every line.
    fn each_line(&mut self, parsed: &ParsedLines, now: EventTime, out: &mut Output<'_>) {
        let mut times = Times::new(&self.info.rules, now, parsed.modified);
        for_each_line(parsed, &self.info, |line, raw| {
            let found = find(&mut self.finder, line, raw, now);
            let dated = times.of(found, &mut self.last_time);
            out.push(&Event::of_line(line, dated, raw));
        });
        count_fallbacks(times.fallbacks);
    }

    /// Makes an event of every log record of every line; a line that is not a request is an event itself.
    fn each_request(&mut self, parsed: &ParsedLines, now: EventTime, out: &mut Output<'_>) {
        let info = Arc::clone(&self.info);
        let modified = parsed.modified;
        let mut fallbacks = 0;
        for_each_line(parsed, &info, |line, raw| {
            let mut date = |found: Option<(EventTime, TimeFrom)>| {
                let (time, from) = found.unwrap_or_else(|| {
                    fallbacks += 1;
                    match (self.last_time, modified) {
                        (Some(time), _) => (time, TimeFrom::Before),
                        (None, Some(time)) => (time, TimeFrom::File),
                        (None, None) => (now, TimeFrom::Arrival),
                    }
                });
                self.last_time = Some(time);
                Dated { time, from, shown: found.is_some() }
            };
            let Some(events) = otlp::decode_line(raw, &defaults(&info.origin)) else {
                let dated = date(find(&mut self.finder, line, raw, now));
                out.push(&Event::of_line(line, dated, raw));
                return;
            };
            let mut fields = events.fields.iter().peekable();
            let mut row = 0;
            for run in &events.runs {
                let origin = origin_of(&info.origin, &events.origins[run.origin as usize]);
                for _ in 0..run.rows {
                    self.fields.clear();
                    while let Some(field) = fields.next_if(|field| field.row as usize == row) {
                        self.fields.push((Arc::clone(&field.name), field.value.to_string()));
                    }
                    let dated = date(events.times[row].map(|time| (time, TimeFrom::Record)));
                    let text = std::str::from_utf8(events.text(row)).unwrap_or_default();
                    let event = Event::of_line(line, dated, text);
                    let event = Event { began: Began::Beginning, fields: &self.fields, ..event };
                    out.push_as(&origin, &event);
                    row += 1;
                }
            }
        });
        count_fallbacks(fallbacks);
    }

    fn merge(&mut self, parsed: &ParsedLines, now: EventTime, out: &mut Output<'_>) {
        let info = Arc::clone(&self.info);
        let Some(rules) = &info.rules.merge else { return };
        let mut times = Times::new(&info.rules, now, parsed.modified);
        let mut too_long = 0;
        for_each_line(parsed, &info, |line, raw| {
            let found = find(&mut self.finder, line, raw, now);
            let began = rules.add(&mut self.merging, raw, found.is_some());
            too_long += u64::from(began == Some(Begins::TooManyLines));
            if let Some(began) = began {
                self.emit_open(out);
                let dated = times.of(found, &mut self.last_time);
                let (start, end) = (u64::from(line.start), u64::from(line.end));
                let mut text = std::mem::take(&mut self.spare);
                text.push_str(raw);
                let began = began.into();
                self.open = Some(OpenEvent { text, dated, began, before: 0, start, end });
            } else if let Some(open) = &mut self.open {
                open.text.push('\n');
                open.text.push_str(raw);
                open.end = u64::from(line.end);
            }
        });
        count_fallbacks(times.fallbacks);
        if too_long > 0 {
            metrics::counter!(names::INGEST_MAX_EVENTS).increment(too_long);
            out.findings.split += too_long;
        }
        if parsed.end {
            self.emit_open(out);
            self.merging = MergeState::default();
        }
        if let Some(open) = &mut self.open {
            // Dropped bytes may belong to lines before the event: then the value is too large, and a reader
            // only resumes earlier than necessary.
            open.before += u64::from(parsed.lines.covered) - open.start + parsed.lines.dropped;
            open.start = 0;
        }
    }

    fn emit_open(&mut self, out: &mut Output<'_>) {
        if let Some(open) = self.open.take() {
            // The text of a preview is one chunk, far below 4 GiB.
            let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
            let span = (place(open.start), place(open.end));
            let (began, dated) = (open.began, open.dated);
            out.push(&Event { span, began, dated, raw: &open.text, fields: &[] });
            self.spare = open.text;
            self.spare.clear();
        }
    }
}

/// Returns the defaults for log records of a file.
fn defaults(origin: &Origin) -> otlp::OtlpDefaults {
    otlp::OtlpDefaults {
        index: origin.index.clone(),
        host: Arc::clone(&origin.host),
        source: Arc::clone(&origin.source),
        sourcetype: Some(Arc::clone(&origin.sourcetype)),
        limits: EventLimits::default(),
    }
}

/// Returns the origin of a log record of a file; its index is always that of the file.
fn origin_of(file: &Arc<Origin>, record: &InputMeta) -> Arc<Origin> {
    let sourcetype = record.sourcetype.clone().unwrap_or_else(|| Arc::clone(&file.sourcetype));
    Arc::new(Origin {
        index: file.index.clone(),
        host: Arc::clone(&record.host),
        source: Arc::clone(&record.source),
        sourcetype,
    })
}

fn for_each_line(parsed: &ParsedLines, info: &StreamInfo, mut each: impl FnMut(Line, &str)) {
    let lines = &parsed.lines;
    let Ok(text) = std::str::from_utf8(&lines.text) else {
        // Parsing only passes valid text. If a defect breaks that, it is logged rather than silently losing
        // text.
        tracing::error!(source = %info.origin.source, "a chunk of text is not UTF-8");
        return;
    };
    for line in &lines.lines {
        let raw = &text[line.start as usize..line.end as usize];
        if !info.rules.is_preamble(raw) {
            each(*line, raw);
        }
    }
}
