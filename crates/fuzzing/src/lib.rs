//! Fuzzes all decoders of data from outside or from disk: inputs, the forwarders' protocol, the journal,
//! buckets, catalog entries, configuration, packed apps, partial states of aggregations, SAML responses, and
//! searches.
//!
//! A decoder may reject an input; it must not panic, take longer than [`run::MAX_TIME`] or more memory than
//! [`run::MAX_MEMORY`] for one input. The same seed yields the same inputs. The tests run a few thousand
//! inputs per decoder; `make fuzz FUZZ_SECONDS=3600` runs for the given time.
//!
//! `crates/spl/examples/fuzz.rs` also fuzzes the parser of searches, with lower limits.
#![allow(clippy::disallowed_methods)]

pub mod mutate;
pub mod run;
pub mod targets;
