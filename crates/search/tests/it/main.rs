//! Searches over real buckets in a store, with a real catalog and cache.
#![allow(clippy::unwrap_used)]

mod shortcuts;
mod specs;
mod support;
