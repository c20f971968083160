//! Selects the indexer for the next batch: pure decisions from time, volume and health.
//!
//! One indexer is the target; after `autoLBFrequency`, or after `autoLBVolume` bytes, another one is tried
//! and becomes the target once it is connected. A failed target is replaced immediately. Failed indexers
//! are not tried for a pause that doubles with each failure. Nothing here does I/O or reads a clock.

use std::time::{Duration, Instant};

/// First and maximum pause after failures.
const PAUSE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Idle,
    Connecting,
    Up,
    Down { until: Instant, failures: u32 },
}

/// The balancer; see the module. Indexers are identified by their position in the group's list.
#[derive(Debug)]
pub(crate) struct Balancer {
    frequency: Duration,
    /// Zero for no limit.
    volume: u64,
    health: Vec<Health>,
    /// Whether an indexer gets batches: it is in the current list.
    listed: Vec<bool>,
    /// Consecutive failures, kept during the next attempt.
    failures: Vec<u32>,
    target: Option<usize>,
    chosen_at: Instant,
    sent: u64,
    random: u64,
}

impl Balancer {
    pub(crate) fn new(
        servers: usize,
        frequency: Duration,
        volume: u64,
        seed: u64,
        now: Instant,
    ) -> Self {
        Self {
            frequency,
            volume,
            health: vec![Health::Idle; servers],
            listed: vec![true; servers],
            failures: vec![0; servers],
            target: None,
            chosen_at: now,
            sent: 0,
            random: seed | 1,
        }
    }

    /// Puts an indexer at a position, which is the next one or that of an indexer that is no longer used.
    pub(crate) fn put(&mut self, server: usize, is_listed: bool) {
        if server == self.health.len() {
            self.health.push(Health::Idle);
            self.listed.push(is_listed);
            self.failures.push(0);
        }
        (self.health[server], self.failures[server]) = (Health::Idle, 0);
        self.list(server, is_listed);
    }

    /// Records whether an indexer gets batches. One that gets none may still be connected.
    pub(crate) fn list(&mut self, server: usize, is_listed: bool) {
        self.listed[server] = is_listed;
        if !is_listed && self.target == Some(server) {
            self.target = None;
        }
    }

    pub(crate) fn is_listed(&self, server: usize) -> bool {
        self.listed[server]
    }

    /// The indexer for the next batch, if there is one.
    pub(crate) fn target(&self) -> Option<usize> {
        self.target.filter(|target| self.health[*target] == Health::Up)
    }

    pub(crate) fn is_up(&self, server: usize) -> bool {
        self.health[server] == Health::Up
    }

    /// Whether the target should change.
    fn is_due(&self, now: Instant) -> bool {
        self.target().is_none()
            || now.duration_since(self.chosen_at) >= self.frequency
            || (self.volume > 0 && self.sent >= self.volume)
    }

    /// Changes the target if it is due; returns the indexer to connect to for that.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<usize> {
        if !self.is_due(now) {
            return None;
        }
        let old = self.target();
        let mut all = self.health.iter().zip(&self.listed);
        if old.is_none() && all.any(|(health, listed)| *listed && *health == Health::Connecting) {
            return None;
        }
        let Some(next) = self.pick(now, old) else {
            if old.is_some() {
                // There is no other indexer: the target stays for another turn.
                self.choose(old, now);
            }
            return None;
        };
        if self.health[next] == Health::Up {
            self.choose(Some(next), now);
            return None;
        }
        if self.health[next] == Health::Connecting {
            return None;
        }
        self.health[next] = Health::Connecting;
        Some(next)
    }

    /// Whether a connection to an indexer with batches of its own may be opened, even if it is not the
    /// target.
    pub(crate) fn may_connect(&mut self, server: usize, now: Instant) -> bool {
        let free = match self.health[server] {
            Health::Idle => true,
            Health::Down { until, .. } => until <= now,
            Health::Connecting | Health::Up => false,
        };
        if free {
            self.health[server] = Health::Connecting;
        }
        free
    }

    /// A random indexer, other than `not`, that may be tried.
    fn pick(&mut self, now: Instant, not: Option<usize>) -> Option<usize> {
        let usable = |health: &Health| match health {
            Health::Down { until, .. } => *until <= now,
            _ => true,
        };
        let all = self.health.iter().enumerate();
        let free: Vec<usize> = all
            .filter(|(server, health)| {
                self.listed[*server] && Some(*server) != not && usable(health)
            })
            .map(|(server, _)| server)
            .collect();
        // While one indexer is being tried, no other one is.
        if let Some(trying) = free.iter().find(|at| self.health[**at] == Health::Connecting) {
            return Some(*trying);
        }
        let at = self.next_random() % (free.len() as u64).max(1);
        free.get(usize::try_from(at).unwrap_or(0)).copied()
    }

    fn next_random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn choose(&mut self, target: Option<usize>, now: Instant) {
        self.target = target;
        self.chosen_at = now;
        self.sent = 0;
    }

    /// Records that a connection is up.
    pub(crate) fn up(&mut self, server: usize, now: Instant) {
        self.health[server] = Health::Up;
        self.failures[server] = 0;
        if self.listed[server] && self.is_due(now) && self.target != Some(server) {
            self.choose(Some(server), now);
        }
    }

    /// Records that a connection, or the attempt to connect, failed.
    pub(crate) fn down(&mut self, server: usize, now: Instant) {
        let failures = self.failures[server].saturating_add(1);
        self.failures[server] = failures;
        let pause = PAUSE.0.saturating_mul(1 << (failures - 1).min(6)).min(PAUSE.1);
        let jitter = pause.mul_f64(0.25 * (self.next_random() % 100) as f64 / 100.0);
        self.health[server] = Health::Down { until: now + pause + jitter, failures };
        if self.target == Some(server) {
            self.target = None;
        }
    }

    /// Records that a connection was closed because it was idle.
    pub(crate) fn closed(&mut self, server: usize) {
        self.health[server] = Health::Idle;
        if self.target == Some(server) {
            self.target = None;
        }
    }

    /// Records bytes of text sent to the target.
    pub(crate) fn sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TURN: Duration = Duration::from_secs(30);

    fn balancer(servers: usize) -> (Balancer, Instant) {
        let now = Instant::now();
        (Balancer::new(servers, TURN, 1000, 42, now), now)
    }

    fn connect(balancer: &mut Balancer, now: Instant) -> usize {
        let server = balancer.poll(now).expect("somebody to connect to");
        balancer.up(server, now);
        server
    }

    #[test]
    fn the_target_changes_after_its_time_and_after_its_volume() {
        let (mut balancer, now) = balancer(2);
        let first = connect(&mut balancer, now);
        assert_eq!(balancer.target(), Some(first));
        assert_eq!(balancer.poll(now + TURN / 2), None);
        let second = balancer.poll(now + TURN).expect("the other");
        assert_eq!(balancer.target(), Some(first), "until the other is up");
        balancer.up(second, now + TURN);
        assert_eq!(balancer.target(), Some(second));
        balancer.sent(1000);
        assert_eq!(balancer.poll(now + TURN), None);
        assert_eq!(balancer.target(), Some(first), "it is up already");
    }

    #[test]
    fn a_target_that_fails_is_replaced_at_once_and_tried_again_later() {
        let (mut balancer, now) = balancer(2);
        let first = connect(&mut balancer, now);
        balancer.down(first, now);
        assert_eq!(balancer.target(), None);
        let second = connect(&mut balancer, now);
        assert_ne!(first, second);
        assert!(!balancer.may_connect(first, now));
        assert!(balancer.may_connect(first, now + TURN));
    }

    #[test]
    fn a_single_indexer_stays_the_target() {
        let (mut balancer, now) = balancer(1);
        connect(&mut balancer, now);
        assert_eq!(balancer.poll(now + TURN), None);
        assert_eq!(balancer.target(), Some(0));
        balancer.down(0, now + TURN);
        assert_eq!(balancer.poll(now + TURN), None, "the pause after a failure");
        assert_eq!(balancer.poll(now + TURN * 2), Some(0));
    }

    #[test]
    fn an_indexer_that_is_no_longer_listed_gets_no_batches_and_holds_up_no_other() {
        let (mut balancer, now) = balancer(2);
        let first = connect(&mut balancer, now);
        balancer.list(first, false);
        assert_eq!(balancer.target(), None);
        assert!(balancer.is_up(first), "its batches may still be acknowledged");
        let second = connect(&mut balancer, now);
        assert_ne!(first, second);
        assert_eq!(balancer.poll(now + TURN), None);
        assert_eq!(balancer.target(), Some(second), "there is no other one");
        // The connection to the first one is lost, for the batches that it has.
        balancer.down(first, now + TURN);
        balancer.down(second, now + TURN);
        assert!(balancer.may_connect(first, now + TURN * 3));
        assert_eq!(balancer.poll(now + TURN * 3), Some(second));
        balancer.up(first, now + TURN * 3);
        assert_eq!(balancer.target(), None);
        balancer.list(first, true);
        assert_eq!(balancer.poll(now + TURN * 3), None, "another one is being tried");
        balancer.down(second, now + TURN * 3);
        balancer.poll(now + TURN * 3);
        assert_eq!(balancer.target(), Some(first));
    }

    #[test]
    fn indexers_may_come_later_than_the_balancer() {
        let (mut balancer, now) = balancer(0);
        assert_eq!(balancer.poll(now), None);
        balancer.put(0, false);
        assert_eq!(balancer.poll(now), None, "it only has batches of before");
        balancer.put(1, true);
        assert_eq!(connect(&mut balancer, now), 1);
        balancer.put(0, true);
        assert_eq!(balancer.poll(now + TURN), Some(0));
    }

    #[test]
    fn all_indexers_get_their_turn_while_they_are_up() {
        let (mut balancer, mut now) = balancer(4);
        let mut turns = [0; 4];
        for _ in 0..400 {
            if let Some(server) = balancer.poll(now) {
                balancer.up(server, now);
            }
            turns[balancer.target().expect("all are up")] += 1;
            now += TURN;
        }
        assert!(turns.iter().all(|turns| *turns > 50), "{turns:?}");
    }

    #[test]
    fn whatever_fails_the_target_is_up_and_somebody_is_found_in_the_end() {
        let config = ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() };
        proptest!(config, |(steps in prop::collection::vec((0usize..3, 0u8..4, 0u64..40), 1..80))| {
            let (mut balancer, mut now) = balancer(3);
            for (server, step, seconds) in steps {
                now += Duration::from_secs(seconds);
                match step {
                    0 => drop(balancer.poll(now)),
                    1 => balancer.up(server, now),
                    2 => balancer.down(server, now),
                    _ => balancer.closed(server),
                }
                prop_assert!(balancer.target().is_none_or(|target| balancer.is_up(target)));
            }
            // Pending attempts succeed or fail.
            for server in 0..3 {
                if balancer.health[server] == Health::Connecting {
                    balancer.down(server, now);
                }
            }
            now += TURN * 2;
            if let Some(server) = balancer.poll(now) {
                balancer.up(server, now);
            }
            prop_assert!(balancer.target().is_some());
        });
    }
}
