//! Ingest: receives events and writes buckets. `inputs` pass bytes to pipeline sets; a set cuts them into
//! events, writes these to its journal, makes them searchable in hot buckets, and uploads full buckets.
//!
//! Leaves to others: sockets and files (`inputs`), HTTP and tokens (`api`), the bucket format (`bucket`), the
//! content of rules (`knowledge`), and searching (`search`, which reads hot buckets through
//! `bucket::HotBuckets`).
//!
//! ```text
//! inputs -> parsing -> merging -> typing -> indexing -> journal (fsync) -> hot bucket -> ack
//!                                                                             | roll
//!                                    journal released <- catalog <- object storage
//! ```
//!
//! Invariants: events that [`Ingest`] has acknowledged survive a crash of the process at any moment; an event
//! of the journal is in exactly one bucket, hot or in the catalog; every queue is bounded in bytes, and a
//! full one refuses with [`model::ErrorKind::Exhausted`].
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod ack;
mod adoption;
mod channels;
mod error;
mod fence;
mod fields;
pub mod forwarded;
mod forwarders;
#[doc(hidden)]
pub mod fuzzing;
mod gate;
mod hot;
mod indexes;
mod ingest;
mod journal;
mod lifecycle;
mod orphans;
mod parts;
mod pipeline;
mod remote;
pub mod restore;
mod rolling;
mod set;
mod settings;
#[doc(hidden)]
pub mod simulation;
mod startup;
mod tally;

pub use adoption::{Adopted, has_log, sets_of_log, unrecovered};
pub use error::Error;
pub use forwarders::ForwarderStatus;
pub use hot::aside::SetAside;
pub use hot::indexed::Indexed;
pub use hot::recovery::Lost;
pub use hot::spool::{DiskCheck, SpoolStatus, full_disks, spare_bytes};
pub use hot::store::HotStatus;
pub use hot::upload::UploadStatus;
pub use indexes::{DEFAULT_INDEX, IndexCatalog, IndexDefinition, KnownIndex, OtherHot};
pub use ingest::{Ingest, Status, Window};
pub use journal::Codec;
pub use lifecycle::{Thaw, Thawed};
pub use parts::Parts;
pub use pipeline::preview::{KeptEvent, Preview, PreviewedEvent, Sample, SkippedLine};
pub use pipeline::queue::QueueStatus;
pub use pipeline::trace::{Began, TimeFrom};
pub use settings::{DECLARED, Keep, LifecycleSettings, PreviewSettings, Settings};
pub use tally::{Delays, Tallied};
