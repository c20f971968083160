//! Throws mutated bytes at everything that decodes what comes from outside or from a disk: inputs, the
//! forwarders' protocol, the journal, buckets, catalog entries, configuration, packed apps, partial states of
//! aggregations.
//!
//! A decoder may refuse; it may not panic, take longer than [`run::MAX_TIME`] or more than
//! [`run::MAX_MEMORY`] for one input. The same seed throws the same bytes. A few thousand inputs each are a
//! test; `make fuzz FUZZ_SECONDS=3600` throws for as long as one likes.
//!
//! Not here: the parser of searches, which `crates/spl/examples/fuzz.rs` does.
#![allow(clippy::disallowed_methods)]

pub mod mutate;
pub mod run;
pub mod targets;
