//! The input of a function for one event, and the sink of its results.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Arc;

use jiff::tz::TimeZone;
use model::EventTime;

use crate::time::{LocalClock, TextKey, TimeFormat};
use crate::value::{TextValue, Value};

/// Maximum length of a text that a function creates, in bytes.
pub const LONGEST_TEXT: usize = 16 << 20;

/// The time that was written last. Events are in the order of their times, so the next one often has the same
/// text.
#[derive(Debug, Default)]
struct Written {
    format: Option<Arc<TimeFormat>>,
    key: TextKey,
    /// The text; empty for the first time that is written in the format.
    text: String,
}

/// The context of functions besides their arguments. It is valid for one batch of events.
#[derive(Debug)]
pub struct Environment {
    now: EventTime,
    wall: EventTime,
    zone: TimeZone,
    clock: RefCell<Option<LocalClock>>,
    written: RefCell<Written>,
    /// The note of a function about its results.
    note: Cell<Option<&'static str>>,
}

impl Environment {
    /// Creates an environment. `now` is the value of `now()` and the reference of times without a date,
    /// `wall` the value of `time()`.
    #[must_use]
    pub fn new(now: EventTime, wall: EventTime, zone: TimeZone) -> Self {
        let (clock, written) = (RefCell::default(), RefCell::default());
        Self { now, wall, zone, clock, written, note: Cell::new(None) }
    }

    /// Records that a limit dropped values; of several notes the last one is kept.
    pub fn note(&self, text: &'static str) {
        self.note.set(Some(text));
    }

    /// Returns the recorded note.
    #[must_use]
    pub fn noted(&self) -> Option<&'static str> {
        self.note.get()
    }

    /// Returns the value of `now()`.
    #[must_use]
    pub fn now(&self) -> EventTime {
        self.now
    }

    /// Returns the value of `time()`.
    #[must_use]
    pub fn wall(&self) -> EventTime {
        self.wall
    }

    /// Returns the time zone in which times are read and written.
    #[must_use]
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// Calls `with` with the clock of the zone, which caches the last day.
    pub fn with_clock<T>(&self, with: impl FnOnce(&mut LocalClock) -> T) -> T {
        let mut clock = self.clock.borrow_mut();
        with(clock.get_or_insert_with(|| LocalClock::new(self.zone.clone())))
    }

    /// Appends a time in a format, in the zone.
    pub(crate) fn write_time(&self, time: EventTime, format: &Arc<TimeFormat>, out: &mut String) {
        self.with_clock(|clock| {
            let Some(key) = TextKey::of(time, format, clock) else {
                format.strftime(time, clock, out);
                return;
            };
            let mut written = self.written.borrow_mut();
            let last = &mut *written;
            let is_known = last.format.as_ref().is_some_and(|known| Arc::ptr_eq(known, format));
            if is_known && last.key == key && !last.text.is_empty() {
                out.push_str(&last.text);
                return;
            }
            let from = out.len();
            format.strftime_at(time, key.offset, clock, out);
            last.key = key;
            last.text.clear();
            if is_known {
                last.text.push_str(&out[from..]);
            } else {
                // The first text is not kept: INGEST_EVAL has an environment for each event, which would only
                // pay for the copy.
                last.format = Some(Arc::clone(format));
            }
        });
    }
}

/// The arguments of a function for one event.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    values: &'a [Value<'a>],
    environment: &'a Environment,
}

impl<'a> Row<'a> {
    /// Creates a row of these arguments.
    #[must_use]
    pub fn new(values: &'a [Value<'a>], environment: &'a Environment) -> Self {
        Self { values, environment }
    }

    /// Returns the number of arguments.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "few functions take none")]
    pub fn len(self) -> usize {
        self.values.len()
    }

    /// Returns an argument, null if there are fewer.
    #[must_use]
    pub fn value(self, at: usize) -> Value<'a> {
        self.values.get(at).copied().unwrap_or(Value::Null)
    }

    /// Returns the text of an argument.
    #[must_use]
    pub fn text(self, at: usize) -> Option<TextValue<'a>> {
        self.value(at).text()
    }

    /// Returns an argument as a number.
    #[must_use]
    pub fn number(self, at: usize) -> Option<f64> {
        self.value(at).number()
    }

    /// Iterates over all arguments.
    pub fn values(self) -> impl Iterator<Item = Value<'a>> {
        self.values.iter().copied()
    }

    /// Returns the environment.
    #[must_use]
    pub fn environment(self) -> &'a Environment {
        self.environment
    }
}

/// A sink for the values of a multivalue result.
pub trait TextSink {
    /// Appends a value if there is room.
    fn append(&mut self, text: &str);

    /// Returns whether there is no room left. Values appended then are lost, which the owner of the sink
    /// reports.
    fn is_full(&self) -> bool {
        false
    }
}

impl TextSink for Vec<String> {
    fn append(&mut self, text: &str) {
        self.push(text.to_owned());
    }
}

/// The values of one row, limited by the room in the sink.
pub struct Several<'b>(&'b mut dyn TextSink);

impl fmt::Debug for Several<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Several")
    }
}

impl<'b> Several<'b> {
    /// Creates a list that writes its values to a sink.
    pub fn new(sink: &'b mut dyn TextSink) -> Self {
        Self(sink)
    }

    /// Appends a value, unless there is no room left.
    pub fn append_value(&mut self, text: impl AsRef<str>) {
        self.0.append(text.as_ref());
    }

    /// Returns whether there is no room left.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.0.is_full()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::time::parse_zone;

    const ZONES: &[&str] = &["UTC", "-0530", "est", "PST8PDT,M3.2.0,M11.1.0"];
    const PARTS: &[&str] = &[
        "%Y", "%y", "%C", "%G", "%m", "%b", "%B", "%d", "%e", "%j", "%F", "%D", "%x", "%v", "%a",
        "%A", "%w", "%u", "%U", "%V", "%W", "%H", "%k", "%I", "%l", "%M", "%S", "%p", "%P", "%T",
        "%R", "%r", "%c", "%+", "%s", "%Z", "%z", "%:z", "%::z", "%Ez", "%N", "%3Q", "%f", "%n",
        "%%", "%i", "-",
    ];

    fn format() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(PARTS), 0..4).prop_map(|parts| parts.concat())
    }

    #[test]
    fn the_text_of_a_time_is_kept_from_the_second_time_of_a_format_on() {
        let environment = Environment::new(EventTime(0), EventTime(0), TimeZone::UTC);
        let [minutes, days] = ["%H:%M", "%F"].map(|format| Arc::new(TimeFormat::parse(format)));
        let mut out = String::new();
        for (format, kept) in
            [(&minutes, ""), (&minutes, "00:01"), (&minutes, "00:01"), (&days, ""), (&minutes, "")]
        {
            environment.write_time(EventTime(60_000_000), format, &mut out);
            assert_eq!(environment.written.borrow().text, kept);
        }
        assert_eq!(out, "00:0100:0100:011970-01-0100:01");
    }

    proptest! {
        #[test]
        fn a_time_has_the_text_of_its_format_whatever_was_written_before(
            formats in [format(), format()],
            zone in prop::sample::select(ZONES),
            start in -4_000_000_000_000_000_i64..8_000_000_000_000_000,
            steps in prop::collection::vec(
                prop_oneof![0..2_000_000_i64, 0..90_000_000_i64, -9_000_000_000_i64..90_000_000_000],
                1..20,
            ),
        ) {
            let zone = parse_zone(zone).unwrap();
            let clock = LocalClock::new(zone.clone());
            let environment = Environment::new(EventTime(0), EventTime(0), zone);
            let formats = formats.map(|format| Arc::new(TimeFormat::parse(&format)));
            let mut time = start;
            for (at, step) in steps.into_iter().enumerate() {
                time += step;
                // Sometimes another format comes between.
                let format = &formats[usize::from(at % 5 == 4)];
                let (mut written, mut expected) = ("<".to_owned(), "<".to_owned());
                environment.write_time(EventTime(time), format, &mut written);
                format.strftime(EventTime(time), &clock, &mut expected);
                prop_assert_eq!(written, expected, "{}", format.as_str());
            }
        }
    }
}
