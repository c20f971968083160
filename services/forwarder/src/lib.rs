//! The forwarder: takes events in where they arise, keeps them on its own disk, and brings each to
//! one of several indexers, once, whoever dies meanwhile.
//!
//! [`Forwarder`] is the process: it reads the configuration, with the apps that the deployment client
//! has brought, and starts what follows from it.
//!
//! Not here: what an event is (the indexer cuts, dates and indexes; the forwarder only cuts between
//! events, and looks at single ones where rules drop or route them), inputs themselves (`inputs`), the
//! messages (`protocol`).
//!
//! ```text
//! inputs -> Route: cut, filter, clone -> DiskQueue (fsync) -> ack to the input
//!                                            |
//!                                         Sender: balance, bind -> Link ... Link -> indexers
//!                                            ^ acknowledged: forgotten
//! ```
//!
//! Invariants: an input is acknowledged when its events are on the disk; a batch leaves the disk when an
//! indexer has acknowledged it; a batch that may be in an indexer's journal goes to no other one
//! before `deadIndexerTimeout`; memory, queue and unacknowledged batches are bounded.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod agent;
mod balance;
mod configuration;
mod content;
mod cutter;
mod dead_letters;
mod deployment_client;
mod error;
mod filter;
mod header;
mod ledger;
mod link;
mod notes;
mod outputs;
mod process;
mod queue;
mod routing;
mod rules;
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
