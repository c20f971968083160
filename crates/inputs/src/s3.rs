//! Objects of S3: read completely, decompressed according to their content, and announced by a queue.
//!
//! All events of an object are safe before it is recorded as indexed, and only then is its message deleted;
//! so a crash causes an object to be read again, from its start, but never to be missed.

mod notice;
mod object;
mod queue;
mod reader;
mod taken;

pub use object::{Decoder, chunks};
pub use queue::SqsInput;
pub use reader::SqsReader;
pub use taken::Taken;
