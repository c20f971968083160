//! Where a process is; when an indexer counts as gone; how processes are restarted.

use std::time::Duration;

use conf::{Type, Unit};

use crate::guard::Limits;
use crate::is_site;

conf::settings! {
    /// Where a process is, and what it is called.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Place {
        "server"["general"] {
            /// Site of this process: a data centre or an availability zone. Copies of journals can be
            /// distributed over sites (`site_replication_factor`). Default: none.
            "site" => pub site: Option<String> = "", SITE;
            /// Name of this process for users: in `karst cluster status`, messages, and `splunk_server`.
            /// The processes of a cluster should have different names. The host of events without one is
            /// still the host name. Default: the host name.
            "serverName" => pub name: Option<String> = "", NAME;
        }
    }
}

const SITE: Type = Type::Form {
    expected: "a name of letters, digits, - _ and ., such as site1 or eu-central-1a; not origin or total",
    fits: is_site,
};

const NAME: Type =
    Type::Form { expected: "a name of up to 64 letters, digits, - _ and .", fits: is_server_name };

/// Whether a text is the name of a process.
#[must_use]
pub fn is_server_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=64).contains(&text.len()) && text.chars().all(is_part)
}

conf::settings! {
    /// When an indexer counts as gone; how processes are restarted.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Settings {
        "server"["clustering"] {
            /// Time without a response after which another indexer recovers the events that an indexer has
            /// acknowledged with `ackLevel = remote` or `replicated` and not yet stored. An indexer that
            /// was only disconnected for longer restarts, and waits until these events are stored.
            "heartbeat_timeout" => pub timeout: Duration = "60", Type::of(Unit::Seconds, 1, 86_400);
            /// Percentage of the indexers that restart at the same time in a rolling restart; at least one.
            "percent_peers_to_restart" => pub percent: usize = "10", Type::of(Unit::Percent, 1, 100);
            /// Maximum time that a rolling restart waits for a process to be back, including its last
            /// uploads, before it stops. Splunk: 60.
            "restart_timeout" => pub restart_timeout: Duration = "600", Type::of(Unit::Seconds, 1, 86_400);
            /// A rolling restart stops after more than this number of searches with incomplete results,
            /// unless there were such searches in the ten minutes before it.
            "restart_max_incomplete" => pub restart_max_incomplete: u64 = "0", Type::of(Unit::One, 0, 1_000_000);
            /// A rolling restart stops if the 95th percentile of search run times in the last minute is
            /// this many times that of the ten minutes before the restart, and more than half a second. The
            /// comparison needs at least 20 searches in each period. 0: no comparison.
            "restart_max_slowdown" => pub restart_max_slowdown: u32 = "2", Type::of(Unit::One, 0, 1_000);
        }
        fixed {
            /// How often the control plane that leads asks every process whether it is there.
            pub period: Duration = Duration::from_secs(1);
        }
    }
}

impl Settings {
    /// What searches may suffer from a rolling restart.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits { incomplete: self.restart_max_incomplete, slowdown: self.restart_max_slowdown }
    }
}
