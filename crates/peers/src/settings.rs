//! Settings of searching the hot buckets of other processes.

use std::time::Duration;

use conf::{Type, Unit};

conf::settings! {
    /// Settings of searching the hot buckets of other processes.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Settings {
        "distsearch"["distributedSearch"] {
            /// Time until an indexer has to begin its answer to a search. One that does not is left out, and
            /// the results say that they are incomplete.
            "connectionTimeout" => pub first_answer: Duration = "10", Type::of(Unit::Seconds, 1, 3600);
            /// Time within which each further part of an answer has to come.
            "receiveTimeout" => pub next_part: Duration = "60", Type::of(Unit::Seconds, 1, 3600);
            /// Hot rows of one indexer that a search moves to the search head, which keeps them for the next
            /// one. Where the search head lacks more, they stay, and the indexer runs its part of the search.
            "max_moved_rows_mb" => pub moved_bytes: u64 = "16", Type::megabytes(0);
        }
        "limits"["search"] {
            /// Memory for the hot rows of other processes. Rows that were searched lately stay there; a
            /// search that moves more hot rows than fit leaves out some indexers, and says so.
            "max_peer_rows_mb" => pub held_bytes: usize = "1024", Type::megabytes(1);
        }
    }
}
