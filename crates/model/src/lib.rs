//! The types shared by all Karst crates: ids, times, event batches, bucket summaries, error kinds.
//!
//! No I/O, no async, no Arrow. A type belongs here only if crates that do not depend on each other exchange
//! it; all other types are in the crates that own them.
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

/// Marks a read from object storage, as an extension of its options, as a read of index data (footers, term
/// indexes, summaries). A cache keeps these apart from rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexRead;

/// Names of the columns of every bucket, in this order, before any shredded field.
pub mod columns {
    use std::borrow::Cow;

    /// Event time, UTC microseconds.
    pub const TIME: &str = "_time";
    /// Arrival time, UTC microseconds, strictly increasing per indexer. It breaks ties of `_time`: the
    /// order by (`_time`, `_indextime`) is the same wherever events are stored.
    pub const INDEX_TIME: &str = "_indextime";
    /// The event's text.
    pub const RAW: &str = "_raw";
    /// The machine that the event came from.
    pub const HOST: &str = "host";
    /// The file, stream or input that the event came from.
    pub const SOURCE: &str = "source";
    /// The format of the event, which selects the extraction rules.
    pub const SOURCETYPE: &str = "sourcetype";
    /// The index: constant within a bucket, so not stored as a column.
    pub const INDEX: &str = "index";
    /// A field of rows of summary indexes (those of `sistats` and similar).
    pub const SUMMARY_VERSION: &str = "psrsvd_v";
    /// The stored columns with the origin of an event.
    pub const ORIGIN: [&str; 3] = [HOST, SOURCE, SOURCETYPE];
    /// The columns with the origin of an event, including the index.
    pub const ORIGIN_AND_INDEX: [&str; 4] = [HOST, SOURCE, SOURCETYPE, INDEX];
    /// The fields that were sent with an event, as one JSON object: in hot rows, and if a search requests
    /// it.
    pub const FIELDS: &str = "_fields";
    /// The columns of every event.
    pub const ALL: [&str; 7] = [TIME, INDEX_TIME, RAW, HOST, SOURCE, SOURCETYPE, INDEX];

    /// The name of a field that was sent with an event or found in a structured one: `extracted_<name>` if
    /// the name is that of a built-in column.
    #[must_use]
    pub fn field_name(name: &str) -> Cow<'_, str> {
        let is_taken = name == FIELDS || ALL.contains(&name);
        if is_taken { Cow::Owned(extracted_name(name)) } else { Cow::Borrowed(name) }
    }

    /// Returns `extracted_<name>`; a leading `_` of the name is not doubled.
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
