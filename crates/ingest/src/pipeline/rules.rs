//! The rules of one stream, compiled once and shared by all streams they fit.

use std::sync::Arc;

use foldhash::HashMap;
use inputs::{InputMeta, Utf16};
use knowledge::sourcetype::Recognised;
use knowledge::structured::{RecordScanner, StructuredRules};
use knowledge::timestamp::{TimestampRules, TimestampSource};
use knowledge::{
    Charset, IndexTimeRules, Knowledge, LineBreaker, ParsingRules, Pattern, is_indented,
};
use model::EventTime;
use parking_lot::Mutex;

use super::breaker::Breaks;
use super::trace::{Began, TimeFrom};

/// How lines become events.
#[derive(Debug)]
pub(crate) struct MergeRules {
    /// A line that matches begins an event.
    pub(crate) break_only_before: Option<Pattern>,
    /// Without that pattern: a line with a timestamp begins an event.
    pub(crate) break_only_before_date: bool,
    /// A line that matches ends an event.
    pub(crate) must_break_after: Option<Pattern>,
    /// A line that matches never begins an event.
    pub(crate) must_not_break_before: Option<Pattern>,
    /// After a line that matches no event begins until one matches `must_break_after`.
    pub(crate) must_not_break_after: Option<Pattern>,
    /// Lines of an event at most.
    pub(crate) max_lines: usize,
    /// Bytes after which an event ends.
    pub(crate) max_bytes: usize,
}

impl MergeRules {
    /// Whether a line begins a new event. `within` is an open event that shows its time.
    pub(crate) fn starts_event(&self, line: &str, has_time: bool, within: Option<&str>) -> bool {
        if self.must_not_break_before.as_ref().is_some_and(|pattern| pattern.is_match(line)) {
            return false;
        }
        match &self.break_only_before {
            Some(pattern) => pattern.is_match(line),
            None => {
                let belongs = is_indented(line) && within.is_some_and(|open| !is_indented(open));
                self.break_only_before_date && has_time && !belongs
            }
        }
    }

    /// Why lines begin events that [`Self::starts_event`] takes.
    pub(crate) fn began(&self) -> Began {
        if self.break_only_before.is_some() { Began::Pattern } else { Began::Date }
    }

    /// Whether a line ends its event.
    pub(crate) fn ends_event(&self, line: &str) -> bool {
        self.must_break_after.as_ref().is_some_and(|pattern| pattern.is_match(line))
    }

    /// Whether a line keeps its event open until another ends it.
    pub(crate) fn holds_event(&self, line: &str) -> bool {
        self.must_not_break_after.as_ref().is_some_and(|pattern| pattern.is_match(line))
    }
}

/// What the pipeline does with a stream.
#[derive(Debug)]
pub(crate) struct StreamRules {
    pub(crate) breaks: Breaks,
    /// Bytes of a line that are kept.
    pub(crate) limit: usize,
    pub(crate) charset: Charset,
    /// Lines that are not events.
    pub(crate) preamble: Option<Pattern>,
    /// `None`: every line is an event.
    pub(crate) merge: Option<MergeRules>,
    pub(crate) timestamps: Arc<TimestampRules>,
    /// Headers and fields of a structured source.
    pub(crate) structured: Option<Arc<StructuredRules>>,
    /// Lines are requests whose log records are the events.
    pub(crate) otlp: bool,
}

impl StreamRules {
    /// The time of an event whose text shows none, and where it comes from. `modified` is when its file was
    /// written.
    pub(crate) fn time_without_text(
        &self,
        now: EventTime,
        before: Option<EventTime>,
        modified: Option<EventTime>,
    ) -> (EventTime, TimeFrom) {
        let input = || modified.map_or((now, TimeFrom::Arrival), |time| (time, TimeFrom::File));
        match self.timestamps.from {
            TimestampSource::Text => before.map_or_else(input, |time| (time, TimeFrom::Before)),
            TimestampSource::Arrival => (now, TimeFrom::Arrival),
            TimestampSource::Input => input(),
        }
    }

    /// Whether an event whose text shows no time is an oddity.
    pub(crate) fn looks_for_time(&self) -> bool {
        self.timestamps.from == TimestampSource::Text
    }

    /// Whether the first lines of a stream say how the others are read.
    pub(crate) fn is_structured(&self) -> bool {
        self.structured.is_some() || self.otlp
    }

    pub(crate) fn is_preamble(&self, line: &str) -> bool {
        self.preamble.as_ref().is_some_and(|pattern| pattern.is_match(line))
    }
}

/// Rules by the address of the compiled ones, which the entry keeps alive.
type Known = HashMap<usize, (Arc<ParsingRules>, Arc<StreamRules>)>;

/// Finds the rules of streams, and keeps them.
#[derive(Debug, Clone)]
pub(crate) struct RuleBook {
    knowledge: Arc<Knowledge>,
    max_event_size: usize,
    known: Arc<Mutex<Known>>,
}

/// How much of a stream is looked at to recognise its sourcetype.
const SAMPLE: usize = 16 << 10;
/// Rules that are kept; more empty the book.
const KNOWN: usize = 10_000;

impl RuleBook {
    pub(crate) fn new(knowledge: Arc<Knowledge>, max_event_size: usize) -> Self {
        Self { knowledge, max_event_size, known: Arc::default() }
    }

    /// A book of other rules.
    pub(crate) fn with(&self, knowledge: Arc<Knowledge>) -> Self {
        Self::new(knowledge, self.max_event_size)
    }

    /// The sourcetype of a source by its name and first bytes.
    pub(crate) fn recognise(&self, source: &str, first: &[u8]) -> Arc<str> {
        self.recognised(source, first).sourcetype.into()
    }

    /// The same, and what told it.
    pub(crate) fn recognised(&self, source: &str, first: &[u8]) -> Recognised {
        let sample = String::from_utf8_lossy(&first[..first.len().min(SAMPLE)]);
        self.knowledge.recognise(source, &sample)
    }

    /// The byte order of a source, if `CHARSET` says that it is UTF-16.
    pub(crate) fn utf16(
        &self,
        source: &str,
        sourcetype: Option<&str>,
        host: &str,
    ) -> Option<Utf16> {
        let rules = self.knowledge.parsing_rules(sourcetype.unwrap_or_default(), source, host);
        Utf16::of(rules.charset)
    }

    /// Whether typing has something to do with any event.
    pub(crate) fn has_index_time(&self) -> bool {
        self.knowledge.has_index_time_rules()
    }

    /// What typing does with the events of an origin.
    pub(crate) fn index_time(
        &self,
        sourcetype: &str,
        source: &str,
        host: &str,
    ) -> Arc<IndexTimeRules> {
        Arc::clone(&self.knowledge.parsing_rules(sourcetype, source, host).index_time)
    }

    /// Whether an index is configured and not switched off; where none is configured, all are.
    pub(crate) fn has_index(&self, name: &str) -> bool {
        let indexes = self.knowledge.indexes();
        indexes.is_empty()
            || indexes.iter().any(|index| index.name.as_str() == name && !index.disabled)
    }

    /// The sourcetype and the rules of what an input describes and begins with `first`.
    pub(crate) fn rules_of(&self, meta: &InputMeta, first: &[u8]) -> (Arc<str>, Arc<StreamRules>) {
        let sourcetype =
            meta.sourcetype.clone().unwrap_or_else(|| self.recognise(&meta.source, first));
        let parsing = self.knowledge.parsing_rules(&sourcetype, &meta.source, &meta.host);
        let mut known = self.known.lock();
        let address = Arc::as_ptr(&parsing) as usize;
        if let Some((_, rules)) = known.get(&address) {
            return (sourcetype, Arc::clone(rules));
        }
        if known.len() >= KNOWN {
            known.clear();
        }
        let rules = Arc::new(stream_rules(&parsing, self.max_event_size));
        known.insert(address, (parsing, Arc::clone(&rules)));
        (sourcetype, rules)
    }
}

fn stream_rules(parsing: &ParsingRules, max_event_size: usize) -> StreamRules {
    let limit = match parsing.truncate {
        Some(limit) => limit.min(max_event_size),
        None => max_event_size,
    };
    let structured = parsing.structured.clone();
    let is_objects = parsing.json_objects && !parsing.should_linemerge && !parsing.otlp;
    let records = || match &structured {
        Some(rules) => RecordScanner::new(rules, limit),
        None => is_objects.then(|| RecordScanner::objects(limit)),
    };
    let breaks = match &parsing.line_breaker {
        LineBreaker::Newlines => records().map_or(Breaks::Newlines, Breaks::Records),
        LineBreaker::Pattern(pattern) => {
            Breaks::Pattern(Arc::new(pattern.clone()), parsing.line_breaker_lookbehind)
        }
    };
    let merges = parsing.should_linemerge && structured.is_none();
    let merge = merges.then(|| MergeRules {
        break_only_before: parsing.break_only_before.clone(),
        break_only_before_date: parsing.break_only_before_date,
        must_break_after: parsing.must_break_after.clone(),
        must_not_break_before: parsing.must_not_break_before.clone(),
        must_not_break_after: parsing.must_not_break_after.clone(),
        max_lines: parsing.max_events,
        max_bytes: max_event_size,
    });
    StreamRules {
        breaks,
        limit,
        charset: parsing.charset,
        // A structured source's preamble is before its header.
        preamble: parsing.preamble.clone().filter(|_| structured.is_none()),
        merge,
        timestamps: Arc::clone(&parsing.timestamp),
        structured,
        otlp: parsing.otlp,
    }
}
