//! How many indexers have the journal of an indexer.

use std::time::Duration;

use conf::{Type, Unit};

conf::settings! {
    /// How many indexers have the journal of an indexer.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Settings {
        "server"["clustering"] {
            /// Indexers that have an event of an index with `ackLevel = replicated` in their journals when
            /// it is acknowledged, the receiving one included. While fewer answer, acknowledgements wait for
            /// the bucket of their events.
            "replication_factor" => pub factor: usize = "3", Type::range(1, 16);
            /// Time within which an indexer has to confirm that it has a copy before another one takes its
            /// place. Splunk: 5.
            "rep_send_timeout" => pub timeout: Duration = "2", Type::of(Unit::Seconds, 1, 3600);
        }
    }
}
