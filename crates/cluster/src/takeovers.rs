//! Takeovers: which indexers are lost, and which ones recover their events.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use model::IndexerId;

/// A hot set and its owner, according to the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owned {
    /// The indexer that received its events.
    pub indexer: IndexerId,
    /// The indexer that stores them.
    pub owner: IndexerId,
}

/// An observation of the cluster.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The indexers in the list of the cluster.
    pub registered: BTreeSet<IndexerId>,
    /// Indexers that have answered since the last observation.
    pub answered: BTreeSet<IndexerId>,
    /// Indexers whose journals in object storage have records; those that have answered may be left out.
    pub unrecovered: BTreeSet<IndexerId>,
    /// The sets in the catalog.
    pub sets: Vec<Owned>,
    /// Indexers that are being removed from the cluster: they recover events only if no other indexer can.
    pub leaving: BTreeSet<IndexerId>,
}

/// An action to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Give the sets of a lost indexer to another owner, which recovers its events.
    TakeOver {
        /// The lost indexer.
        from: IndexerId,
        /// The indexer that recovers its events.
        by: IndexerId,
    },
    /// Give the sets of an indexer back to it: the indexer that was to recover its events is lost, and no
    /// other one answers. It may be waiting for its sets in order to start.
    GiveBack {
        /// The indexer.
        to: IndexerId,
    },
}

/// See the module. Times are relative to an arbitrary fixed moment.
#[derive(Debug)]
pub struct Takeovers {
    timeout: Duration,
    heard: BTreeMap<IndexerId, Duration>,
}

impl Takeovers {
    /// Creates the state. An indexer counts as lost if it has not answered for `timeout`. An indexer that is
    /// seen for the first time counts as having answered, because the previous leader may have heard from it
    /// just now.
    #[must_use]
    pub fn new(timeout: Duration) -> Self {
        Self { timeout, heard: BTreeMap::new() }
    }

    /// Processes an observation, and returns the actions.
    pub fn step(&mut self, now: Duration, seen: &Seen) -> Vec<Action> {
        let owners = seen.sets.iter().filter(|set| set.indexer != set.owner);
        let known: BTreeSet<IndexerId> = owners
            .clone()
            .map(|set| set.owner)
            .chain(seen.registered.iter().copied())
            .chain(seen.unrecovered.iter().copied())
            .collect();
        self.heard.retain(|indexer, _| known.contains(indexer));
        for indexer in known {
            self.heard.entry(indexer).or_insert(now);
        }
        for indexer in &seen.answered {
            if let Some(heard) = self.heard.get_mut(indexer) {
                *heard = now;
            }
        }
        // Indexers with unrecovered events: those with a journal, and those whose new owner was lost before
        // it had finished.
        let waiting = owners.map(|set| set.indexer).chain(seen.unrecovered.iter().copied());
        let waiting: BTreeSet<IndexerId> = waiting.collect();
        let mut actions = Vec::new();
        for from in waiting {
            let owner = seen.sets.iter().find(|set| set.indexer == from && set.owner != from);
            let is_due = match owner {
                Some(set) => self.is_gone(set.owner, now),
                None => self.is_gone(from, now),
            };
            match successor(from, seen) {
                _ if !is_due => {}
                Some(by) => actions.push(Action::TakeOver { from, by }),
                // Otherwise two indexers that have each other's sets would wait for each other forever at
                // their start.
                None if owner.is_some() => actions.push(Action::GiveBack { to: from }),
                None => {}
            }
        }
        actions
    }

    /// Whether an indexer has not answered for too long.
    #[must_use]
    pub fn is_gone(&self, indexer: IndexerId, now: Duration) -> bool {
        self.heard.get(&indexer).is_some_and(|heard| now.saturating_sub(*heard) >= self.timeout)
    }
}

/// Returns the indexer that recovers the events of another one: deterministic among those that answer, and
/// distributed over them.
fn successor(from: IndexerId, seen: &Seen) -> Option<IndexerId> {
    let there = seen.registered.intersection(&seen.answered).filter(|indexer| **indexer != from);
    let stays = |indexer: &IndexerId| !seen.leaving.contains(indexer);
    there.copied().max_by_key(|indexer| (stays(indexer), weight(from, *indexer), *indexer))
}

/// Computes FNV-1a of both identities.
fn weight(from: IndexerId, by: IndexerId) -> u64 {
    let bytes = from.0.as_bytes().iter().chain(by.0.as_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: IndexerId = IndexerId(uuid::Uuid::from_u128(1));
    const B: IndexerId = IndexerId(uuid::Uuid::from_u128(2));
    const C: IndexerId = IndexerId(uuid::Uuid::from_u128(3));

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn seen(answered: &[IndexerId], unrecovered: &[IndexerId]) -> Seen {
        Seen {
            registered: [A, B, C].into(),
            answered: answered.iter().copied().collect(),
            unrecovered: unrecovered.iter().copied().collect(),
            sets: [A, B, C].map(|indexer| Owned { indexer, owner: indexer }).to_vec(),
            leaving: BTreeSet::new(),
        }
    }

    #[test]
    fn an_indexer_with_a_journal_is_recovered_once_it_has_not_answered_for_the_timeout() {
        let mut takeovers = Takeovers::new(at(10));
        assert_eq!(takeovers.step(at(100), &seen(&[B, C], &[A])), []);
        assert_eq!(takeovers.step(at(109), &seen(&[B, C], &[A])), []);
        let actions = takeovers.step(at(110), &seen(&[B, C], &[A]));
        let [Action::TakeOver { from: A, by }] = actions[..] else { panic!("{actions:?}") };
        assert_ne!(by, A);
        assert_eq!(takeovers.step(at(111), &seen(&[A, B, C], &[A])), [], "it answers again");
    }

    #[test]
    fn an_indexer_without_a_journal_is_left_alone() {
        let mut takeovers = Takeovers::new(at(10));
        assert_eq!(takeovers.step(at(0), &seen(&[B, C], &[])), []);
        assert_eq!(takeovers.step(at(100), &seen(&[B, C], &[])), []);
    }

    #[test]
    fn while_its_new_owner_lives_nobody_else_takes_it_and_then_another_one_does() {
        let mut takeovers = Takeovers::new(at(10));
        let mut taken = seen(&[B, C], &[A]);
        taken.sets[0].owner = B;
        assert_eq!(takeovers.step(at(0), &taken), []);
        assert_eq!(takeovers.step(at(100), &taken), []);
        // Also after the log is gone, because the sets must be given back.
        let mut lost = seen(&[C], &[]);
        lost.sets[0].owner = B;
        assert_eq!(takeovers.step(at(105), &lost), []);
        assert_eq!(takeovers.step(at(110), &lost), [Action::TakeOver { from: A, by: C }]);
    }

    #[test]
    fn without_anybody_who_answers_nothing_happens() {
        let mut takeovers = Takeovers::new(at(10));
        assert_eq!(takeovers.step(at(0), &seen(&[], &[A])), []);
        assert_eq!(takeovers.step(at(100), &seen(&[], &[A])), []);
        assert_eq!(takeovers.step(at(101), &seen(&[A], &[A])), [], "it is the only one");
    }

    #[test]
    fn of_those_that_wait_for_each_other_each_gets_its_own_sets_again() {
        let mut takeovers = Takeovers::new(at(10));
        // Both are starting, and do not finish before they have their sets.
        let mut waiting = seen(&[], &[A, B]);
        waiting.sets = [(A, B), (B, A)].map(|(indexer, owner)| Owned { indexer, owner }).to_vec();
        assert_eq!(takeovers.step(at(0), &waiting), []);
        assert_eq!(takeovers.step(at(9), &waiting), []);
        let both = [Action::GiveBack { to: A }, Action::GiveBack { to: B }];
        assert_eq!(takeovers.step(at(10), &waiting), both);
        // Another indexer that answers recovers both.
        let mut with_another = waiting.clone();
        with_another.answered.insert(C);
        let taken = [A, B].map(|from| Action::TakeOver { from, by: C });
        assert_eq!(takeovers.step(at(11), &with_another), taken);
        let own = seen(&[], &[A, B]);
        assert_eq!(takeovers.step(at(30), &own), [], "nobody is left, and nothing is taken");
    }

    #[test]
    fn an_indexer_that_is_in_no_list_is_recovered_too() {
        let mut takeovers = Takeovers::new(at(10));
        let mut gone = seen(&[B, C], &[A]);
        gone.registered.remove(&A);
        gone.sets.clear();
        assert_eq!(takeovers.step(at(0), &gone), []);
        assert_eq!(takeovers.step(at(10), &gone).len(), 1);
    }

    #[test]
    fn a_new_leader_waits_for_the_timeout_itself() {
        let mut takeovers = Takeovers::new(at(10));
        assert_eq!(takeovers.step(at(10_000), &seen(&[B, C], &[A])), []);
    }

    #[test]
    fn who_leaves_recovers_only_if_there_is_nobody_else() {
        let mut takeovers = Takeovers::new(at(10));
        for (leaving, by) in [(B, C), (C, B)] {
            let mut seen = seen(&[B, C], &[A]);
            seen.leaving.insert(leaving);
            takeovers.step(at(0), &seen);
            assert_eq!(takeovers.step(at(10), &seen), [Action::TakeOver { from: A, by }]);
        }
        let mut alone = seen(&[B], &[A]);
        alone.leaving.insert(B);
        assert_eq!(takeovers.step(at(20), &alone), [Action::TakeOver { from: A, by: B }]);
    }

    #[test]
    fn recoveries_are_spread() {
        let many: BTreeSet<IndexerId> =
            (0..10).map(|n| IndexerId(uuid::Uuid::from_u128(n))).collect();
        let seen = Seen { registered: many.clone(), answered: many.clone(), ..Seen::default() };
        let successors: BTreeSet<_> =
            many.iter().filter_map(|from| successor(*from, &seen)).collect();
        assert!(successors.len() > 3, "{successors:?}");
    }
}
