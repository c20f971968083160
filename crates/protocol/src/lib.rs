//! Wire messages between Karst's programs, as described by `schemas/proto`.
//!
//! Not here: connections, and the handling of the messages.
//!
//! Invariants: a message of an unknown kind decodes to nothing, and unknown fields are ignored; unpacking
//! never exceeds the reader's limit.

pub mod catalog;
mod content;
mod forward;
pub mod hot;
pub mod replication;
#[cfg(test)]
mod schema;
pub mod search;
mod sequences;

pub use content::{Error, pack, unpack};
pub use forward::*;
pub use sequences::Sequences;

/// The protocol version of both sides.
pub const VERSION: u32 = 1;

/// Default maximum size of a frame; longer events are truncated before they are sent.
pub const MAX_FRAME: usize = 72 << 20;
