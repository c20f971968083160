//! Queries that are not jobs (SQL, exports): running and queued ones, for the quotas and the queue.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use access::Rights;
use hashbrown::HashMap;
use parking_lot::Mutex;

/// The queries of a process.
#[derive(Debug, Default)]
pub(crate) struct Queries {
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    next: u64,
    queries: HashMap<u64, Query>,
}

#[derive(Debug)]
struct Query {
    user: String,
    roles: BTreeSet<String>,
    is_queued: bool,
}

/// A guard that counts a query until it is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    queries: Arc<Queries>,
    id: u64,
}

/// A guard that counts a query as queued until it is dropped.
#[derive(Debug)]
pub(crate) struct Queued<'a>(&'a Running);

impl Queries {
    /// Returns the number of queries of a user, running and queued.
    pub(crate) fn of(&self, user: &str) -> usize {
        self.count(|query| query.user == user)
    }

    /// Returns the number of queries of all users of a role, running and queued.
    pub(crate) fn of_role(&self, role: &str) -> usize {
        self.count(|query| query.roles.contains(role))
    }

    /// Returns the number of queued queries.
    pub(crate) fn queued(&self) -> usize {
        self.count(|query| query.is_queued)
    }

    /// Returns the number of running queries per user.
    pub(crate) fn by_user(&self) -> BTreeMap<String, usize> {
        let mut by_user = BTreeMap::<String, usize>::new();
        for query in self.entries.lock().queries.values().filter(|query| !query.is_queued) {
            *by_user.entry(query.user.clone()).or_default() += 1;
        }
        by_user
    }

    /// Counts a query of a user for as long as the returned guard lives.
    pub(crate) fn begin(self: &Arc<Self>, rights: &Rights) -> Running {
        let (user, roles) = (rights.user().to_owned(), rights.roles().clone());
        let mut entries = self.entries.lock();
        let id = entries.next;
        entries.next += 1;
        entries.queries.insert(id, Query { user, roles, is_queued: false });
        Running { queries: Arc::clone(self), id }
    }

    fn count(&self, is_counted: impl Fn(&Query) -> bool) -> usize {
        self.entries.lock().queries.values().filter(|query| is_counted(query)).count()
    }
}

impl Running {
    /// Counts the query as queued for as long as the returned guard lives.
    pub(crate) fn queued(&self) -> Queued<'_> {
        self.set_queued(true);
        Queued(self)
    }

    fn set_queued(&self, is_queued: bool) {
        if let Some(query) = self.queries.entries.lock().queries.get_mut(&self.id) {
            query.is_queued = is_queued;
        }
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.0.set_queued(false);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.queries.entries.lock().queries.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_count_as_long_as_they_run() {
        let queries = Arc::<Queries>::default();
        let ann = Rights::of_system("ann");
        let first = queries.begin(&ann);
        let second = queries.begin(&ann);
        assert_eq!((queries.of("ann"), queries.of("bob")), (2, 0));
        let queued = second.queued();
        assert_eq!((queries.of("ann"), queries.queued()), (2, 1));
        assert_eq!(queries.by_user()["ann"], 1);
        drop(queued);
        assert_eq!((queries.queued(), queries.by_user()["ann"]), (0, 2));
        drop(first);
        assert_eq!(queries.of("ann"), 1);
        drop(second);
        assert_eq!(queries.of("ann"), 0);
    }
}
