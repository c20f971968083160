//! What Karst knows of data before it sees it: `.conf` layers, time formats, source types, and the
//! rules that cut text into events and fields.
//!
//! Pure: the only I/O is [`layers::Layers::read`], which reads a directory of `.conf` files. Leaves to
//! others: running the rules over streams (`ingest`), planning with them (`plan`).

pub mod conf;
mod error;
pub mod layers;
mod pattern;
pub mod registry;
pub mod time;
pub mod timestamp;

pub use error::Error;
pub use pattern::{Groups, Pattern};
