//! The request for a search: its text, its time range, and how its result is kept.

use std::sync::Arc;
use std::time::Duration;

use access::Rights;
use apps::Apps;
use jiff::tz::TimeZone;
use knowledge::time::TimeFormat;
use model::EventTime;
use runtime::trace::TraceContext;

use crate::traced::About;

/// A search to run.
#[derive(Debug, Clone)]
pub struct JobRequest {
    /// The SPL text, as typed.
    pub search: String,
    /// Start of the range: relative (`-1h@h`), absolute, or epoch seconds; `None` is unbounded.
    pub earliest: Option<String>,
    /// End of the range, in the same formats; `None` is unbounded.
    pub latest: Option<String>,
    /// Start of the range of `_indextime`, in the same formats; `None` is unbounded.
    pub index_earliest: Option<String>,
    /// End of the range of `_indextime`, in the same formats; `None` is unbounded.
    pub index_latest: Option<String>,
    /// The time that `now()` returns, and to which relative times refer; `None` is the time of the request.
    pub now: Option<EventTime>,
    /// The time zone in which days begin and times are written.
    pub timezone: TimeZone,
    /// The form of `_time` in the rows of an export; `None` is ISO 8601. Of a job, each request for rows has
    /// its own.
    pub output_time_format: Option<Arc<TimeFormat>>,
    /// Whether an export writes only the text of events; other fields are not extracted if each event of a
    /// batch has a text.
    pub raw_only: bool,
    /// Maximum number of events to keep, newest first; `None` uses the setting `max_count`.
    pub max_count: Option<usize>,
    /// Number of bins of the timeline; 0 for no timeline. Bins have round widths, so there may be up to 1,200
    /// of them.
    pub status_buckets: usize,
    /// Whether previews are wanted.
    pub preview: bool,
    /// The user.
    pub owner: String,
    /// The app in whose context the search runs.
    pub app: String,
    /// Search id to use instead of a new one.
    pub sid: Option<String>,
    /// Lifetime of the job after its last use; `None` uses the setting `ttl`.
    pub ttl: Option<Duration>,
    /// Time without use after which the job should be cancelled while it runs; zero is unlimited. The code
    /// that dispatches the job is responsible for that.
    pub auto_cancel: Duration,
    /// A label for display.
    pub label: Option<String>,
    /// The origin of the request: a page, a dashboard, a program.
    pub provenance: Option<String>,
    /// The rights of the search: visible indexes and objects, allowed commands, quotas.
    pub rights: Arc<Rights>,
    /// Whether commands with side effects are refused.
    pub read_only: bool,
    /// The apps of an earlier bundle, by which the search is planned; `None` for those in force.
    pub bundle: Option<Apps>,
    /// The parent span; without one, the search begins a trace.
    pub trace: TraceContext,
}

impl JobRequest {
    /// Creates a search of the server itself, with all rights, over all time and with default options.
    #[must_use]
    pub fn new(search: impl Into<String>, owner: impl Into<String>) -> Self {
        Self::of(search, &Arc::new(Rights::of_system(&owner.into())))
    }

    /// Creates the same search for a user.
    #[must_use]
    pub fn of(search: impl Into<String>, rights: &Arc<Rights>) -> Self {
        Self {
            search: search.into(),
            earliest: None,
            latest: None,
            index_earliest: None,
            index_latest: None,
            now: None,
            timezone: TimeZone::UTC,
            output_time_format: None,
            raw_only: false,
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
            bundle: None,
            trace: TraceContext::default(),
        }
    }

    /// Returns the attributes of the search for its span.
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
