//! Elasticsearch's `_bulk`: pairs of lines, an action and a document, as events.
//!
//! - The whole document is `_raw`, byte for byte, so that nothing is lost and its members are
//!   fields at search time.
//! - `@timestamp` (RFC 3339, or epoch milliseconds) is `_time`; without one it is the time of
//!   arrival.
//! - `host.name`, `host` or `agent.hostname` is the host, `log.file.path` or `source` the source.
//! - The name of the Elasticsearch index is the Karst index if there is one the token may write to,
//!   else the default is; either way it is kept as the indexed field `es_index`, and an `_id` as
//!   `es_id`.
//!
//! `index` and `create` append; `update` and `delete` are refused item by item: events do not
//! change. An id is no promise of uniqueness: a document that is sent twice is there twice.
//! Pure: no HTTP.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use model::{EventTime, IndexName};
use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::{CutEvents, EventLimits, MissingTime, OriginRef, OverLimit};

/// Defaults for documents without their own values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkDefaults {
    /// The index of events whose own index does not exist in Karst.
    pub index: IndexName,
    /// The machine, usually the peer's address.
    pub host: Arc<str>,
    /// The source.
    pub source: Arc<str>,
    /// The format.
    pub sourcetype: Arc<str>,
    /// Limits of documents; a document above them is rejected alone.
    pub limits: EventLimits,
}

/// Maximum bytes of a line in addition to its document, such as blanks.
const LINE_ROOM: usize = 64 << 10;

/// Measures the lines of a body while it arrives, so that one that is too long ends its request before it
/// is in memory.
#[derive(Debug)]
pub struct LineLengths {
    limit: usize,
    /// Bytes looked at.
    at: usize,
    /// The offset at which the last line begins.
    start: usize,
    number: u64,
}

impl LineLengths {
    /// Creates a watch for documents of at most this number of bytes.
    #[must_use]
    pub fn new(event_bytes: usize) -> Self {
        Self { limit: event_bytes.saturating_add(LINE_ROOM), at: 0, start: 0, number: 1 }
    }

    /// Looks at all bytes so far; the number of the line, counted from 1, that is too long.
    pub fn look(&mut self, body: &[u8]) -> Option<u64> {
        for end in memchr::memchr_iter(b'\n', &body[self.at..]) {
            let end = self.at + end;
            if end - self.start > self.limit {
                return Some(self.number);
            }
            (self.start, self.number) = (end + 1, self.number + 1);
        }
        self.at = body.len();
        (self.at - self.start > self.limit).then_some(self.number)
    }
}

/// Estimated bytes of an action without its names, including its response.
const ITEM_BYTES: usize = 400;

/// The operation that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BulkAction {
    /// Keep it, whatever was there.
    Index,
    /// Keep it.
    Create,
    /// Change one.
    Update,
    /// Remove one.
    Delete,
}

impl BulkAction {
    /// Its name in requests and answers.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// Why a document is not taken, in Elasticsearch's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemError {
    /// The HTTP status of the item.
    pub status: u16,
    /// Elasticsearch's name for it.
    pub kind: &'static str,
    /// The reason as a text for people.
    pub reason: String,
}

/// One action of a request, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkItem {
    /// The requested operation.
    pub action: BulkAction,
    /// The index in the action.
    pub index: String,
    /// The ID in the action.
    pub id: Option<String>,
    /// Why it is not done, if it is not.
    pub error: Option<ItemError>,
}

/// A request's actions and the events they add.
#[derive(Debug)]
pub struct Bulk {
    /// The responses, item by item.
    pub items: Vec<BulkItem>,
    /// The accepted events.
    pub events: CutEvents,
}

/// The request is not valid for `_bulk`; none of its actions is executed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BulkError {
    /// The request has no action.
    #[error("request body is required")]
    Empty,
    /// A line that should hold an action does not.
    #[error("malformed action/metadata line [{line}]: {reason}")]
    Action {
        /// Counted from 1.
        line: usize,
        /// Why the action is invalid.
        reason: String,
    },
    /// An action without its document.
    #[error("the action in line [{line}] has no document after it")]
    NoDocument {
        /// Counted from 1.
        line: usize,
    },
    /// The actions are more than the memory that there is for a request.
    #[error(transparent)]
    Memory(OverLimit),
    /// Neither the action nor the path names an index.
    #[error("the action in line [{line}] names no index: index is missing")]
    NoIndex {
        /// Counted from 1.
        line: usize,
    },
}

/// Reads a body. `path_index` is the index in the request's path; `allowed` decides whether the
/// token may write to an index and whether it exists.
///
/// # Errors
/// The request as a whole is malformed.
pub fn decode_bulk(
    body: &[u8],
    path_index: Option<&str>,
    defaults: &BulkDefaults,
    allowed: &dyn Fn(&IndexName) -> bool,
) -> Result<Bulk, BulkError> {
    let events = CutEvents::new(MissingTime::Now);
    let mut decoder = Decoder {
        defaults,
        allowed,
        last: None,
        bulk: Bulk { items: Vec::new(), events },
        index_field: "es_index".into(),
        id_field: "es_id".into(),
    };
    let mut items_memory = 0;
    let ends = memchr::memchr_iter(b'\n', body).chain(std::iter::once(body.len()));
    let mut start = 0;
    let lines = ends.map(|end| {
        let line = &body[start.min(end)..end];
        start = end + 1;
        line.strip_suffix(b"\r").unwrap_or(line)
    });
    let mut lines = lines.enumerate().map(|(at, line)| (at + 1, line));
    while let Some((number, line)) = lines.next() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let (action, meta) = read_action(number, line)?;
        let index = meta.index.as_deref().or(path_index).filter(|name| !name.is_empty());
        let index = index.ok_or(BulkError::NoIndex { line: number })?.to_owned();
        let id = meta.id.map(|id| id.trim_matches('"').to_owned());
        let document = match action {
            BulkAction::Delete => &[][..],
            _ => match lines.next() {
                Some((_, document)) if !document.trim_ascii().is_empty() => document,
                _ => return Err(BulkError::NoDocument { line: number }),
            },
        };
        let error = decoder.take(action, &index, id.as_deref(), document).err();
        items_memory += ITEM_BYTES + index.len() + id.as_ref().map_or(0, String::len);
        decoder.bulk.items.push(BulkItem { action, index, id, error });
        let memory = defaults.limits.memory;
        if decoder.bulk.events.memory().saturating_add(items_memory) > memory {
            return Err(BulkError::Memory(OverLimit::Memory(memory)));
        }
    }
    if decoder.bulk.items.is_empty() { Err(BulkError::Empty) } else { Ok(decoder.bulk) }
}

#[derive(Default, Deserialize)]
struct Meta<'a> {
    #[serde(borrow, default, rename = "_index")]
    index: Option<Cow<'a, str>>,
    /// A string, though numbers have been seen.
    #[serde(borrow, default, rename = "_id", deserialize_with = "raw_text")]
    id: Option<&'a str>,
}

fn raw_text<'de, D: Deserializer<'de>>(value: D) -> Result<Option<&'de str>, D::Error> {
    let raw = Option::<&'de RawValue>::deserialize(value)?;
    Ok(raw.map(RawValue::get).filter(|text| *text != "null"))
}

/// The first member of an action line. Elasticsearch 8 ignores further members, and some clients send them:
/// `{"index":{...},"attempts":0}`.
struct Action<'a>(BulkAction, Meta<'a>);

impl<'de> Deserialize<'de> for Action<'de> {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        value.deserialize_map(ReadAction)
    }
}

struct ReadAction;

impl<'de> Visitor<'de> for ReadAction {
    type Value = Action<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object whose first member is index, create, update or delete")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let first = members.next_key::<BulkAction>()?;
        let action = first.ok_or_else(|| A::Error::invalid_length(0, &self))?;
        let meta = members.next_value()?;
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Action(action, meta))
    }
}

fn read_action(line: usize, bytes: &[u8]) -> Result<(BulkAction, Meta<'_>), BulkError> {
    let read: Result<Action<'_>, _> = serde_json::from_slice(bytes);
    match read {
        Ok(Action(action, meta)) => Ok((action, meta)),
        Err(error) => Err(BulkError::Action { line, reason: error.to_string() }),
    }
}

struct Decoder<'d> {
    defaults: &'d BulkDefaults,
    allowed: &'d dyn Fn(&IndexName) -> bool,
    /// The name that was looked up last, and its index.
    last: Option<(String, IndexName)>,
    bulk: Bulk,
    index_field: Arc<str>,
    id_field: Arc<str>,
}

/// The members of a document that Karst reads; the whole document is kept.
#[derive(Default, Deserialize)]
struct Document<'a> {
    #[serde(borrow, default, rename = "@timestamp")]
    timestamp: Option<&'a RawValue>,
    #[serde(borrow, default)]
    host: Option<&'a RawValue>,
    #[serde(borrow, default)]
    agent: Option<&'a RawValue>,
    #[serde(borrow, default)]
    log: Option<&'a RawValue>,
    #[serde(borrow, default)]
    source: Option<&'a RawValue>,
}

impl Decoder<'_> {
    fn take(
        &mut self,
        action: BulkAction,
        index: &str,
        id: Option<&str>,
        document: &[u8],
    ) -> Result<(), ItemError> {
        if matches!(action, BulkAction::Update | BulkAction::Delete) {
            let reason = format!("events do not change: {} is not supported", action.name());
            return Err(ItemError { status: 400, kind: "illegal_argument_exception", reason });
        }
        let document = document.trim_ascii();
        let limits = &self.defaults.limits;
        if index.len() + id.map_or(0, str::len) + document.len() > limits.event_bytes {
            return Err(too_large(OverLimit::Event(limits.event_bytes)));
        }
        limits.check_depth(document).map_err(too_large)?;
        let parsed: Document<'_> = match document.first() {
            Some(b'{') => serde_json::from_slice(document).map_err(|e| unreadable(&e)),
            _ => Err(unreadable(&"a document is an object")),
        }?;
        let karst_index = self.index(index)?;
        let time = parsed.timestamp.map(|raw| timestamp(raw.get())).transpose()?;
        let host = parsed.host.and_then(|host| text(host).or_else(|| member(host, "name")));
        let host = host.or_else(|| parsed.agent.and_then(|agent| member(agent, "hostname")));
        let file = parsed.log.and_then(file_path);
        let source = file.or_else(|| parsed.source.and_then(text));
        let origin = OriginRef {
            index: &karst_index,
            host: host.as_deref().unwrap_or(&self.defaults.host),
            source: source.as_deref().unwrap_or(&self.defaults.source),
            sourcetype: Some(&self.defaults.sourcetype),
        };
        let events = &mut self.bulk.events;
        if !events.push(origin, time, document) {
            return Err(unreadable(&"the request is larger than 4 GiB"));
        }
        events.push_field(Arc::clone(&self.index_field), index);
        if let Some(id) = id {
            events.push_field(Arc::clone(&self.id_field), id);
        }
        Ok(())
    }

    fn index(&mut self, name: &str) -> Result<IndexName, ItemError> {
        if let Some((_, index)) = self.last.as_ref().filter(|(known, _)| known == name) {
            return Ok(index.clone());
        }
        let own = IndexName::new(name).ok();
        if let Some(Err(error)) = own.as_ref().map(IndexName::check_open) {
            let reason = error.to_string();
            return Err(ItemError { status: 403, kind: "security_exception", reason });
        }
        let own = own.filter(|index| (self.allowed)(index));
        let index =
            own.or_else(|| Some(&self.defaults.index).filter(|i| (self.allowed)(i)).cloned());
        let index = index.ok_or_else(|| ItemError {
            status: 404,
            kind: "index_not_found_exception",
            reason: format!(
                "no such index [{name}], and the token's default index [{}] does not exist either",
                self.defaults.index
            ),
        })?;
        self.last = Some((name.to_owned(), index.clone()));
        Ok(index)
    }
}

fn too_large(over: OverLimit) -> ItemError {
    ItemError { status: 413, kind: "illegal_argument_exception", reason: over.to_string() }
}

fn unreadable(reason: &dyn fmt::Display) -> ItemError {
    let reason = format!("failed to parse: {reason}");
    ItemError { status: 400, kind: "document_parsing_exception", reason }
}

/// A string, unless it is empty.
fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    let text = serde_json::from_str::<Text<'_>>(raw.get()).ok()?.0;
    Some(text).filter(|text| !text.is_empty())
}

/// A member that is a string.
fn member<'a>(raw: &'a RawValue, name: &str) -> Option<Cow<'a, str>> {
    #[derive(Deserialize)]
    struct Names<'a> {
        #[serde(borrow, default)]
        name: Option<&'a RawValue>,
        #[serde(borrow, default)]
        hostname: Option<&'a RawValue>,
    }
    let names: Names<'a> = serde_json::from_str(raw.get()).ok()?;
    text(if name == "name" { names.name.or(names.hostname)? } else { names.hostname? })
}

/// `file.path` in `log`.
fn file_path(raw: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Log<'a> {
        #[serde(borrow)]
        file: File<'a>,
    }
    #[derive(Deserialize)]
    struct File<'a> {
        #[serde(borrow)]
        path: &'a RawValue,
    }
    text(serde_json::from_str::<Log<'_>>(raw.get()).ok()?.file.path)
}

/// `@timestamp`: RFC 3339, a date, or epoch milliseconds.
fn timestamp(json: &str) -> Result<EventTime, ItemError> {
    let text = json.trim_matches('"');
    let millis = |text: &str| text.parse::<f64>().ok().filter(|millis| millis.is_finite());
    if let Some(millis) = millis(text) {
        return Ok(EventTime::from_seconds(millis / 1e3));
    }
    // A time without a zone is UTC, as in Elasticsearch.
    let zoned = text.parse::<Timestamp>().or_else(|_| format!("{text}Z").parse::<Timestamp>());
    let zoned = zoned.map(|time| EventTime(time.as_microsecond())).ok();
    zoned.or_else(|| date_or_last(text)).ok_or_else(|| {
        unreadable(&format_args!("@timestamp {json} is neither a date nor epoch milliseconds"))
    })
}

/// The last second that every time zone can write with four digits of the year.
const LAST: EventTime = EventTime(253_402_207_200_000_000);

/// Parses a date, or a time on the last days of the year 9999, which stands for "never": [`LAST`].
fn date_or_last(text: &str) -> Option<EventTime> {
    let time = text.strip_suffix(['Z', 'z']).unwrap_or(text).parse::<DateTime>().ok()?;
    match time.to_zoned(TimeZone::UTC) {
        Ok(zoned) => Some(EventTime(zoned.timestamp().as_microsecond())),
        Err(_) => (time.year() == 9999).then_some(LAST),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_kept_whole_with_time_host_and_source_of_their_own() {
        let document = concat!(
            r#"{"@timestamp":"2026-01-02T03:04:05.678Z","message":"hé \"x\"","#,
            r#""host":{"name":"web-1"},"log":{"file":{"path":"/var/log/a"},"offset":3}}"#
        );
        let body = format!("{{\"create\":{{\"_index\":\"logs-x\",\"_id\":\"7\"}}}}\n{document}\n");
        let bulk = decode(&body).unwrap();
        assert_eq!(bulk.events.text(0), document.as_bytes());
        assert_eq!(bulk.events.times, [Some(EventTime(1_767_323_045_678_000))]);
        let origin = bulk.events.each_origin().next().unwrap();
        assert_eq!((&*origin.host, &*origin.source), ("web-1", "/var/log/a"));
        assert_eq!(origin.index.as_str(), "main");
        let fields: Vec<_> =
            bulk.events.fields.iter().map(|field| (&*field.name, &*field.value)).collect();
        assert_eq!(fields, [("es_index", "logs-x"), ("es_id", "7")]);
    }

    #[test]
    fn an_index_that_exists_is_used_and_times_may_be_milliseconds_or_absent() {
        let body = "{\"index\":{\"_index\":\"web\"}}\r\n{\"@timestamp\":1767323045678}\r\n\n\
                    {\"index\":{}}\n{\"host\":\"h\",\"source\":\"s\"}";
        let bulk = decode_bulk(body.as_bytes(), Some("web"), &defaults(), &allowed).unwrap();
        assert_eq!(bulk.events.times, [Some(EventTime(1_767_323_045_678_000)), None]);
        let origins: Vec<_> = bulk.events.each_origin().collect();
        assert!(origins.iter().all(|origin| origin.index.as_str() == "web"));
        assert_eq!((&*origins[1].host, &*origins[1].source), ("h", "s"));
        assert!(bulk.items.iter().all(|item| item.error.is_none() && item.index == "web"));
    }

    #[test]
    fn times_are_dates_times_or_milliseconds() {
        let cases = [
            (r#""2026-01-02""#, Some(1_767_312_000_000_000)),
            (r#""2026-01-02T03:04:05""#, Some(1_767_323_045_000_000)),
            (r#""1969-12-31T23:59:59.5Z""#, Some(-500_000)),
            (r#""9999-12-30T21:00:00Z""#, Some(LAST.0 - 3_600_000_000)),
            (r#""9999-12-31T23:59:59Z""#, Some(LAST.0)),
            (r#""9999-12-31T23:59:59.999Z""#, Some(LAST.0)),
            ("1767323045678", Some(1_767_323_045_678_000)),
            (r#""2026-02-30""#, None),
            (r#""soon""#, None),
        ];
        for (json, micros) in cases {
            assert_eq!(timestamp(json).ok(), micros.map(EventTime), "{json}");
        }
    }

    #[test]
    fn what_cannot_be_done_is_told_item_by_item() {
        let body = concat!(
            "{\"index\":{\"_index\":\"x\"}}\n{\"a\":1}\n",
            "{\"delete\":{\"_index\":\"x\",\"_id\":\"1\"}}\n",
            "{\"update\":{\"_index\":\"x\",\"_id\":\"1\"}}\n{\"doc\":{}}\n",
            "{\"index\":{\"_index\":\"x\"}}\n[1]\n",
            "{\"index\":{\"_index\":\"x\"}}\n{\"a\":\n",
            "{\"index\":{\"_index\":\"x\"}}\n{\"@timestamp\":\"soon\"}\n",
            "{\"index\":{\"_index\":\"x\"}}\n{\"b\":2}\n",
        );
        let bulk = decode(body).unwrap();
        let statuses: Vec<_> =
            bulk.items.iter().map(|item| item.error.as_ref().map(|error| error.status)).collect();
        let wrong = Some(400);
        assert_eq!(statuses, [None, wrong, wrong, wrong, wrong, wrong, None]);
        assert_eq!(bulk.events.len(), 2);
    }

    #[test]
    fn a_document_over_a_limit_is_refused_alone() {
        let action = "{\"index\":{\"_index\":\"x\"}}\n";
        let long = format!("{{\"a\":\"{}\"}}\n", "x".repeat(300));
        let deep = "{\"a\":[[[[[]]]]]}\n";
        let body = [action, &long, action, deep, action, "{\"b\":2}\n"].concat();
        let bulk = decode(&body).unwrap();
        let reason = |item: &BulkItem| item.error.as_ref().map(|e| (e.status, e.reason.clone()));
        let reasons: Vec<_> = bulk.items.iter().filter_map(reason).collect();
        assert_eq!((bulk.events.len(), reasons.len()), (1, 2));
        assert!(reasons[0].0 == 413 && reasons[0].1.contains("maxEventSize"), "{reasons:?}");
        assert!(reasons[1].0 == 413 && reasons[1].1.contains("maxEventDepth"), "{reasons:?}");
    }

    #[test]
    fn the_line_that_is_too_long_is_named_before_it_has_ended() {
        let long = "x".repeat(LINE_ROOM + 20);
        let bodies = [format!("{{}}\n{long}"), format!("{{}}\n{long}\n{{}}\n")];
        for body in bodies {
            assert_eq!(LineLengths::new(10).look(body.as_bytes()), Some(2));
        }
        let mut lengths = LineLengths::new(10);
        let short = "{}\n".repeat(LINE_ROOM);
        for end in (0..short.len()).step_by(1_000) {
            assert_eq!(lengths.look(&short.as_bytes()[..end]), None);
        }
    }

    #[test]
    fn more_actions_than_there_is_memory_for_are_refused() {
        let body = "{\"delete\":{\"_index\":\"x\"}}\n".repeat(100);
        let limits = EventLimits { memory: 10_000, ..EventLimits::default() };
        let defaults = BulkDefaults { limits, ..defaults() };
        let refused = decode_bulk(body.as_bytes(), None, &defaults, &allowed).unwrap_err();
        assert_eq!(refused, BulkError::Memory(OverLimit::Memory(10_000)));
    }

    #[test]
    fn a_malformed_request_is_refused_whole() {
        let cases = [
            ("", BulkError::Empty),
            ("\n \n", BulkError::Empty),
            ("{\"index\":{\"_index\":\"x\"}}\n", BulkError::NoDocument { line: 1 }),
            ("{\"index\":{}}\n{}\n", BulkError::NoIndex { line: 1 }),
        ];
        for (body, error) in cases {
            assert_eq!(decode(body).unwrap_err(), error, "{body}");
        }
        let wrong = ["{\"a\":1}\n{}", "hello", "{\"index\":3}\n{}", "{}\n{}", "[]\n{}"];
        let unfinished = ["{\"index\":{},\n{}", "{\"index\":{},\"a\":}\n{}", "{\"index\":{}}}\n{}"];
        for body in wrong.into_iter().chain(unfinished) {
            assert!(matches!(decode(body), Err(BulkError::Action { line: 1, .. })), "{body}");
        }
    }

    #[test]
    fn members_after_the_action_are_ignored() {
        let body = concat!(
            r#"{"index":{"_index":"x","_id":7,"pipeline":null},"attempts":0,"a":[{"b":null}]}"#,
            "\n{\"a\":1}\n",
            r#"{"create":{"_index":"y"},"delete":{"_index":"z"}}"#,
            "\n{\"a\":2}\n",
        );
        let bulk = decode(body).unwrap();
        let items: Vec<_> = bulk.items.iter().map(|item| (item.action, &*item.index)).collect();
        assert_eq!(items, [(BulkAction::Index, "x"), (BulkAction::Create, "y")]);
        assert_eq!((bulk.items[0].id.as_deref(), bulk.events.len()), (Some("7"), 2));
    }

    fn decode(body: &str) -> Result<Bulk, BulkError> {
        decode_bulk(body.as_bytes(), None, &defaults(), &allowed)
    }

    fn allowed(index: &IndexName) -> bool {
        ["main", "web"].contains(&index.as_str())
    }

    fn defaults() -> BulkDefaults {
        BulkDefaults {
            index: IndexName::new("main").unwrap(),
            host: "peer".into(),
            source: "elasticsearch".into(),
            sourcetype: "_json".into(),
            limits: EventLimits { event_bytes: 300, depth: 5, ..EventLimits::default() },
        }
    }
}
