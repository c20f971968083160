//! Histograms of durations.

use std::time::Duration;

/// Number of classes per octave: a quantile is at most a fifth too long.
const PER_OCTAVE: f64 = 4.0;
/// The last class has all longer durations: those of more than an hour.
const CLASSES: usize = 88;

/// A histogram of durations. Histograms of several processes can be added, and the
/// [difference](Self::since) of two states has the durations counted in between.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Durations {
    /// Counts by class, up to that of the longest duration.
    counts: Vec<u64>,
}

impl Durations {
    /// Creates a histogram with these counts, as returned by [`counts`](Self::counts).
    #[must_use]
    pub fn of_counts(mut counts: Vec<u64>) -> Self {
        counts.truncate(CLASSES);
        Self { counts }
    }

    /// The counts, from the shortest durations on.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Counts a duration.
    pub fn add(&mut self, duration: Duration) {
        let class = class(duration);
        if self.counts.len() <= class {
            self.counts.resize(class + 1, 0);
        }
        self.counts[class] += 1;
    }

    /// Adds the counts of another histogram.
    pub fn add_all(&mut self, other: &Self) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_add(*more);
        }
    }

    /// The durations counted since an earlier state; `None` if `before` is not an earlier state.
    #[must_use]
    pub fn since(&self, before: &Self) -> Option<Self> {
        let mut counts = self.counts.clone();
        for (class, earlier) in before.counts.iter().enumerate() {
            let now = counts.get(class).copied().unwrap_or_default();
            let more = now.checked_sub(*earlier)?;
            if let Some(count) = counts.get_mut(class) {
                *count = more;
            }
        }
        Some(Self { counts })
    }

    /// The number of durations.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The duration that this share of the durations does not exceed; rounded up.
    #[must_use]
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let wanted = ((self.len() as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let class = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        })?;
        let milliseconds = ((class + 1) as f64 / PER_OCTAVE).exp2();
        Some(Duration::from_secs_f64(milliseconds / 1e3))
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn class(duration: Duration) -> usize {
    let milliseconds = (duration.as_secs_f64() * 1e3).max(1.0);
    ((milliseconds.log2() * PER_OCTAVE) as usize).min(CLASSES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(milliseconds: &[u64]) -> Durations {
        let mut all = Durations::default();
        milliseconds.iter().for_each(|&one| all.add(Duration::from_millis(one)));
        all
    }

    #[test]
    fn a_quantile_is_at_most_a_fifth_too_long() {
        for milliseconds in [1, 2, 7, 99, 1_000, 59_000, 3_000_000] {
            let found = of(&[milliseconds]).quantile(0.95).expect("there is one");
            let ratio =
                found.as_secs_f64() * 1e3 / Duration::from_millis(milliseconds).as_secs_f64() / 1e3;
            assert!((1.0..1.2).contains(&ratio), "{milliseconds} ms: {found:?}");
        }
        let hundred: Vec<u64> = (1..=100).collect();
        let p95 = of(&hundred).quantile(0.95).expect("there are some");
        assert!((95..115).contains(&p95.as_millis()), "{p95:?}");
        assert_eq!(Durations::default().quantile(0.95), None);
        assert!(of(&[u64::MAX]).quantile(0.5).is_some());
    }

    #[test]
    fn counts_are_added_and_subtracted() {
        let before = of(&[5, 5]);
        let mut now = before.clone();
        now.add(Duration::from_secs(9));
        let more = now.since(&before).expect("it is an earlier look");
        assert_eq!((more.len(), more.quantile(0.5)), (1, of(&[9_000]).quantile(0.5)));
        assert_eq!(before.since(&now), None, "a process that was started again");
        assert_eq!(now.since(&Durations::default()), Some(now.clone()));
        let mut sum = more.clone();
        sum.add_all(&before);
        assert_eq!(sum, now);
        assert_eq!(Durations::of_counts(now.counts().to_vec()), now);
    }
}
