//! Random decisions, from a seed.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// A seeded random number generator: the only one of a run.
#[derive(Debug)]
pub(crate) struct Chance(StdRng);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(StdRng::seed_from_u64(seed))
    }

    /// A random number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0.random_range(0..end.max(1))
    }

    /// A random number from `least` to `most`, both included.
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        self.0.random_range(least..=most.max(least))
    }

    /// True with a probability of `of_thousand` per mille.
    pub(crate) fn permille(&mut self, of_thousand: u64) -> bool {
        self.0.random_range(0..1000) < of_thousand
    }

    pub(crate) fn millis(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_millis(self.between(least, most))
    }

    /// A random element; `None` for an empty slice.
    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        let place = usize::try_from(self.below(all.len() as u64)).unwrap_or(0);
        all.get(place).copied()
    }
}
