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

/// Time between two passes.
const PASS: Duration = Duration::from_secs(10);

/// What somebody wants of the lifetime of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// It counts from now.
    Touched,
    /// So long after the last use.
    For(Duration),
    /// Saved, for so long after the last use.
    Saved(Duration),
    /// Not saved any more; so long after the last use.
    Unsaved(Duration),
}

impl Keeping {
    /// What it makes of the document of a job.
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
    /// Jobs in object storage that this process does not have itself, the newest first, as lists show them.
    #[must_use]
    pub fn saved_jobs(&self) -> Vec<Arc<Job>> {
        self.engine().saved_jobs()
    }

    /// A job in object storage, as lists show it: without rows, timeline and plans.
    #[must_use]
    pub fn saved_job(&self, sid: &str) -> Option<Arc<Job>> {
        self.engine().saved_job(sid)
    }

    /// A job in object storage with its rows; `None` if there is none, or its time is over.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if object storage fails, [`Error::StoredJob`] if its object is damaged.
    pub async fn load_job(&self, sid: &str) -> Result<Option<Arc<Job>>, Error> {
        let job = self.engine().load_job(sid).await?;
        if let Some((job, batches)) =
            job.as_ref().and_then(|job| Some((job, job.events_without_shown()?)))
        {
            job.show_fields(fields_of_job(batches, job, self.engine()).await);
        }
        Ok(job)
    }

    /// Changes the lifetime of a job, wherever it is. One that is saved, or kept for at least the setting
    /// `remote_ttl`, is in object storage on return, if it has ended; one that runs is put there at its end.
    ///
    /// # Errors
    /// Why it is not in object storage, or why its document is not changed. The search head that has run the
    /// job keeps it for the new time nevertheless.
    pub async fn keep_job(&self, job: &Arc<Job>, keeping: Keeping) -> Result<(), Error> {
        let engine = self.engine();
        let least = engine.settings.remote_ttl;
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
        if job.saving().now().version.is_some() {
            let now = engine.archive.now();
            let changed =
                engine.archive.change(job.sid(), |saved| keeping.apply(saved, now)).await?;
            return if changed { Ok(()) } else { Err(Error::UnknownJob) };
        }
        match job.saving().is_due() {
            true => engine.store_job(job).await,
            false => Ok(()),
        }
    }

    /// Opens a job to the users of these roles (`*`: to all users), wherever it is, and closes it to others.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if its document cannot be changed, [`Error::UnknownJob`] if there is none any
    /// more: the job stays as open as it was.
    pub async fn share_job(&self, job: &Arc<Job>, readers: Vec<String>) -> Result<(), Error> {
        let engine = self.engine();
        // The document of one that is being stored has the roles of before: it is changed when it is there.
        let _turn = job.saving().turn.lock().await;
        if job.saving().now().version.is_some() {
            let change = |saved: &mut SavedJob| saved.readers.clone_from(&readers);
            if !engine.archive.change(job.sid(), change).await? {
                return Err(Error::UnknownJob);
            }
        }
        job.set_readers(readers);
        Ok(())
    }

    /// Stops a job and forgets it, also in object storage; false if there is none.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if it cannot be removed from object storage: it stays.
    pub async fn remove_job(&self, sid: &str) -> Result<bool, Error> {
        let engine = self.engine();
        let job = engine.jobs.get(sid);
        // One that is being stored is removed when it has been.
        let _turn = match &job {
            Some(job) => Some(job.saving().turn.lock().await),
            None => None,
        };
        let stored = engine.archive.find(sid);
        let removed = engine.archive.remove(sid, "deleted").await?;
        if let Some(stored) = stored {
            engine.loaded.forget(&stored.version);
        }
        Ok(engine.jobs.cancel(sid) || removed)
    }

    /// Stores and removes jobs as it is due, until the shutdown.
    pub async fn keep_saved_jobs(self, shutdown: Shutdown) {
        while shutdown.sleep(PASS).await {
            tokio::select! {
                () = shutdown.stopped() => return,
                () = self.saved_pass() => {}
            }
        }
    }

    /// Stores the jobs of this process that are to be and are not, writes uses, and removes what is over if
    /// this process has the catalog. What fails is tried again by a later pass.
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
    /// See [`SearchService::saved_jobs`].
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

    /// See [`SearchService::saved_job`].
    pub(crate) fn saved_job(&self, sid: &str) -> Option<Arc<Job>> {
        let saved = self.archive.find(sid)?;
        Some(self.restored(sid, &saved, None))
    }

    /// See [`SearchService::load_job`].
    pub(crate) async fn load_job(&self, sid: &str) -> Result<Option<Arc<Job>>, Error> {
        let Some(saved) = self.archive.find(sid) else { return Ok(None) };
        let loaded = self.loaded.of(&saved.version, self.read(sid, &saved)).await?;
        Ok(loaded.map(|loaded| self.restored(sid, &saved, Some(&loaded))))
    }

    /// A job by its id or, as Splunk has it, by the name of its saved search: this process's own or one in
    /// object storage, the newest of those that have ended, with its rows.
    pub(crate) async fn job_to_load(
        &self,
        name: &str,
        rights: &Rights,
    ) -> Result<Option<Arc<Job>>, Error> {
        // Somebody else's job is as unknown as one that is not there.
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
        let limit = self.settings.kept_result_bytes;
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
            field_summary_values: self.settings.field_summary_values,
        };
        Arc::new(saved.restore(sid, loaded, with))
    }

    /// Stores a job that has ended with its result; one that has not is stored by a later pass.
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
        if others().count() >= self.settings.max_saved_jobs {
            return Err(Error::TooManySavedJobs { jobs: others().count() });
        }
        let limit = self.settings.saved_result_bytes;
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
        job.saving().succeeded(version);
        // Removed while it was written: nobody would know of it.
        if !self.jobs.has(job) {
            self.archive.remove(job.sid(), "deleted").await?;
        }
        Ok(())
    }

    /// Brings a job of this process and its document together.
    async fn keep_up(&self, job: &Arc<Job>) {
        if let Some(version) = job.saving().now().version {
            match self.archive.find(job.sid()) {
                Some(saved) => {
                    // Another search head opens and closes it while this one does not answer.
                    if let Ok(_turn) = job.saving().turn.try_lock() {
                        job.set_readers(saved.readers);
                    }
                    self.write_use(job.sid(), job.touched()).await;
                }
                // Another search head has removed it.
                None => {
                    self.loaded.forget(&version);
                    self.jobs.cancel(job.sid());
                }
            }
        } else if job.saving().is_due() {
            // It is noted in the job, and logged.
            let _ = self.store_job(job).await;
        }
    }

    /// Writes when a stored job was last used, if the document is far behind.
    async fn write_use(&self, sid: &str, used: EventTime) {
        if !self.archive.find(sid).is_some_and(|saved| saved.is_behind(used)) {
            return;
        }
        let later = |saved: &mut SavedJob| saved.touched = used.max(saved.touched);
        if let Err(error) = self.archive.change(sid, later).await {
            // The next use is noted again.
            tracing::warn!(%sid, %error, "cannot note that a saved job is used");
        }
    }
}

/// Whether a job is the last run of a saved search.
fn is_named(job: &Job, name: &str) -> bool {
    let request = job.request();
    let label = request.label.as_deref().unwrap_or_default();
    let full = || format!("{}:{}:{label}", request.owner, request.app);
    let is_done = job.status().state == DispatchState::Done;
    !label.is_empty() && is_done && (label == name || full() == name)
}

/// Whether a limit is in the way, which a later attempt would meet, too.
fn is_refusal(error: &Error) -> bool {
    !matches!(error.kind(), ErrorKind::Unavailable)
}
