//! How the trail is kept (`[audit]` of `server.conf`).

use std::time::Duration;

/// What becomes of changes that cannot be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// They are refused: nothing happens unrecorded.
    Refuse,
    /// They happen; what was not recorded is counted and said once the trail can be written again.
    Continue,
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `maxFileSize`: a file of this size is followed by a new one.
    pub file_bytes: u64,
    /// `keepDays`: files whose last record is older are deleted; 0 keeps all.
    pub keep_days: u64,
    /// `queueSize`: records that wait to be written, in bytes; who has more waits.
    pub queue_bytes: usize,
    /// `maxRecordSize`: longer values of a record are cut, with a mark.
    pub record_bytes: usize,
    /// `onFailure`.
    pub on_failure: OnFailure,
    /// How long a record that nobody waits for may wait for room.
    pub queue_wait: Duration,
    /// `anchorIntervalSecs`: how often the head of the chain is noted outside of its files.
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
