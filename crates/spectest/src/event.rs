//! An event of a block.

use model::{EventTime, IndexName};

/// An event with complete metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecEvent {
    /// Event time.
    pub time: EventTime,
    /// Arrival time: later for events listed earlier, so that events with the same time are found in the
    /// order in which they are listed.
    pub index_time: EventTime,
    /// The text: the column `_raw`, or the fields as `name="value"`.
    pub raw: String,
    /// The machine that it came from.
    pub host: String,
    /// The file or stream that it came from.
    pub source: String,
    /// The format.
    pub sourcetype: String,
    /// The index.
    pub index: IndexName,
    /// Fields listed as columns; they are indexed fields, as HEC sends them.
    pub fields: Vec<(String, Vec<String>)>,
}
