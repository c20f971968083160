//! The runner of spec files: SPL specified as queries with their rows in and rows out.
//!
//! A block of a file states one behaviour. It runs over every [`Topology`] it is given, because an
//! answer may not depend on where events lie. This crate brings two topologies in memory; the
//! crates that store events bring theirs (one bucket, many buckets, hot, restarted) and hand them
//! to [`run_directory`]. The language of the files is described in `specs/README.md`.
#![allow(clippy::disallowed_methods)]

mod cell;
mod corpus;
mod event;
mod host;
mod memory;
mod places;
mod report;
mod run;
mod spec;
mod topology;

pub use cell::Cell;
pub use corpus::{CorpusSearch, World, corpus};
pub use event::SpecEvent;
pub use memory::{Memory, MemorySource};
pub use places::check_places;
pub use report::{Failure, Report};
pub use run::{run_directory, run_file};
pub use spec::{Block, Expectation, ParseError, parse};
pub use topology::Topology;
