//! The bucket format: write, read and prune one immutable Parquet object with its term index inside.
//!
//! Leaves to others: the list of buckets (`catalog`), caching of their bytes (`cache`), the meaning of a
//! search (`plan`, `search`), and field extraction (`knowledge`, through [`FieldSource`]).
//!
//! ```text
//! hot rows (Arrow) --write_bucket--> [row groups][term index][vocabulary][page index][tail][footer]
//!                                          |            |                             |
//! search <------------- read (granules) <--+   lookup <-+  open: one read of the end <+
//! ```
//!
//! Buckets are merged by passing the batches of [`BucketReader::read_rows`] of each to one [`write_bucket`].
//!
//! Invariants: rows are sorted by (`_time`, `_indextime`) ascending; a granule is a fixed number of
//! consecutive rows ([`WriteOptions::granule_rows`]), and pages are cut at its borders; the term index never
//! misses a row that has the term ([`TermQuery`] returns supersets); every embedded section has a checksum,
//! and a mismatch is reported as [`Error::Corrupt`], never a panic. `schemas/bucket/README.md` describes the
//! format.

mod checksums;
mod error;
mod fields;
mod granules;
mod hot;
mod index;
#[doc(hidden)]
pub mod measure;
mod origin_rules;
mod query;
mod read;
mod segment;
mod tail;
mod texts;
mod words;
mod write;

pub use error::Error;
pub use fields::{FieldExtractor, FieldSource, NoFields, OriginRules};
pub use granules::GranuleSet;
pub use hot::{
    Elsewhere, FIELDS, HotBucket, HotBuckets, HotDirectory, HotOwner, HotView, LocalHot,
    MissingIndexer, OpenView, OpenViews, RemoteView, hot_schema,
};
pub use query::TermQuery;
pub use read::{
    BucketReader, ColumnDescription, Description, EventStream, Found, Postings,
    RowGroupDescription, RowTest, sent_fields,
};
pub use segment::{MAX_TERM_BYTES, TermHash, is_breaker, is_major_breaker, segments};
pub use words::{WordFilters, WordTest};
pub use write::{WriteOptions, Written, write_bucket};
