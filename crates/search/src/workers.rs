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
