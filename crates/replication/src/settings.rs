//! How long copies of journals are waited for, and how many there are.

use std::time::Duration;

use cluster::Placement;
use conf::{Type, Unit};

conf::settings! {
    /// How long copies of journals are waited for, and how many there are.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Settings {
        "server"["clustering"] {
            /// Time limit within which an indexer must confirm a copy before another indexer replaces it.
            /// Splunk: 5.
            "rep_send_timeout" => pub timeout: Duration = "2", Type::of(Unit::Seconds, 1, 3600);
        }
        nested {
            /// How many indexers have the journal of an indexer, and in which sites.
            pub placement: Placement;
        }
    }
}
