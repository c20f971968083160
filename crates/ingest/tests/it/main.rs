//! Ingest from its inputs to the catalog, on real storage and across crashes.
#![allow(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used)]

// The other crates' name for it.
extern crate karst_ingest as ingest;

mod adoption;
mod away;
mod crash;
mod files;
mod forwarded;
mod freeze_crash;
mod index_removal;
mod lanes;
mod lifecycle;
mod merge_crash;
mod merging;
mod network;
mod on_s3;
mod parsing;
mod recoveries;
mod remote_ack;
mod restore;
mod retention;
mod rules;
mod samples;
mod set_aside;
mod setup;
mod taken_over;
mod trouble;
