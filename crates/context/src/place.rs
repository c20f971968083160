//! Where a command may run, for a search over the parts of several indexers.
//!
//! Guarantees: a value holds for any split of the rows; a test of `spectest` checks it with random splits. It
//! assumes that all parts have the same columns, since a search is planned once, and that the rows of a part
//! keep their order. Leaves to others: which commands of a search run where (a plan of several nodes).

use std::fmt;

/// Where a command may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// The command generates rows and must be the first one.
    Generating(Origin),
    /// At the indexers, on the rows of each part separately and in any order. The union of the results, by
    /// column names, is the result for all rows.
    Streaming,
    /// Partly at the indexers; the search head combines the parts.
    TwoStep(TwoStep),
    /// At the search head, because it needs the rows of all parts, or their order.
    SearchHead,
}

/// Where a generating command generates its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// At the indexers, from their own buckets; the union of all parts is the result.
    Indexers,
    /// At the indexers as partial results, which the search head merges.
    TwoStep,
    /// At the search head.
    SearchHead,
    /// Where the commands run that it stands for, or the searches in it.
    Expanded,
}

/// How parts are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TwoStep {
    /// Each part computes partial states of its groups, which the search head merges.
    Aggregate,
    /// The same command runs on each part, and again on the remaining rows of all parts, in their common
    /// order.
    Reduce {
        /// Maximum number of remaining rows of a part; `None` is unlimited.
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
