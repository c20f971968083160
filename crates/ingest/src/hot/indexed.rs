//! Counts of events that became searchable.

/// Events of one origin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Indexed {
    /// How many.
    pub events: u64,
    /// Bytes of their text.
    pub bytes: u64,
    /// Sum of their ages as they became searchable, in microseconds; those of the future count as 0.
    pub age: u64,
    /// The largest age.
    pub max_age: u64,
}

impl Indexed {
    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.bytes += other.bytes;
        self.age = self.age.saturating_add(other.age);
        self.max_age = self.max_age.max(other.max_age);
    }
}
