//! The HTTP Event Collector's bodies: bytes and query parameters in, inputs or a HEC error out.
//!
//! Pure: no HTTP, no tokens. A request is accepted as a whole or not at all: if an event is invalid, the
//! events before it are not accepted either, so that a corrected request can be sent again without
//! duplicates.
//!
//! - JSON objects may follow each other with or without white space, or stand in one array.
//! - `event` is kept as sent: a string without its JSON escapes, any other value byte for byte.
//! - `time` is a number or a numeric string of epoch seconds with any fraction. From 12 digits
//!   before the point on it is taken as milliseconds, from 15 as microseconds, from 18 as
//!   nanoseconds. Times before the year 1 or after 2262-04-11 are refused: no search could name those, and
//!   these are mistakes, which nanoseconds (`date_bin` of SQL, readers of Arrow) cannot express.

mod channels;
mod events;
mod fields;
mod lengths;
mod scan;
mod time;

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use model::{EventTime, IndexName};

pub use self::channels::{AckChannels, AckLimit, AckSettings, AckState, ChannelKey};
pub use self::events::decode_events;
pub use self::lengths::EventLengths;
pub use self::time::parse_time;
use crate::{EventLimits, Input, InputMeta, OverLimit, StreamKey};

/// Defaults for events without their own values: from the token and the query parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HecDefaults {
    /// The index of events.
    pub index: IndexName,
    /// The machine, usually the peer's address.
    pub host: Arc<str>,
    /// The source, usually `http:<token name>`.
    pub source: Arc<str>,
    /// The format; `None` recognises it (`/raw`), or is `httpevent` (`/event`).
    pub sourcetype: Option<Arc<str>>,
    /// The time of events without one, before any in their text; over `/raw`, of text without a timestamp.
    pub time: Option<EventTime>,
    /// Whether events without `time` get the time in their text (`auto_extract_timestamp=true`).
    pub extract_time: bool,
    /// Limits of events.
    pub limits: EventLimits,
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
    pub text: Cow<'static, str>,
    /// The number of the invalid event, where the protocol reports it.
    pub invalid_event_number: Option<u64>,
}

impl HecError {
    const fn new(code: u16, status: u16, text: &'static str, number: Option<u64>) -> Self {
        Self { code, status, text: Cow::Borrowed(text), invalid_event_number: number }
    }

    /// The body was empty.
    pub const NO_DATA: Self = Self::new(5, 400, "No data", None);
    /// The queues are full; send again later.
    pub const BUSY: Self = Self::new(9, 503, "Server is busy", None);
    /// Something failed inside.
    pub const INTERNAL: Self = Self::new(8, 500, "Internal server error", None);
    /// Acknowledgement was asked for without naming a channel.
    pub const NO_CHANNEL: Self = Self::new(10, 400, "Data channel is missing", None);
    /// The channel is not a GUID.
    pub const WRONG_CHANNEL: Self = Self::new(11, 400, "Invalid data channel", None);
    /// The token does not acknowledge.
    pub const ACK_DISABLED: Self = Self::new(14, 400, "ACK is disabled", None);
    /// The body is larger than `max_content_length`.
    pub const TOO_LARGE: Self = Self::new(27, 413, "Request entity too large", None);
    /// The process is going down.
    pub const SHUTTING_DOWN: Self = Self::new(23, 503, "Server is shutting down", None);

    const fn format(number: u64) -> Self {
        Self::new(6, 400, "Invalid data format", Some(number))
    }

    /// A 1-based number: Splunk counts from 1 for this error, and from 0 for all others.
    pub(crate) const fn index(number: u64) -> Self {
        Self::new(7, 400, "Incorrect index", Some(number + 1))
    }

    const fn missing(number: u64) -> Self {
        Self::new(12, 400, "Event field is required", Some(number))
    }

    const fn blank(number: u64) -> Self {
        Self::new(13, 400, "Event field cannot be blank", Some(number))
    }

    /// Whether the request may be taken with more memory for its events.
    #[must_use]
    pub fn needs_memory(&self) -> bool {
        self.code == Self::TOO_LARGE.code && self.invalid_event_number.is_none()
    }

    /// Whether the body is not the JSON that HEC takes.
    pub(crate) fn is_malformed(&self) -> bool {
        self.code == Self::format(0).code
    }

    /// An event is more than events may be.
    fn over_limit(number: u64, over: OverLimit) -> Self {
        let (code, status) = match over {
            OverLimit::Event(_) | OverLimit::Memory(_) => (27, 413),
            OverLimit::Fields(_) | OverLimit::FieldName(_) => (15, 400),
            OverLimit::Depth(_) => (6, 400),
        };
        let text = Cow::Owned(over.to_string());
        let number = (!matches!(over, OverLimit::Memory(_))).then_some(number);
        Self { code, status, text, invalid_event_number: number }
    }

    const fn fields(number: u64) -> Self {
        Self::new(15, 400, "Error in handling indexed fields", Some(number))
    }

    /// A data point that `mstats` cannot compute with.
    const fn measure(number: u64) -> Self {
        let text = "Error in handling indexed fields: the value of a metric must be one number";
        Self::new(15, 400, text, Some(number))
    }

    /// A data point of no metric.
    const fn metric_name(number: u64) -> Self {
        let text = "Error in handling indexed fields: a metric must have one name";
        Self::new(15, 400, text, Some(number))
    }
}

impl From<&crate::Error> for HecError {
    fn from(error: &crate::Error) -> Self {
        match error {
            crate::Error::Closed => Self::SHUTTING_DOWN,
            // The same status and code, because senders know them and must not lose the events.
            crate::Error::Unacknowledged => {
                let text = Cow::Owned(format!("{}: {error}", Self::SHUTTING_DOWN.text));
                Self { text, ..Self::SHUTTING_DOWN }
            }
            other => match other.kind() {
                model::ErrorKind::Exhausted | model::ErrorKind::Unavailable => Self::BUSY,
                _ => Self::INTERNAL,
            },
        }
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
    if body.trim_ascii_start().is_empty() {
        return Err(HecError::NO_DATA);
    }
    let origin = Arc::new(InputMeta {
        index: defaults.index.clone(),
        host: Arc::clone(&defaults.host),
        source: Arc::clone(&defaults.source),
        sourcetype: defaults.sourcetype.clone(),
    });
    Ok(Input::Raw { origin, stream, bytes: body, modified: defaults.time, end: true })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
