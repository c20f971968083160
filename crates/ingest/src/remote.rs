//! The journal in other places, which lets acknowledgements of indexes with `ackLevel = remote` (object
//! storage) or `replicated` (the disks of other indexers, [`replication`]) survive the loss of the machine.
//! Both places are object stores with the same objects.
//!
//! ```text
//! <root>/journal/<indexer>/00000000000000000041.journal   records of about 250 ms, of all sets
//! <root>/journal/<indexer>/00000000000000000042.journal   empty: sealed
//! ```
//!
//! An indexer puts the records of [lanes of the place](model::Lane::place) there after its own journal has
//! them. Objects have consecutive numbers, are put one at a time, and each on the condition that none with
//! its number exists. An acknowledgement waits for the object that has its records. An indexer that recovers
//! the events of a lost one first *seals* its log: it puts an empty object with the next number. The put of a
//! former owner that is still running then fails, so that it acknowledges no events that the recovery does
//! not read. Each owner puts a seal of its own, and so does each start of an indexer.
//!
//! The log has all records of a lane of its place that are not yet in a bucket: the start of an indexer
//! ensures this ([`agree`]). So the committed position of a lane means the same to the indexer and to the one
//! that recovers its events.
//!
//! Objects are deleted when the buckets of their records are in the catalog, except for the newest one, whose
//! number marks the end of the log. A seal stays for a day: a former owner that is cut off from the catalog
//! but not from the log would otherwise put its next object in its place, and acknowledge events that no
//! search reads.

mod agree;
mod fetch;
mod log;
mod logs;
mod object;

pub(crate) use agree::{Agreed, Committed, Journals, agree, agree_with, restore};
pub(crate) use fetch::{Source, begin, blocking, fetch, seal, sets};
pub(crate) use log::{Existing, RemoteLog, Shipment, delete, fail};
pub(crate) use logs::{Logs, Shipments};
pub(crate) use object::{decode, encode};

use model::IndexerId;
use object_store::path::Path;

/// The directory of all logs.
pub(crate) const FOLDER: &str = "journal";

/// Returns the directory of an indexer's log.
pub(crate) fn folder(indexer: IndexerId) -> Path {
    Path::from(format!("{FOLDER}/{}", indexer.0))
}

/// Returns the path of the object with a number.
pub(crate) fn path_of(indexer: IndexerId, number: u64) -> Path {
    Path::from(format!("{FOLDER}/{}/{number:020}.journal", indexer.0))
}

/// Returns the number of an object.
pub(crate) fn number_of(path: &Path) -> Option<u64> {
    path.filename()?.strip_suffix(".journal")?.parse().ok()
}
