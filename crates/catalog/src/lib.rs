//! The catalog: which buckets exist. Durable, in object storage.
//!
//! The crate does not read or write bucket objects, and does not decide which buckets are merged or frozen.
//! The catalog is a small key-value database (SlateDB) below one prefix of the store. All of it is also in
//! memory, so reading needs no request. The exception are the summaries of buckets, most of the data: they
//! are read when they are needed ([`Catalog::summaries`]; docs/decisions/0028). A large catalog is opened
//! from packs, which repeat the headers of buckets in fewer entries (docs/decisions/0055).
//!
//! ```text
//! ingest: roll -> put the bucket's object -> Catalog::commit(add, ranges) -> release the journal
//! search: hot snapshot, then Catalog::snapshot()                      |
//!                                         one write-ahead object, put-if-absent, in the store
//! ```
//!
//! Guarantees:
//! - A [`Commit`] is one atomic, durable write: all or nothing, also after a crash at any moment.
//!   When [`Catalog::commit`] returns, [`Catalog::snapshot`] shows it.
//! - Commits are idempotent: a repeated commit changes nothing, even if the bucket it added has
//!   been replaced by a merge in the meantime.
//! - Commits that wait at the same time are one write: one request to the store.
//! - An event is in one bucket: a commit whose journal records overlap those of other buckets is refused
//!   ([`Error::Overlap`]).
//! - Only the owner of a hot set commits its buckets: a commit with another epoch than that of the last
//!   [`Takeover`] is refused ([`Error::OldEpoch`]).
//! - There is one writer. A [`Lease`], taken before the catalog is opened, names it. Opening the
//!   catalog a second time fences the first writer: its commits fail with [`Error::Fenced`] and
//!   change nothing.
//! - A put that succeeded without a response is distinguished from fencing by its metadata. A local
//!   directory stores no metadata: there the catalog reports that it is fenced, and reopening it
//!   loses nothing.
//! - A cancelled (dropped) call to `commit` is applied completely or not at all, and the snapshot
//!   matches the durable state.
//!
//! In a cluster, one process has the catalog open and serves it ([`Catalog::service`], gRPC). Others follow
//! it ([`Catalog::follow`]) with the same snapshots, slightly later, and send it their changes
//! (docs/decisions/0030). A follower becomes the writer in place ([`Catalog::lead`]; docs/decisions/0033).
//! The catalog and its object store have the same identity ([`StoreId`]), so that a process with another
//! store, or another catalog, is recognized.
//!
//! Example:
//! ```no_run
//! # use std::sync::Arc;
//! # use object_store::ObjectStore;
//! # async fn example(store: Arc<dyn ObjectStore>) -> Result<(), karst_catalog::Error> {
//! use karst_catalog::{Catalog, Settings};
//! let clock = std::sync::Arc::new(runtime::SystemClock);
//! let catalog = Catalog::open(store, "catalog", Settings::default(), clock).await?;
//! let buckets = catalog.snapshot().overlapping(&[], &model::TimeRange::ALL).count();
//! # let _ = buckets; Ok(()) }
//! ```
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod adapter;
mod buckets;
mod catalog;
mod change;
mod client;
mod codec;
mod commit;
mod contents;
mod error;
mod feed;
mod followed;
mod follower;
#[doc(hidden)]
pub mod fuzzing;
mod holder;
mod indexes;
mod lease;
mod load;
mod migration;
mod packs;
mod rules;
pub mod salvage;
mod service;
mod settings;
pub mod simulated;
mod snapshot;
mod stalled;
mod store_id;
mod summaries;
mod ticks;
mod wire;
mod writer;

pub use buckets::{Buckets, Selected, Totals};
pub use catalog::Catalog;
pub use codec::Batch;
pub use commit::{Commit, Discarded, Documents, JournalRange, NamedDocument, Takeover};
pub use error::Error;
pub use followed::Followed;
pub use holder::Holder;
pub use indexes::IndexNames;
pub use lease::{Lease, LeaseSettings, LeaseWatch, Lost, Renewals, Seen};
pub use rules::{Changes, Rules, Written};
pub use salvage::{Salvaged, salvage};
pub use service::CatalogService;
pub use settings::Settings;
pub use snapshot::{Document, OWN_EPOCH, Snapshot};
pub use stalled::Stalled;
pub use store_id::{OtherStore, StoreId, has_catalog_at_start};
