//! Ingest from its inputs to the catalog, on real storage and across crashes.
#![allow(clippy::unwrap_used)]

// The other crates' name for it.
extern crate karst_ingest as ingest;

mod crash;
mod files;
mod lifecycle;
mod network;
mod parsing;
mod setup;
mod trouble;
