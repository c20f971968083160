//! Copies of journals over real connections: indexers that stop, lose their disks, recover from each other.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

mod chance;
mod replacing;
mod support;
