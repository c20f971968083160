//! The guard of a rolling restart: it halts the restart when searches degrade.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use model::Durations;
use serde::{Deserialize, Serialize};

/// Period before the wave whose searches are the baseline.
const BEFORE: Duration = Duration::from_secs(600);
/// Period whose searches are compared with the baseline.
const LATELY: Duration = Duration::from_secs(60);
/// Minimum number of searches for a meaningful 95th percentile.
const ENOUGH: u64 = 20;
/// A 95th percentile below this does not halt a wave, however short searches were before.
const SHORT: Duration = Duration::from_millis(500);

/// Counts of the searches of a process since its start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Searches {
    /// Number of searches with incomplete results.
    pub incomplete: u64,
    /// The run times of search jobs.
    pub times: Durations,
}

impl Searches {
    /// Returns the counts since an earlier observation; all counts if the process was restarted since.
    fn since(&self, before: &Self) -> Self {
        let incomplete = self.incomplete.checked_sub(before.incomplete);
        match (incomplete, self.times.since(&before.times)) {
            (Some(incomplete), Some(times)) => Self { incomplete, times },
            _ => self.clone(),
        }
    }

    fn add(&mut self, other: &Self) {
        self.incomplete = self.incomplete.saturating_add(other.incomplete);
        self.times.add_all(&other.times);
    }

    /// Returns the 95th percentile, if there are enough searches.
    fn p95(&self) -> Option<Duration> {
        (self.times.len() >= ENOUGH).then(|| self.times.quantile(0.95)).flatten()
    }
}

/// Limits of the effect of a wave on searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of incomplete results.
    pub incomplete: u64,
    /// Maximum 95th percentile, as a multiple of the baseline; 0: no limit.
    pub slowdown: u32,
}

/// The baseline of searches before a wave. It is stored with the wave, because another leader that continues
/// the wave has not observed those searches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usual {
    /// The 95th percentile of their run times in milliseconds, if there were enough searches.
    pub p95_ms: Option<u64>,
    /// Number of incomplete results. If there were any, later ones are not attributed to the wave.
    pub incomplete: u64,
}

/// Observes the searches of all processes. Times are relative to an arbitrary fixed moment.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    /// The counts of each process at the last observation.
    counted: BTreeMap<String, Searches>,
    /// The searches that ended between two observations, with the time of the later one.
    ended: VecDeque<(Duration, Searches)>,
    /// When this leader first saw the wave.
    wave_seen: Option<Duration>,
}

impl Guard {
    /// Adds an observation: the counts of the processes, by identity.
    pub(crate) fn observe(&mut self, now: Duration, counted: &BTreeMap<String, Searches>) {
        let mut more = Searches::default();
        for (id, searches) in counted {
            // For a process that is new to this leader, the times of its searches are unknown.
            if let Some(before) = self.counted.get(id) {
                more.add(&searches.since(before));
            }
            self.counted.insert(id.clone(), searches.clone());
        }
        if more != Searches::default() {
            self.ended.push_back((now, more));
        }
        while self.ended.front().is_some_and(|(at, _)| now.saturating_sub(*at) > BEFORE) {
            self.ended.pop_front();
        }
    }

    /// Returns the baseline from the searches until now.
    pub(crate) fn usual(&self) -> Usual {
        let all = self.after(Duration::ZERO);
        let p95_ms = all.p95().and_then(|p95| u64::try_from(p95.as_millis()).ok());
        Usual { p95_ms, incomplete: all.incomplete }
    }

    /// Returns the reason to halt the wave, if there is one.
    pub(crate) fn objection(
        &mut self,
        now: Duration,
        usual: &Usual,
        limits: Limits,
    ) -> Option<String> {
        let wave_seen = *self.wave_seen.get_or_insert(now);
        let incomplete = self.after(wave_seen).incomplete;
        if usual.incomplete == 0 && incomplete > limits.incomplete {
            let most = limits.incomplete;
            return Some(format!(
                "searches with incomplete results since it began: {incomplete} (restart_max_incomplete = {most}); \
                 begin again when results are complete, or with --force"
            ));
        }
        let before = Duration::from_millis(usual.p95_ms?);
        let p95 = self.after(wave_seen.max(now.saturating_sub(LATELY))).p95()?;
        let is_slow = limits.slowdown > 0 && p95 > before * limits.slowdown && p95 > SHORT;
        is_slow.then(|| {
            format!(
                "searches are slow: the 95th percentile of the last minute is {:.1} s, before it began it was \
                 {:.1} s (restart_max_slowdown = {}); begin again when searches are fast, or with --force",
                p95.as_secs_f64(),
                before.as_secs_f64(),
                limits.slowdown
            )
        })
    }

    /// Forgets the wave, so that the next one begins anew.
    pub(crate) fn forget_wave(&mut self) {
        self.wave_seen = None;
    }

    /// Returns the searches that ended after a moment.
    fn after(&self, moment: Duration) -> Searches {
        let mut all = Searches::default();
        for (_, searches) in self.ended.iter().rev().take_while(|(at, _)| *at > moment) {
            all.add(searches);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { incomplete: 0, slowdown: 2 };

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// A simulated search head.
    #[derive(Default)]
    struct Head(Searches);

    impl Head {
        fn runs(&mut self, searches: usize, milliseconds: u64) -> &mut Self {
            (0..searches).for_each(|_| self.0.times.add(Duration::from_millis(milliseconds)));
            self
        }

        fn told(&self) -> BTreeMap<String, Searches> {
            BTreeMap::from([("head".to_owned(), self.0.clone())])
        }
    }

    /// Returns a guard that has observed this number of searches, with the baseline.
    fn guard(searches: usize, milliseconds: u64) -> (Guard, Head, Usual) {
        let (mut guard, mut head) = (Guard::default(), Head::default());
        guard.observe(at(1), &head.told());
        guard.observe(at(2), &head.runs(searches, milliseconds).told());
        let usual = guard.usual();
        assert_eq!(guard.objection(at(2), &usual, LIMITS), None);
        (guard, head, usual)
    }

    #[test]
    fn an_incomplete_result_halts_it() {
        let (mut guard, mut head, usual) = guard(0, 0);
        head.0.incomplete = 1;
        guard.observe(at(3), &head.told());
        let why = guard.objection(at(3), &usual, LIMITS).expect("it halts");
        assert!(why.contains("incomplete results since it began: 1"), "{why}");
        assert_eq!(guard.objection(at(3), &usual, Limits { incomplete: 1, ..LIMITS }), None);
    }

    #[test]
    fn results_that_were_incomplete_before_say_nothing() {
        let (mut guard, mut head) = (Guard::default(), Head::default());
        guard.observe(at(1), &head.told());
        head.0.incomplete = 1;
        guard.observe(at(2), &head.told());
        let usual = guard.usual();
        assert_eq!(guard.objection(at(2), &usual, LIMITS), None);
        head.0.incomplete = 9;
        guard.observe(at(3), &head.told());
        assert_eq!(guard.objection(at(3), &usual, LIMITS), None);
    }

    #[test]
    fn slow_searches_halt_it() {
        let (mut guard, mut head, usual) = guard(20, 1_000);
        guard.observe(at(3), &head.runs(19, 9_000).told());
        assert_eq!(guard.objection(at(3), &usual, LIMITS), None, "these are too few");
        guard.observe(at(4), &head.runs(1, 9_000).told());
        let why = guard.objection(at(4), &usual, LIMITS).expect("it halts");
        assert!(why.contains("the last minute is") && why.contains("_slowdown = 2"), "{why}");
        assert_eq!(guard.objection(at(4), &usual, Limits { slowdown: 0, ..LIMITS }), None);
        // These searches ended more than a minute ago.
        assert_eq!(guard.objection(at(70), &usual, LIMITS), None);
    }

    #[test]
    fn searches_that_stay_short_do_not_halt_it() {
        let (mut guard, mut head, usual) = guard(100, 10);
        guard.observe(at(3), &head.runs(100, 400).told());
        assert_eq!(guard.objection(at(3), &usual, LIMITS), None);
    }

    #[test]
    fn without_enough_searches_before_there_is_nothing_to_compare_with() {
        let (mut guard, mut head, usual) = guard(19, 10);
        assert_eq!(usual.p95_ms, None);
        guard.observe(at(3), &head.runs(100, 60_000).told());
        assert_eq!(guard.objection(at(3), &usual, LIMITS), None);
    }

    #[test]
    fn a_search_head_that_was_started_again_counts_from_zero() {
        let (mut guard, _, usual) = guard(100, 1_000);
        let mut again = Head::default();
        guard.observe(at(3), &again.runs(20, 9_000).told());
        assert!(guard.objection(at(3), &usual, LIMITS).is_some());
    }

    #[test]
    fn another_leader_goes_on_with_what_the_first_one_has_seen() {
        let (_, mut head, usual) = guard(100, 1_000);
        let mut other = Guard::default();
        other.observe(at(1), &head.told());
        assert_eq!(other.objection(at(1), &usual, LIMITS), None);
        other.observe(at(2), &head.runs(20, 9_000).told());
        assert!(other.objection(at(2), &usual, LIMITS).is_some());
    }

    #[test]
    fn what_was_long_ago_is_forgotten() {
        let (mut guard, head, _) = guard(100, 1_000);
        guard.observe(at(700), &head.told());
        assert_eq!(guard.usual(), Usual { p95_ms: None, incomplete: 0 });
    }
}
