//! Measures how long a search waits for requests to the store, so that a hanging store is reported before
//! its timeouts expire.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How long a search waits for the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreWait {
    /// The name of the store.
    pub store: Arc<str>,
    /// Time since the oldest unanswered request was sent; zero if there is none.
    pub current: Duration,
    /// The longest time of an answered request.
    pub longest: Duration,
}

/// The times at which a request was sent and answered. Several searches may wait for it. The time before is
/// not spent by the store, because the cache limits concurrent requests; nor is the time after, when a
/// search may be busy with something else.
#[derive(Debug, Default)]
pub(crate) struct Times {
    sent: OnceLock<Instant>,
    answered: OnceLock<Instant>,
}

impl Times {
    /// Marks the request as sent to the store.
    pub(crate) fn send(&self) {
        let _ = self.sent.set(Instant::now());
    }

    /// Marks the request as answered, or as failed for the last time.
    pub(crate) fn answer(&self) {
        let _ = self.answered.set(Instant::now());
    }

    /// How long a search that waits since `since` has waited for the store.
    fn waited(&self, since: Instant) -> Duration {
        let Some(sent) = self.sent.get() else { return Duration::ZERO };
        let until = self.answered.get().copied().unwrap_or_else(Instant::now);
        until.saturating_duration_since(since.max(*sent))
    }
}

/// The requests that one search waits for. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waits(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    store: Option<Arc<str>>,
    next: u64,
    /// The requests, each with the time at which the search began to wait.
    under_way: BTreeMap<u64, (Instant, Arc<Times>)>,
    longest: Duration,
}

impl Waits {
    /// The current wait; `None` if the search has not sent a request to the store.
    pub(crate) fn now(&self) -> Option<StoreWait> {
        let state = self.0.lock();
        let unanswered =
            state.under_way.values().filter(|(_, times)| times.answered.get().is_none());
        let longest = unanswered.map(|(since, times)| times.waited(*since)).max();
        Some(StoreWait {
            store: state.store.clone()?,
            current: longest.unwrap_or_default(),
            longest: state.longest,
        })
    }

    /// Starts counting a wait for a request to this store.
    pub(crate) fn begin(&self, store: &Arc<str>, times: Arc<Times>) -> Wait {
        let mut state = self.0.lock();
        state.store.get_or_insert_with(|| Arc::clone(store));
        let number = state.next;
        state.next += 1;
        state.under_way.insert(number, (Instant::now(), times));
        Wait { all: self.clone(), number }
    }
}

/// A wait of a search for one request; ends when this is dropped, however the request ends.
#[derive(Debug)]
pub(crate) struct Wait {
    all: Waits,
    number: u64,
}

impl Drop for Wait {
    fn drop(&mut self) {
        let mut state = self.all.0.lock();
        if let Some((since, times)) = state.under_way.remove(&self.number) {
            state.longest = state.longest.max(times.waited(since));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A request that has been sent.
    fn sent() -> Arc<Times> {
        let times = Arc::new(Times::default());
        times.send();
        times
    }

    #[test]
    fn the_oldest_request_under_way_counts_until_it_ends() {
        let (waits, store): (_, Arc<str>) = (Waits::default(), Arc::from("s3://karst"));
        assert_eq!(waits.now(), None);
        let (first, second) = (waits.begin(&store, sent()), waits.begin(&store, sent()));
        while waits.now().unwrap().current.is_zero() {}
        assert!(waits.now().unwrap().longest.is_zero());
        drop(first);
        while waits.now().unwrap().current.is_zero() {}
        assert!(!waits.now().unwrap().longest.is_zero());
        drop(second);
        let now = waits.now().unwrap();
        assert!(now.longest > Duration::ZERO && now.current.is_zero(), "{now:?}");
    }

    #[test]
    fn the_store_is_not_waited_for_before_it_has_a_request_and_after_its_answer() {
        let (waits, store): (_, Arc<str>) = (Waits::default(), Arc::from("s3://karst"));
        let pause = || std::thread::sleep(Duration::from_millis(50));
        let times = Arc::new(Times::default());
        let wait = waits.begin(&store, Arc::clone(&times));
        pause();
        assert!(waits.now().unwrap().current.is_zero(), "it waits for its turn");
        drop(wait);
        assert!(waits.now().unwrap().longest.is_zero());
        let wait = waits.begin(&store, Arc::clone(&times));
        times.send();
        pause();
        assert!(waits.now().unwrap().current >= Duration::from_millis(50));
        times.answer();
        assert!(waits.now().unwrap().current.is_zero(), "it has the answer");
        pause();
        let began = times.sent.get().unwrap();
        drop(wait);
        let longest = waits.now().unwrap().longest;
        assert!(longest <= began.elapsed() - Duration::from_millis(50), "{longest:?}");
    }
}
