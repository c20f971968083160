//! license_usage.log: bytes of events, by index, source type, source and host; and their sum once a day.
//!
//! Karst has no licence: pools have the maximum size. Indexes whose names begin with `_` and results of
//! `collect` are not counted, as in Splunk.

use ingest::Tallied;
use model::EventTime;
use serde::{Deserialize, Serialize};

use crate::line::Line;
use crate::{Log, OwnEvent};

const POOL: &str = "auto_generated_pool_enterprise";
const STACK: &str = "enterprise";
/// The source type of `collect`.
const STASH: &str = "stash";
/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// The bytes of the current day, which survive a restart of the process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct License {
    /// The day (UTC), as days since 1970; `None` before the first event.
    day: Option<i64>,
    bytes: u64,
}

impl License {
    /// The events about the data indexed since the last call. `guid` is the identity of this process.
    pub fn events(&mut self, time: EventTime, tallied: &Tallied, guid: &str) -> Vec<OwnEvent> {
        let mut events = self.roll_over(time, guid);
        let mut origins: Vec<_> = tallied
            .origins
            .iter()
            .filter(|(origin, _)| !origin.index.is_internal() && &*origin.sourcetype != STASH)
            .collect();
        origins.sort_by_key(|(_, indexed)| std::cmp::Reverse(indexed.bytes));
        for (origin, indexed) in origins {
            self.bytes += indexed.bytes;
            let line = start(time)
                .word("type", "Usage")
                .quoted("s", &origin.source)
                .quoted("st", &origin.sourcetype)
                .quoted("h", &origin.host)
                .quoted("o", "")
                .quoted("idx", origin.index.as_str())
                .quoted("i", guid)
                .quoted("pool", POOL)
                .count("b", indexed.bytes)
                .count("poolsz", u64::MAX);
            events.push(line.end());
        }
        events
    }

    /// The sum of the previous day, if a new day has begun.
    fn roll_over(&mut self, time: EventTime, guid: &str) -> Vec<OwnEvent> {
        let today = time.0.div_euclid(DAY);
        let Some(counted) = self.day.replace(today).filter(|counted| *counted < today) else {
            return Vec::new();
        };
        let bytes = std::mem::take(&mut self.bytes);
        let midnight = EventTime((counted + 1) * DAY);
        let line = start(midnight)
            .word("type", "RolloverSummary")
            .quoted("slave", guid)
            .quoted("pool", POOL)
            .quoted("stack", STACK)
            .count("poolsz", u64::MAX)
            .count("stacksz", u64::MAX)
            .count("b", bytes);
        vec![line.end()]
    }
}

fn start(time: EventTime) -> Line {
    Line::new(Log::LicenseUsage, time, ("INFO", "LicenseUsage"), " ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use ingest::Indexed;
    use model::{IndexName, Origin};

    use super::*;

    fn tallied(origins: &[(&str, &str, u64)]) -> Tallied {
        let mut tallied = Tallied::default();
        for (index, sourcetype, bytes) in origins {
            let origin = Origin {
                index: IndexName::new(index).unwrap(),
                host: "web 1".into(),
                source: "/a".into(),
                sourcetype: (*sourcetype).into(),
            };
            let indexed = Indexed { events: 1, bytes: *bytes, ..Indexed::default() };
            tallied.origins.insert(Arc::new(origin), indexed);
        }
        tallied
    }

    #[test]
    fn usage_is_by_origin_and_own_events_count_nothing() {
        let time = EventTime::from_seconds(1_795_342_500.0);
        let all = tallied(&[
            ("main", "syslog", 10),
            ("_internal", "splunkd", 99),
            ("summary", "stash", 50),
        ]);
        let mut license = License::default();
        let events = license.events(time, &all, "G");
        assert_eq!(events.len(), 1);
        assert_eq!(
            events[0].text,
            "11-22-2026 10:15:00.000 +0000 INFO  LicenseUsage - type=Usage s=\"/a\" st=\"syslog\" h=\"web 1\" \
             o=\"\" idx=\"main\" i=\"G\" pool=\"auto_generated_pool_enterprise\" b=10 \
             poolsz=18446744073709551615"
        );
    }

    #[test]
    fn the_sum_of_a_day_is_written_after_midnight_also_by_the_next_process() {
        let evening = EventTime::from_seconds(1_795_391_990.0);
        let mut license = License::default();
        license.events(evening, &tallied(&[("main", "syslog", 10), ("web", "x", 5)]), "G");
        let kept = serde_json::to_string(&license).unwrap();
        let mut license: License = serde_json::from_str(&kept).unwrap();
        let next = EventTime(evening.0 + 3 * 3_600_000_000);
        let events = license.events(next, &tallied(&[("main", "syslog", 7)]), "G");
        assert_eq!(events.len(), 2);
        assert!(
            events[0].text.starts_with("11-23-2026 00:00:00.000 +0000 INFO"),
            "{}",
            events[0].text
        );
        assert!(events[0].text.contains("type=RolloverSummary slave=\"G\""), "{}", events[0].text);
        assert!(events[0].text.ends_with(" b=15"), "{}", events[0].text);
        assert_eq!(license.bytes, 7);
    }
}
