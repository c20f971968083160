//! Inputs over real files, processes and sockets, into a sink that remembers everything.
#![allow(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used)]

// The other crates' name for it.
extern crate karst_inputs as inputs;

mod many;
mod monitor;
mod names;
mod rotation;
mod running;
mod sink;
