//! Expressions of `eval` computed value by value, for rules that run on events as they arrive
//! (`INGEST_EVAL`, `STOP_PROCESSING_IF`).
//!
//! Guarantees: the same answers as the search language gives for the same fields; literals (regular
//! expressions, time formats, networks) are compiled once; evaluation never fails, what cannot be
//! computed is null. Leaves to others: the syntax (`spl`), and what fields there are ([`Scope`]).

mod compile;
mod functions;
mod node;
#[cfg(test)]
mod tests;
mod value;

use model::EventTime;

pub use compile::Expression;
pub use value::{Value, number_text, parse_number};

/// Where an expression finds its fields.
pub trait Scope {
    /// The value of a field; null where there is none.
    fn field(&self, name: &str) -> Value<'_>;

    /// The time of arrival.
    fn now(&self) -> EventTime;
}

/// The functions there are, by their names, aliases included.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    functions::names()
}
