//! Inputs that their senders number: each is stored once, however often it is sent.
//!
//! A forwarder numbers its batches per channel, and sends a batch again if it has not received an
//! acknowledgement. The journal writes all parts of such an input together with a note of its number, in one
//! group; the file `channels` next to the journals keeps the numbers of a channel after their segments are
//! released. So a number is known exactly if its events are durable.
//!
//! ```text
//! forwarder -> connection -> Ingest::deliver -> pipeline -> journal group [parts, note] -> ack
//!                                  | number known: acknowledged without being kept again
//! ```
//!
//! Leaves to others: accepting connections and TLS (`services`), the queue of unacknowledged batches (the
//! forwarder).

mod connection;
mod content;
mod rules;

pub use connection::{Doors, converse};
pub(crate) use content::input_of;
pub use protocol::Sequences;
pub use rules::RulesLimit;
