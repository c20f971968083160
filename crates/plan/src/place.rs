//! Where a command may run, for a search over the parts of several indexers.
//!
//! Guarantees: a value holds for any split of the rows; a test of `spectest` checks it with random splits. It
//! assumes that all parts have the same columns, since a search is planned once, and that the rows of a part
//! keep their order. Leaves to others: which commands of a search run where (a plan of several nodes).

use std::fmt;

/// Where a command may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// It makes rows, and stands first.
    Generating(Origin),
    /// At the indexers, on the rows of each part by themselves and in any order. The results of the parts,
    /// put together by the names of their columns, are the result for all rows.
    Streaming,
    /// In part at the indexers; the search head puts the parts together.
    TwoStep(TwoStep),
    /// At the search head, which needs the rows of all parts, or their order.
    SearchHead,
}

/// Where a generating command makes its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// At the indexers, of their own buckets; the rows of all parts together are the result.
    Indexers,
    /// At the indexers as partial results, which the search head merges.
    TwoStep,
    /// At the search head.
    SearchHead,
    /// Where the commands do that stand for it, or the searches in it.
    Expanded,
}

/// How parts are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TwoStep {
    /// Each part computes partial states of its groups, which the search head merges.
    Aggregate,
    /// The same command runs on each part, and again on what all parts have left, in their common order.
    Reduce {
        /// Rows that a part has left at most; `None` is any number.
        rows: Option<u64>,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Generating(_) => "generating",
            Self::Streaming => "streaming",
            Self::TwoStep(_) => "two-step",
            Self::SearchHead => "search head",
        })
    }
}
