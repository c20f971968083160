//! SPL, the search language: text becomes a syntax tree or diagnostics.
//!
//! Guarantees: no input panics or recurses without bound, and every message has a place in the
//! text. Leaves to others: which fields exist, types, and what commands compute (`plan`).

pub mod ast;
mod wildcard;
