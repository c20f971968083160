//! Notes of merging about each event, for previews: its place in the text, why it begins there, and the
//! source of its time.

use inputs::Findings;
use knowledge::Begins;

/// Why an event begins where it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Began {
    /// It is at the beginning of the text, or of a record that is an event on its own.
    Beginning,
    /// A line break (`LINE_BREAKER`, or the end of a record): lines are not merged.
    Line,
    /// The line matches `BREAK_ONLY_BEFORE`.
    Pattern,
    /// The line has a time (`BREAK_ONLY_BEFORE_DATE`).
    Date,
    /// The previous line matches `MUST_BREAK_AFTER`.
    After,
    /// The previous event has `MAX_EVENTS` lines.
    TooManyLines,
    /// The previous event is larger than `maxEventSize`.
    TooLarge,
}

impl From<Begins> for Began {
    fn from(begins: Begins) -> Self {
        match begins {
            Begins::First => Self::Beginning,
            Begins::Pattern => Self::Pattern,
            Begins::Date => Self::Date,
            Begins::After => Self::After,
            Begins::TooManyLines => Self::TooManyLines,
            Begins::TooLarge => Self::TooLarge,
        }
    }
}

/// The source of the time of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeFrom {
    /// Its text, with the byte range of the timestamp in the whole text. `None` if the patterns of a file
    /// recognised it (`DATETIME_CONFIG`).
    Text(Option<(usize, usize)>),
    /// The field with this index among its fields.
    Field(usize),
    /// The fields that `TIMESTAMP_FIELDS` names.
    TimestampFields,
    /// The `#Date:` directive above it, and its field `time`.
    Directive,
    /// Its record in the OpenTelemetry protocol.
    Record,
    /// The previous event.
    Before,
    /// The modification time of its file.
    File,
    /// Its arrival time.
    Arrival,
}

/// The notes about an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trace {
    /// Its byte range in the text of its lines.
    pub(crate) span: (usize, usize),
    pub(crate) began: Began,
    pub(crate) time_from: TimeFrom,
    /// Whether its text has the time, or is not searched for one.
    pub(crate) dated: bool,
}

/// The notes about a text.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    /// The notes about each event, in the order in which they leave merging.
    pub(crate) events: Vec<Trace>,
    pub(crate) findings: Findings,
}
