//! Finds the timestamp of an event (docs/decisions/0017).
//!
//! Guarantees: a [`TimestampFinder`] allocates nothing per event and runs no regular expression unless
//! `TIME_PREFIX` needs one; for consecutive events of the same second, one comparison is enough. Leaves to
//! others: the time of an event without a timestamp (the time of the previous event, or of arrival).

mod absent;
mod finder;
mod json;
mod jumps;
mod patterns;
mod shapes;

use std::sync::Arc;

use jiff::tz::TimeZone;

pub use absent::NoTime;
pub use finder::TimestampFinder;
pub use patterns::DatetimePatterns;
pub(crate) use shapes::is_time;

use crate::settings::props as keys;
use eval::Pattern;
use eval::time::TimeFormat;

/// The source of event times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimestampSource {
    /// The event's text.
    #[default]
    Text,
    /// The time of arrival (`DATETIME_CONFIG = CURRENT`).
    Arrival,
    /// The time of the input, such as the modification time of a file, else the time of arrival
    /// (`DATETIME_CONFIG = NONE`).
    Input,
}

/// Rules for finding timestamps, from `props.conf`.
#[derive(Debug, Clone)]
pub struct TimestampRules {
    /// `DATETIME_CONFIG`.
    pub from: TimestampSource,
    /// `TIME_PREFIX`: the timestamp follows the first match; without a match, the event has no timestamp.
    pub prefix: Option<TimePrefix>,
    /// `DATETIME_CONFIG` with a file: the patterns of timestamps if there is no `TIME_FORMAT`.
    pub patterns: Option<Arc<DatetimePatterns>>,
    /// `TIME_FORMAT`; if `None`, common formats are recognised.
    pub format: Option<TimeFormat>,
    /// `MAX_TIMESTAMP_LOOKAHEAD`: number of bytes after the prefix in which the timestamp begins; if the
    /// setting is given, the timestamp also ends there.
    pub lookahead: Lookahead,
    /// `TZ`: the zone of timestamps without one.
    pub zone: TimeZone,
    /// `MAX_DAYS_AGO`: older timestamps are rejected.
    pub max_days_ago: i64,
    /// `MAX_DAYS_HENCE`: later timestamps are rejected.
    pub max_days_hence: i64,
    /// `MAX_DIFF_SECS_AGO`: a timestamp of unusual format that precedes the previous one by more than this is
    /// counted as a jump.
    pub max_diff_secs_ago: i64,
    /// `MAX_DIFF_SECS_HENCE`: the same for a timestamp that follows the previous one.
    pub max_diff_secs_hence: i64,
}

impl Default for TimestampRules {
    fn default() -> Self {
        Self {
            from: TimestampSource::Text,
            prefix: None,
            patterns: None,
            format: None,
            lookahead: Lookahead::Default,
            zone: TimeZone::UTC,
            max_days_ago: keys::MAX_DAYS_AGO.default_value(),
            max_days_hence: keys::MAX_DAYS_HENCE.default_value(),
            max_diff_secs_ago: keys::MAX_DIFF_SECS_AGO.default_value(),
            max_diff_secs_hence: keys::MAX_DIFF_SECS_HENCE.default_value(),
        }
    }
}

impl TimestampRules {
    /// Returns whether timestamps are recognised automatically: no setting gives their position or format.
    #[must_use]
    pub fn is_automatic(&self) -> bool {
        self.from == TimestampSource::Text
            && self.prefix.is_none()
            && self.patterns.is_none()
            && self.format.is_none()
            && self.lookahead == Lookahead::Default
    }
}

/// How far into an event timestamps are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookahead {
    /// Timestamps begin within 128 bytes; in JSON events, anywhere.
    Default,
    /// Timestamps are within this number of bytes.
    Bytes(usize),
    /// Timestamps may be anywhere.
    Unlimited,
}

/// A compiled `TIME_PREFIX`.
#[derive(Debug, Clone)]
pub enum TimePrefix {
    /// Plain text; if `anchored`, at the start of the event.
    Literal {
        /// The text.
        text: Box<str>,
        /// Whether it must be at the start.
        anchored: bool,
    },
    /// A regular expression.
    Pattern(Pattern),
}

impl TimePrefix {
    /// Compiles a prefix; a pattern that is plain text is not compiled as a regular expression.
    ///
    /// # Errors
    /// The message of the regex compiler.
    pub fn compile(text: &str) -> Result<Self, String> {
        let (body, anchored) = match text.strip_prefix('^') {
            Some(body) => (body, true),
            None => (text, false),
        };
        match literal(body) {
            Some(text) => Ok(Self::Literal { text: text.into(), anchored }),
            None => Pattern::compile(text).map(Self::Pattern),
        }
    }

    /// Returns the end of the prefix in a text.
    #[must_use]
    pub fn end_in(&self, text: &str) -> Option<usize> {
        match self {
            Self::Literal { text: prefix, anchored: true } => {
                text.starts_with(prefix.as_ref()).then_some(prefix.len())
            }
            Self::Literal { text: prefix, anchored: false } => {
                let found = memchr::memmem::find(text.as_bytes(), prefix.as_bytes());
                found.map(|at| at + prefix.len())
            }
            Self::Pattern(pattern) => pattern.find_at(text, 0).map(|(_, end)| end),
        }
    }
}

/// Returns the text that a regular expression without operators matches.
fn literal(pattern: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next()? {
                't' => out.push('\t'),
                escaped if escaped.is_ascii_alphanumeric() => return None,
                escaped => out.push(escaped),
            },
            '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '^' | '$' => {
                return None;
            }
            plain => out.push(plain),
        }
    }
    Some(out)
}
