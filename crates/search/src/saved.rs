//! Jobs that outlive their search head: put into object storage when somebody saves them or wants them kept
//! for long, restored from there where they are asked for, and removed when their time is over.
//!
//! ```text
//! Job --save--> Archive: object, document      find, load --> Job, with or without its rows
//! ```
//!
//! Guarantees: the caller and the messages of the job say what could not be stored. A search head that has
//! the job itself answers for it. Each process stores its own jobs and notes uses; the one that has the
//! catalog removes jobs whose time is over.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use access::Rights;
use apps::Namespace;
use knowledge::Knowledge;
use metrics::{counter, gauge};
use model::{ErrorKind, EventTime};
use runtime::Shutdown;
use runtime::metrics as names;

use crate::archive::{decode, encode, path_text};
use crate::engine::Engine;
use crate::jobs::{DispatchState, Job, Loaded, Restoring, SavedJob};
use crate::shown::fields_of_job;
use crate::{Error, SearchService};

/// Interval of the maintenance of stored jobs.
const PASS: Duration = Duration::from_secs(10);

/// A change of the lifetime of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// The job is used: its lifetime counts from now.
    Touched,
    /// The job expires after this time without use.
    For(Duration),
    /// The job is saved, and expires after this time without use.
    Saved(Duration),
    /// The job is no longer saved, and expires after this time without use.
    Unsaved(Duration),
}

impl Keeping {
    /// Applies the change to the document of a job.
    fn apply(self, saved: &mut SavedJob, now: EventTime) {
        saved.touched = now.max(saved.touched);
        match self {
            Self::Touched => {}
            Self::For(ttl) => saved.ttl = ttl.as_secs(),
            Self::Saved(ttl) => (saved.is_saved, saved.ttl) = (true, ttl.as_secs()),
            Self::Unsaved(ttl) => (saved.is_saved, saved.ttl) = (false, ttl.as_secs()),
        }
    }
}

impl SearchService {
    /// Returns the stored jobs that this process does not run itself, newest first, without rows.
    #[must_use]
    pub fn saved_jobs(&self) -> Vec<Arc<Job>> {
        self.engine().saved_jobs()
    }

    /// Returns a stored job without rows, timeline and plans.
    #[must_use]
    pub fn saved_job(&self, sid: &str) -> Option<Arc<Job>> {
        self.engine().saved_job(sid)
    }

    /// Loads a stored job with its rows; `None` if it does not exist or has expired.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if object storage fails, [`Error::StoredJob`] if its object is damaged.
    pub async fn load_job(&self, sid: &str) -> Result<Option<Arc<Job>>, Error> {
        let job = self.engine().load_job(sid).await?;
        if let Some((job, results)) =
            job.as_ref().and_then(|job| Some((job, job.result_without_shown()?)))
        {
            let (columns, batches) = (&results.columns, &results.batches);
            job.show_fields(fields_of_job(columns, batches, job, self.engine()).await);
        }
        Ok(job)
    }

    /// Changes the lifetime of a job in any process. On return, an ended job that is saved, or kept for at
    /// least the setting `remote_ttl`, is in object storage; a running job is stored at its end.
    ///
    /// # Errors
    /// Why it is not in object storage, or why its document is not changed. The search head that has run the
    /// job keeps it for the new time nevertheless.
    pub async fn keep_job(&self, job: &Arc<Job>, keeping: Keeping) -> Result<(), Error> {
        let engine = self.engine();
        let least = engine.settings().remote_ttl;
        match keeping {
            Keeping::Touched => job.touch(),
            Keeping::For(ttl) => {
                job.keep(job.is_saved(), ttl);
                job.saving().want(job.is_saved() || (!least.is_zero() && ttl >= least));
            }
            Keeping::Saved(ttl) => {
                job.keep(true, ttl);
                job.saving().want(true);
            }
            Keeping::Unsaved(ttl) => {
                job.keep(false, ttl);
                job.saving().want(false);
            }
        }
        if let Some(version) = job.saving().now().version {
            let now = engine.archive.now();
            let apply = |saved: &mut SavedJob| keeping.apply(saved, now);
            let changed = engine.archive.change((job.sid(), &version), apply).await?;
            return if changed { Ok(()) } else { Err(Error::UnknownJob) };
        }
        match job.saving().is_due() {
            true => engine.store_job(job).await,
            false => Ok(()),
        }
    }

    /// Shares a job in any process with the users of these roles (`*`: all users), and with no others.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if its document cannot be changed, [`Error::UnknownJob`] if there is none any
    /// more: the job stays as open as it was.
    pub async fn share_job(&self, job: &Arc<Job>, readers: Vec<String>) -> Result<(), Error> {
        let engine = self.engine();
        // The document of a job that is being stored still has the old roles: it is changed afterwards.
        let _turn = job.saving().turn.lock().await;
        if let Some(version) = job.saving().now().version {
            let change = |saved: &mut SavedJob| saved.readers.clone_from(&readers);
            if !engine.archive.change((job.sid(), &version), change).await? {
                return Err(Error::UnknownJob);
            }
        }
        job.set_readers(readers);
        Ok(())
    }

    /// Cancels and removes a job, also from object storage. Returns false if it does not exist.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if it cannot be removed from object storage: it stays.
    pub async fn remove_job(&self, sid: &str) -> Result<bool, Error> {
        let engine = self.engine();
        let job = engine.jobs.get(sid);
        // A job that is being stored is removed afterwards.
        let _turn = match &job {
            Some(job) => Some(job.saving().turn.lock().await),
            None => None,
        };
        // The job may have expired meanwhile, and a client may have started another one with this id.
        let cancel = || job.as_ref().is_some_and(|job| engine.jobs.cancel_this(job));
        let Some(version) = engine.archive.version(sid) else { return Ok(cancel()) };
        // Another search head may have stored another job with this id.
        if job.as_ref().is_some_and(|job| job.saving().version() != version) {
            return Ok(cancel());
        }
        let removed = engine.archive.remove((sid, &version), "deleted", |_| true).await?;
        engine.loaded.forget(&version);
        Ok(cancel() || removed)
    }

    /// Stores, updates and removes jobs periodically, until the shutdown.
    pub async fn keep_saved_jobs(self, shutdown: Shutdown) {
        while shutdown.sleep(PASS).await {
            tokio::select! {
                () = shutdown.stopped() => return,
                () = self.saved_pass() => {}
            }
        }
    }

    /// Stores the jobs of this process that are due, writes their last uses, and removes expired jobs if this
    /// process has the catalog. Failures are retried by a later pass.
    #[allow(clippy::cast_precision_loss)]
    pub async fn saved_pass(&self) {
        let engine = self.engine();
        if !engine.archive.is_there() {
            return;
        }
        for job in engine.jobs.newest_first() {
            engine.keep_up(&job).await;
        }
        for (sid, used) in engine.uses.take() {
            engine.write_use(&sid, used).await;
        }
        if engine.archive.leads() {
            engine.archive.expire().await;
            engine.archive.delete_orphans().await;
        }
        engine.loaded.forget_idle();
        let all = engine.archive.all();
        let bytes: u64 = all.iter().map(|(_, saved)| saved.bytes).sum();
        gauge!(names::SAVED_JOBS).set(all.len() as f64);
        gauge!(names::SAVED_JOB_BYTES).set(bytes as f64);
    }
}

impl Engine {
    /// Implements [`SearchService::saved_jobs`].
    pub(crate) fn saved_jobs(&self) -> Vec<Arc<Job>> {
        let mut jobs: Vec<Arc<Job>> = self
            .archive
            .current()
            .into_iter()
            .filter(|(sid, _)| self.jobs.get(sid).is_none())
            .map(|(sid, saved)| self.restored(&sid, &saved, None))
            .collect();
        jobs.sort_by_key(|job| Reverse(job.created()));
        jobs
    }

    /// Implements [`SearchService::saved_job`].
    pub(crate) fn saved_job(&self, sid: &str) -> Option<Arc<Job>> {
        let saved = self.archive.find(sid)?;
        Some(self.restored(sid, &saved, None))
    }

    /// Implements [`SearchService::load_job`].
    pub(crate) async fn load_job(&self, sid: &str) -> Result<Option<Arc<Job>>, Error> {
        let Some(saved) = self.archive.find(sid) else { return Ok(None) };
        let loaded = self.loaded.of(&saved.version, self.read(sid, &saved)).await?;
        Ok(loaded.map(|loaded| self.restored(sid, &saved, Some(&loaded))))
    }

    /// Returns the newest ended job with this id or, as in Splunk, of the saved search with this name, with
    /// its rows. Jobs of this process and stored jobs are considered.
    pub(crate) async fn job_to_load(
        &self,
        name: &str,
        rights: &Rights,
    ) -> Result<Option<Arc<Job>>, Error> {
        // A job that the user may not read is reported as unknown.
        let readable = |job: &Arc<Job>| self.may_read_job(job, rights);
        if let Some(job) = self.jobs.get(name) {
            return Ok(Some(job).filter(readable));
        }
        let mut found = self.saved_job(name).filter(readable);
        if found.is_none() {
            let mut all = self.jobs.newest_first();
            all.extend(self.saved_jobs());
            let named = all.into_iter().filter(readable).filter(|job| is_named(job, name));
            found = named.max_by_key(|job| job.created());
        }
        match found {
            Some(job) if job.lacks_rows() => self.load_job(job.sid()).await,
            found => Ok(found),
        }
    }

    async fn read(&self, sid: &str, saved: &SavedJob) -> Result<Option<Loaded>, Error> {
        let read = self.read_object(sid, saved).await;
        let outcome = match &read {
            Ok(Some(_)) => "read",
            Ok(None) => "missing",
            Err(_) => "failed",
        };
        counter!(names::SAVED_JOB_READS, "outcome" => outcome).increment(1);
        read
    }

    async fn read_object(&self, sid: &str, saved: &SavedJob) -> Result<Option<Loaded>, Error> {
        let Some(object) = self.archive.read(sid, &saved.version).await? else { return Ok(None) };
        let limit = self.settings().kept_result_bytes;
        let decoded = tokio::task::spawn_blocking(move || decode(&object, limit)).await;
        let decoded = decoded.map_err(|error| Error::Internal(error.to_string()))?;
        let (details, batches) = decoded.map_err(|reason| {
            let path = path_text(sid, &saved.version);
            Error::StoredJob { path, reason }
        })?;
        let namespace = Namespace::new(&saved.facts.owner, &saved.facts.app);
        let knowledge = self.deps.apps.view_without(&namespace, &details.hidden);
        let results = Arc::new(details.results(saved, batches, knowledge));
        Ok(Some(Loaded { results, details: Arc::new(details) }))
    }

    fn restored(&self, sid: &str, saved: &SavedJob, loaded: Option<&Loaded>) -> Arc<Job> {
        let knowledge: Arc<Knowledge> = match loaded {
            Some(loaded) => Arc::clone(&loaded.results.knowledge),
            None => self.deps.apps.knowledge(),
        };
        let with = Restoring {
            clock: Arc::clone(&self.deps.clock),
            ended: Arc::clone(&self.ended),
            knowledge,
            uses: Arc::clone(&self.uses),
            field_summary_values: self.settings().field_summary_values,
        };
        Arc::new(saved.restore(sid, loaded, with))
    }

    /// Stores the result of an ended job. A running job is stored by a later pass.
    ///
    /// # Errors
    /// Why it is not stored, which the job notes, too.
    pub(crate) async fn store_job(&self, job: &Arc<Job>) -> Result<(), Error> {
        if !self.archive.is_there() || job.status().state != DispatchState::Done {
            return Ok(());
        }
        let _turn = job.saving().turn.lock().await;
        if job.saving().now().version.is_some() {
            return Ok(());
        }
        let stored = self.write(job).await;
        let outcome = match &stored {
            Ok(()) => "stored",
            Err(error) if is_refusal(error) => "refused",
            Err(_) => "failed",
        };
        counter!(names::SAVED_JOB_WRITES, "outcome" => outcome).increment(1);
        let Err(error) = stored else { return Ok(()) };
        if job.saving().failed(&error.to_string(), is_refusal(&error)) {
            tracing::warn!(sid = job.sid(), %error, "a saved job is not in object storage");
        }
        Err(error)
    }

    async fn write(&self, job: &Arc<Job>) -> Result<(), Error> {
        let version = job.saving().version();
        let Some((mut saved, details, results)) = job.to_store(version.clone()) else {
            return Err(Error::Internal("a job that is done has no result".to_owned()));
        };
        let known = self.archive.all();
        let others = || known.iter().filter(|(sid, _)| sid != job.sid()).map(|(_, saved)| saved);
        if others().count() >= self.settings().max_saved_jobs {
            return Err(Error::TooManySavedJobs { jobs: others().count() });
        }
        let limit = self.settings().saved_result_bytes;
        let encoding =
            tokio::task::spawn_blocking(move || encode(&details, &results.batches, limit));
        let object = encoding.await.map_err(|error| Error::Internal(error.to_string()))??;
        saved.bytes = object.len() as u64;
        let owner = &job.request().owner;
        let own = others().filter(|saved| saved.facts.owner == *owner);
        let bytes = own.map(|saved| saved.bytes).sum::<u64>() + saved.bytes;
        let quota = job.request().rights.limits().result_bytes;
        if let Some(quota) = quota.filter(|quota| bytes > *quota) {
            return Err(Error::SavedQuota { user: owner.clone(), bytes, quota });
        }
        self.archive.write(job.sid(), &saved, object).await?;
        job.saving().succeeded(version.clone());
        // The job was removed while it was written, so the object would be orphaned.
        if !self.jobs.has(job) {
            self.archive.remove((job.sid(), &version), "deleted", |_| true).await?;
        }
        Ok(())
    }

    /// Synchronizes a job of this process with its document.
    async fn keep_up(&self, job: &Arc<Job>) {
        if let Some(version) = job.saving().now().version {
            // Another job may have been saved with this id since this one was removed.
            match self.archive.find(job.sid()).filter(|saved| saved.version == version) {
                Some(saved) => {
                    // Another search head may have changed the roles while this one was unreachable.
                    if let Ok(_turn) = job.saving().turn.try_lock() {
                        job.set_readers(saved.readers);
                    }
                    self.write_use(job.sid(), job.touched()).await;
                }
                // Another search head has removed the document, or the job has expired since the pass began
                // and a client may have started another one with its id.
                None => {
                    self.loaded.forget(&version);
                    self.jobs.cancel_this(job);
                }
            }
        } else if job.saving().is_due() {
            // `store_job` notes the error in the job and logs it.
            let _ = self.store_job(job).await;
        }
    }

    /// Writes the last use of a stored job if the document is too far behind.
    async fn write_use(&self, sid: &str, used: EventTime) {
        let Some(behind) = self.archive.find(sid).filter(|saved| saved.is_behind(used)) else {
            return;
        };
        let later = |saved: &mut SavedJob| saved.touched = used.max(saved.touched);
        if let Err(error) = self.archive.change((sid, &behind.version), later).await {
            // The next use triggers another write.
            tracing::warn!(%sid, %error, "cannot note that a saved job is used");
        }
    }
}

/// Whether a job is a run of the saved search with this name.
fn is_named(job: &Job, name: &str) -> bool {
    let request = job.request();
    let label = request.label.as_deref().unwrap_or_default();
    let full = || format!("{}:{}:{label}", request.owner, request.app);
    let is_done = job.status().state == DispatchState::Done;
    !label.is_empty() && is_done && (label == name || full() == name)
}

/// Whether a limit caused the error, so that a retry would fail too.
fn is_refusal(error: &Error) -> bool {
    !matches!(error.kind(), ErrorKind::Unavailable)
}
