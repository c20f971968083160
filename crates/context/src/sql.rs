//! The SQL equivalent of a search, for searches of simple commands.
//!
//! Guarantees: a search that has commands or functions without an equivalent has no text, and the
//! reason names them; a text that is given holds for fields of one value each. What it takes for
//! granted beyond that is told in notes. Leaves to others: running it (`search::sql`).

pub mod aggregate;
pub mod events;
pub mod expr;
mod filter;
pub mod layer;

use std::fmt;

pub use layer::Layer;

/// A search as SQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlText {
    /// The query, a single `SELECT`.
    pub query: String,
    /// The parameter `earliest` of the SQL request.
    pub earliest: Option<String>,
    /// The parameter `latest` of the SQL request.
    pub latest: Option<String>,
    /// Assumptions under which the query is equivalent.
    pub notes: Vec<String>,
}

/// Why a search has no SQL equivalent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoSql {
    /// The command without an equivalent.
    pub command: String,
    /// The part of the command that has none.
    pub reason: String,
}

impl fmt::Display for NoSql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no SQL for `{}`: {}", self.command, self.reason)
    }
}

/// Why a part of a search has no equivalent.
pub type Reason = String;

/// The reason for commands without an equivalent.
pub const NO_EQUIVALENT: &str = "it has no equivalent";

/// Quotes a name as an SQL identifier.
pub fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Quotes a text as an SQL literal.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
