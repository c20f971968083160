//! Inputs: where events come from, one file each. They turn bytes of the outside into [`Input`]s and
//! hand them to a [`Sink`]: an indexer's pipeline, or a forwarder's queue.
//!
//! Not here: what an event is (the pipeline cuts and dates, unless the sender did), HTTP and tokens
//! (`api`), how long anything is kept.
//!
//! ```text
//! socket, file, request body -> Input -> Sink::enqueue -> Acknowledgement -> Receipt
//! ```
//!
//! Invariants: an input bounds what it holds in memory; what a sink has not acknowledged is read
//! again where the source can be read again; what is dropped is counted and logged.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod body;
pub mod configured;
pub mod elastic;
mod error;
pub mod exec;
pub mod fifo;
#[doc(hidden)]
pub mod fuzzing;
pub mod hec;
mod input;
mod intake;
mod limits;
pub mod loki;
pub mod monitor;
mod names;
pub mod oneshot;
pub mod otlp;
mod own_directories;
mod remote;
pub mod s3;
pub mod settings;
mod sink;
mod syslog;
pub mod tcp;
pub mod text;
pub mod tls;
pub mod udp;
mod unpack;
mod utf16;

pub use error::Error;
pub use input::{BatchId, CutEvents, Input, InputMeta, MissingTime, OriginRef, Parts, StreamKey};
pub use limits::{EventLimits, OverLimit};
pub use names::HostNames;
pub use own_directories::OwnDirectories;
pub use remote::RemoteHost;
pub use sink::{Acknowledgement, Durability, Findings, Note, Receipt, Sink, SinkExt, SinkLimits};
pub use unpack::{is_binary, unpack};
pub use utf16::Utf16;
