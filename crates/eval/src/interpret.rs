//! Expressions of `eval` computed for one event at a time: rules that run on events as they arrive
//! (`INGEST_EVAL`, `STOP_PROCESSING_IF`), and macros.
//!
//! Guarantees: the same answers as a search gives for the same fields (a test in `plan` compares them for
//! every function); constants (regular expressions, time formats, networks) are compiled once; evaluation
//! never fails, what cannot be computed is null. Leaves to others: the syntax (`spl`), and what fields there
//! are ([`Scope`]).

mod choice;
mod compile;
mod each;
mod node;
#[cfg(test)]
mod tests;

use model::EventTime;

use crate::value::Datum;

pub use compile::Expression;

/// Where an expression finds its fields.
pub trait Scope {
    /// The value of a field; null where there is none.
    fn field(&self, name: &str) -> Datum<'_>;

    /// The names of all fields, for functions that take the whole event.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    /// The time of arrival.
    fn now(&self) -> EventTime;
}
