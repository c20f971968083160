//! Objects of S3: read whole, unpacked by what they contain, told of by a queue.
//!
//! Everything of an object is safe before it is remembered as taken in, and only then is its
//! message deleted; so a crash reads an object again, from its start, and never misses one.

mod notice;
mod object;
mod queue;
mod reader;
mod taken;

pub use object::{Decoder, chunks};
pub use queue::SqsInput;
pub use reader::SqsReader;
pub use taken::Taken;
