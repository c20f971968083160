//! Load for tests and benchmarks: generated web-shop logs, and real ones repeated with fresh times.
//!
//! A generated event n is a function of the seed and n alone. So ranges can be made in parallel and in
//! any order, every run gives the same bytes, and the true answer of a question is computed from the
//! same draws ([`truth`]) without reading any text.
//!
//! ```text
//! Stream::event(n) -> Event --LineWriter--> text --produce--> sinks::{file, null}
//!                          \                \--load::Generated--\
//!                           \--Truth--> answers                  >--pace--> sinks::{hec, tcp, file}
//!                     files --replay--> lines ---load::Replay---/
//! ```
//!
//! ```
//! let stream = loadgen::Stream { seed: 1, events: 10, start: 0, span: 10_000_000, hosts: 200 };
//! let mut text = Vec::new();
//! loadgen::LineWriter::new(&stream).write(&stream.event(10), &mut text);
//! assert!(text.starts_with(b"1970-01-01T00:00:09.000000Z web-"));
//! ```
//!
//! What a line holds is in [`event`], its text in [`line`](mod@line). [`search`] asks a server again and
//! again. Not here: whether what it found is right; the benchmark compares.
#![allow(clippy::disallowed_methods)]

pub mod event;
pub mod latency;
pub mod line;
pub mod load;
pub mod pace;
pub mod parse;
pub mod produce;
pub mod replay;
pub mod search;
pub mod sinks;
pub mod truth;
pub mod words;

pub use event::{Event, Stream};
pub use line::LineWriter;
