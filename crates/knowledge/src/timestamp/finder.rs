//! A finder per source, which remembers the position and the text of the last timestamp.

use std::sync::Arc;

use eval::time::civil::DAY;
use eval::time::{Fields, LocalClock, Parsed, TimeFormat, fraction_at};
use model::EventTime;

use super::json;
use super::jumps::Jumps;
use super::shapes;
use super::{Lookahead, TimestampRules, TimestampSource};

const DEFAULT_LOOKAHEAD: usize = 128;
const HEAD: usize = 48;
const TAIL: usize = 16;

/// Finds the timestamps of one source's events.
#[derive(Debug, Clone)]
pub struct TimestampFinder {
    rules: Arc<TimestampRules>,
    clock: LocalClock,
    /// Position of the last timestamp after the prefix.
    at: usize,
    /// Index of the JSON key that held the last timestamp.
    key: Option<usize>,
    /// Maximum number of fractional digits that are read.
    fraction_digits: usize,
    last: Option<Last>,
    jumps: Jumps,
    /// The date of a time of day without a date.
    date: Option<EventTime>,
    /// Begin and end of the last timestamp in its text.
    place: Option<(usize, usize)>,
}

/// The text of the last timestamp before and after its fraction, and its second.
#[derive(Debug, Clone)]
struct Last {
    head: [u8; HEAD],
    head_length: usize,
    /// The character between second and fraction; `None` without a fraction, `Some(None)` if there is no
    /// character.
    mark: Option<Option<u8>>,
    digits: usize,
    tail: [u8; TAIL],
    tail_length: usize,
    second: i64,
    /// The reference that completed it, if it has no year.
    reference: Option<EventTime>,
}

impl TimestampFinder {
    /// Creates a finder without remembered timestamps.
    #[must_use]
    pub fn new(rules: Arc<TimestampRules>) -> Self {
        let clock = LocalClock::new(rules.zone.clone());
        let digits = rules.format.as_ref().and_then(TimeFormat::fraction_digits);
        Self {
            rules,
            clock,
            at: 0,
            key: None,
            fraction_digits: digits.unwrap_or(18),
            last: None,
            jumps: Jumps::default(),
            date: None,
            place: None,
        }
    }

    /// Returns its rules.
    #[must_use]
    pub fn rules(&self) -> &Arc<TimestampRules> {
        &self.rules
    }

    /// Sets the date of times of day without a date, such as the date on which the file was written. Default:
    /// that of the reference.
    pub fn set_date(&mut self, date: EventTime) {
        self.date = Some(date);
    }

    /// Returns begin and end of the last timestamp in its text. `None` if patterns of a file
    /// (`DATETIME_CONFIG`) recognised it, and for cells of tables.
    #[must_use]
    pub fn place(&self) -> Option<(usize, usize)> {
        self.place
    }

    /// Reads a table cell that is a time as a whole: also a date alone, or a time without seconds.
    pub fn find_cell(&mut self, cell: &str, reference: EventTime) -> Option<EventTime> {
        let rules = &self.rules;
        if rules.from != TimestampSource::Text || rules.format.is_some() {
            return None;
        }
        let fields = shapes::read_cell(cell.trim().as_bytes())?;
        let time = fields.resolve(&mut self.clock, reference)?;
        self.place = None;
        self.believed(time, reference)
    }

    /// Returns the number of timestamps since the last call that were far from the previous one and not in
    /// the usual format (`MAX_DIFF_SECS_AGO`, `MAX_DIFF_SECS_HENCE`).
    pub fn take_jumps(&mut self) -> u64 {
        self.jumps.take()
    }

    /// Returns the time of an event; `None` if its text has no time, or only one that is out of range.
    /// `reference` is the present, or the time of the file: it completes times without a year or date, and
    /// `MAX_DAYS_AGO` and `MAX_DAYS_HENCE` are relative to it.
    pub fn find(&mut self, raw: &str, reference: EventTime) -> Option<EventTime> {
        if self.rules.from != TimestampSource::Text {
            return None;
        }
        let bytes = raw.as_bytes();
        let no_rules = self.rules.format.is_none()
            && self.rules.prefix.is_none()
            && self.rules.patterns.is_none();
        if no_rules
            && bytes.first() == Some(&b'{')
            && let Some(time) = self.find_json(bytes, reference)
        {
            return Some(time);
        }
        let start = match &self.rules.prefix {
            Some(prefix) => prefix.end_in(raw)?,
            None => 0,
        };
        let (begin_within, end) = match self.rules.lookahead {
            Lookahead::Default => (DEFAULT_LOOKAHEAD, bytes.len()),
            Lookahead::Bytes(count) => (count, bytes.len().min(start.saturating_add(count))),
            Lookahead::Unlimited => (usize::MAX, bytes.len()),
        };
        if let (Some(patterns), None) = (self.rules.patterns.clone(), &self.rules.format) {
            let end = end.min(start.saturating_add(begin_within));
            let text = raw.get(start..raw.floor_char_boundary(end))?;
            let time = patterns.read(text)?.resolve(&mut self.clock, reference)?;
            self.place = None;
            return self.believed(time, reference);
        }
        let (time, from, to) = self.find_in(&bytes[start..end], begin_within, reference)?;
        self.place = Some((start + from, start + to));
        Some(time)
    }

    /// Forgets the last timestamp, but not its position.
    pub(crate) fn forget(&mut self) {
        self.last = None;
    }

    /// Returns the timestamp with its begin and end.
    fn find_in(
        &mut self,
        window: &[u8],
        within: usize,
        reference: EventTime,
    ) -> Option<(EventTime, usize, usize)> {
        let remembered = self.at;
        if remembered < window.len().min(within)
            && self.may_begin(window, remembered)
            && let Some((time, length)) = self.read(&window[remembered..], reference)
        {
            return Some((time, remembered, remembered + length));
        }
        for at in 0..window.len().min(within) {
            if !self.may_begin(window, at) {
                continue;
            }
            if let Some((time, length)) = self.read(&window[at..], reference) {
                self.at = at;
                return Some((time, at, at + length));
            }
        }
        None
    }

    /// Returns whether a timestamp may begin at a position. A format may begin with any character; a
    /// recognised timestamp begins with a word or number.
    fn may_begin(&self, window: &[u8], at: usize) -> bool {
        match &self.rules.format {
            None => shapes::may_begin(window, at),
            Some(_) => {
                let inside = |byte: u8| byte.is_ascii_alphanumeric();
                at == 0
                    || !(inside(window[at - 1]) && inside(window[at]))
                    || shapes::ends_colour(&window[..at])
            }
        }
    }

    fn find_json(&mut self, event: &[u8], reference: EventTime) -> Option<EventTime> {
        if let Some(key) = self.key
            && let Some(time) = self.read_key(event, key, reference)
        {
            return Some(time);
        }
        for key in 0..json::KEYS.len() {
            if let Some(time) = self.read_key(event, key, reference) {
                self.key = Some(key);
                return Some(time);
            }
        }
        None
    }

    fn read_key(&mut self, event: &[u8], key: usize, reference: EventTime) -> Option<EventTime> {
        let at = json::value_of(event, json::KEYS[key])?.min(event.len());
        let (time, length) = self.read(&event[at..], reference)?;
        self.place = Some((at, at + length));
        Some(time)
    }

    /// Reads the timestamp at the start of the text, and returns it with its length.
    fn read(&mut self, text: &[u8], reference: EventTime) -> Option<(EventTime, usize)> {
        let recalled = self.last.as_ref().and_then(|last| last.recall(text, reference));
        if let Some((time, length)) = recalled {
            self.jumps.same();
            return self.believed(time, reference).map(|time| (time, length));
        }
        let parsed = match &self.rules.format {
            Some(format) => format.read(text)?,
            None => shapes::read(text)?,
        };
        let fields = &parsed.fields;
        let has_date =
            fields.epoch.or(fields.month).or(fields.day).or(fields.day_of_year).is_some();
        let dated_by = if has_date { reference } else { self.date.unwrap_or(reference) };
        let time = fields.resolve(&mut self.clock, dated_by)?;
        let time = self.believed(time, reference)?;
        if self.rules.format.is_none() {
            self.jumps.next(&text[..parsed.end.min(text.len())], time, &self.rules);
        }
        self.last = self.remember(text, &parsed, time, reference);
        Some((time, parsed.end.min(text.len())))
    }

    fn believed(&self, time: EventTime, reference: EventTime) -> Option<EventTime> {
        let day = DAY * 1_000_000;
        let earliest = reference.0.saturating_sub(self.rules.max_days_ago.saturating_mul(day));
        let latest = reference.0.saturating_add(self.rules.max_days_hence.saturating_mul(day));
        (earliest <= time.0 && time.0 <= latest).then_some(time)
    }

    fn remember(
        &self,
        text: &[u8],
        parsed: &Parsed,
        time: EventTime,
        reference: EventTime,
    ) -> Option<Last> {
        let Fields { month, day_of_year, epoch, year, .. } = parsed.fields;
        // Epoch seconds are not remembered: reading them is as fast as comparing them, and the characters
        // that may follow depend on all their digits.
        let dated = (month.is_some() || day_of_year.is_some()) && epoch.is_none();
        let (from, to) = parsed.fraction;
        let between = from.checked_sub(parsed.second_end)?;
        let tail = &text[to.max(parsed.second_end)..parsed.end];
        let fits = parsed.second_end <= HEAD && tail.len() <= TAIL && between <= 1;
        if !dated || parsed.second_end == 0 || !fits {
            return None;
        }
        let mut last = Last {
            head: [0; HEAD],
            head_length: parsed.second_end,
            mark: (to > from).then(|| (between == 1).then(|| text[parsed.second_end])),
            digits: self.fraction_digits,
            tail: [0; TAIL],
            tail_length: tail.len(),
            second: time.0.div_euclid(1_000_000),
            reference: year.is_none().then_some(reference),
        };
        last.head[..parsed.second_end].copy_from_slice(&text[..parsed.second_end]);
        last.tail[..tail.len()].copy_from_slice(tail);
        Some(last)
    }
}

impl Last {
    /// Returns the time and length of a timestamp that differs from the last one at most in its fraction.
    fn recall(&self, text: &[u8], reference: EventTime) -> Option<(EventTime, usize)> {
        let head = &self.head[..self.head_length];
        if !text.starts_with(head) {
            return None;
        }
        if let Some(then) = self.reference {
            let apart = reference.0.abs_diff(then.0);
            if apart > 3_600_000_000 {
                return None;
            }
        }
        let rest = &text[self.head_length..];
        let (micros, used) = match self.mark {
            None => (0, 0),
            Some(mark) => {
                let skip = usize::from(mark.is_some());
                if mark.is_some() && rest.first().copied() != mark {
                    return None;
                }
                let whole_millis = mark == Some(b':');
                let digits = &rest[skip..];
                let (micros, length) = fraction_at(digits, self.digits, whole_millis)?;
                (micros, skip + length)
            }
        };
        let rest = &rest[used..];
        let length = self.head_length + used + self.tail_length;
        self.ends_alike(rest).then_some((EventTime(self.second * 1_000_000 + micros), length))
    }

    fn ends_alike(&self, rest: &[u8]) -> bool {
        if !rest.starts_with(&self.tail[..self.tail_length]) {
            return false;
        }
        let rest = &rest[self.tail_length..];
        if self.tail_length > 0 {
            // `+01` may continue with `00` or `:00`.
            return !matches!(rest, [b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z', ..] | [b':', b'0'..=b'9', ..]);
        }
        match rest {
            [b'.' | b',' | b':', digit, ..] if self.mark.is_none() => !digit.is_ascii_digit(),
            [b'0'..=b'9', ..] => self.mark.is_some() && self.digits < 18,
            [b'A'..=b'Z' | b'a'..=b'z' | b'+' | b'-', ..] => false,
            [b' ', b'+' | b'-', b'0'..=b'9', ..] => false,
            [b' ', a, m, ..] if m.eq_ignore_ascii_case(&b'm') => {
                !matches!(a, b'a' | b'A' | b'p' | b'P')
            }
            [b' ', b'0'..=b'9', ..] => self.reference.is_none(),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::TimePrefix;
    use super::*;
    use proptest::prelude::*;

    /// 2026-11-20T12:00:00Z.
    const REFERENCE: EventTime = EventTime(1_795_176_000_000_000);

    fn find(rules: TimestampRules, events: &[&str]) -> Vec<Option<f64>> {
        let mut finder = TimestampFinder::new(Arc::new(rules));
        events.iter().map(|raw| finder.find(raw, REFERENCE).map(EventTime::seconds)).collect()
    }

    #[test]
    fn the_last_second_is_recalled_and_its_fraction_read_anew() {
        let events = [
            "2015-07-29 17:41:44,747 - a",
            "2015-07-29 17:41:44,748 - b",
            "2015-07-29 17:41:45,1 c",
            "x 2015-07-29 17:41:45,1 c",
            "2015-07-29 17:41:45,1+01:00",
            "2015-07-29 17:41:45",
        ];
        let base = 1_438_191_704.0;
        let expected = [0.747, 0.748, 1.1, 1.1, 1.1 - 3600.0, 1.0].map(|s| Some(base + s));
        assert_eq!(find(TimestampRules::default(), &events), expected);
    }

    #[test]
    fn the_place_of_the_last_timestamp_is_known() {
        let mut finder = TimestampFinder::new(Arc::new(TimestampRules::default()));
        let mut found = |raw: &'static str| {
            finder
                .find(raw, REFERENCE)
                .and_then(|_| finder.place())
                .map(|(from, to)| &raw[from..to])
        };
        for (raw, text) in [
            ("2015-07-29 17:41:44,747 - a", "2015-07-29 17:41:44,747"),
            ("2015-07-29 17:41:44,7 - recalled", "2015-07-29 17:41:44,7"),
            ("b [2015-07-29 17:41:45] c", "2015-07-29 17:41:45"),
            ("b [2015-07-29 17:41:45] d", "2015-07-29 17:41:45"),
            (r#"{"a":1,"ts":1521911724.5}"#, "1521911724.5"),
        ] {
            assert_eq!(found(raw), Some(text));
        }
        let prefix = Some(TimePrefix::compile("at=").unwrap());
        let rules = TimestampRules { prefix, ..TimestampRules::default() };
        let mut finder = TimestampFinder::new(Arc::new(rules));
        assert!(finder.find("a at=2015-07-29 17:41:45", REFERENCE).is_some());
        assert_eq!(finder.place(), Some((5, 24)));
    }

    #[test]
    fn codes_of_colours_before_a_timestamp_are_no_part_of_a_word() {
        let events = [
            "\x1b[32m2015-07-29T17:41:44Z\x1b[0m INFO a",
            "\x1b[2m2015-07-29T17:41:44Z\x1b[0m \x1b[32m INFO\x1b[0m b",
            "\x1b[0;1;31m2015-07-29T17:41:45Z c",
            "[\x1b[1m2015-07-29 17:41:46\x1b[0m] d",
            "\x1b[mJul 29 17:41:47 2015 e",
            "x[32m2015-07-29T17:41:44Z",
            "room2015-07-29T17:41:44Z",
        ];
        let base = 1_438_191_704.0;
        let expected = [0.0, 0.0, 1.0, 2.0].map(|s| Some(base + s));
        let found = find(TimestampRules::default(), &events);
        assert_eq!(found[..4], expected);
        assert!(found[4].is_some());
        assert_eq!(found[5..], [None, None]);
        let format = Some(TimeFormat::for_input("%Y-%m-%dT%H:%M:%SZ").unwrap());
        let rules = TimestampRules { format, ..TimestampRules::default() };
        assert_eq!(find(rules, &events[..2]), [Some(base), Some(base)]);
    }

    #[test]
    fn json_events_tell_their_time_by_key() {
        let events = [
            r#"{"load_timestamp":1445680800424,"timestamp":1446249499322}"#,
            r#"{"_write_ts":"2018-03-24T17:15:26Z","ts":"2018-03-24T17:15:21.5Z"}"#,
            r#"{"a":{"time":"2018-03-24T17:15:26Z"},"ts":1521911724.5}"#,
        ];
        let expected = [1_446_249_499.322, 1_521_911_721.5, 1_521_911_724.5].map(Some);
        assert_eq!(find(TimestampRules::default(), &events), expected);
    }

    #[test]
    fn date_and_clock_may_be_fields_of_their_own() {
        let events = [
            "date=2024-03-05 time=10:11:12 devname=\"FG100\" logid=1",
            "date=2024-03-05 time=10:11:12 devname=\"FG100\" logid=2",
            "<189>date=2024-03-05 time=10:11:13 devname=\"FG100\"",
            "2024-03-05\t10:11:12\tFRA2\t392",
            "2024-03-05\t10:11:12:ab:cd:ef",
            "[2024-03-05] [10:11:14] x",
            r#"{"date":"2024-03-05","time":"10:11:12"}"#,
            "date=2024-03-05 time=10:11:12 vd=\"root\" eventtime=1709629872000000000 x",
        ];
        let base = 1_709_633_472.0;
        let [some, next, after] = [0.0, 1.0, 2.0].map(|later| Some(base + later));
        let expected = [some, some, next, some, None, after, some, Some(base - 3_600.0)];
        assert_eq!(find(TimestampRules::default(), &events), expected);
    }

    #[test]
    fn syslog_with_priority_and_version_is_recognised() {
        let events =
            ["<34>1 2003-10-11T22:14:15.003Z mymachine su", "<34>Oct 11 22:14:15 mymachine su"];
        let expected = [1_065_910_455.003, 1_791_756_855.0].map(Some);
        assert_eq!(find(TimestampRules::default(), &events), expected);
    }

    #[test]
    fn a_prefix_and_a_format_lead_to_the_time() {
        let rules = || TimestampRules {
            prefix: Some(TimePrefix::compile(r#""at":\s*""#).unwrap()),
            format: Some(TimeFormat::for_input("%d.%m.%Y %H:%M").unwrap()),
            ..TimestampRules::default()
        };
        let events = [r#"2015-07-29 17:41:44 "at": "01.02.2020 03:04""#, "2015-07-29 17:41:44"];
        assert_eq!(find(rules(), &events), [Some(1_580_526_240.0), None]);
    }

    #[test]
    fn timestamps_too_far_from_the_reference_are_not_believed() {
        let rules = TimestampRules { max_days_ago: 100, ..TimestampRules::default() };
        let events = ["1970-01-01 00:00:00", "2026-11-24 12:00:00", "2026-11-21 12:00:00"];
        assert_eq!(find(rules, &events), [None, None, Some(1_795_262_400.0)]);
    }

    #[test]
    fn the_lookahead_bounds_where_timestamps_are() {
        let long = format!("{} 2026-11-20 11:00:00", "x".repeat(200));
        assert_eq!(find(TimestampRules::default(), &[&long]), [None]);
        let all = TimestampRules { lookahead: Lookahead::Unlimited, ..TimestampRules::default() };
        assert_eq!(find(all, &[&long]), [Some(1_795_172_400.0)]);
    }

    #[test]
    fn arrival_rules_find_nothing() {
        let rules = TimestampRules { from: TimestampSource::Arrival, ..TimestampRules::default() };
        assert_eq!(find(rules, &["2026-11-20 11:00:00"]), [None]);
    }

    proptest! {
        #[test]
        fn memory_never_changes_the_answer(
            events in proptest::collection::vec(
                "(a )?2026-11-20[ T]1[01]:00:0[01]([.,:][0-9]{1,7})?(Z| ?[+-]0[12]:?00| UTC| AM|x)?( b)?|Nov 20 1[01]:00:0[01]( 2025)?( x)?\
                 |2026-11-20[\t|;] ?(time=)?1[01]:00:0[01]([.:][0-9a-f]{1,3})?([:;\t x]b?)?", 1..8)
        ) {
            let mut finder = TimestampFinder::new(Arc::new(TimestampRules::default()));
            for event in &events {
                let fresh = TimestampFinder::new(Arc::new(TimestampRules::default()))
                    .find(event, REFERENCE);
                prop_assert_eq!(finder.find(event, REFERENCE), fresh, "{:?}", events);
            }
        }

        #[test]
        fn finding_never_panics(events in proptest::collection::vec("\\PC{0,60}|[0-9:/ .,TZ+-]{0,40}|\\{\"ts\":.{0,9}", 1..4)) {
            let mut finder = TimestampFinder::new(Arc::new(TimestampRules::default()));
            for event in &events {
                let _ = finder.find(event, REFERENCE);
            }
        }
    }
}
