//! The journal of a pipeline set: the write-ahead log from which acknowledged events are recovered after a
//! crash.
//!
//! It is a sequence of append-only segment files in `<data>/journal/<set>/`. A record is a batch of events of
//! one stream, the note that a hot bucket is about to be uploaded, or the note that all parts of a numbered
//! input are there: its batches count only with it. When [`Journal::append`] has returned successfully, the
//! records are on disk (fsync); if it has failed, they are not in the file. A segment is deleted when every
//! stream in it is committed to the catalog beyond it.
//!
//! ```text
//! segment: [header 16 bytes] [record] [record] ...
//! record:  magic, sizes, header checksum, payload checksum, position, kind, codec,
//!          index name | payload
//! ```
//!
//! A reader truncates a torn tail with a warning. It reports a damaged record in the middle with file and
//! offset, still delivers the records after it, and keeps the file.

mod ledger;
mod lock;
mod pack;
mod reader;
mod record;
pub(crate) mod restoring;
mod writer;

pub(crate) use ledger::{Known, Ledger, owners};
pub(crate) use lock::lock;
pub use pack::Codec;
pub(crate) use reader::{RawRecord, Scan, scan_bytes, scan_raw, scan_segment};
pub(crate) use record::{
    BatchRecord, Delivered, Encoder, Record, RollStarted, encode_delivered, encode_roll, mark_part,
    read_batch, set_lane, write_batch,
};
pub(crate) use writer::{
    Adopted, Journal, Pending, SEGMENT_HEADER, StreamRef, number_of, segments,
};

#[cfg(test)]
mod tests;
