//! The time range of a search: what the request says, overridden by the search text.

use knowledge::time::TimeModifier;
use model::{EventTime, TimeRange};
use spl::ast::{SearchCommand, TimeModifierKind};

use crate::{Error, PlanContext};

/// Time bounds of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Bounds of `_time`.
    pub(crate) time: TimeRange,
    /// Bounds of `_indextime`.
    pub(crate) index_time: TimeRange,
}

/// The bounds of a `search`: its modifiers, and the request's where it has none.
pub(crate) fn bounds(search: &SearchCommand, context: &PlanContext) -> Result<Bounds, Error> {
    let time_of = |kind| -> Result<Option<EventTime>, Error> {
        let Some(modifier) = search.time_modifier(kind) else {
            return Ok(None);
        };
        // Splunk's "all time" is an earliest of 0, and means events before 1970 too.
        if modifier.value == "0" && kind == TimeModifierKind::Earliest {
            return Ok(Some(EventTime::MIN));
        }
        let time = TimeModifier::parse(&modifier.value)
            .and_then(|time| time.resolve(context.now, &context.timezone));
        time.map(Some).map_err(|error| Error::at(error.to_string(), modifier.span))
    };
    let earliest = time_of(TimeModifierKind::Earliest)?;
    let latest = time_of(TimeModifierKind::Latest)?;
    let time = TimeRange {
        earliest: earliest.unwrap_or(context.range.earliest),
        latest: latest.unwrap_or(context.range.latest),
    };
    if let (Some(modifier), true) =
        (search.time_modifier(TimeModifierKind::Earliest), time.earliest > time.latest)
    {
        let message = "earliest is after latest: the time range is empty";
        return Err(Error::at(message, modifier.span));
    }
    let index_time = TimeRange {
        earliest: time_of(TimeModifierKind::IndexEarliest)?.unwrap_or(EventTime::MIN),
        latest: time_of(TimeModifierKind::IndexLatest)?.unwrap_or(EventTime::MAX),
    };
    Ok(Bounds { time, index_time })
}
