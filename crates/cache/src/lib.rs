//! A read cache in front of object storage: DRAM, then NVMe, then the store, with accounting.
//!
//! Not here: the choice of what is read, and opening buckets. The cache never has the only copy of any
//! data.
//!
//! ```text
//! search -> CachedStore::counted() -> index | data: blocks in DRAM -> on NVMe -> one ranged GET per gap
//!                |
//!                +-> SearchReads: bytes, hits, requests, retries and time per tier of this search
//!                +-> ReuseSampler: what caches of other sizes would read from the store
//! ```
//!
//! Guarantees:
//! - The same bytes as the store behind it, whatever the cache holds: only paths below the prefix of
//!   immutable objects (`buckets/`) are cached, every block on NVMe has a checksum, and a damaged
//!   block is fetched again.
//! - A block that several readers miss at once is fetched once; neighbouring missing blocks are
//!   fetched as one range, ranges side by side; a request that takes longer than nineteen of twenty is
//!   made a second time, within a budget.
//! - Footers and term indexes (reads marked [`model::IndexRead`]) have a share of their own in each
//!   tier: no amount of rows that is read pushes them out.
//! - Memory, NVMe bytes and bytes waiting to be written are bounded by [`Settings`].
//! - What NVMe holds survives a restart of the process.
//!
//! Paths must not be reused for another content across restarts: overwriting and deleting drop the
//! blocks this process knows of, and NVMe may remember an overwritten object after a crash.

mod block;
mod blocks;
mod counters;
mod error;
mod fetch;
mod hedge;
mod in_flight;
mod pool;
mod residency;
mod reuse;
mod room;
mod settings;
mod store;
mod waits;

pub use counters::{CacheStats, SearchReads};
pub use error::Error;
pub use residency::Residency;
pub use reuse::{CacheCurve, CurvePoint};
pub use settings::Settings;
pub use store::CachedStore;
pub use waits::StoreWait;
