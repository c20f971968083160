//! Settings of the trail (`[audit]` of `server.conf`).

use std::time::Duration;

use conf::{FromValue, Type, Unit, Value};

/// Behaviour for changes that cannot be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// Refuse them: nothing happens unrecorded.
    Refuse,
    /// Allow them; lost records are counted and reported once the trail can be written again.
    Continue,
}

impl FromValue for OnFailure {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Text("refuse") => Some(Self::Refuse),
            Value::Text("continue") => Some(Self::Continue),
            _ => None,
        }
    }
}

conf::settings! {
    /// Settings; see the module.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Settings {
        "server"["audit"] {
            /// Size at which a new file of the audit trail is started.
            "maxFileSize" => pub file_bytes: u64 = "64MB", Type::size(0);
            /// Age of a file's last record at which the file is deleted; 0 to keep all files.
            "keepDays" => pub keep_days: u64 = "400", Type::of(Unit::Days, 0, i64::MAX);
            /// Maximum size of queued records; further records wait.
            "queueSize" => pub queue_bytes: usize = "16MB", Type::size(1);
            /// Maximum size of a record; the longest values are truncated and marked.
            "maxRecordSize" => pub record_bytes: usize = "256KB", Type::size(4096);
            /// Handling of changes that cannot be recorded.
            "onFailure" => pub on_failure: OnFailure = "refuse", Type::Choice(&["refuse", "continue"]);
            /// Interval at which the head of the chain is saved outside the files.
            "anchorIntervalSecs" => pub anchor_interval: Duration = "60", Type::seconds(1);
        }
        fixed {
            /// How long a record without a waiting caller may wait for queue space.
            pub queue_wait: Duration = Duration::from_secs(10);
        }
    }
}
