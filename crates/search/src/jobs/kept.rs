//! The jobs of a service: queued, running, and kept after their end.

use std::sync::Arc;

use access::Rights;
use hashbrown::{HashMap, HashSet};
use parking_lot::Mutex;
use tokio::task::AbortHandle;

use super::{DispatchState, Job};
use crate::queries::{Queries, Running};
use crate::{Error, Settings};

/// Jobs by id.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    entries: Mutex<HashMap<String, Entry>>,
    /// The ids of jobs that are about to be started.
    reserved: Arc<Mutex<HashSet<String>>>,
}

#[derive(Debug)]
struct Entry {
    job: Arc<Job>,
    task: AbortHandle,
}

impl Entry {
    fn end(self, why: Error) {
        self.job.abort(why);
        self.task.abort();
    }
}

/// An id that no other job gets until this is dropped.
#[derive(Debug)]
pub struct ReservedId {
    ids: Arc<Mutex<HashSet<String>>>,
    sid: String,
}

impl Drop for ReservedId {
    fn drop(&mut self) {
        self.ids.lock().remove(&self.sid);
    }
}

impl Jobs {
    /// Adds a job that a task runs.
    pub(crate) fn insert(&self, job: Arc<Job>, task: AbortHandle) {
        self.entries.lock().insert(job.sid().to_owned(), Entry { job, task });
    }

    /// Returns the job with this id. An expired job is not returned, also before it is removed.
    pub(crate) fn get(&self, sid: &str) -> Option<Arc<Job>> {
        let entries = self.entries.lock();
        entries.get(sid).map(|entry| Arc::clone(&entry.job)).filter(|job| !job.expired())
    }

    /// Whether this job is the one with its id and has not been removed.
    pub(crate) fn has(&self, job: &Arc<Job>) -> bool {
        self.entries.lock().get(job.sid()).is_some_and(|known| Arc::ptr_eq(&known.job, job))
    }

    /// Reserves an id; `None` if a job has it, or it is reserved.
    pub(crate) fn reserve(&self, sid: &str) -> Option<ReservedId> {
        if !self.reserved.lock().insert(sid.to_owned()) {
            return None;
        }
        let reserved = ReservedId { ids: Arc::clone(&self.reserved), sid: sid.to_owned() };
        self.get(sid).is_none().then_some(reserved)
    }

    /// Whether a job has this id, or it is reserved.
    pub(crate) fn is_taken(&self, sid: &str) -> bool {
        // In this order: a reservation ends after its job has been added.
        self.reserved.lock().contains(sid) || self.get(sid).is_some()
    }

    /// Returns all jobs that have not expired, newest first.
    pub(crate) fn newest_first(&self) -> Vec<Arc<Job>> {
        self.forget_expired();
        let mut jobs: Vec<_> =
            self.entries.lock().values().map(|entry| Arc::clone(&entry.job)).collect();
        jobs.sort_by(|a, b| b.created().cmp(&a.created()).then_with(|| a.sid().cmp(b.sid())));
        jobs
    }

    /// Cancels and removes a job. Returns false if it does not exist.
    pub(crate) fn cancel(&self, sid: &str) -> bool {
        let entry = self.entries.lock().remove(sid);
        let Some(entry) = entry else { return false };
        entry.end(Error::Cancelled);
        true
    }

    /// Ends and removes the jobs that run or are queued, because the server stops.
    pub(crate) fn stop(&self) {
        let is_over = |entry: &Entry| entry.job.status().state.is_final();
        let ended: Vec<Entry> = {
            let mut entries = self.entries.lock();
            entries.extract_if(|_, entry| !is_over(entry)).map(|(_, entry)| entry).collect()
        };
        ended.into_iter().for_each(|entry| entry.end(Error::Stopping));
    }

    /// Cancels and removes this job. Returns false if it has been removed, also if another job has its id.
    pub(crate) fn cancel_this(&self, job: &Arc<Job>) -> bool {
        let mut entries = self.entries.lock();
        if !entries.get(job.sid()).is_some_and(|known| Arc::ptr_eq(&known.job, job)) {
            return false;
        }
        let entry = entries.remove(job.sid());
        drop(entries);
        let Some(entry) = entry else { return false };
        entry.end(Error::Cancelled);
        true
    }

    /// Refuses a new search if too many are queued.
    ///
    /// # Errors
    /// [`Error::TooManySearches`].
    pub(crate) fn check_queue(&self, settings: &Settings, queries: &Queries) -> Result<(), Error> {
        self.forget_expired();
        let entries = self.entries.lock();
        let queued = |entry: &&Entry| entry.job.status().state == DispatchState::Queued;
        let waiting = entries.values().filter(queued).count() + queries.queued();
        match waiting >= settings.max_queued_searches {
            true => Err(Error::TooManySearches { waiting }),
            false => Ok(()),
        }
    }

    /// Refuses a new job if the results of kept jobs are too large. Returns the remaining bytes for results.
    ///
    /// # Errors
    /// [`Error::TooManyResults`].
    pub(crate) fn check_room(&self, settings: &Settings) -> Result<usize, Error> {
        self.forget_expired();
        let entries = self.entries.lock();
        let bytes: usize = entries.values().map(|entry| entry.job.result_bytes()).sum();
        if bytes >= settings.kept_result_bytes {
            return Err(Error::TooManyResults { jobs: entries.len(), bytes });
        }
        Ok(settings.kept_result_bytes - bytes)
    }

    /// Counts a search of a user for as long as the returned guard lives. Refuses it if the searches of the
    /// user or of the user's roles, or the size of their results, have reached a quota.
    ///
    /// # Errors
    /// [`Error::UserQuota`] or [`Error::ResultQuota`].
    pub(crate) fn admit(&self, rights: &Rights, queries: &Arc<Queries>) -> Result<Running, Error> {
        let limits = rights.limits();
        let entries = self.entries.lock();
        let busy = |job: &Job| !job.status().state.is_final();
        let all = || entries.values().map(|entry| &entry.job);
        let own = || all().filter(|job| job.request().owner == rights.user());
        let running = own().filter(|job| busy(job)).count() + queries.of(rights.user());
        if let Some(quota) = limits.jobs.filter(|quota| running >= *quota) {
            let user = rights.user().to_owned();
            return Err(Error::UserQuota { name: "srchJobsQuota", user, used: running, quota });
        }
        for (role, quota) in &limits.jobs_of_role {
            let of_role = |job: &&Arc<Job>| job.request().rights.roles().contains(role);
            let running = all().filter(of_role).filter(|job| busy(job)).count();
            let running = running + queries.of_role(role);
            if running >= *quota {
                let name = "cumulativeSrchJobsQuota";
                let user = format!("role {role}");
                return Err(Error::UserQuota { name, user, used: running, quota: *quota });
            }
        }
        let bytes = own().map(|job| job.result_bytes() as u64).sum::<u64>();
        if let Some(quota) = limits.result_bytes.filter(|quota| bytes > *quota) {
            return Err(Error::ResultQuota { user: rights.user().to_owned(), bytes, quota });
        }
        // Counted under the lock, so that the second of two concurrent searches sees the first.
        Ok(queries.begin(rights))
    }

    fn forget_expired(&self) {
        self.entries.lock().retain(|_, entry| !entry.job.expired());
    }
}
