//! What somebody asks for: a search, a time range, and how the answer is kept.

use std::time::Duration;

use jiff::tz::TimeZone;
use model::{EventTime, IndexName};

/// A search to run.
#[derive(Debug, Clone)]
pub struct JobRequest {
    /// SPL, as typed.
    pub search: String,
    /// Start of the range: relative (`-1h@h`), absolute, or epoch seconds; none is all of time.
    pub earliest: Option<String>,
    /// End of the range, likewise.
    pub latest: Option<String>,
    /// What "now" is; the moment of the request if none.
    pub now: Option<EventTime>,
    /// Where days begin, and whose offset times are written with.
    pub timezone: TimeZone,
    /// How many of the newest events are kept; the setting `max_count` if none.
    pub max_count: Option<usize>,
    /// Bins of the timeline that somebody wants to see; 0 for none. (Its bins are of round spans, and
    /// may be up to 1,200.)
    pub status_buckets: usize,
    /// Whether somebody wants to see results before the end.
    pub preview: bool,
    /// Who asks.
    pub owner: String,
    /// In which app's context.
    pub app: String,
    /// Search id to use instead of a new one.
    pub sid: Option<String>,
    /// How long the job is kept after its last use; the setting `ttl` if none.
    pub ttl: Option<Duration>,
    /// A name for people.
    pub label: Option<String>,
    /// Whether it may load the results of other people's jobs.
    pub all_jobs: bool,
    /// The only indexes there are for this search; all if none.
    pub indexes: Option<Vec<IndexName>>,
    /// What it reads if it names no index; the default of the service if none.
    pub default_indexes: Option<Vec<IndexName>>,
}

impl JobRequest {
    /// A search over all of time with nothing else asked for.
    #[must_use]
    pub fn new(search: impl Into<String>, owner: impl Into<String>) -> Self {
        Self {
            search: search.into(),
            earliest: None,
            latest: None,
            now: None,
            timezone: TimeZone::UTC,
            max_count: None,
            status_buckets: 0,
            preview: false,
            owner: owner.into(),
            app: "search".to_owned(),
            sid: None,
            ttl: None,
            label: None,
            all_jobs: false,
            indexes: None,
            default_indexes: None,
        }
    }
}
