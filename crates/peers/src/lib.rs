//! Hot buckets between processes: an indexer shows its own, a search head sees those of all indexers.
//!
//! ```text
//! indexer:      hot rows, spool  -> HotService --.
//!                                                 | gRPC, karst.hot.v1 (schemas/proto/hot.proto)
//! search head:  search <- Directory <- held rows -'
//! ```
//!
//! A search head keeps the rows that it has received, in limited memory (`max_peer_rows_mb`), and requests
//! only later ones: a search over rows that were searched before transfers only a list. Rows never change,
//! and are removed with their bucket.
//!
//! Guarantees: a view has each bucket once, with all rows that its indexer had acknowledged at the time of
//! the request; a bucket that had been removed is in the catalog as of [`floor`](bucket::HotView::floor).
//! An indexer whose rows are unavailable is [missing](bucket::HotView::missing), with the reason.
//!
//! It leaves to others: connections and their authentication (the caller provides the channels and serves the
//! service).

mod answered;
mod connection;
mod directory;
mod held;
mod identity;
pub mod incarnation;
mod leaving;
mod maintenance;
mod objects;
mod registration;
mod restarts;
mod rows;
mod service;
mod settings;
mod suspicion;
mod write_times;

pub use answered::Answered;
pub use connection::Connect;
pub use directory::{Directory, Indexer, Indexers};
pub use identity::identity_at;
pub use leaving::{ask_to_leave, asked, forget_leaving, handover, keep, leaving, write_handover};
pub use maintenance::{maintenance, set_maintenance};
pub use registration::{
    ForwarderPort, Registration, bundle_of, close_to_forwarders, is_removed, leader, leave,
    note_bundle, note_leader, note_local_acks, remove,
};
pub use restarts::{cancel_wave, is_told, replace_wave, wave};
pub use service::{CountsSearches, EmptiesIndexes, HotParts, HotService};
pub use settings::Settings;
pub use write_times::WriteTimes;

/// The declarations of settings.
pub const DECLARED: &[&[conf::Setting]] = &[Settings::SETTINGS];

/// The service and its methods.
pub(crate) const SERVICE: &str = "karst.hot.v1.Hot";
pub(crate) const OPEN: &str = "/karst.hot.v1.Hot/Open";
pub(crate) const READ: &str = "/karst.hot.v1.Hot/Read";
pub(crate) const ROLL: &str = "/karst.hot.v1.Hot/Roll";
/// Longest message: the longest event fits.
pub(crate) const MAX_MESSAGE: usize = 256 << 20;
/// Longer answers are sent in parts, as far as events allow.
pub(crate) const PART: usize = 2 << 20;
