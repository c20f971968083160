//! The forwarder: receives events at their source, queues them on its own disk, and sends each exactly once
//! to one of several indexers, even if processes crash.
//!
//! [`Forwarder`] is the process: it reads the configuration, including the apps from the deployment server,
//! and starts the inputs and outputs.
//!
//! Not here: the definition of an event (the indexer cuts, dates and indexes; the forwarder only cuts
//! between events, by the rules that the indexer sends, and reads single events only if rules drop or route
//! them), inputs themselves (`inputs`), the messages (`protocol`).
//!
//! ```text
//! inputs -> Route: cut, filter, clone -> DiskQueue (fsync) -> ack to the input
//!                                            |
//!                                         Sender: balance, bind -> Link ... Link -> indexers
//!                                            ^ acknowledged: removed
//! ```
//!
//! Invariants: an input is acknowledged when its events are on disk; a batch is removed from disk when an
//! indexer has acknowledged it; a batch that may be in an indexer's journal is not sent to another one
//! before `deadIndexerTimeout`; memory, queue and unacknowledged batches are limited.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod agent;
mod balance;
mod configuration;
mod content;
mod cutter;
mod dead_letters;
mod deployment_client;
mod discovery;
mod error;
mod filter;
mod header;
mod indexer_rules;
mod ledger;
mod link;
mod notes;
mod outputs;
mod process;
mod queue;
mod routing;
mod rules;
mod rules_report;
mod sender;
pub mod settings;
mod sink;
mod splitter;
pub mod status;
mod tls;
mod view;

pub use agent::Options;
pub use deployment_client::{Change, deployed_apps};
pub use error::Error;
pub use outputs::{Group, IndexFilter, Outputs, Server, TlsSettings};
pub use process::Forwarder;
pub use routing::routing_warnings;
pub use rules::rule_warnings;
