//! What merging notes of each event for a preview: where it stands in the text, why it begins there, and
//! where its time comes from.

use inputs::Findings;

/// Why an event begins where it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Began {
    /// The text begins, or a record that is an event by itself.
    Beginning,
    /// A line break (`LINE_BREAKER`, or the end of a record): lines are not merged.
    Line,
    /// The line matches `BREAK_ONLY_BEFORE`.
    Pattern,
    /// The line shows a time (`BREAK_ONLY_BEFORE_DATE`).
    Date,
    /// The line before matches `MUST_BREAK_AFTER`.
    After,
    /// The event before has `MAX_EVENTS` lines.
    TooManyLines,
    /// The event before is larger than `maxEventSize`.
    TooLarge,
}

/// Where the time of an event comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeFrom {
    /// Its text: the first byte of the time stamp and the first behind it, in the whole text. `None` where
    /// the patterns of a file recognised it (`DATETIME_CONFIG`).
    Text(Option<(usize, usize)>),
    /// The field of this number among its fields.
    Field(usize),
    /// The fields that `TIMESTAMP_FIELDS` names.
    TimestampFields,
    /// The `#Date:` directive above it, and its field `time`.
    Directive,
    /// Its record of the OpenTelemetry protocol.
    Record,
    /// The event before it.
    Before,
    /// When its file was written.
    File,
    /// Its arrival.
    Arrival,
}

/// What is noted of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trace {
    /// Its first byte, and the first behind it, in the text that its lines are in.
    pub(crate) span: (usize, usize),
    pub(crate) began: Began,
    pub(crate) time_from: TimeFrom,
    /// Whether its text shows the time, or is not looked at for one.
    pub(crate) dated: bool,
}

/// What is noted of a text.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    /// Of each event, in the order in which they leave merging.
    pub(crate) events: Vec<Trace>,
    pub(crate) findings: Findings,
}
