//! What a function is given for one event, and what it puts its values into.

use std::cell::{Cell, RefCell};
use std::fmt;

use jiff::tz::TimeZone;
use model::EventTime;

use crate::time::LocalClock;
use crate::value::{TextValue, Value};

/// The most bytes of one text that a function makes.
pub const LONGEST_TEXT: usize = 16 << 20;

/// What functions know besides their arguments. It lasts for one batch of events.
#[derive(Debug)]
pub struct Environment {
    now: EventTime,
    wall: EventTime,
    zone: TimeZone,
    clock: RefCell<Option<LocalClock>>,
    /// What a function has to say about its results.
    note: Cell<Option<&'static str>>,
}

impl Environment {
    /// `now` is what `now()` gives and what times without a date are relative to, `wall` what `time()` gives.
    #[must_use]
    pub fn new(now: EventTime, wall: EventTime, zone: TimeZone) -> Self {
        Self { now, wall, zone, clock: RefCell::new(None), note: Cell::new(None) }
    }

    /// Says that a limit took values away; of several notes the last one stays.
    pub fn note(&self, text: &'static str) {
        self.note.set(Some(text));
    }

    /// What a function has said.
    #[must_use]
    pub fn noted(&self) -> Option<&'static str> {
        self.note.get()
    }

    /// What `now()` gives.
    #[must_use]
    pub fn now(&self) -> EventTime {
        self.now
    }

    /// What `time()` gives.
    #[must_use]
    pub fn wall(&self) -> EventTime {
        self.wall
    }

    /// The time zone in which times are read and written.
    #[must_use]
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// Calls `with` with the clock of the zone, which remembers the last day.
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
    /// A row of these arguments.
    #[must_use]
    pub fn new(values: &'a [Value<'a>], environment: &'a Environment) -> Self {
        Self { values, environment }
    }

    /// How many arguments there are.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "few functions take none")]
    pub fn len(self) -> usize {
        self.values.len()
    }

    /// An argument, null where there are fewer.
    #[must_use]
    pub fn value(self, at: usize) -> Value<'a> {
        self.values.get(at).copied().unwrap_or(Value::Null)
    }

    /// The text of an argument.
    #[must_use]
    pub fn text(self, at: usize) -> Option<TextValue<'a>> {
        self.value(at).text()
    }

    /// The number that an argument is or stands for.
    #[must_use]
    pub fn number(self, at: usize) -> Option<f64> {
        self.value(at).number()
    }

    /// All arguments.
    pub fn values(self) -> impl Iterator<Item = Value<'a>> {
        self.values.iter().copied()
    }

    /// What it knows besides.
    #[must_use]
    pub fn environment(self) -> &'a Environment {
        self.environment
    }
}

/// A place for the several values of one event.
pub trait TextSink {
    /// Appends a value if there is room.
    fn append(&mut self, text: &str);

    /// Whether there is no room left; what is appended then is lost, and whoever owns the place says so.
    fn is_full(&self) -> bool {
        false
    }
}

impl TextSink for Vec<String> {
    fn append(&mut self, text: &str) {
        self.push(text.to_owned());
    }
}

/// Takes the values of one row, as many as there is room for.
pub struct Several<'b>(&'b mut dyn TextSink);

impl fmt::Debug for Several<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Several")
    }
}

impl<'b> Several<'b> {
    /// Values go to a sink.
    pub fn new(sink: &'b mut dyn TextSink) -> Self {
        Self(sink)
    }

    /// Appends a value, unless there is no room left.
    pub fn append_value(&mut self, text: impl AsRef<str>) {
        self.0.append(text.as_ref());
    }

    /// Whether there is no room left.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.0.is_full()
    }
}
