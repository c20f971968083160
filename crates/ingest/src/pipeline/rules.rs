//! The rules of one stream, compiled once and shared by all streams to which they apply.

use std::sync::Arc;

use foldhash::HashMap;
use inputs::{InputMeta, Utf16};
use knowledge::sourcetype::Recognised;
use knowledge::structured::StructuredRules;
use knowledge::timestamp::{TimestampRules, TimestampSource};
use knowledge::{
    Charset, IndexTimeRules, Knowledge, LineBreaker, MergeRules, ParsingRules, Pattern,
};
use model::EventTime;
use parking_lot::Mutex;

use super::breaker::Breaks;
use super::trace::TimeFrom;

/// The rules of a stream in the pipeline.
#[derive(Debug)]
pub(crate) struct StreamRules {
    pub(crate) breaks: Breaks,
    /// Maximum bytes of a line; longer lines are truncated.
    pub(crate) limit: usize,
    pub(crate) charset: Charset,
    /// Lines that are not events.
    pub(crate) preamble: Option<Pattern>,
    /// Rules for merging; `None` if every line is an event.
    pub(crate) merge: Option<MergeRules>,
    pub(crate) timestamps: Arc<TimestampRules>,
    /// The rules for headers and fields of a structured source.
    pub(crate) structured: Option<Arc<StructuredRules>>,
    /// Whether lines are OTLP requests whose log records are the events.
    pub(crate) otlp: bool,
}

impl StreamRules {
    /// Returns the time of an event whose text has none, and the source of that time. `modified` is the
    /// modification time of its file.
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

    /// Whether a missing time in the text of an event is reported.
    pub(crate) fn looks_for_time(&self) -> bool {
        self.timestamps.from == TimestampSource::Text
    }

    /// Whether the first lines of a stream determine how the others are read.
    pub(crate) fn is_structured(&self) -> bool {
        self.structured.is_some() || self.otlp
    }

    pub(crate) fn is_preamble(&self, line: &str) -> bool {
        self.preamble.as_ref().is_some_and(|pattern| pattern.is_match(line))
    }
}

/// Stream rules by the address of the parsing rules, which the entry keeps alive.
type Known = HashMap<usize, (Arc<ParsingRules>, Arc<StreamRules>)>;

/// A cache of the rules of streams.
#[derive(Debug, Clone)]
pub(crate) struct RuleBook {
    knowledge: Arc<Knowledge>,
    max_event_size: usize,
    known: Arc<Mutex<Known>>,
}

/// Number of bytes of a stream that are examined to recognise its sourcetype.
const SAMPLE: usize = 16 << 10;
/// Maximum number of cached rules; the cache is emptied when there are more.
const KNOWN: usize = 10_000;

impl RuleBook {
    pub(crate) fn new(knowledge: Arc<Knowledge>, max_event_size: usize) -> Self {
        Self { knowledge, max_event_size, known: Arc::default() }
    }

    /// Returns a rule book with other knowledge.
    pub(crate) fn with(&self, knowledge: Arc<Knowledge>) -> Self {
        Self::new(knowledge, self.max_event_size)
    }

    /// Returns the knowledge from which the rules come.
    pub(crate) fn knowledge(&self) -> &Knowledge {
        &self.knowledge
    }

    /// Recognises the sourcetype of a source by its name and first bytes.
    pub(crate) fn recognise(&self, source: &str, first: &[u8]) -> Arc<str> {
        self.recognised(source, first).sourcetype.into()
    }

    /// Recognises the sourcetype, and also returns how.
    pub(crate) fn recognised(&self, source: &str, first: &[u8]) -> Recognised {
        let sample = String::from_utf8_lossy(&first[..first.len().min(SAMPLE)]);
        self.knowledge.recognise(source, &sample)
    }

    /// Returns the byte order of a source if its `CHARSET` is UTF-16.
    pub(crate) fn utf16(
        &self,
        source: &str,
        sourcetype: Option<&str>,
        host: &str,
    ) -> Option<Utf16> {
        let rules = self.knowledge.parsing_rules(sourcetype.unwrap_or_default(), source, host);
        Utf16::of(rules.charset)
    }

    /// Whether any index-time rules exist.
    pub(crate) fn has_index_time(&self) -> bool {
        self.knowledge.has_index_time_rules()
    }

    /// Returns the index-time rules of the events of an origin.
    pub(crate) fn index_time(
        &self,
        sourcetype: &str,
        source: &str,
        host: &str,
    ) -> Arc<IndexTimeRules> {
        Arc::clone(&self.knowledge.parsing_rules(sourcetype, source, host).index_time)
    }

    /// Whether an index is configured and enabled; true for every name if no index is configured.
    pub(crate) fn has_index(&self, name: &str) -> bool {
        let indexes = self.knowledge.indexes();
        indexes.is_empty()
            || indexes.iter().any(|index| index.name.as_str() == name && !index.disabled)
    }

    /// Returns the sourcetype and the rules of an input that begins with `first`.
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
    let breaks = match &parsing.line_breaker {
        LineBreaker::Newlines => {
            parsing.records(max_event_size).map_or(Breaks::Newlines, Breaks::Records)
        }
        LineBreaker::Pattern(pattern) => {
            Breaks::Pattern(Arc::new(pattern.clone()), parsing.line_breaker_lookbehind)
        }
    };
    StreamRules {
        breaks,
        limit,
        charset: parsing.charset,
        // The preamble of a structured source precedes its header, and is handled there.
        preamble: parsing.preamble.clone().filter(|_| structured.is_none()),
        merge: MergeRules::new(parsing, max_event_size),
        timestamps: Arc::clone(&parsing.timestamp),
        structured,
        otlp: parsing.otlp,
    }
}
