//! The processes that read buckets for searches of this one.
//!
//! Those that did not answer lately are not asked for a while, so that one that hangs does not make every
//! search wait.

use std::collections::HashMap;
use std::fmt::Debug;
use std::time::{Duration, Instant};

use distributed::Channel;
use parking_lot::Mutex;

/// The processes that read buckets for searches of this one.
pub trait Workers: Debug + Send + Sync {
    /// Those there are now.
    fn now(&self) -> Vec<Worker>;
}

/// A process that reads buckets for searches of this one.
#[derive(Debug, Clone)]
pub struct Worker {
    /// Its identity, the same after a restart.
    pub id: String,
    /// What is another one after a restart.
    pub started: String,
    /// Its server name, for messages.
    pub name: String,
    /// The connection to it; `None` for this process.
    pub channel: Option<Channel>,
    /// Whether it is where this process is. Those read stored buckets, if there are some.
    pub is_near: bool,
}

/// Those who read stored buckets: those that are near, or else all.
pub(crate) fn near(mut workers: Vec<Worker>) -> Vec<Worker> {
    if workers.iter().any(|worker| worker.is_near) {
        workers.retain(|worker| worker.is_near);
    }
    workers
}

/// How long an indexer that did not answer is not asked.
const SHUNNED: Duration = Duration::from_secs(30);

/// How long a failure is not said again.
const SAID: Duration = Duration::from_secs(60);

/// Workers that did not answer lately.
#[derive(Debug, Default)]
pub(crate) struct LostWorkers {
    since: Mutex<HashMap<(String, String), Instant>>,
    /// When which process was last said to have failed, and why.
    told: Mutex<HashMap<(String, String), Instant>>,
}

impl LostWorkers {
    /// One did not answer.
    pub(crate) fn note(&self, worker: &Worker) {
        self.since.lock().insert(key(worker), Instant::now());
    }

    /// Whether it is news that a process has failed for this reason: each search would say so again.
    pub(crate) fn is_news(&self, worker: &Worker, reason: &str) -> bool {
        let mut told = self.told.lock();
        told.retain(|_, at| at.elapsed() < SAID);
        let key = (worker.id.clone(), reason.to_owned());
        let is_news = !told.contains_key(&key);
        told.entry(key).or_insert_with(Instant::now);
        is_news
    }

    /// Those that may be asked.
    pub(crate) fn without(&self, mut workers: Vec<Worker>) -> Vec<Worker> {
        let mut since = self.since.lock();
        since.retain(|_, since| since.elapsed() < SHUNNED);
        workers.retain(|worker| !since.contains_key(&key(worker)));
        workers
    }
}

/// One that was started again may be asked.
fn key(worker: &Worker) -> (String, String) {
    (worker.id.clone(), worker.started.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(id: &str, is_near: bool) -> Worker {
        let (started, name) = ("then".to_owned(), id.to_owned());
        Worker { id: id.to_owned(), started, name, channel: None, is_near }
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
