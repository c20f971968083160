//! What several crates' tests need: directories, a real S3 server, a bad line to it, stores that count,
//! fail, wait or crash.
//!
//! Used as a dev-dependency only. Nothing here imitates a component: the S3 server is MinIO as a
//! process, a crash is SIGKILL. It leaves event generators and SPL fixtures to their own crates.
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
