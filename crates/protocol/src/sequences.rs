//! A set of numbers that mostly grows at its end: all numbers below a limit, and a few ranges above it.

/// The set; see the module. Ranges are half-open, sorted, disjoint, not adjacent, and above `below`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sequences {
    below: u64,
    ranges: Vec<(u64, u64)>,
}

impl Sequences {
    /// Creates a set of the numbers below `below` and of half-open ranges above it.
    #[must_use]
    pub fn of(below: u64, ranges: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut set = Self { below, ranges: Vec::new() };
        for (from, to) in ranges {
            set.insert_range(from, to);
        }
        set
    }

    /// The limit below which every number is in the set.
    #[must_use]
    pub fn below(&self) -> u64 {
        self.below
    }

    /// The ranges above [`Sequences::below`].
    #[must_use]
    pub fn ranges(&self) -> &[(u64, u64)] {
        &self.ranges
    }

    /// Whether a number is in the set.
    #[must_use]
    pub fn contains(&self, sequence: u64) -> bool {
        if sequence < self.below {
            return true;
        }
        let after = self.ranges.partition_point(|(from, _)| *from <= sequence);
        after > 0 && sequence < self.ranges[after - 1].1
    }

    /// Adds a number.
    pub fn insert(&mut self, sequence: u64) {
        self.insert_range(sequence, sequence.saturating_add(1));
    }

    /// Adds all numbers below `below`.
    pub fn insert_below(&mut self, below: u64) {
        self.insert_range(0, below);
    }

    /// Adds all numbers of another set.
    pub fn merge(&mut self, other: &Self) {
        self.insert_below(other.below);
        for (from, to) in &other.ranges {
            self.insert_range(*from, *to);
        }
    }

    /// Removes a number.
    pub fn remove(&mut self, sequence: u64) {
        if sequence < self.below {
            if sequence + 1 < self.below {
                self.ranges.insert(0, (sequence + 1, self.below));
            }
            self.below = sequence;
            return;
        }
        let Some(at) = self.ranges.iter().position(|(from, to)| (*from..*to).contains(&sequence))
        else {
            return;
        };
        let (from, to) = self.ranges[at];
        let rest = [(from, sequence), (sequence + 1, to)];
        self.ranges.splice(at..=at, rest.into_iter().filter(|(from, to)| from < to));
    }

    /// Adds a half-open range.
    pub fn insert_range(&mut self, from: u64, to: u64) {
        if to <= from || to <= self.below {
            return;
        }
        // Ranges that touch the new range are merged with it.
        let first = self.ranges.partition_point(|(_, end)| *end < from);
        let last = self.ranges.partition_point(|(start, _)| *start <= to);
        let touching = &self.ranges[first..last];
        let from = touching.first().map_or(from, |(start, _)| from.min(*start));
        let to = touching.last().map_or(to, |(_, end)| to.max(*end));
        self.ranges.splice(first..last, [(from, to)]);
        while let Some((start, end)) = self.ranges.first().copied()
            && start <= self.below
        {
            self.below = self.below.max(end);
            self.ranges.remove(0);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn it_holds_what_was_put_in_and_keeps_its_ranges_apart() {
        let config = ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() };
        let step = (0u64..40, 0u64..6, 0u8..3);
        proptest!(config, |(steps in prop::collection::vec(step, 0..30))| {
            let mut set = Sequences::default();
            let mut model = BTreeSet::new();
            for (from, length, kind) in steps {
                match kind {
                    0 => {
                        set.insert_below(from);
                        model.extend(0..from);
                    }
                    1 => {
                        set.insert_range(from, from + length);
                        model.extend(from..from + length);
                    }
                    _ => {
                        set.remove(from);
                        model.remove(&from);
                    }
                }
                let held: BTreeSet<u64> = (0..60).filter(|n| set.contains(*n)).collect();
                prop_assert_eq!(&held, &model);
                let mut end = set.below();
                for (from, to) in set.ranges() {
                    prop_assert!(*from > end && to > from);
                    end = *to;
                }
            }
        });
    }
}
