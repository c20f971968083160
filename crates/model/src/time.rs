//! Event times and ranges of them.

use serde::{Deserialize, Serialize};

/// Microseconds since 1970-01-01 UTC; negative before it.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct EventTime(pub i64);

impl EventTime {
    /// The earliest representable time.
    pub const MIN: Self = Self(i64::MIN);
    /// The latest representable time.
    pub const MAX: Self = Self(i64::MAX);

    /// Converts epoch seconds with a fraction, clamped to the representable range.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds * 1e6).round() as i64)
    }

    /// Converts to epoch seconds, with the fraction.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The UTC day, `yyyymmdd`; the nearest day that the calendar supports.
    #[must_use]
    pub fn day(self) -> String {
        let nearest = if self.0 < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX };
        let time = jiff::Timestamp::from_microsecond(self.0).unwrap_or(nearest);
        time.strftime("%Y%m%d").to_string()
    }
}

/// A half-open range `[earliest, latest)` of event time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TimeRange {
    /// First microsecond inside.
    pub earliest: EventTime,
    /// First microsecond outside.
    pub latest: EventTime,
}

impl TimeRange {
    /// The unlimited range.
    pub const ALL: Self = Self { earliest: EventTime::MIN, latest: EventTime::MAX };

    /// Whether the time is within the range.
    #[must_use]
    pub fn contains(&self, time: EventTime) -> bool {
        self.earliest <= time && time < self.latest
    }

    /// Whether events between `first` and `last`, both included, may be within the range.
    #[must_use]
    pub fn overlaps(&self, first: EventTime, last: EventTime) -> bool {
        first < self.latest && self.earliest <= last
    }

    /// Whether all events between `first` and `last`, both included, are within the range.
    #[must_use]
    pub fn covers(&self, first: EventTime, last: EventTime) -> bool {
        self.earliest <= first && last < self.latest
    }

    /// The intersection of two ranges; empty ranges have `earliest >= latest`.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        Self { earliest: self.earliest.max(other.earliest), latest: self.latest.min(other.latest) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let day = |seconds: i64| EventTime(seconds * 1_000_000).day();
        assert_eq!(day(0), "19700101");
        assert_eq!(day(-1), "19691231");
        assert_eq!(day(951_782_400), "20000229");
        assert_eq!(day(1_795_564_799), "20261124");
        assert_eq!(day(4_107_542_400), "21000301");
        assert_eq!(day(-62_135_596_800), "00010101");
        assert_eq!(EventTime::MAX.day(), "99991230");
    }
}
