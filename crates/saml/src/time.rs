//! Times in the format of messages.

use jiff::Timestamp;

use crate::error::{Error, short};

/// Parses a time with a zone, such as `2030-01-02T03:04:05.678Z`, to epoch seconds.
pub(crate) fn parse(text: &str) -> Result<i64, Error> {
    let wrong = || Error::response(format!("\"{}\" is not a time in UTC", short(text)));
    if text.len() > 64 || !text.ends_with('Z') || text.as_bytes().get(10) != Some(&b'T') {
        return Err(wrong());
    }
    text.parse::<Timestamp>().map(Timestamp::as_second).map_err(|_| wrong())
}

/// Formats epoch seconds.
pub(crate) fn format(seconds: i64) -> String {
    Timestamp::from_second(seconds).unwrap_or_default().to_string()
}
