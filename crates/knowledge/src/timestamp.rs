//! Finding the timestamp of an event (docs/decisions/0017).
//!
//! Guarantees: a [`TimestampFinder`] allocates nothing per event and runs no regular expression unless
//! `TIME_PREFIX` needs one; consecutive events of one second cost a comparison. Leaves to others: what
//! to do with an event that has no timestamp (the time of the event before it, or of its arrival).

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

/// Where event times come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimestampSource {
    /// The event's text.
    #[default]
    Text,
    /// The time of arrival (`DATETIME_CONFIG = CURRENT`).
    Arrival,
    /// The time the input knows, such as when a file was written, else that of arrival
    /// (`DATETIME_CONFIG = NONE`).
    Input,
}

/// How to find timestamps, from `props.conf`.
#[derive(Debug, Clone)]
pub struct TimestampRules {
    /// `DATETIME_CONFIG`.
    pub from: TimestampSource,
    /// `TIME_PREFIX`: the timestamp follows its first match; without a match there is none.
    pub prefix: Option<TimePrefix>,
    /// `DATETIME_CONFIG` with a file: what is recognised where there is no `TIME_FORMAT`.
    pub patterns: Option<Arc<DatetimePatterns>>,
    /// `TIME_FORMAT`; without it the common formats are recognised.
    pub format: Option<TimeFormat>,
    /// `MAX_TIMESTAMP_LOOKAHEAD`: bytes after the prefix in which the timestamp begins; where the
    /// setting is given, also ends.
    pub lookahead: Lookahead,
    /// `TZ`: the zone of timestamps that name none.
    pub zone: TimeZone,
    /// `MAX_DAYS_AGO`: older timestamps are not believed.
    pub max_days_ago: i64,
    /// `MAX_DAYS_HENCE`: later timestamps are not believed.
    pub max_days_hence: i64,
    /// `MAX_DIFF_SECS_AGO`: a timestamp further behind the one before it, in another format than
    /// most of its source, is reported.
    pub max_diff_secs_ago: i64,
    /// `MAX_DIFF_SECS_HENCE`: the same for one further ahead.
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
    /// Whether timestamps are recognised by themselves: no setting says where they are or how they look.
    #[must_use]
    pub fn is_automatic(&self) -> bool {
        self.from == TimestampSource::Text
            && self.prefix.is_none()
            && self.patterns.is_none()
            && self.format.is_none()
            && self.lookahead == Lookahead::Default
    }
}

/// How far into an event timestamps are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookahead {
    /// Timestamps begin within 128 bytes; those of JSON events anywhere.
    Default,
    /// Timestamps lie within these bytes.
    Bytes(usize),
    /// Anywhere.
    Unlimited,
}

/// A compiled `TIME_PREFIX`.
#[derive(Debug, Clone)]
pub enum TimePrefix {
    /// Plain text, at the start of the event if `anchored`.
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
    /// Compiles a prefix; plain text is recognised as such.
    ///
    /// # Errors
    /// The text of the regex compiler's complaint.
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

    /// Where the prefix ends in a text.
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

/// The text a regular expression without operators stands for.
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
