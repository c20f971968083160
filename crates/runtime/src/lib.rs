//! The one door to effects: clock, store, shutdown of background work, health, metric names, tracing
//! set-up.
//!
//! Other crates take what they need from here as arguments, so that a test can hand in a clock it
//! moves by hand and wait for every task to end. It holds no domain knowledge and reads neither
//! configuration nor, but for settings of the allocator, the environment: `services` decides levels,
//! formats and URLs and passes them in.
//!
//! ```text
//! services -> telemetry::install(level, format), metrics::Recorder::install()
//!          -> SystemClock + Shutdown + store::open -> ingest, catalog, cache, search
//! ```
//!
//! Guarantees: a [`Clock`] never panics; after [`Shutdown::finish`] returns `Ok`, every task started
//! through it has ended.

pub mod allocator;
pub mod health;
pub mod metrics;
pub mod process;
pub mod store;
pub mod telemetry;

mod budget;
mod clock;
mod error;
mod shutdown;

pub use budget::{Budget, OverBudget, Share};
pub use clock::{Clock, ManualClock, SystemClock};
pub use error::Error;
pub use health::Health;
pub use shutdown::Shutdown;
