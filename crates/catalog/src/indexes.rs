//! What searches ask of the indexes.

use model::IndexName;

/// Names of the indexes that exist now.
pub trait IndexNames: Send + Sync + std::fmt::Debug {
    /// All of them, internal ones included.
    fn names(&self) -> Vec<IndexName>;
    /// Those searched when a search names none.
    fn default_names(&self) -> Vec<IndexName>;
    /// Those with `datatype = metric`, which searches of events leave out.
    fn metric_names(&self) -> Vec<IndexName>;
}
