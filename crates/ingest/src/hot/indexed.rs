//! Counts of events that became searchable.

/// Counts of the events of one origin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Indexed {
    /// Number of events.
    pub events: u64,
    /// Bytes of their text.
    pub bytes: u64,
    /// Sum of the ages of the events when they became searchable, in microseconds; events with a future time
    /// count as 0.
    pub age: u64,
    /// The largest age in microseconds.
    pub max_age: u64,
}

impl Indexed {
    /// Adds the counts of others.
    pub fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.bytes += other.bytes;
        self.age = self.age.saturating_add(other.age);
        self.max_age = self.max_age.max(other.max_age);
    }
}
