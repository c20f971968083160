//! The journal in other places: what makes acknowledgements of indexes with `ackLevel = remote` (object
//! storage) or `replicated` (the disks of other indexers, [`replication`]) outlive the machine. Both are
//! object stores with the same objects.
//!
//! ```text
//! <root>/journal/<indexer>/00000000000000000041.journal   records of about 250 ms, of all sets
//! <root>/journal/<indexer>/00000000000000000042.journal   empty: sealed
//! ```
//!
//! An indexer puts the records of [lanes of the place](model::Lane::place) there, after its own journal has
//! them, in objects with consecutive numbers, each on the condition that there is none of that number yet,
//! and one at a time. An acknowledgement waits for the object that has its records. Whoever recovers the
//! events of an indexer that is gone first *seals* its log: puts an empty object with the next number. The
//! put of a former owner that is still running then fails, so that it acknowledges nothing that nobody would
//! read. Each owner puts a seal of its own, and so does each start of an indexer.
//!
//! A lane of a place is in its log as a whole, from the first record that is in no bucket on: the start of an
//! indexer sees to it ([`agree`]). So the committed position of a lane means the same to the indexer and to
//! whoever recovers its events.
//!
//! Objects go when the buckets of their records are in the catalog, except for the newest one: its number
//! tells where the log ends. A seal stays for a day: a former owner that is cut off from the catalog and not
//! from the log would put its next object in its place, and acknowledge what no search reads.

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

/// The folder of all logs.
pub(crate) const FOLDER: &str = "journal";

/// The folder of an indexer's log.
pub(crate) fn folder(indexer: IndexerId) -> Path {
    Path::from(format!("{FOLDER}/{}", indexer.0))
}

/// The object of a number.
pub(crate) fn path_of(indexer: IndexerId, number: u64) -> Path {
    Path::from(format!("{FOLDER}/{}/{number:020}.journal", indexer.0))
}

/// The number of an object.
pub(crate) fn number_of(path: &Path) -> Option<u64> {
    path.filename()?.strip_suffix(".journal")?.parse().ok()
}
