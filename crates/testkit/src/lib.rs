//! Shared test infrastructure: directories, a real S3 server, an unreliable proxy in front of it, and
//! stores that count, fail, delay or crash.
//!
//! Used as a dev-dependency only. Nothing here imitates a component: the S3 server is a MinIO process, a
//! crash is SIGKILL. Event generators and SPL fixtures are in their own crates.
#![allow(clippy::disallowed_methods)]

mod decorator;
mod dir;
mod proxy;
mod s3;
mod wait;

pub use decorator::{
    CountingStore, Counts, Crash, CrashingStore, Decorated, Failing, FailingStore, Hooks, Moment,
    Operation, Slow, SlowStore,
};
pub use dir::TestDir;
pub use proxy::{Faults, ProxyCounts, S3Proxy};
pub use s3::S3Server;
pub use wait::wait_until;
