//! A rolling restart: some processes at a time, and the next ones once those are back, as long as searches do
//! not degrade.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::guard::{Guard, Limits, Searches, Usual};

/// A rolling restart as it is stored, so that another leader can continue it. Processes are named by their
/// identities.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wave {
    /// Processes that have not been told to restart yet, in order.
    pub waiting: Vec<String>,
    /// Processes that have been told, with the start time that they had then.
    pub told: BTreeMap<String, String>,
    /// Processes that are back.
    pub done: Vec<String>,
    /// Percentage of the processes that may be restarting at the same time, at least one process; `None` for
    /// the leader's setting.
    pub percent: Option<usize>,
    /// Why it was halted before its end.
    pub halted: Option<String>,
    /// Whether it continues regardless of the effect on searches.
    #[serde(default)]
    pub is_unguarded: bool,
    /// The baseline of searches before it; `None` until the leader has seen the wave.
    #[serde(default)]
    pub usual: Option<Usual>,
}

impl Wave {
    /// Creates a wave over these processes, in this order.
    #[must_use]
    pub fn new(waiting: Vec<String>, percent: Option<usize>) -> Self {
        Self { waiting, percent, ..Self::default() }
    }

    /// Disables the guard of searches.
    #[must_use]
    pub fn unguarded(self) -> Self {
        Self { is_unguarded: true, ..self }
    }

    /// Returns the number of its processes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len() + self.told.len() + self.done.len()
    }

    /// Whether it has no processes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether nothing is left to do.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.halted.is_some() || (self.waiting.is_empty() && self.told.is_empty())
    }
}

/// The processes of the cluster at a moment, by identity.
#[derive(Debug, Clone, Default)]
pub struct Present {
    /// Start time of each process in the list.
    pub started: BTreeMap<String, String>,
    /// Processes that answer.
    pub answered: BTreeSet<String>,
    /// Search counts of the processes that answer.
    pub searches: BTreeMap<String, Searches>,
}

impl Present {
    fn is_back(&self, id: &str, before: &str) -> bool {
        self.answered.contains(id) && self.started.get(id).is_some_and(|started| started != before)
    }

    /// Returns a process that does not answer, except those in `except`.
    fn missing(&self, except: &BTreeMap<String, String>) -> Option<&String> {
        self.started.keys().find(|id| !self.answered.contains(*id) && !except.contains_key(*id))
    }
}

/// Drives waves. Times are relative to an arbitrary fixed moment.
#[derive(Debug)]
pub struct Restarts {
    percent: usize,
    timeout: Duration,
    limits: Limits,
    guard: Guard,
    /// Since when each process has been away.
    since: BTreeMap<String, Duration>,
}

impl Restarts {
    /// Creates the state. `percent` applies if the wave has none. A wave is halted if a process is not back
    /// after `timeout`, or if searches degrade beyond `limits`.
    #[must_use]
    pub fn new(percent: usize, timeout: Duration, limits: Limits) -> Self {
        Self { percent, timeout, limits, guard: Guard::default(), since: BTreeMap::new() }
    }

    /// Observes the searches, also while there is no wave.
    pub fn observe(&mut self, now: Duration, present: &Present) {
        self.guard.observe(now, &present.searches);
    }

    /// Returns the next state of the wave: the processes that are new in `told` must be told to restart.
    #[must_use]
    pub fn step(&mut self, now: Duration, wave: &Wave, present: &Present) -> Wave {
        let mut next = wave.clone();
        if wave.is_over() {
            self.since.clear();
            self.guard.forget_wave();
            return next;
        }
        if !wave.is_unguarded {
            let usual = &*next.usual.get_or_insert_with(|| self.guard.usual());
            if let Some(why) = self.guard.objection(now, usual, self.limits) {
                next.halted = Some(why);
                return next;
            }
        }
        let back = wave.told.iter().filter(|(id, before)| present.is_back(id, before));
        let back: Vec<String> = back.map(|(id, _)| id.clone()).collect();
        for id in back {
            next.told.remove(&id);
            self.since.remove(&id);
            next.done.push(id);
        }
        for id in next.told.keys() {
            let since = *self.since.entry(id.clone()).or_insert(now);
            if now.saturating_sub(since) >= self.timeout {
                let seconds = self.timeout.as_secs();
                next.halted = Some(format!("{id} is not back after {seconds} s (restart_timeout)"));
                return next;
            }
        }
        // No process is told to restart while another one is away for a different reason.
        if present.missing(&next.told).is_some() {
            return next;
        }
        let percent = wave.percent.unwrap_or(self.percent);
        let at_a_time = (wave.len() * percent / 100).max(1);
        while next.told.len() < at_a_time && !next.waiting.is_empty() {
            let id = next.waiting.remove(0);
            match present.started.get(&id) {
                Some(started) => {
                    self.since.insert(id.clone(), now);
                    next.told.insert(id, started.clone());
                }
                // The process has left the cluster, so it need not be restarted.
                None => next.done.push(id),
            }
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn restarts() -> Restarts {
        Restarts::new(10, at(60), Limits { incomplete: 0, slowdown: 2 })
    }

    fn wave(names: &[&str], percent: usize) -> Wave {
        let wave = Wave::new(names.iter().map(|&name| name.to_owned()).collect(), Some(percent));
        Wave { usual: Some(Usual { p95_ms: None, incomplete: 0 }), ..wave }
    }

    /// Returns a cluster of answering processes, by name and start.
    fn present(all: &[(&str, &str)]) -> Present {
        Present {
            started: all
                .iter()
                .map(|(id, start)| ((*id).to_owned(), (*start).to_owned()))
                .collect(),
            answered: all.iter().map(|(id, _)| (*id).to_owned()).collect(),
            searches: BTreeMap::new(),
        }
    }

    fn told(wave: &Wave) -> Vec<&str> {
        wave.told.keys().map(String::as_str).collect()
    }

    #[test]
    fn one_after_the_other_is_restarted_and_the_next_one_when_it_is_back() {
        let mut restarts = restarts();
        let all = [("a", "1"), ("b", "1"), ("c", "1")];
        let first = restarts.step(at(0), &wave(&["a", "b", "c"], 10), &present(&all));
        assert_eq!(told(&first), ["a"]);
        // The process still answers because it has not restarted yet; then it is away.
        let same = restarts.step(at(1), &first, &present(&all));
        assert_eq!(same, first);
        let same = restarts.step(at(2), &same, &present(&all[1..]));
        assert_eq!(same, first);
        let second = restarts.step(at(9), &same, &present(&[("a", "2"), ("b", "1"), ("c", "1")]));
        assert_eq!((told(&second), &second.done), (vec!["b"], &vec!["a".to_owned()]));
        let third = restarts.step(at(10), &second, &present(&[("a", "2"), ("b", "2"), ("c", "1")]));
        let over = restarts.step(at(11), &third, &present(&[("a", "2"), ("b", "2"), ("c", "2")]));
        assert!(over.is_over() && over.halted.is_none() && over.done.len() == 3, "{over:?}");
    }

    #[test]
    fn a_percentage_of_them_is_away_at_a_time() {
        let all = [("a", "1"), ("b", "1"), ("c", "1"), ("d", "1")];
        let first = restarts().step(at(0), &wave(&["a", "b", "c", "d"], 50), &present(&all));
        assert_eq!(told(&first), ["a", "b"]);
    }

    #[test]
    fn a_wave_halts_if_one_does_not_come_back() {
        let mut restarts = restarts();
        let all = [("a", "1"), ("b", "1")];
        let first = restarts.step(at(0), &wave(&["a", "b"], 10), &present(&all));
        let same = restarts.step(at(59), &first, &present(&all[1..]));
        assert_eq!(same.halted, None);
        let halted = restarts.step(at(60), &same, &present(&all[1..]));
        assert!(halted.halted.as_ref().is_some_and(|why| why.contains('a')), "{halted:?}");
        assert_eq!(restarts.step(at(99), &halted, &present(&all)), halted, "for good");
    }

    #[test]
    fn nobody_is_restarted_while_another_one_is_away() {
        let mut restarts = restarts();
        let mut seen = present(&[("a", "1"), ("b", "1")]);
        seen.answered.remove("b");
        let same = restarts.step(at(0), &wave(&["a", "b"], 10), &seen);
        assert_eq!(told(&same), Vec::<&str>::new());
        seen.answered.insert("b".to_owned());
        assert_eq!(told(&restarts.step(at(1), &same, &seen)), ["a"]);
    }

    #[test]
    fn a_wave_halts_if_searches_suffer_unless_it_is_told_not_to() {
        let mut seen = present(&[("a", "1"), ("b", "1")]);
        let mut suffers = |wave: &Wave| {
            let mut restarts = restarts();
            seen.searches.insert("head".to_owned(), Searches::default());
            restarts.observe(at(1), &seen);
            let first = restarts.step(at(1), wave, &seen);
            assert!(first.halted.is_none() && told(&first) == ["a"], "{first:?}");
            let lost = Searches { incomplete: 1, ..Searches::default() };
            seen.searches.insert("head".to_owned(), lost);
            restarts.observe(at(2), &seen);
            restarts.step(at(2), &first, &seen)
        };
        let begun = Wave::new(vec!["a".to_owned(), "b".to_owned()], Some(10));
        let halted = suffers(&begun);
        assert!(halted.is_over() && told(&halted) == ["a"], "{halted:?}");
        let goes_on = suffers(&begun.unguarded());
        assert!(!goes_on.is_over() && goes_on.usual.is_none(), "{goes_on:?}");
    }

    #[test]
    fn another_leader_goes_on_and_waits_as_long_as_it_has_to() {
        let all = [("a", "1"), ("b", "1")];
        let first = restarts().step(at(0), &wave(&["a", "b"], 10), &present(&all));
        let mut other = restarts();
        assert_eq!(other.step(at(500), &first, &present(&all[1..])), first);
        let next = other.step(at(520), &first, &present(&[("a", "2"), ("b", "1")]));
        assert_eq!(told(&next), ["b"]);
    }

    #[test]
    fn one_that_has_left_is_done() {
        let over = restarts().step(at(0), &wave(&["a"], 10), &present(&[("b", "1")]));
        assert!(over.is_over(), "{over:?}");
    }
}
