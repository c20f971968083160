//! Settings of searching the hot buckets of other processes.

use std::time::Duration;

use conf::{Type, Unit};

conf::settings! {
    /// Settings of searching the hot buckets of other processes.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Settings {
        "distsearch"["distributedSearch"] {
            /// Time limit within which an indexer must begin its response to a search. An indexer that does
            /// not is skipped, and the results are reported as incomplete.
            "connectionTimeout" => pub first_answer: Duration = "10", Type::of(Unit::Seconds, 1, 3600);
            /// Maximum time between two chunks of a response.
            "receiveTimeout" => pub next_part: Duration = "60", Type::of(Unit::Seconds, 1, 3600);
            /// Maximum size of the hot rows that a search moves from one indexer to the search head, which
            /// caches them for the next search. If more rows are missing at the search head, they stay at
            /// the indexer, which runs its part of the search.
            "max_moved_rows_mb" => pub moved_bytes: u64 = "16", Type::megabytes(0);
        }
        "limits"["search"] {
            /// Memory for the hot rows of other processes. Recently searched rows stay cached. If a search
            /// moves more hot rows than fit, it skips some indexers and reports this.
            "max_peer_rows_mb" => pub held_bytes: usize = "1024", Type::megabytes(1);
        }
    }
}
