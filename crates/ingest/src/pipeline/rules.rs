//! The rules of one stream, compiled once and shared by all streams they fit.

use std::sync::{Arc, Mutex, PoisonError};

use encoding_rs::Encoding;
use foldhash::HashMap;
use inputs::InputMeta;
use knowledge::timestamp::{TimestampRules, TimestampSource};
use knowledge::{Knowledge, LineBreaker, ParsingRules, Pattern};

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
    /// Lines of an event at most.
    pub(crate) max_lines: usize,
    /// Bytes after which an event ends.
    pub(crate) max_bytes: usize,
}

impl MergeRules {
    /// Whether a line begins a new event.
    pub(crate) fn starts_event(&self, line: &str, has_time: bool) -> bool {
        if self.must_not_break_before.as_ref().is_some_and(|pattern| pattern.is_match(line)) {
            return false;
        }
        match &self.break_only_before {
            Some(pattern) => pattern.is_match(line),
            None => self.break_only_before_date && has_time,
        }
    }

    /// Whether a line ends its event.
    pub(crate) fn ends_event(&self, line: &str) -> bool {
        self.must_break_after.as_ref().is_some_and(|pattern| pattern.is_match(line))
    }
}

/// What the pipeline does with a stream.
#[derive(Debug)]
pub(crate) struct StreamRules {
    /// `None`: the default, `([\r\n]+)`.
    pub(crate) line_breaker: Option<Arc<Pattern>>,
    /// Bytes of a line that are kept; 0: all.
    pub(crate) truncate: usize,
    /// `None`: UTF-8, or UTF-16 by its byte order mark.
    pub(crate) charset: Option<&'static Encoding>,
    /// Lines that are not events.
    pub(crate) preamble: Option<Pattern>,
    /// `None`: every line is an event.
    pub(crate) merge: Option<MergeRules>,
    pub(crate) timestamps: Arc<TimestampRules>,
    /// Whether events without a time are an oddity.
    pub(crate) time_from_text: bool,
}

impl StreamRules {
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

    /// The sourcetype of a source by its name and first bytes.
    pub(crate) fn recognise(&self, source: &str, first: &[u8]) -> Arc<str> {
        let sample = String::from_utf8_lossy(&first[..first.len().min(SAMPLE)]);
        self.knowledge.sourcetype(source, &sample).into()
    }

    /// The sourcetype and the rules of what an input describes and begins with `first`.
    pub(crate) fn rules_of(&self, meta: &InputMeta, first: &[u8]) -> (Arc<str>, Arc<StreamRules>) {
        let sourcetype =
            meta.sourcetype.clone().unwrap_or_else(|| self.recognise(&meta.source, first));
        let parsing = self.knowledge.parsing_rules(&sourcetype, &meta.source, &meta.host);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
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
    let line_breaker = match &parsing.line_breaker {
        LineBreaker::Newlines => None,
        LineBreaker::Pattern(pattern) => Some(Arc::new(pattern.clone())),
    };
    let merge = parsing.should_linemerge.then(|| MergeRules {
        break_only_before: parsing.break_only_before.clone(),
        break_only_before_date: parsing.break_only_before_date,
        must_break_after: parsing.must_break_after.clone(),
        must_not_break_before: parsing.must_not_break_before.clone(),
        max_lines: parsing.max_events,
        max_bytes: max_event_size,
    });
    StreamRules {
        line_breaker,
        truncate: parsing.truncate.unwrap_or(0),
        charset: charset(&parsing.charset),
        preamble: parsing.preamble.clone(),
        merge,
        timestamps: Arc::clone(&parsing.timestamp),
        time_from_text: parsing.timestamp.from == TimestampSource::Text,
    }
}

fn charset(name: &str) -> Option<&'static Encoding> {
    // UTF-8 is the default, and AUTO is what a byte order mark gives.
    if ["utf-8", "utf8", "auto", ""].iter().any(|default| name.eq_ignore_ascii_case(default)) {
        return None;
    }
    let found = Encoding::for_label(name.as_bytes());
    if found.is_none() {
        tracing::warn!(charset = name, "CHARSET is not known; the text is taken as UTF-8");
    }
    found
}
