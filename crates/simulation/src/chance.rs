//! What happens by chance, from a seed.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// A seeded source of chance: the only one of a run.
#[derive(Debug)]
pub(crate) struct Chance(StdRng);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(StdRng::seed_from_u64(seed))
    }

    /// A number of a range; its end is not part of it.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0.random_range(0..end.max(1))
    }

    /// A number of a range, both ends included.
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        self.0.random_range(least..=most.max(least))
    }

    /// True in so many of a thousand cases.
    pub(crate) fn permille(&mut self, of_thousand: u64) -> bool {
        self.0.random_range(0..1000) < of_thousand
    }

    pub(crate) fn millis(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_millis(self.between(least, most))
    }

    /// One of several; none of none.
    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        let place = usize::try_from(self.below(all.len() as u64)).unwrap_or(0);
        all.get(place).copied()
    }
}
