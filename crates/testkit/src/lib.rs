//! What several crates' tests need: directories, a real S3 server, stores that count, fail or crash.
//!
//! Used as a dev-dependency only. Nothing here imitates a component: the S3 server is MinIO as a
//! process, a crash is SIGKILL. It leaves event generators and SPL fixtures to their own crates.

mod decorator;
mod dir;
mod s3;
mod wait;

pub use decorator::{
    CountingStore, Counts, Crash, CrashingStore, Decorated, Failing, FailingStore, Hooks, Moment,
    Operation,
};
pub use dir::TestDir;
pub use s3::S3Server;
pub use wait::wait_until;
