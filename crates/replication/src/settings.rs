//! How long copies of journals are waited for, and how many there are.

use std::time::Duration;

use cluster::Placement;
use conf::{Type, Unit};

conf::settings! {
    /// How long copies of journals are waited for, and how many there are.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Settings {
        "server"["clustering"] {
            /// Time within which an indexer has to confirm that it has a copy before another one takes its
            /// place. Splunk: 5.
            "rep_send_timeout" => pub timeout: Duration = "2", Type::of(Unit::Seconds, 1, 3600);
        }
        nested {
            /// How many indexers have the journal of an indexer, and in which sites.
            pub placement: Placement;
        }
    }
}
