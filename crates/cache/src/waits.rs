//! How long one search waits for requests to the store, so that a store that hangs can be told before its
//! timeouts are over.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How long a search waits for the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreWait {
    /// The name of the store.
    pub store: Arc<str>,
    /// How long the oldest request under way has taken so far; zero if there is none.
    pub current: Duration,
    /// The longest time that a request took which is over.
    pub longest: Duration,
}

/// The requests that one search waits for. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waits(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    store: Option<Arc<str>>,
    next: u64,
    /// When they began, in this order.
    under_way: BTreeMap<u64, Instant>,
    longest: Duration,
}

impl Waits {
    /// `None` if the search has not asked the store for anything.
    pub(crate) fn now(&self) -> Option<StoreWait> {
        let state = self.0.lock();
        let oldest = state.under_way.values().next();
        Some(StoreWait {
            store: state.store.clone()?,
            current: oldest.map(Instant::elapsed).unwrap_or_default(),
            longest: state.longest,
        })
    }

    /// Counts a request to this store from now on.
    pub(crate) fn begin(&self, store: &Arc<str>) -> Wait {
        let mut state = self.0.lock();
        state.store.get_or_insert_with(|| Arc::clone(store));
        let number = state.next;
        state.next += 1;
        state.under_way.insert(number, Instant::now());
        Wait { all: self.clone(), number }
    }
}

/// One request that a search waits for; over when this is dropped, however the request ends.
#[derive(Debug)]
pub(crate) struct Wait {
    all: Waits,
    number: u64,
}

impl Drop for Wait {
    fn drop(&mut self) {
        let mut state = self.all.0.lock();
        if let Some(began) = state.under_way.remove(&self.number) {
            state.longest = state.longest.max(began.elapsed());
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_request_under_way_counts_until_it_ends() {
        let (waits, store): (_, Arc<str>) = (Waits::default(), Arc::from("s3://karst"));
        assert_eq!(waits.now(), None);
        let (first, second) = (waits.begin(&store), waits.begin(&store));
        while waits.now().unwrap().current.is_zero() {}
        assert!(waits.now().unwrap().longest.is_zero());
        drop(first);
        while waits.now().unwrap().current.is_zero() {}
        assert!(!waits.now().unwrap().longest.is_zero());
        drop(second);
        let now = waits.now().unwrap();
        assert!(now.longest > Duration::ZERO && now.current.is_zero(), "{now:?}");
    }
}
