//! What somebody asks for: a search, a time range, and how the answer is kept.

use std::sync::Arc;
use std::time::Duration;

use access::Rights;
use jiff::tz::TimeZone;
use model::EventTime;
use runtime::trace::TraceContext;

use crate::traced::About;

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
    /// How long the job may run without being used before whoever started it wants it cancelled; zero is
    /// forever. The one that dispatches it sees to that.
    pub auto_cancel: Duration,
    /// A name for people.
    pub label: Option<String>,
    /// What asks: a page, a dashboard, a program.
    pub provenance: Option<String>,
    /// What it may do: the indexes and objects it sees, its commands, its quotas.
    pub rights: Arc<Rights>,
    /// Whether commands that change something are refused.
    pub read_only: bool,
    /// The span that asks for it; without one, the search begins a trace.
    pub trace: TraceContext,
}

impl JobRequest {
    /// A search of the server's own that may do everything, over all of time with nothing else asked for.
    #[must_use]
    pub fn new(search: impl Into<String>, owner: impl Into<String>) -> Self {
        Self::of(search, &Arc::new(Rights::of_system(&owner.into())))
    }

    /// The same, of a user.
    #[must_use]
    pub fn of(search: impl Into<String>, rights: &Arc<Rights>) -> Self {
        Self {
            search: search.into(),
            earliest: None,
            latest: None,
            now: None,
            timezone: TimeZone::UTC,
            max_count: None,
            status_buckets: 0,
            preview: false,
            owner: rights.user().to_owned(),
            app: "search".to_owned(),
            sid: None,
            ttl: None,
            auto_cancel: Duration::ZERO,
            label: None,
            provenance: None,
            rights: Arc::clone(rights),
            read_only: false,
            trace: TraceContext::default(),
        }
    }

    /// What the span of the search says of it.
    pub(crate) fn about(&self, kind: &'static str) -> About<'_> {
        About {
            kind,
            sid: self.sid.as_deref(),
            user: &self.owner,
            app: Some(&self.app),
            text: &self.search,
        }
    }
}
