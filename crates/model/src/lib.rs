//! The vocabulary every Karst crate shares: ids, times, event batches, bucket summaries, error kinds.
//!
//! No I/O, no async, no Arrow. A type belongs here only if crates that do not know each other
//! must speak of it; everything else lives with its owner.
//!
//! ```text
//! inputs -> EventBatch -> (ingest) -> hot bucket -> BucketSummary -> (catalog) -> (search)
//! ```
//!
//! Invariants: an [`EventTime`] is always UTC microseconds; a [`TimeRange`] is half-open
//! `[earliest, latest)`; an [`IndexName`] is always valid; a [`BucketId`] is never reused.

mod batch;
mod durations;
mod error;
mod header;
mod ids;
mod summary;
mod time;

pub use batch::{EventBatch, EventBatchBuilder, IndexedField, Origin, OriginRun, Origins};
pub use durations::Durations;
pub use error::ErrorKind;
pub use header::{BucketHeader, BucketShape};
pub use ids::{
    BucketId, IndexName, IndexerId, InvalidName, JournalPlace, JournalPosition, Lane,
    ReservedIndex, StreamId,
};
pub use summary::{BucketEntry, BucketState, BucketSummary, ColumnKind, FieldSummary, ValueCount};
pub use time::{EventTime, TimeRange};

/// Says of a read from object storage, as an extension of its options, that these bytes only help to find
/// others: footers, term indexes, summaries. A cache keeps them apart from what is found by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexRead;

/// Columns every bucket has, in this order, before any shredded field.
pub mod columns {
    use std::borrow::Cow;

    /// Event time, UTC microseconds.
    pub const TIME: &str = "_time";
    /// Arrival time, UTC microseconds, strictly increasing per indexer: it breaks ties of `_time`,
    /// so that (`_time`, `_indextime`) orders events the same wherever they are stored.
    pub const INDEX_TIME: &str = "_indextime";
    /// The event's text.
    pub const RAW: &str = "_raw";
    /// The machine the event came from.
    pub const HOST: &str = "host";
    /// The file, stream or input it came from.
    pub const SOURCE: &str = "source";
    /// The format of the event, which selects the extraction rules.
    pub const SOURCETYPE: &str = "sourcetype";
    /// The index: constant within a bucket, so not stored as a column.
    pub const INDEX: &str = "index";
    /// The field that rows of summary indexes have (those of `sistats` and similar).
    pub const SUMMARY_VERSION: &str = "psrsvd_v";
    /// Where an event is from, as it is stored.
    pub const ORIGIN: [&str; 3] = [HOST, SOURCE, SOURCETYPE];
    /// Where an event is from, the index included.
    pub const ORIGIN_AND_INDEX: [&str; 4] = [HOST, SOURCE, SOURCETYPE, INDEX];
    /// The fields that were sent along with an event, as one JSON object: in hot rows, and where a search
    /// asks for it.
    pub const FIELDS: &str = "_fields";
    /// The columns of every event.
    pub const ALL: [&str; 7] = [TIME, INDEX_TIME, RAW, HOST, SOURCE, SOURCETYPE, INDEX];

    /// The name of a field that was sent along with an event, or found in a structured one:
    /// `extracted_<name>` if every event has a column of its name.
    #[must_use]
    pub fn field_name(name: &str) -> Cow<'_, str> {
        let is_taken = name == FIELDS || ALL.contains(&name);
        if is_taken { Cow::Owned(extracted_name(name)) } else { Cow::Borrowed(name) }
    }

    /// `extracted_<name>`; a name that begins with `_` gets no second one.
    #[must_use]
    pub fn extracted_name(name: &str) -> String {
        let joint = if name.starts_with('_') { "" } else { "_" };
        format!("extracted{joint}{name}")
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn names_of_columns_are_not_names_of_fields() {
            let names = ["host", "_time", "_fields", "_value", "host.name", ""].map(field_name);
            let expected =
                ["extracted_host", "extracted_time", "extracted_fields", "_value", "host.name", ""];
            assert_eq!(names, expected);
        }
    }
}
