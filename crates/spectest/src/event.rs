//! An event as a block lists it.

use model::{EventTime, IndexName};

/// An event with all its metadata filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecEvent {
    /// Event time.
    pub time: EventTime,
    /// Arrival: later for events listed earlier, so that events of one time are searched in the
    /// order in which they are listed.
    pub index_time: EventTime,
    /// The text: the column `_raw`, or the fields as `name="value"`.
    pub raw: String,
    /// The machine.
    pub host: String,
    /// The file or stream.
    pub source: String,
    /// The format.
    pub sourcetype: String,
    /// The index.
    pub index: IndexName,
    /// Fields listed as columns; they are indexed fields, as HEC sends them.
    pub fields: Vec<(String, Vec<String>)>,
}
