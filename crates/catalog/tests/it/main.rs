//! The catalog on a local directory, in memory and on S3, and killed in between.
#![allow(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, unreachable_pub)]

mod catalog;
mod crash;
mod earlier;
mod followers;
mod owners;
mod standby;
mod summaries;
mod support;
