//! Explains why no time was found in an event: for previews, in which users look for the right settings.

use std::sync::Arc;

use model::EventTime;

use super::{Lookahead, TimestampFinder, TimestampRules, TimestampSource};

/// Why no time was found in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoTime {
    /// The settings do not search for a timestamp (`DATETIME_CONFIG`).
    NotLookedFor,
    /// `TIME_PREFIX` does not match.
    NoPrefix,
    /// This timestamp is too far from the reference (`MAX_DAYS_AGO`, `MAX_DAYS_HENCE`).
    NotBelieved(EventTime),
    /// A timestamp is outside of the range of `MAX_TIMESTAMP_LOOKAHEAD`.
    TooFarBehind,
    /// `TIME_FORMAT` does not match.
    OtherFormat,
    /// The text contains nothing that looks like a time.
    Nothing,
}

impl TimestampRules {
    /// Returns why a [`TimestampFinder`] with these rules finds no time in a text. It runs the finder again
    /// with other rules, so that the answer always agrees with the finder.
    #[must_use]
    pub fn why_not(&self, raw: &str, reference: EventTime) -> NoTime {
        if self.from != TimestampSource::Text {
            return NoTime::NotLookedFor;
        }
        if self.prefix.as_ref().is_some_and(|prefix| prefix.end_in(raw).is_none()) {
            return NoTime::NoPrefix;
        }
        let find = |rules: Self| TimestampFinder::new(Arc::new(rules)).find(raw, reference);
        let any_day = Self { max_days_ago: i64::MAX, max_days_hence: i64::MAX, ..self.clone() };
        if let Some(time) = find(any_day.clone()) {
            return NoTime::NotBelieved(time);
        }
        if find(Self { lookahead: Lookahead::Unlimited, ..any_day }).is_some() {
            return NoTime::TooFarBehind;
        }
        if self.format.is_some() { NoTime::OtherFormat } else { NoTime::Nothing }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use eval::time::TimeFormat;

    use super::super::TimePrefix;
    use super::*;

    /// 2026-11-20T12:00:00Z.
    const REFERENCE: EventTime = EventTime(1_795_176_000_000_000);

    #[test]
    fn the_rule_that_leaves_no_time_is_named() {
        let default = TimestampRules::default;
        let check = |rules: TimestampRules, text: &str, expected: NoTime| {
            assert_eq!(rules.why_not(text, REFERENCE), expected, "{text}");
        };
        check(default(), "no time at all", NoTime::Nothing);
        let late = EventTime(1_798_797_600_000_000);
        check(default(), "2027-01-01 10:00:00 x", NoTime::NotBelieved(late));
        let far = format!("{} 2026-11-20 11:00:00", "x".repeat(200));
        check(default(), &far, NoTime::TooFarBehind);
        let near = TimestampRules { lookahead: Lookahead::Bytes(10), ..default() };
        check(near, "a text 2026-11-20 11:00:00", NoTime::TooFarBehind);
        let arrival = TimestampRules { from: TimestampSource::Arrival, ..default() };
        check(arrival, "2026-11-20 11:00:00", NoTime::NotLookedFor);
        let prefix = TimePrefix::compile("at=").unwrap();
        let prefixed = TimestampRules { prefix: Some(prefix), ..default() };
        check(prefixed, "2026-11-20 11:00:00", NoTime::NoPrefix);
        let format = TimeFormat::for_input("%d.%m.%Y").unwrap();
        let other = TimestampRules { format: Some(format), ..default() };
        check(other, "2026-11-20 11:00:00", NoTime::OtherFormat);
    }
}
