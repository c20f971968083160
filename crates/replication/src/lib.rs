//! Copies of the journal of an indexer on the disks of other indexers: acknowledgements of indexes with
//! `ackLevel = replicated` survive the loss of the machine, at a latency of milliseconds.
//!
//! ```text
//! owner: ingest -> Replicas --.                      document replicas/<owner>: who has copies, and which
//!                             | gRPC, karst.replication.v1 (schemas/proto/replication.proto)
//! others: ReplicaService -> Copies: <data>/replicas/<owner>/<copy>/<number>.log
//! ```
//!
//! [`ReplicaStore`] is an object store of journals: `ingest` writes the same objects there as to object
//! storage (`ingest::remote`), under the same paths. A put succeeds when *all* copies have the object on
//! disk. The catalog names the indexers with copies. If one does not answer, another indexer gets a copy of
//! everything, and then the document is changed to name it; until then, the owner acknowledges nothing.
//! `cluster::Placement` decides the number of copies and their sites.
//!
//! Guarantees: every copy that the catalog names has each object whose put has succeeded and that was not
//! deleted. So one copy is enough to recover from, and sealing one is enough to end the acknowledgements of
//! an owner that is still running. No copy is on the disk of its owner, and no two are on one disk: a request
//! names the indexer for which it is meant, because another process may have its address by now. The owner
//! changes the document only while its sets are not taken over: both are entries of one catalog, so each side
//! sees earlier changes of the other.
//!
//! Leaves to others: the meaning of objects, when they are no longer needed, who recovers (`ingest`,
//! `cluster`), and connections (the caller provides the channels and hosts the service).

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

/// Returns the indexers with copies of their journals at another indexer, according to the catalog.
#[must_use]
pub fn held_at(snapshot: &catalog::Snapshot, peer: model::IndexerId) -> Vec<model::IndexerId> {
    members::Members::held_at(snapshot, peer)
}

/// Returns the indexers whose journals have copies, each with the indexers that have them, according to the
/// catalog.
#[must_use]
pub fn copies(snapshot: &catalog::Snapshot) -> Vec<(model::IndexerId, Vec<model::IndexerId>)> {
    members::Members::all(snapshot)
}

/// The declarations of settings.
pub const DECLARED: &[&[conf::Setting]] = &[Settings::SETTINGS];

/// The name of the gRPC service.
pub(crate) const SERVICE: &str = "karst.replication.v1.Replication";
/// The method that creates an empty copy.
pub const BEGIN: &str = "/karst.replication.v1.Replication/Begin";
/// The method that adds an object to a copy, durable when it is answered; an object without data seals the
/// copy.
pub const PUT: &str = "/karst.replication.v1.Replication/Put";
/// The method that lists number and size of each object of a copy.
pub const LIST: &str = "/karst.replication.v1.Replication/List";
/// The method that reads an object of a copy.
pub const GET: &str = "/karst.replication.v1.Replication/Get";
/// The method that releases objects of a copy.
pub const KEEP: &str = "/karst.replication.v1.Replication/Keep";
/// The method that removes a copy.
pub const DROP: &str = "/karst.replication.v1.Replication/Drop";
/// Maximum length of a message: the largest group of records fits.
pub(crate) const MAX_MESSAGE: usize = 256 << 20;
