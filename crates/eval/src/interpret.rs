//! Evaluates `eval` expressions for one event at a time: for rules that run on events as they arrive
//! (`INGEST_EVAL`, `STOP_PROCESSING_IF`), and for macros.
//!
//! Guarantees: the results are those of a search over the same fields (a test in `plan` compares them for
//! every function); constants (regular expressions, time formats, networks) are compiled once; evaluation
//! never fails, a value that cannot be computed is null. Leaves to others: the syntax (`spl`), and the fields
//! ([`Scope`]).

mod choice;
mod compile;
mod each;
mod node;
#[cfg(test)]
mod tests;

use model::EventTime;

use crate::value::Datum;

pub use compile::Expression;

/// The source of the fields of an expression.
pub trait Scope {
    /// Returns the value of a field; null if the field does not exist.
    fn field(&self, name: &str) -> Datum<'_>;

    /// Returns the names of all fields, for functions that take the whole event.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the time of arrival.
    fn now(&self) -> EventTime;
}
