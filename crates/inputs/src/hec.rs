//! The HTTP Event Collector's bodies: bytes and query parameters in, inputs or a HEC error out.
//!
//! Pure: no HTTP, no tokens, no acknowledgement ids. A request is taken whole or not at all: when
//! an event is wrong, the events before it are not taken either, so that a corrected request can
//! be sent again without duplicates.
//!
//! - JSON objects may follow each other with or without white space, or stand in one array.
//! - `event` is kept as sent: a string without its JSON escapes, any other value byte for byte.
//! - `time` is a number or a numeric string of epoch seconds with any fraction. From 12 digits
//!   before the point on it is taken as milliseconds, from 15 as microseconds, from 18 as
//!   nanoseconds. Times before the year 1 or after 9999 are refused: no search could name them.

use std::borrow::Cow;
use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;
use model::{EventTime, IndexName};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{CutEvents, Input, InputMeta, MissingTime, OriginRef, StreamKey, text};

/// What an event gets that does not say otherwise: from the token and the query parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HecDefaults {
    /// Where events go.
    pub index: IndexName,
    /// The machine, usually the peer's address.
    pub host: Arc<str>,
    /// The source, usually `http:<token name>`.
    pub source: Arc<str>,
    /// The format; `None` recognises it (`/raw`), or is `httpevent` (`/event`).
    pub sourcetype: Option<Arc<str>>,
    /// Whether events without `time` get the time in their text (`auto_extract_timestamp=true`).
    pub extract_time: bool,
}

/// HEC's answer to a request that is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct HecError {
    /// HEC's number.
    pub code: u16,
    /// The HTTP status.
    pub status: u16,
    /// HEC's text.
    pub text: &'static str,
    /// Which event is wrong, where the protocol tells it.
    pub invalid_event_number: Option<u64>,
}

impl HecError {
    const fn new(code: u16, status: u16, text: &'static str, number: Option<u64>) -> Self {
        Self { code, status, text, invalid_event_number: number }
    }

    /// The body was empty.
    pub const NO_DATA: Self = Self::new(5, 400, "No data", None);
    /// The queues are full; send again later.
    pub const BUSY: Self = Self::new(9, 503, "Server is busy", None);
    /// Something failed inside.
    pub const INTERNAL: Self = Self::new(8, 500, "Internal server error", None);
    /// The process is going down.
    pub const SHUTTING_DOWN: Self = Self::new(23, 503, "Server is shutting down", None);

    const fn format(number: u64) -> Self {
        Self::new(6, 400, "Invalid data format", Some(number))
    }

    /// Splunk counts from 1 here, and from 0 everywhere else.
    const fn index(number: u64) -> Self {
        Self::new(7, 400, "Incorrect index", Some(number + 1))
    }

    const fn missing(number: u64) -> Self {
        Self::new(12, 400, "Event field is required", Some(number))
    }

    const fn blank(number: u64) -> Self {
        Self::new(13, 400, "Event field cannot be blank", Some(number))
    }

    const fn fields(number: u64) -> Self {
        Self::new(15, 400, "Error in handling indexed fields", Some(number))
    }
}

impl From<&crate::Error> for HecError {
    fn from(error: &crate::Error) -> Self {
        match error {
            crate::Error::Closed => Self::SHUTTING_DOWN,
            other => match other.kind() {
                model::ErrorKind::Exhausted | model::ErrorKind::Unavailable => Self::BUSY,
                _ => Self::INTERNAL,
            },
        }
    }
}

/// Why a compressed body could not be unpacked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// It unpacks to more than the limit: HTTP 413.
    #[error("the body unpacks to more than {limit} bytes; send smaller requests")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// It is not what its encoding says: HTTP 400.
    #[error("the body is not valid {encoding}")]
    Broken {
        /// The encoding.
        encoding: &'static str,
    },
    /// The encoding is not supported: HTTP 415.
    #[error("content encoding {encoding} is not supported; use gzip, deflate, zstd or none")]
    Unsupported {
        /// The encoding asked for.
        encoding: String,
    },
}

/// Unpacks a body by its `Content-Encoding`, to at most `limit` bytes.
///
/// # Errors
/// [`BodyError`] says which HTTP status fits.
pub fn unpack(body: Bytes, encoding: Option<&str>, limit: usize) -> Result<Bytes, BodyError> {
    let encoding = encoding.unwrap_or("").trim().to_ascii_lowercase();
    let packed = body.as_ref();
    match encoding.as_str() {
        "" | "identity" if packed.len() > limit => Err(BodyError::TooLarge { limit }),
        "" | "identity" => Ok(body),
        "gzip" | "x-gzip" => read_limited(flate2::read::MultiGzDecoder::new(packed), limit, "gzip"),
        "deflate" => read_limited(flate2::read::ZlibDecoder::new(packed), limit, "deflate"),
        "zstd" => match zstd::stream::read::Decoder::with_buffer(packed) {
            Ok(decoder) => read_limited(decoder, limit, "zstd"),
            Err(_) => Err(BodyError::Broken { encoding: "zstd" }),
        },
        _ => Err(BodyError::Unsupported { encoding }),
    }
}

fn read_limited(
    reader: impl Read,
    limit: usize,
    encoding: &'static str,
) -> Result<Bytes, BodyError> {
    let mut out = Vec::new();
    let read = reader.take(limit as u64 + 1).read_to_end(&mut out);
    match read {
        Err(_) => Err(BodyError::Broken { encoding }),
        Ok(length) if length > limit => Err(BodyError::TooLarge { limit }),
        Ok(_) => Ok(out.into()),
    }
}

/// The body of `/services/collector/raw`.
///
/// # Errors
/// [`HecError::NO_DATA`] for an empty body.
pub fn decode_raw(
    body: Bytes,
    defaults: &HecDefaults,
    stream: StreamKey,
) -> Result<Input, HecError> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Err(HecError::NO_DATA);
    }
    let origin = Arc::new(InputMeta {
        index: defaults.index.clone(),
        host: Arc::clone(&defaults.host),
        source: Arc::clone(&defaults.source),
        sourcetype: defaults.sourcetype.clone(),
    });
    Ok(Input::Raw { origin, stream, bytes: body, modified: None, end: true })
}

/// The body of `/services/collector/event`. `allowed` decides whether the token may write to an
/// index and whether it exists.
///
/// # Errors
/// The HEC error to answer with; nothing of the request is taken.
pub fn decode_events(
    body: &[u8],
    defaults: &HecDefaults,
    allowed: &dyn Fn(&IndexName) -> bool,
    stream: StreamKey,
) -> Result<Input, HecError> {
    let missing_time = if defaults.extract_time { MissingTime::FromText } else { MissingTime::Now };
    let mut decoder = Decoder {
        defaults,
        allowed,
        events: CutEvents::new(missing_time),
        number: 0,
        field_names: Vec::new(),
        last_index: None,
    };
    let text = match simdutf8::basic::from_utf8(body) {
        Ok(text) => Cow::Borrowed(text),
        // HEC takes events with broken characters; they are repaired like all other text.
        Err(_) => Cow::Owned(text::repaired_json(body)),
    };
    let text = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    if text.is_empty() {
        return Err(HecError::NO_DATA);
    }
    if text.starts_with('[') {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Vec<&RawValue>>();
        // An array is read as a whole: it cannot be said which event is the malformed one.
        for value in values.by_ref() {
            for event in value.map_err(|_| HecError::format(0))? {
                let envelope = match event.get() {
                    object if object.starts_with('{') => serde_json::from_str(object),
                    _ => return Err(HecError::format(decoder.number)),
                };
                decoder.take(&envelope.map_err(|_| HecError::format(decoder.number))?)?;
            }
        }
    } else {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Envelope<'_>>();
        loop {
            let rest = text[values.byte_offset()..].trim_start();
            // A derived struct would also accept a list.
            let malformed = !rest.is_empty() && !rest.starts_with('{');
            match values.next() {
                None => break,
                Some(Ok(envelope)) if !malformed => decoder.take(&envelope)?,
                Some(_) => return Err(HecError::format(decoder.number)),
            }
        }
    }
    if decoder.number == 0 {
        return Err(HecError::NO_DATA);
    }
    Ok(Input::Events { stream, events: decoder.events })
}

/// One event's JSON object; everything stays text until it is needed.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    event: Option<&'a RawValue>,
    #[serde(borrow, default)]
    time: Option<&'a RawValue>,
    #[serde(borrow, default)]
    host: Option<&'a RawValue>,
    #[serde(borrow, default)]
    source: Option<&'a RawValue>,
    #[serde(borrow, default)]
    sourcetype: Option<&'a RawValue>,
    #[serde(borrow, default)]
    index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    fields: Option<&'a RawValue>,
}

struct Decoder<'d> {
    defaults: &'d HecDefaults,
    allowed: &'d dyn Fn(&IndexName) -> bool,
    events: CutEvents,
    number: u64,
    field_names: Vec<Arc<str>>,
    /// The index named last, so that it is checked once per run of events.
    last_index: Option<IndexName>,
}

impl Decoder<'_> {
    fn take(&mut self, envelope: &Envelope<'_>) -> Result<(), HecError> {
        let number = self.number;
        let event = match envelope.event.map(RawValue::get) {
            None | Some("null") => return Err(HecError::missing(number)),
            Some(event) => event,
        };
        let text: Cow<'_, str> = if event.starts_with('"') {
            unescape(event).ok_or(HecError::format(number))?
        } else {
            Cow::Borrowed(event)
        };
        if text.is_empty() {
            return Err(HecError::blank(number));
        }
        let time = match envelope.time.map(RawValue::get) {
            None | Some("null") => None,
            Some(time) => Some(parse_time(time).ok_or(HecError::fields(number))?),
        };
        let name = |value| name(value).ok_or(HecError::format(number));
        let index = name(envelope.index)?;
        let index = self.index(index.as_deref())?;
        let (host, source) = (name(envelope.host)?, name(envelope.source)?);
        let sourcetype = name(envelope.sourcetype)?;
        let host = host.as_deref().unwrap_or(&self.defaults.host);
        let source = source.as_deref().unwrap_or(&self.defaults.source);
        let sourcetype = sourcetype.as_deref().or(self.defaults.sourcetype.as_deref());
        let sourcetype = sourcetype.unwrap_or("httpevent");
        let origin = OriginRef { index: &index, host, source, sourcetype: Some(sourcetype) };
        if !self.events.push(origin, time, text.as_bytes()) {
            return Err(HecError::format(number));
        }
        let events = &mut self.events;
        if let Some(fields) = envelope.fields.map(RawValue::get).filter(|fields| *fields != "null")
        {
            take_fields(fields, &mut self.field_names, |name, value| {
                events.push_field(name, value)
            })
            .map_err(|wrong| match wrong {
                WrongFields::Shape => HecError::format(number),
                WrongFields::Nested => HecError::fields(number),
            })?;
        }
        self.number += 1;
        Ok(())
    }

    fn index(&mut self, name: Option<&str>) -> Result<IndexName, HecError> {
        let wrong = HecError::index(self.number);
        let Some(name) = name else {
            let default = &self.defaults.index;
            return if (self.allowed)(default) { Ok(default.clone()) } else { Err(wrong) };
        };
        if let Some(last) = self.last_index.as_ref().filter(|last| last.as_str() == name) {
            return Ok(last.clone());
        }
        let index = IndexName::new(name).map_err(|_| wrong.clone())?;
        if !(self.allowed)(&index) {
            return Err(wrong);
        }
        self.last_index = Some(index.clone());
        Ok(index)
    }
}

/// A name the event gives itself: `Some(None)` when it gives none, `None` when it is not text.
#[allow(clippy::option_option)]
fn name(value: Option<&RawValue>) -> Option<Option<Cow<'_, str>>> {
    match value.map(RawValue::get) {
        None | Some("null" | "\"\"") => Some(None),
        Some(text) if text.starts_with('"') => unescape(text).map(Some),
        Some(_) => None,
    }
}

/// The text of a JSON string; a copy only where it has escapes.
fn unescape(json: &str) -> Option<Cow<'_, str>> {
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str::<String>(json).ok().map(Cow::Owned)
}

enum WrongFields {
    /// Not an object.
    Shape,
    /// A value that is neither plain nor a list of plain values.
    Nested,
}

fn take_fields(
    json: &str,
    names: &mut Vec<Arc<str>>,
    mut emit: impl FnMut(Arc<str>, &str),
) -> Result<(), WrongFields> {
    let fields: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(json).map_err(|_| WrongFields::Shape)?;
    for (name, value) in &fields {
        let known = names.iter().find(|known| ***known == **name).cloned();
        let name = known.unwrap_or_else(|| {
            let name: Arc<str> = name.as_str().into();
            // The list is searched from the front: it only helps while it is short.
            if names.len() < 64 {
                names.push(Arc::clone(&name));
            }
            name
        });
        let values = match value {
            serde_json::Value::Array(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        for value in values {
            match value {
                serde_json::Value::String(text) => emit(Arc::clone(&name), text),
                serde_json::Value::Null => {}
                serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {
                    emit(Arc::clone(&name), &value.to_string());
                }
                _ => return Err(WrongFields::Nested),
            }
        }
    }
    Ok(())
}

/// Epoch time in seconds (or, when it is too large for that, milli-, micro- or nanoseconds), exact
/// to the microsecond.
fn parse_time(json: &str) -> Option<EventTime> {
    // 0001-01-01 and the last second that every time zone can write with four digits.
    const CALENDAR: std::ops::RangeInclusive<i64> =
        -62_135_596_800_000_000..=253_402_207_200_000_000;
    epoch_micros(json).filter(|micros| CALENDAR.contains(micros)).map(EventTime)
}

fn epoch_micros(json: &str) -> Option<i64> {
    let text = json.trim_matches('"').trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !plain(whole) || !plain(fraction) {
        // Scientific notation is rare and has no need for exactness.
        let seconds: f64 = text.parse().ok()?;
        return seconds.is_finite().then(|| EventTime::from_seconds(seconds).0);
    }
    let whole = whole.trim_start_matches('0');
    // How many digits after the (shifted) decimal point the text already has before its own.
    let shift = match whole.len() {
        0..=11 => 0,
        12..=14 => 3,
        15..=17 => 6,
        _ => 9,
    };
    let digits = whole.bytes().chain(fraction.bytes()).map(|byte| i64::from(byte - b'0'));
    let wanted = whole.len() + 6 - shift.min(whole.len() + 6);
    let mut micros = 0i64;
    for digit in digits.chain(std::iter::repeat(0)).take(wanted) {
        micros = micros.checked_mul(10)?.checked_add(digit)?;
    }
    Some(if negative { -micros } else { micros })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
