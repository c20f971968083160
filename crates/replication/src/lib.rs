//! Copies of the journal of an indexer on the disks of other indexers: what makes acknowledgements of
//! indexes with `ackLevel = replicated` outlive the machine, within milliseconds.
//!
//! ```text
//! owner: ingest -> Replicas --.                      document replicas/<owner>: who has copies, and which
//!                             | gRPC, karst.replication.v1 (schemas/proto/replication.proto)
//! others: ReplicaService -> Copies: <data>/replicas/<owner>/<copy>/<number>.log
//! ```
//!
//! [`ReplicaStore`] is an object store of journals: `ingest` writes the same objects there as to object
//! storage (`ingest::remote`), under the same paths. An object is put when *all* copies have it on their
//! disks. The catalog says who has copies. If one does not answer, another indexer gets a copy of
//! everything, and then the document names it; in between, the owner acknowledges nothing. How many there are
//! and in which sites is decided by `cluster::Placement`.
//!
//! Guarantees: every copy that the catalog names has each object whose put has succeeded and that was not
//! deleted. So one copy is enough to recover from, and sealing one is enough to end the acknowledgements of
//! an owner that is still running. No copy is on the disk of its owner, and no two are on one disk: a request
//! names the indexer that it is for, whose address another process may have by now. The owner changes the
//! document only while nobody has taken over its sets: both are entries of one catalog, so each side sees
//! what the other one did before.
//!
//! Leaves to others: what objects mean, when they are not needed any more, who recovers (`ingest`,
//! `cluster`), connections (whoever gives the channels and serves the service).

mod client;
mod copies;
mod disk;
mod members;
mod own;
mod service;
mod settings;
mod store;

pub use client::{Calls, Connect, Peer, Peers};
pub use copies::Copies;
pub use own::{Identities, NamedCopies, Parts, Pauses, Removed, Replicas};
pub use service::ReplicaService;
pub use settings::Settings;
pub use store::ReplicaStore;

/// The indexers with copies of their journals at another one, as the catalog names them.
#[must_use]
pub fn held_at(snapshot: &catalog::Snapshot, peer: model::IndexerId) -> Vec<model::IndexerId> {
    members::Members::held_at(snapshot, peer)
}

/// The indexers whose journals have copies, each with the indexers that have them, as the catalog names them.
#[must_use]
pub fn copies(snapshot: &catalog::Snapshot) -> Vec<(model::IndexerId, Vec<model::IndexerId>)> {
    members::Members::all(snapshot)
}

/// The declarations of settings.
pub const DECLARED: &[&[conf::Setting]] = &[Settings::SETTINGS];

/// The service.
pub(crate) const SERVICE: &str = "karst.replication.v1.Replication";
/// Makes an empty copy.
pub const BEGIN: &str = "/karst.replication.v1.Replication/Begin";
/// Adds an object to a copy, durable when it is answered; one without data seals it.
pub const PUT: &str = "/karst.replication.v1.Replication/Put";
/// Number and size of each object of a copy.
pub const LIST: &str = "/karst.replication.v1.Replication/List";
/// An object of a copy.
pub const GET: &str = "/karst.replication.v1.Replication/Get";
/// Lets go of objects of a copy.
pub const KEEP: &str = "/karst.replication.v1.Replication/Keep";
/// Removes a copy.
pub const DROP: &str = "/karst.replication.v1.Replication/Drop";
/// Longest message: the longest group of records fits.
pub(crate) const MAX_MESSAGE: usize = 256 << 20;
