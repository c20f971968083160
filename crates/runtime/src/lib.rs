//! All access to the outside: clock, randomness, object stores, open directories, signals, shutdown of
//! background tasks, health, metric names, logging, traces.
//!
//! Other crates take these as arguments, so that a test can pass a manual clock and wait for every
//! task to end. This crate has no domain knowledge and reads neither configuration nor the
//! environment (except allocator settings): `services` passes levels, formats and URLs.
//!
//! ```text
//! services -> telemetry::install(level, format), metrics::Recorder::install()
//!          -> SystemClock + Shutdown + store::open -> ingest, catalog, cache, search
//! ```
//!
//! Guarantees: a [`Clock`] never panics; after [`Shutdown::finish`] returns `Ok`, every task started
//! through it has ended.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod allocator;
pub mod health;
pub mod memory;
pub mod metrics;
pub mod process;
pub mod random;
pub mod signals;
pub mod store;
pub mod telemetry;
pub mod trace;

mod blocking;
mod budget;
mod clock;
mod error;
mod open_directory;
mod own_thread;
mod shutdown;

pub use blocking::blocking;
pub use budget::{Budget, OverBudget, Share};
pub use clock::{Clock, ManualClock, SystemClock};
pub use error::Error;
pub use health::Health;
pub use open_directory::{Entry, FileMark, OpenDirectory, Place};
pub use own_thread::on_own_thread;
pub use shutdown::{Shutdown, detached};
