//! SQL text that asks what a search asks, for searches of plain commands.
//!
//! Guarantees: a search that has commands or functions without an equivalent has no text, and the
//! reason names them; a text that is given holds for fields of one value each. What it takes for
//! granted beyond that is told in notes. Leaves to others: running it (`search::sql`).

pub(crate) mod aggregate;
pub(crate) mod events;
pub(crate) mod expr;
mod filter;
pub(crate) mod layer;

use std::fmt;

pub(crate) use layer::Layer;

/// A search as SQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlText {
    /// One `SELECT`.
    pub query: String,
    /// `earliest` of the search, a parameter beside the query.
    pub earliest: Option<String>,
    /// `latest`, likewise.
    pub latest: Option<String>,
    /// What it takes for granted.
    pub notes: Vec<String>,
}

/// Why a search has no SQL text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoSql {
    /// The command without an equivalent.
    pub command: String,
    /// What of it.
    pub reason: String,
}

impl fmt::Display for NoSql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no SQL for `{}`: {}", self.command, self.reason)
    }
}

/// Why a part has no equivalent.
pub(crate) type Reason = String;

/// Why a command has none.
pub(crate) const NO_EQUIVALENT: &str = "it has no equivalent";

/// A name as SQL writes it.
pub(crate) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text as SQL writes it.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
