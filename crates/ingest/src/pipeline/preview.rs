//! A preview: shows how the stages of a pipeline set would process a text.
//!
//! Guarantees: the preview runs the same parsing, merging and index-time rules as stored events; nothing is
//! stored, counted by metrics or logged. Leaves to others: the maximum length of a text, and search-time
//! fields.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use inputs::{EventLimits, Findings, Input, InputMeta, StreamKey};
use knowledge::sourcetype::Recognised;
use knowledge::timestamp::NoTime;
use model::{EventBatch, EventBatchBuilder, EventTime, Origin};
use runtime::Clock;
use tracing::dispatcher::{Dispatch, with_default};

use super::breaker::Line;
use super::cut::cut_to_limits;
use super::merge::Merge;
use super::messages::{Merged, Parsed, ParsedLines, Work};
use super::parse::Parse;
use super::queue::Queue;
use super::rules::{RuleBook, StreamRules};
use super::trace::{Began, TimeFrom, Trace, Traces};
use super::transform::{Outcome, Transforms};
use super::typing::ordinary_times;
use crate::ack::AckShare;
use crate::hot::limits::HotLimits;

/// Maximum batch size between the stages: large enough that the text stays one batch.
const BATCH: usize = 1 << 30;

/// The text to preview.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Its origin. Without a sourcetype, that is recognised.
    pub origin: InputMeta,
    /// The text or its beginning.
    pub bytes: Bytes,
    /// Modification time of its file.
    pub modified: Option<EventTime>,
    /// Maximum number of events that are shown.
    pub events: usize,
    /// Bytes of text and fields after which no more events are shown.
    pub shown_bytes: usize,
}

/// The result of a preview.
#[derive(Debug)]
pub struct Preview {
    /// Its sourcetype.
    pub sourcetype: Arc<str>,
    /// How the sourcetype was recognised; `None` if it was given.
    pub recognised: Option<Recognised>,
    /// The character set from which the text was decoded.
    pub charset: &'static str,
    /// Whether some bytes were invalid in their character set.
    pub repaired: bool,
    /// The text as UTF-8, without a byte order mark. Offsets refer to it.
    pub text: Bytes,
    /// The first events.
    pub events: Vec<PreviewedEvent>,
    /// The first lines that are no events: headers and preambles.
    pub skipped: Vec<SkippedLine>,
    /// Total number of these lines.
    pub skipped_lines: u64,
    /// Total number of events before index-time rules.
    pub cut_events: u64,
    /// Total number of events that would be stored, clones included.
    pub kept_events: u64,
    /// Findings about the events.
    pub findings: Findings,
}

/// An event, with the result of the index-time rules.
#[derive(Debug)]
pub struct PreviewedEvent {
    /// Byte range of its text in the whole text.
    pub span: Range<usize>,
    /// The number of its first line, from 1.
    pub line: u64,
    /// Why the event begins there.
    pub began: Began,
    /// Its time before index-time rules.
    pub time: EventTime,
    /// The source of this time.
    pub time_from: TimeFrom,
    /// The field that has the time ([`TimeFrom::Field`]).
    pub time_field: Option<Arc<str>>,
    /// Whether the text has the time, or is not searched for one.
    pub dated: bool,
    /// Why the text has no time, if known.
    pub no_time: Option<NoTime>,
    /// Whether a line of it was longer than `TRUNCATE`.
    pub cut: bool,
    /// The events that would be stored: one, none if a rule drops it, several if one clones it.
    pub kept: Vec<KeptEvent>,
}

/// An event as it would be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptEvent {
    /// `_raw`.
    pub raw: String,
    /// `_time`.
    pub time: EventTime,
    /// Its index, host, source and sourcetype.
    pub origin: Arc<Origin>,
    /// Its indexed fields.
    pub fields: Vec<(Arc<str>, Box<str>)>,
    /// Whether it would be in the quarantine bucket of its index, because its time is far from now.
    pub quarantined: bool,
    /// Whether it lost text or fields to `maxEventSize`, `maxEventFields` or `maxFieldNameSize`.
    pub cut: bool,
}

/// A line that is not in an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedLine {
    /// Its byte range in the text.
    pub span: Range<usize>,
    /// Its number, from 1.
    pub line: u64,
}

/// The components for previews.
#[derive(Debug)]
pub(crate) struct Previewer<'a> {
    pub(crate) rules: RuleBook,
    pub(crate) limits: &'a HotLimits,
    pub(crate) events: EventLimits,
    pub(crate) clock: &'a Arc<dyn Clock>,
}

impl Previewer<'_> {
    /// Runs the stages on this thread.
    pub(crate) fn preview(&self, sample: Sample) -> Preview {
        // Metrics and log are only for events that are stored.
        let unlogged = || with_default(&Dispatch::none(), || self.run(sample));
        metrics::with_local_recorder(&metrics::NoopRecorder, unlogged)
    }

    fn run(&self, sample: Sample) -> Preview {
        let Sample { mut origin, bytes, modified, events, shown_bytes } = sample;
        let mut recognised = None;
        let sourcetype = origin.sourcetype.get_or_insert_with(|| {
            let found = self.rules.recognised(&origin.source, &bytes);
            recognised.insert(found).sourcetype.as_str().into()
        });
        let mut preview = Preview {
            sourcetype: Arc::clone(sourcetype),
            recognised,
            charset: "UTF-8",
            repaired: false,
            text: Bytes::new(),
            events: Vec::new(),
            skipped: Vec::new(),
            skipped_lines: 0,
            cut_events: 0,
            kept_events: 0,
            findings: Findings::default(),
        };
        let Some(lines) = self.parsed(origin, bytes, modified) else { return preview };
        let parts = Parts::of(&lines);
        (preview.charset, preview.repaired) = (lines.charset, lines.repaired);
        preview.text = parts.text.clone();
        let (batches, traces) = self.merged(lines);
        preview.findings = traces.findings;
        preview.cut_events = traces.events.len() as u64;
        parts.skipped(&traces.events, events, &mut preview);
        self.typed(batches, &traces.events, &parts, (events, shown_bytes), &mut preview);
        preview
    }

    /// Returns the lines of the text in one message; `None` if it is empty.
    fn parsed(
        &self,
        origin: InputMeta,
        bytes: Bytes,
        modified: Option<EventTime>,
    ) -> Option<ParsedLines> {
        let (origin, stream) = (Arc::new(origin), StreamKey("preview".into()));
        let input = Input::Raw { origin, stream, bytes, modified, end: true };
        let (size, work) = (input.size(), Work::Input(input, AckShare::unattended()));
        let (from, to) = (queue("parsing", [(work, size)]), queue("merging", []));
        let is_behind = Box::new(|| false);
        Parse::new(from, Arc::clone(&to), self.rules.clone(), usize::MAX, is_behind).run();
        match to.pop() {
            Some(Parsed::Lines(lines)) => Some(lines),
            _ => None,
        }
    }

    /// Merges lines into events.
    fn merged(&self, lines: ParsedLines) -> (Vec<EventBatch>, Traces) {
        let size = lines.lines.text.len() as u64;
        let (from, to) = (queue("merging", [(Parsed::Lines(lines), size)]), queue("typing", []));
        let merge = Merge::new(from, Arc::clone(&to), Arc::clone(self.clock), BATCH);
        let traces = merge.run_traced();
        let mut batches = Vec::new();
        while let Some(merged) = to.pop() {
            if let Merged::Batch(batch, share) = merged {
                share.complete(0, 0);
                batches.push(batch);
            }
        }
        (batches, traces)
    }

    /// Applies the index-time rules to events: one by one to those that are shown, to relate the results to
    /// each event.
    fn typed(
        &self,
        batches: Vec<EventBatch>,
        traces: &[Trace],
        parts: &Parts,
        (most, most_bytes): (usize, usize),
        preview: &mut Preview,
    ) {
        let now = self.clock.now();
        let mut transforms = Transforms::new(self.rules.clone());
        let mut traces = traces.iter();
        let mut lines = LineCount::default();
        let mut shown_bytes = 0;
        for batch in batches {
            let mut rest = EventBatchBuilder::new(batch.index.clone(), 0);
            let mut fields = batch.fields.iter().peekable();
            for ((row, origin), trace) in batch.each_origin().enumerate().zip(&mut traces) {
                // Batches have only whole characters by construction.
                let raw = str::from_utf8(batch.row(row)).unwrap_or_default();
                let is_shown = preview.events.len() < most && shown_bytes < most_bytes;
                let mut alone = EventBatchBuilder::new(batch.index.clone(), 0);
                let builder = if is_shown { &mut alone } else { &mut rest };
                builder.push(origin, batch.time[row], raw);
                while let Some(field) = fields.next_if(|field| field.row as usize <= row) {
                    builder.push_field(Arc::clone(&field.name), &field.value);
                }
                if !is_shown {
                    continue;
                }
                let alone = alone.finish();
                let mut event = parts.event(trace, batch.time[row], now);
                event.line = lines.at(&parts.text, event.span.start);
                if let TimeFrom::Field(at) = trace.time_from {
                    event.time_field = alone.fields.get(at).map(|field| Arc::clone(&field.name));
                }
                event.kept = self.kept(run(&mut transforms, alone, now), now);
                preview.kept_events += event.kept.len() as u64;
                shown_bytes += event.kept.iter().map(KeptEvent::bytes).sum::<usize>();
                preview.events.push(event);
            }
            let rest = run(&mut transforms, rest.finish(), now);
            preview.kept_events += rest.iter().map(|batch| batch.rows() as u64).sum::<u64>();
        }
    }

    fn kept(&self, batches: Vec<EventBatch>, now: EventTime) -> Vec<KeptEvent> {
        let mut kept = Vec::new();
        for batch in batches {
            let before = (batch.raw.len(), batch.fields.len());
            let batch = cut_to_limits(batch, &self.events);
            let cut = (batch.raw.len(), batch.fields.len()) != before;
            let ordinary = ordinary_times(self.limits, &batch.index, now);
            let mut fields = batch.fields.iter().peekable();
            for (row, origin) in batch.each_origin().enumerate() {
                let mut own = Vec::new();
                while let Some(field) = fields.next_if(|field| field.row as usize <= row) {
                    own.push((Arc::clone(&field.name), field.value.clone()));
                }
                let time = batch.time[row];
                kept.push(KeptEvent {
                    raw: String::from_utf8_lossy(batch.row(row)).into_owned(),
                    time,
                    origin: Arc::clone(origin),
                    fields: own,
                    quarantined: !ordinary.contains(&time),
                    cut,
                });
            }
        }
        kept
    }
}

impl KeptEvent {
    fn bytes(&self) -> usize {
        let fields = self.fields.iter().map(|(name, value)| name.len() + value.len());
        self.raw.len() + fields.sum::<usize>()
    }
}

fn run(transforms: &mut Transforms, batch: EventBatch, now: EventTime) -> Vec<EventBatch> {
    match transforms.run(batch, now) {
        Outcome::Untouched(batch) => vec![batch],
        Outcome::Changed(batches) => batches,
    }
}

/// Creates a queue that never refuses, because only one text passes through it. Its initial items are its
/// whole input.
fn queue<T, const N: usize>(stage: &'static str, items: [(T, u64); N]) -> Arc<Queue<T>> {
    let queue = Arc::new(Queue::new(0, stage, u64::MAX));
    for (item, size) in items {
        // The queue is closed only below, so this cannot fail.
        let _ = queue.push(item, size);
    }
    if N > 0 {
        queue.close();
    }
    queue
}

/// The lines of a text, and the rules that make them events.
#[derive(Debug)]
struct Parts {
    text: Bytes,
    lines: Vec<Line>,
    /// Starts of the truncated lines.
    cut: Vec<u32>,
    rules: Arc<StreamRules>,
}

impl Parts {
    fn of(parsed: &ParsedLines) -> Self {
        let lines = &parsed.lines;
        Self {
            text: lines.text.clone(),
            lines: lines.lines.clone(),
            cut: lines.cut.clone(),
            rules: Arc::clone(&parsed.stream.rules),
        }
    }

    /// Creates an event from the notes of merging, without the results of rules.
    fn event(&self, trace: &Trace, time: EventTime, now: EventTime) -> PreviewedEvent {
        let (start, end) = trace.span;
        let first_cut = self.cut.partition_point(|cut| (*cut as usize) < start);
        let cut = self.cut.get(first_cut).is_some_and(|cut| (*cut as usize) < end);
        let shows_none =
            matches!(trace.time_from, TimeFrom::Before | TimeFrom::File | TimeFrom::Arrival);
        // In tables the columns lack the time, and in requests the records.
        let by_text = self.rules.structured.is_none() && !self.rules.otlp;
        let why = || self.rules.timestamps.why_not(self.first_line(start), now);
        PreviewedEvent {
            span: start..end,
            line: 0,
            began: trace.began,
            time,
            time_from: trace.time_from,
            time_field: None,
            dated: trace.dated,
            no_time: (shows_none && by_text).then(why),
            cut,
            kept: Vec::new(),
        }
    }

    /// Returns the line that begins at an offset, which is searched for times.
    fn first_line(&self, start: usize) -> &str {
        let found = self.lines.binary_search_by_key(&start, |line| line.start as usize);
        let line = found.ok().and_then(|at| self.lines.get(at));
        let bytes = line.and_then(|line| self.text.get(line.start as usize..line.end as usize));
        bytes.and_then(|bytes| str::from_utf8(bytes).ok()).unwrap_or_default()
    }

    /// Adds the lines that are in no event.
    fn skipped(&self, traces: &[Trace], most: usize, preview: &mut Preview) {
        let mut traces = traces.iter().peekable();
        let mut count = LineCount::default();
        for line in &self.lines {
            let (start, end) = (line.start as usize, line.end as usize);
            while traces.next_if(|trace| trace.span.1 <= start).is_some() {}
            if traces.peek().is_some_and(|trace| trace.span.0 <= start) {
                continue;
            }
            preview.skipped_lines += 1;
            if preview.skipped.len() < most {
                let line = count.at(&self.text, start);
                preview.skipped.push(SkippedLine { span: start..end, line });
            }
        }
    }
}

/// Counts line feeds up to offsets that are passed in ascending order.
#[derive(Debug, Default)]
struct LineCount {
    at: usize,
    feeds: u64,
}

impl LineCount {
    /// Returns the number of the line at an offset, from 1.
    fn at(&mut self, text: &[u8], place: usize) -> u64 {
        let passed = text.get(self.at..place).unwrap_or_default();
        self.feeds += memchr::memchr_iter(b'\n', passed).count() as u64;
        self.at = self.at.max(place);
        self.feeds + 1
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
