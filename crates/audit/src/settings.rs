//! Settings of the trail (`[audit]` of `server.conf`).

use std::time::Duration;

/// Behaviour for changes that cannot be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// Refuse them: nothing happens unrecorded.
    Refuse,
    /// Allow them; lost records are counted and reported once the trail can be written again.
    Continue,
}

/// Settings; see the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `maxFileSize`: size at which a new file begins.
    pub file_bytes: u64,
    /// `keepDays`: age of the last record at which a file is deleted; 0 keeps all.
    pub keep_days: u64,
    /// `queueSize`: maximum size of queued records in bytes; further ones wait.
    pub queue_bytes: usize,
    /// `maxRecordSize`: maximum record size; the longest values are truncated, with a mark.
    pub record_bytes: usize,
    /// `onFailure`.
    pub on_failure: OnFailure,
    /// How long a record without a waiting caller may wait for queue space.
    pub queue_wait: Duration,
    /// `anchorIntervalSecs`: how often the head of the chain is saved outside the files.
    pub anchor_interval: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            file_bytes: 64 << 20,
            keep_days: 400,
            queue_bytes: 16 << 20,
            record_bytes: 256 << 10,
            on_failure: OnFailure::Refuse,
            queue_wait: Duration::from_secs(10),
            anchor_interval: Duration::from_secs(60),
        }
    }
}
