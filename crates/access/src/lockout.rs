//! Account lockout: failed logins by user and address, and the resulting delays and locks.
//!
//! Guarantees: uses neither a clock nor a mutex; every call passes the time. Memory is bounded: the
//! entry with the oldest failure is evicted first, unlocked entries before locked ones. Unknown
//! names are treated like users, so that attackers cannot learn which names exist.
//!
//! Failures from this machine and from the network are counted separately: guessing passwords over
//! the network does not lock out an administrator on the server. A success resets only the failures
//! of its own address: automation that logs in regularly does not reset an attacker's count.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use conf::{Type, Unit};

conf::settings! {
    /// Limits of failed logins.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct LockoutSettings {
        "authentication"["splunk_auth"] {
            /// Whether too many wrong passwords lock a user. Delays and the limit per address always apply.
            "lockoutUsers" => pub users: bool = "true", Type::Boolean;
            /// Number of wrong passwords that lock a user.
            "lockoutAttempts" => pub attempts: u32 = "5", Type::range(1, 64);
            /// Time window in which the wrong passwords are counted.
            "lockoutThresholdMins" => pub threshold: Duration = "5", Type::of(Unit::Minutes, 1, 120);
            /// Duration of a lock.
            "lockoutMins" => pub lock: Duration = "30", Type::of(Unit::Minutes, 1, 1_440);
            /// Number of wrong passwords from one address, for any users, that lock the address.
            "lockoutSourceAttempts" => pub source_attempts: u32 = "100", Type::range(1, 1_000_000);
            /// Maximum number of tracked users, of tracked addresses, and of tracked pairs of both.
            "lockoutMaxEntries" => pub max_entries: usize = "10000", Type::range(100, 1_000_000);
        }
    }
}

/// Failures of a user from an address before delays start.
const FREE_FAILURES: u32 = 2;
/// The first delay; each further failure doubles it.
const FIRST_DELAY: Duration = Duration::from_secs(1);
/// The maximum delay.
const LAST_DELAY: Duration = Duration::from_secs(60);

/// Whether a password may be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// The login may be tried.
    Open,
    /// The login is refused for this time: too many recent failures of this user from this address.
    Delayed(Duration),
    /// The user is locked for this time.
    UserLocked(Duration),
    /// The address is locked for this time.
    SourceLocked(Duration),
}

/// The consequence of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consequence {
    /// The failure was counted.
    Counted,
    /// The failure locked the user.
    LockedUser,
    /// The failure locked the address.
    LockedSource,
}

/// The source of a login, normalized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Source(IpAddr);

impl Source {
    /// `None`: from within the process, which counts as this machine. IPv6 addresses are reduced to
    /// their /64 prefix, because one subscriber has many.
    fn of(address: Option<IpAddr>) -> Self {
        let address =
            address.map_or(IpAddr::V6(Ipv6Addr::LOCALHOST), |address| address.to_canonical());
        Self(match address {
            IpAddr::V6(v6) if !v6.is_loopback() => {
                IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64)))
            }
            other => other,
        })
    }

    fn is_local(self) -> bool {
        self.0.is_loopback()
    }
}

#[derive(Debug, Clone, Copy)]
struct Failures {
    count: u32,
    first: Instant,
    last: Instant,
    locked: bool,
}

impl Failures {
    fn new(now: Instant) -> Self {
        Self { count: 0, first: now, last: now, locked: false }
    }

    /// Whether the entry has expired.
    fn is_over(&self, now: Instant, settings: &LockoutSettings) -> bool {
        let lasts = if self.locked { settings.lock } else { settings.threshold };
        now.saturating_duration_since(self.last) >= lasts
    }

    fn left_of_lock(&self, now: Instant, settings: &LockoutSettings) -> Option<Duration> {
        let left = settings.lock.checked_sub(now.saturating_duration_since(self.last))?;
        (self.locked && !left.is_zero()).then_some(left)
    }
}

/// A user, on this machine or elsewhere.
type UserKey = (String, bool);

/// All failures that have not expired.
#[derive(Debug)]
pub struct Lockout {
    settings: LockoutSettings,
    users: HashMap<UserKey, Failures>,
    sources: HashMap<Source, Failures>,
    pairs: HashMap<(String, Source), Failures>,
}

impl Lockout {
    /// Creates an empty state.
    #[must_use]
    pub fn new(settings: LockoutSettings) -> Self {
        Self { settings, users: HashMap::new(), sources: HashMap::new(), pairs: HashMap::new() }
    }

    /// Whether a password may be tried now.
    #[must_use]
    pub fn admit(&self, now: Instant, user: &str, address: Option<IpAddr>) -> Admission {
        let source = Source::of(address);
        let left = |failures: Option<&Failures>| failures?.left_of_lock(now, &self.settings);
        if let Some(left) = left(self.sources.get(&source)) {
            return Admission::SourceLocked(left);
        }
        if let Some(left) = left(self.users.get(&(user.to_owned(), source.is_local()))) {
            return Admission::UserLocked(left);
        }
        match self.delay(now, user, source) {
            Some(left) => Admission::Delayed(left),
            None => Admission::Open,
        }
    }

    fn delay(&self, now: Instant, user: &str, source: Source) -> Option<Duration> {
        let failures = self.pairs.get(&(user.to_owned(), source))?;
        if failures.is_over(now, &self.settings) {
            return None;
        }
        let doubled = failures.count.checked_sub(FREE_FAILURES + 1)?;
        let delay = FIRST_DELAY.saturating_mul(1 << doubled.min(16)).min(LAST_DELAY);
        let left = delay.checked_sub(now.saturating_duration_since(failures.last))?;
        (!left.is_zero()).then_some(left)
    }

    /// Records a wrong password.
    pub fn failed(&mut self, now: Instant, user: &str, address: Option<IpAddr>) -> Consequence {
        let source = Source::of(address);
        let settings = &self.settings;
        count(&mut self.pairs, (user.to_owned(), source), now, settings);
        let of_source = count(&mut self.sources, source, now, settings);
        let of_user = count(&mut self.users, (user.to_owned(), source.is_local()), now, settings);
        if settings.users && of_user.count >= settings.attempts {
            of_user.locked = true;
            return Consequence::LockedUser;
        }
        if of_source.count >= settings.source_attempts {
            of_source.locked = true;
            return Consequence::LockedSource;
        }
        Consequence::Counted
    }

    /// Records a correct password.
    pub fn succeeded(&mut self, user: &str, address: Option<IpAddr>) {
        let source = Source::of(address);
        let Some(own) = self.pairs.remove(&(user.to_owned(), source)) else { return };
        let key = (user.to_owned(), source.is_local());
        if let Some(failures) = self.users.get_mut(&key) {
            failures.count = failures.count.saturating_sub(own.count);
            if failures.count == 0 {
                self.users.remove(&key);
            }
        }
    }

    /// Clears a user's failures; returns whether the user was locked.
    pub fn unlock(&mut self, now: Instant, user: &str) -> bool {
        let was = self.is_locked(now, user);
        self.users.retain(|(name, _), _| name != user);
        self.pairs.retain(|(name, _), _| name != user);
        was
    }

    /// Whether a user is locked, locally or for the network.
    #[must_use]
    pub fn is_locked(&self, now: Instant, user: &str) -> bool {
        [true, false].into_iter().any(|local| {
            let failures = self.users.get(&(user.to_owned(), local));
            failures.is_some_and(|failures| failures.left_of_lock(now, &self.settings).is_some())
        })
    }
}

/// Counts a failure, creating an entry if necessary.
fn count<'a, K: Clone + Eq + Hash>(
    entries: &'a mut HashMap<K, Failures>,
    key: K,
    now: Instant,
    settings: &LockoutSettings,
) -> &'a mut Failures {
    if !entries.contains_key(&key) && entries.len() >= settings.max_entries.max(1) {
        make_room(entries, now, settings);
    }
    let failures = entries.entry(key).or_insert_with(|| Failures::new(now));
    let too_old = now.saturating_duration_since(failures.first) >= settings.threshold;
    if failures.is_over(now, settings) || (too_old && !failures.locked) {
        // If a count began too long ago, part of it is still recent: it is halved, not reset.
        let kept = if failures.is_over(now, settings) { 0 } else { failures.count / 2 };
        *failures = Failures { count: kept, ..Failures::new(now) };
    }
    failures.count = failures.count.saturating_add(1);
    failures.last = now;
    failures
}

fn make_room<K: Clone + Eq + Hash>(
    entries: &mut HashMap<K, Failures>,
    now: Instant,
    settings: &LockoutSettings,
) {
    entries.retain(|_, failures| !failures.is_over(now, settings));
    if entries.len() < settings.max_entries.max(1) {
        return;
    }
    let oldest = entries.iter().min_by_key(|(_, failures)| (failures.locked, failures.last));
    if let Some(key) = oldest.map(|(key, _)| key.clone()) {
        entries.remove(&key);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn address(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, last]))
    }

    fn local() -> Option<IpAddr> {
        Some(IpAddr::from([127, 0, 0, 1]))
    }

    /// Failures of ann, far enough apart to be admitted each time.
    fn fail(lockout: &mut Lockout, now: &mut Instant, times: u32, from: Option<IpAddr>) {
        for _ in 0..times {
            *now += LAST_DELAY;
            lockout.failed(*now, "ann", from);
        }
    }

    fn patient() -> Lockout {
        let threshold = Duration::from_secs(3_600);
        Lockout::new(LockoutSettings { threshold, ..LockoutSettings::default() })
    }

    #[test]
    fn five_failures_lock_a_user_for_half_an_hour() {
        let (mut lockout, mut now) = (patient(), Instant::now());
        fail(&mut lockout, &mut now, 4, address(1));
        assert!(!lockout.is_locked(now, "ann"));
        now += LAST_DELAY;
        assert_eq!(lockout.failed(now, "ann", address(2)), Consequence::LockedUser);
        let half_an_hour = Duration::from_secs(1_800);
        assert_eq!(lockout.admit(now, "ann", address(3)), Admission::UserLocked(half_an_hour));
        assert_eq!(lockout.admit(now, "bob", address(3)), Admission::Open);
        assert_eq!(lockout.admit(now + half_an_hour, "ann", address(3)), Admission::Open);
    }

    #[test]
    fn failures_from_elsewhere_do_not_lock_out_this_machine() {
        let (mut lockout, mut now) = (patient(), Instant::now());
        fail(&mut lockout, &mut now, 5, address(1));
        assert_eq!(lockout.admit(now, "ann", local()), Admission::Open);
        assert_eq!(lockout.admit(now, "ann", None), Admission::Open);
        fail(&mut lockout, &mut now, 5, local());
        assert!(matches!(lockout.admit(now, "ann", local()), Admission::UserLocked(_)));
    }

    #[test]
    fn a_success_takes_back_the_failures_of_its_own_address_only() {
        let (mut lockout, mut now) = (patient(), Instant::now());
        fail(&mut lockout, &mut now, 4, address(1));
        lockout.succeeded("ann", address(2));
        fail(&mut lockout, &mut now, 1, address(1));
        assert!(lockout.is_locked(now, "ann"));
        assert!(lockout.unlock(now, "ann") && !lockout.is_locked(now, "ann"));
        fail(&mut lockout, &mut now, 4, address(1));
        lockout.succeeded("ann", address(1));
        fail(&mut lockout, &mut now, 4, address(1));
        assert!(!lockout.is_locked(now, "ann"));
    }

    #[test]
    fn the_third_failure_of_a_pair_delays_the_next_attempt_and_delays_double() {
        let (mut lockout, now) = (patient(), Instant::now());
        for expected in [Admission::Open, Admission::Open, Admission::Delayed(SECOND)] {
            lockout.failed(now, "ann", address(1));
            assert_eq!(lockout.admit(now, "ann", address(1)), expected);
        }
        lockout.failed(now, "ann", address(1));
        assert_eq!(lockout.admit(now, "ann", address(1)), Admission::Delayed(2 * SECOND));
        assert_eq!(lockout.admit(now, "ann", address(2)), Admission::Open);
        assert_eq!(lockout.admit(now + 2 * SECOND, "ann", address(1)), Admission::Open);
    }

    #[test]
    fn without_locks_users_are_delayed_up_to_a_minute() {
        let settings = LockoutSettings { users: false, ..LockoutSettings::default() };
        let (mut lockout, mut now) = (Lockout::new(settings), Instant::now());
        for _ in 0..40 {
            now += LAST_DELAY;
            assert_eq!(lockout.admit(now, "ann", address(1)), Admission::Open);
            lockout.failed(now, "ann", address(1));
        }
        assert_eq!(lockout.admit(now, "ann", address(1)), Admission::Delayed(LAST_DELAY));
    }

    #[test]
    fn an_address_that_tries_many_names_is_locked() {
        let mut lockout = Lockout::new(LockoutSettings::default());
        let now = Instant::now();
        for number in 0..100 {
            lockout.failed(now, &format!("user{number}"), address(1));
        }
        assert!(matches!(lockout.admit(now, "ann", address(1)), Admission::SourceLocked(_)));
        assert_eq!(lockout.admit(now, "ann", address(2)), Admission::Open);
    }

    #[test]
    fn addresses_of_one_ipv6_network_count_as_one() {
        let (mut lockout, now) = (patient(), Instant::now());
        let of = |last: u128| Some(IpAddr::V6(Ipv6Addr::from_bits((0x2001_0db8 << 96) | last)));
        for last in 0..3 {
            lockout.failed(now, "ann", of(last));
        }
        assert_eq!(lockout.admit(now, "ann", of(77)), Admission::Delayed(SECOND));
    }

    #[test]
    fn failures_long_ago_do_not_count() {
        let mut lockout = Lockout::new(LockoutSettings::default());
        let mut now = Instant::now();
        for _ in 0..20 {
            now += Duration::from_secs(4 * 60);
            lockout.failed(now, "ann", address(1));
        }
        assert!(!lockout.is_locked(now, "ann"));
    }

    #[test]
    fn memory_is_bounded_and_locks_stay_longest() {
        let settings = LockoutSettings { max_entries: 50, ..LockoutSettings::default() };
        let mut lockout = Lockout::new(settings);
        let now = Instant::now();
        for _ in 0..5 {
            lockout.failed(now, "ann", address(1));
        }
        for number in 0..10_000_u32 {
            let from = Some(IpAddr::from(number.to_be_bytes()));
            lockout.failed(now + SECOND, &format!("user{number}"), from);
        }
        assert!(lockout.users.len() <= 50 && lockout.sources.len() <= 50);
        assert!(lockout.pairs.len() <= 50 && lockout.is_locked(now + SECOND, "ann"));
    }
}
