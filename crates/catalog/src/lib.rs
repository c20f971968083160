//! The durable truth of which buckets exist, kept in object storage.
//!
//! It does not read or write bucket objects, does not decide what is merged or frozen, and holds no
//! opinion about peers. It is a small key-value database (SlateDB) below one prefix of the store;
//! everything in it is also in memory, so reading the catalog costs no request.
//!
//! ```text
//! ingest: roll -> put the bucket's object -> Catalog::commit(add, positions) -> release the journal
//! search: hot snapshot, then Catalog::snapshot()                      |
//!                                         one write-ahead object, put-if-absent, in the store
//! ```
//!
//! Guarantees:
//! - A [`Commit`] is one atomic, durable write: all of it or nothing, also after a crash at any
//!   moment. When [`Catalog::commit`] returns, [`Catalog::snapshot`] shows it.
//! - A commit may be repeated: the second time it changes nothing, even if the bucket it added has
//!   been replaced by a merge in between.
//! - There is one writer. A [`Lease`] tells who; it is asked for before the catalog is opened.
//!   Opening the catalog a second time fences the first: its commits fail with [`Error::Fenced`] and
//!   change nothing.
//! - A put that the store did but did not report is told from a fence by its metadata. A directory
//!   keeps none: there the catalog reports a fence, and opening it again goes on with nothing lost.
//! - A dropped (cancelled) call to `commit` is still carried out or not at all, and the snapshot
//!   follows what is durable.
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

mod adapter;
mod catalog;
mod codec;
mod commit;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod lease;
pub mod salvage;
mod settings;
mod snapshot;

pub use catalog::Catalog;
pub use commit::{Commit, Discarded};
pub use error::Error;
pub use lease::{Holder, Lease, LeaseSettings, Lost};
pub use salvage::{Salvaged, salvage};
pub use settings::Settings;
pub use snapshot::{Document, Snapshot};
