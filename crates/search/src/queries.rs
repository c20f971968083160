//! Running queries that are not jobs (SQL, exports), counted per user for the quotas.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;
use parking_lot::Mutex;

/// The number of running queries per user.
#[derive(Debug, Default)]
pub(crate) struct Queries {
    running: Mutex<HashMap<String, usize>>,
}

/// A guard that counts a running query until it is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    queries: Arc<Queries>,
    user: String,
}

impl Queries {
    /// Returns the number of running queries of a user.
    pub(crate) fn of(&self, user: &str) -> usize {
        self.running.lock().get(user).copied().unwrap_or(0)
    }

    /// Returns the number of running queries per user.
    pub(crate) fn by_user(&self) -> BTreeMap<String, usize> {
        let running = self.running.lock();
        running.iter().map(|(user, count)| (user.clone(), *count)).collect()
    }

    /// Counts a query of a user for as long as the returned guard lives.
    pub(crate) fn begin(self: &Arc<Self>, user: &str) -> Running {
        *self.running.lock().entry_ref(user).or_insert(0) += 1;
        Running { queries: Arc::clone(self), user: user.to_owned() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut running = self.queries.running.lock();
        if let Some(count) = running.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                running.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_count_as_long_as_they_run() {
        let queries = Arc::<Queries>::default();
        let first = queries.begin("ann");
        let second = queries.begin("ann");
        assert_eq!((queries.of("ann"), queries.of("bob")), (2, 0));
        drop(first);
        assert_eq!(queries.of("ann"), 1);
        drop(second);
        assert_eq!(queries.of("ann"), 0);
    }
}
