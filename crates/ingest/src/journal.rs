//! The journal of a pipeline set: what makes an acknowledged event survive a crash.
//!
//! A sequence of append-only segment files in `<data>/journal/<set>/`. A record is either a batch
//! of events of one stream, the note that a hot bucket is about to be uploaded, or the note that all
//! parts of a numbered input are there: its batches count only with it. What
//! [`Journal::append`] has returned for is on the disk (fsync); what it has failed for is not in
//! the file. A segment goes when every stream in it is committed to the catalog beyond it.
//!
//! ```text
//! segment: [header 16 bytes] [record] [record] ...
//! record:  magic, sizes, header checksum, payload checksum, position, kind, codec,
//!          index name | payload
//! ```
//!
//! When reading, a torn tail is cut off with a warning; a damaged record in the middle is reported
//! with file and offset, the records after it are still delivered, and the file is kept.

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
