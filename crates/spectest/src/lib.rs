//! The runner of spec files: SPL specified as queries with their rows in and rows out.
//!
//! A block of a file states one behaviour. It runs over every given [`Topology`], because results must not
//! depend on where events are stored. This crate has two in-memory topologies; the crates that store events
//! have their own (one bucket, many buckets, hot, restarted) and pass them to [`run_directory`].
//! `specs/README.md` describes the language of the files.
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
pub use run::{is_about_wildcards, run_directory, run_file, spec_files};
pub use spec::{Block, Expectation, ParseError, parse};
pub use topology::Topology;
