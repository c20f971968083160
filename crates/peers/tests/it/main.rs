//! Hot buckets over real connections.
#![allow(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used)]

mod races;
mod support;
mod views;
