//! Wire messages between Karst's programs, as `schemas/proto` describes them.
//!
//! Not here: connections, and what the messages mean to either side.
//!
//! Invariants: a message of an unknown kind or with unknown fields decodes (to nothing, or without
//! them); nothing is unpacked beyond the length that the reader allows.

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

/// The version both sides speak.
pub const VERSION: u32 = 1;

/// Longest frame by default; an event is cut before it gets that long.
pub const MAX_FRAME: usize = 72 << 20;
