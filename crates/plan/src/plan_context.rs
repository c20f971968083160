//! What planning needs to be told: where events are, who asks, and what may be used.

use std::sync::Arc;

use frames::PlanningTime;
use model::{EventTime, IndexName, TimeRange};

use crate::{EventSource, Host, Limits, Restriction};

/// Everything a search is planned against.
#[derive(Debug, Clone)]
pub struct PlanContext {
    /// Stored events.
    pub source: Arc<dyn EventSource>,
    /// Lookups, other jobs, REST.
    pub host: Arc<dyn Host>,
    /// Configuration: calculated fields, macros, extraction rules.
    pub knowledge: Arc<knowledge::Knowledge>,
    /// The rules by which events are taken in: those of all apps, also of those that the user does not see.
    pub rules: Arc<knowledge::Knowledge>,
    /// The moment the search started; `now()` and relative times refer to it.
    pub now: EventTime,
    /// Where days begin.
    pub timezone: jiff::tz::TimeZone,
    /// The time range of the request, [`TimeRange::ALL`] if it has none; the search text may
    /// override either end.
    pub range: TimeRange,
    /// What is searched where the search names no index.
    pub default_indexes: Vec<IndexName>,
    /// Bounds of a search.
    pub limits: Limits,
    /// What the user's searches are held to.
    pub restriction: Restriction,
    /// Names the job that runs the search; empty where there is none.
    pub sid: String,
    /// The saved search that runs, or the name that the job was given; `collect` writes it into summaries.
    pub search_name: Option<String>,
    /// The time that planning takes, and whether anybody waits for it.
    pub planning: PlanningTime,
}
