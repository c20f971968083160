//! Inputs that their senders number: each is kept once, however often it is sent.
//!
//! A forwarder numbers its batches per channel and sends a batch again when it has seen no
//! acknowledgement. The journal writes all parts of such an input together with a note of its
//! number, in one group; the numbers of a channel are kept beyond the journal's segments in
//! the file `channels` beside them. So a number is known exactly if its events are safe.
//!
//! ```text
//! forwarder -> connection -> Ingest::deliver -> pipeline -> journal group [parts, note] -> ack
//!                                  | number known: acknowledged without being kept again
//! ```
//!
//! Leaves to others: accepting connections and TLS (`services`), what the sender keeps until it has
//! the acknowledgement (the forwarder).

mod connection;
mod content;

pub use connection::{Doors, converse};
pub(crate) use content::input_of;
pub use protocol::Sequences;
