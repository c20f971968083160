//! The inputs of planning: the sources of events and other data, the user, and the limits.

use std::sync::Arc;

use frames::PlanningTime;
use model::{EventTime, IndexName, TimeRange};

use crate::host::Host;
use crate::limits::Limits;
use frames::{EventSource, Restriction};

/// Everything a search is planned against.
#[derive(Debug, Clone)]
pub struct PlanContext {
    /// Stored events.
    pub source: Arc<dyn EventSource>,
    /// Access to lookups, other jobs and REST.
    pub host: Arc<dyn Host>,
    /// Configuration: calculated fields, macros, extraction rules.
    pub knowledge: Arc<knowledge::Knowledge>,
    /// Index-time rules of all apps, including those that the user cannot see.
    pub rules: Arc<knowledge::Knowledge>,
    /// The moment the search started; `now()` and relative times refer to it.
    pub now: EventTime,
    /// The time zone in which days begin.
    pub timezone: jiff::tz::TimeZone,
    /// The time range of the request, [`TimeRange::ALL`] if it has none; the search text may
    /// override either end.
    pub range: TimeRange,
    /// The range of `_indextime` of the request, [`TimeRange::ALL`] if it has none; the search text may
    /// override either end.
    pub index_range: TimeRange,
    /// Indexes that are searched if the search names none.
    pub default_indexes: Vec<IndexName>,
    /// Bounds of a search.
    pub limits: Limits,
    /// The restriction of the user's searches.
    pub restriction: Restriction,
    /// Id of the job; empty if there is none.
    pub sid: String,
    /// The saved search, or the name of the job; `collect` writes it into summary events.
    pub search_name: Option<String>,
    /// The time limit of planning, and its cancellation.
    pub planning: PlanningTime,
}
