//! The input of a function for one event, and the sink of its results.

use std::cell::{Cell, RefCell};
use std::fmt;

use jiff::tz::TimeZone;
use model::EventTime;

use crate::time::LocalClock;
use crate::value::{TextValue, Value};

/// Maximum length of a text that a function creates, in bytes.
pub const LONGEST_TEXT: usize = 16 << 20;

/// The context of functions besides their arguments. It is valid for one batch of events.
#[derive(Debug)]
pub struct Environment {
    now: EventTime,
    wall: EventTime,
    zone: TimeZone,
    clock: RefCell<Option<LocalClock>>,
    /// The note of a function about its results.
    note: Cell<Option<&'static str>>,
}

impl Environment {
    /// Creates an environment. `now` is the value of `now()` and the reference of times without a date,
    /// `wall` the value of `time()`.
    #[must_use]
    pub fn new(now: EventTime, wall: EventTime, zone: TimeZone) -> Self {
        Self { now, wall, zone, clock: RefCell::new(None), note: Cell::new(None) }
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
