//! The interface through which searches get the names of indexes.

use model::IndexName;

/// Names of the indexes that exist now.
pub trait IndexNames: Send + Sync + std::fmt::Debug {
    /// Returns all names, including internal indexes.
    fn names(&self) -> Vec<IndexName>;
    /// Returns the indexes that are searched if a search names none.
    fn default_names(&self) -> Vec<IndexName>;
    /// Returns the indexes with `datatype = metric`, which event searches leave out.
    fn metric_names(&self) -> Vec<IndexName>;
    /// Returns the indexes that are disabled: they are not among all names, and searches ignore them.
    fn disabled_names(&self) -> Vec<IndexName> {
        Vec::new()
    }
}
