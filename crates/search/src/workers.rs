//! The processes that read buckets for searches of this one.
//!
//! Those that did not answer lately are not asked for a while, so that one that hangs does not make every
//! search wait.

use std::collections::HashMap;
use std::fmt::Debug;
use std::time::{Duration, Instant};

use distributed::Channel;
use model::EventTime;
use parking_lot::Mutex;

/// The processes that read buckets for searches of this one.
pub trait Workers: Debug + Send + Sync {
    /// Returns the current workers.
    fn now(&self) -> Vec<Worker>;
}

/// A process that reads buckets for searches of this one.
#[derive(Debug, Clone)]
pub struct Worker {
    /// Persistent identity, unchanged by a restart.
    pub id: String,
    /// Identity of this start of the process, different after a restart.
    pub started: String,
    /// Its server name, for messages.
    pub name: String,
    /// The connection to it; `None` for this process.
    pub channel: Option<Channel>,
    /// Whether the worker is in the site of this process. If there are such workers, they read the
    /// stored buckets.
    pub is_near: bool,
    /// When it started, if its cache was empty then and it has much to read: it may get its share of the
    /// stored buckets step by step.
    pub cold_since: Option<EventTime>,
}

/// Returns the workers that read stored buckets: those in the same site, or all if there are none.
pub(crate) fn near(mut workers: Vec<Worker>) -> Vec<Worker> {
    if workers.iter().any(|worker| worker.is_near) {
        workers.retain(|worker| worker.is_near);
    }
    workers
}

/// Time for which an unresponsive indexer is not asked.
const SHUNNED: Duration = Duration::from_secs(30);

/// Time for which a failure is not logged again.
const SAID: Duration = Duration::from_secs(60);

/// Workers that did not answer recently.
#[derive(Debug, Default)]
pub(crate) struct LostWorkers {
    since: Mutex<HashMap<(String, String), Instant>>,
    /// Time of the last log entry, by process and reason.
    told: Mutex<HashMap<(String, String), Instant>>,
}

impl LostWorkers {
    /// Marks a worker as unresponsive.
    pub(crate) fn note(&self, worker: &Worker) {
        self.since.lock().insert(key(worker), Instant::now());
    }

    /// Whether the failure of a process for this reason has not been logged recently. Otherwise each search
    /// would log it.
    pub(crate) fn is_news(&self, worker: &Worker, reason: &str) -> bool {
        let mut told = self.told.lock();
        told.retain(|_, at| at.elapsed() < SAID);
        let key = (worker.id.clone(), reason.to_owned());
        let is_news = !told.contains_key(&key);
        told.entry(key).or_insert_with(Instant::now);
        is_news
    }

    /// Removes unresponsive workers.
    pub(crate) fn without(&self, mut workers: Vec<Worker>) -> Vec<Worker> {
        let mut since = self.since.lock();
        since.retain(|_, since| since.elapsed() < SHUNNED);
        workers.retain(|worker| !since.contains_key(&key(worker)));
        workers
    }
}

/// The key contains the start of the process: a restarted worker may be asked at once.
fn key(worker: &Worker) -> (String, String) {
    (worker.id.clone(), worker.started.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(id: &str, is_near: bool) -> Worker {
        let (started, name) = ("then".to_owned(), id.to_owned());
        Worker { id: id.to_owned(), started, name, channel: None, is_near, cold_since: None }
    }

    #[test]
    fn those_that_are_near_read_and_the_others_if_there_are_none() {
        let ids = |workers: Vec<Worker>| -> Vec<String> {
            near(workers).into_iter().map(|worker| worker.id).collect()
        };
        let far = || vec![worker("a", false), worker("b", false)];
        assert_eq!(ids(far()), ["a", "b"]);
        let mut mixed = far();
        mixed.push(worker("c", true));
        assert_eq!(ids(mixed), ["c"]);
    }
}
