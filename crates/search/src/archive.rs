//! Stored jobs: a document of the catalog for each, by which all search heads know it, and an object with
//! its rows.
//!
//! ```text
//! saved_job/<sid>              a document: what lists show, lifetime, version of the object
//! saved_jobs/<sid>/<version>   an object (`archive/object.rs`)
//! ```
//!
//! Guarantees: the object of a document is complete: it is written before the document, and deleted after it.
//! An object without a document is deleted after an hour. Documents are created, changed and removed under a
//! condition, so that changes of two search heads at the same time are both made, no job replaces another one
//! with its id, and no job is removed in place of the one that it has replaced.

mod loaded;
mod object;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use catalog::Catalog;
use futures::TryStreamExt;
use metrics::counter;
use model::{ErrorKind, EventTime};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use parking_lot::Mutex;
use runtime::Clock;
use runtime::metrics as names;
use serde::Deserialize;

pub(crate) use self::loaded::LoadedJobs;
pub(crate) use self::object::{decode, encode};
use crate::Error;
use crate::jobs::SavedJob;

/// The kind of the documents.
const KIND: &str = "saved_job";
/// Where the objects are.
const ROOT: &str = "saved_jobs";
/// Time for which an object may exist without a document: it is being written, or the reply to the write of
/// its document was lost.
const GRACE: Duration = Duration::from_secs(3600);
/// Interval of the search for objects without a document.
const LOOK: Duration = Duration::from_secs(3600);
/// Time limit of a change in the catalog.
const CATALOG: Duration = Duration::from_secs(20);
/// Time limit of a request to object storage.
const STORE: Duration = Duration::from_secs(120);
/// Maximum number of attempts to change a document that other processes change too.
const ATTEMPTS: usize = 10;

/// Whether a job is in object storage.
#[must_use]
pub fn is_saved_job(snapshot: &catalog::Snapshot, sid: &str) -> bool {
    snapshot.document(KIND, sid).is_some()
}

/// The stored jobs; see the module documentation.
#[derive(Debug)]
pub(crate) struct Archive {
    catalog: Catalog,
    /// `None` if jobs are not stored.
    store: Option<Arc<dyn ObjectStore>>,
    clock: Arc<dyn Clock>,
    /// Time of the last search for objects without a document.
    looked: Mutex<Option<Instant>>,
}

impl Archive {
    pub(crate) fn new(
        catalog: Catalog,
        store: Option<Arc<dyn ObjectStore>>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { catalog, store, clock, looked: Mutex::default() }
    }

    /// Whether jobs can be stored.
    pub(crate) fn is_there(&self) -> bool {
        self.store.is_some()
    }

    /// Returns the document of a job that has not expired.
    pub(crate) fn find(&self, sid: &str) -> Option<SavedJob> {
        let document = self.catalog.snapshot().document(KIND, sid)?;
        read(sid, &document).filter(|saved| !saved.is_over(self.clock.now()))
    }

    /// Returns all documents by id.
    pub(crate) fn all(&self) -> Vec<(String, SavedJob)> {
        let documents = self.catalog.snapshot().documents(KIND).into_iter();
        let read = |document: catalog::Document| {
            let saved = read(&document.name, &document.json)?;
            Some((document.name, saved))
        };
        documents.filter_map(read).collect()
    }

    /// Returns the documents of all jobs that have not expired.
    pub(crate) fn current(&self) -> Vec<(String, SavedJob)> {
        let now = self.clock.now();
        let mut all = self.all();
        all.retain(|(_, saved)| !saved.is_over(now));
        all
    }

    /// Writes the object of a job, then its document. Another job with the same id stays: a search head that
    /// does not answer is not asked about its jobs, so clients that choose ids can start two with one id.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if object storage or the catalog fails, [`Error::SavedElsewhere`] if another
    /// job with this id is stored; nobody knows the job then.
    pub(crate) async fn write(
        &self,
        sid: &str,
        saved: &SavedJob,
        object: Bytes,
    ) -> Result<(), Error> {
        self.replaceable(&self.catalog.snapshot(), sid, saved)?;
        let path = path(sid, &saved.version);
        let put = self.store()?.put(&path, object.into());
        let put =
            tokio::time::timeout(STORE, put).await.map_err(|_| late("object storage", STORE))?;
        put.map_err(|error| Error::Unavailable(format!("cannot write {path}: {error}")))?;
        let created = self.create(sid, saved).await;
        if matches!(created, Err(Error::SavedElsewhere { .. })) {
            self.delete(&path).await;
        }
        created
    }

    /// Writes the document of a job unless another job with this id has one.
    async fn create(&self, sid: &str, saved: &SavedJob) -> Result<(), Error> {
        let mut changes = self.catalog.subscribe();
        let after = json(saved)?;
        for _ in 0..ATTEMPTS {
            let snapshot = changes.borrow_and_update().clone();
            let before = self.replaceable(&snapshot, sid, saved)?;
            let named = |json| vec![(KIND.to_owned(), sid.to_owned(), json)];
            let after = named(Some(after.clone()));
            let replaced = self.catalog.replace_documents_in_time(named(before), after);
            let replaced = tokio::time::timeout(CATALOG, replaced).await;
            match replaced.map_err(|_| late("the catalog", CATALOG))? {
                Ok(()) => return Ok(()),
                Err(catalog::Error::Changed { .. }) => {
                    // The document that was written first arrives with the next snapshot.
                    let _ = tokio::time::timeout(Duration::from_secs(1), changes.changed()).await;
                }
                Err(error) => return Err(of_catalog(&error)),
            }
        }
        Err(Error::Unavailable(format!("the job {sid} is being changed by others; try again")))
    }

    /// Returns the document that a job may replace: its own, written by an attempt whose reply was lost, or
    /// one that has expired.
    fn replaceable(
        &self,
        snapshot: &catalog::Snapshot,
        sid: &str,
        saved: &SavedJob,
    ) -> Result<Option<serde_json::Value>, Error> {
        let Some(known) = snapshot.document(KIND, sid) else { return Ok(None) };
        let is_free =
            |known: SavedJob| known.version == saved.version || known.is_over(self.clock.now());
        match read(sid, &known).is_some_and(is_free) {
            true => Ok(Some((*known).clone())),
            false => Err(Error::SavedElsewhere { sid: sid.to_owned() }),
        }
    }

    /// The object of a job; `None` if the job has been removed.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if object storage fails, [`Error::StoredJob`] if the object is missing.
    pub(crate) async fn read(&self, sid: &str, version: &str) -> Result<Option<Bytes>, Error> {
        let path = path(sid, version);
        let store = self.store()?;
        let get = async { store.get(&path).await?.bytes().await };
        let got =
            tokio::time::timeout(STORE, get).await.map_err(|_| late("object storage", STORE))?;
        match got {
            Ok(bytes) => Ok(Some(bytes)),
            Err(object_store::Error::NotFound { .. }) => match self.find(sid) {
                Some(saved) if saved.version == version => Err(Error::StoredJob {
                    path: path.to_string(),
                    reason: "the object is missing".to_owned(),
                }),
                _ => Ok(None),
            },
            Err(error) => Err(Error::Unavailable(format!("cannot read {path}: {error}"))),
        }
    }

    /// Changes the document of a job, also during concurrent changes. Returns false if there is none, or
    /// another job's.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub(crate) async fn change(
        &self,
        (sid, version): (&str, &str),
        change: impl Fn(&mut SavedJob) + Send + Sync,
    ) -> Result<bool, Error> {
        let mut changes = self.catalog.subscribe();
        for _ in 0..ATTEMPTS {
            let snapshot = changes.borrow_and_update().clone();
            let Some(before) = snapshot.document(KIND, sid) else { return Ok(false) };
            let Some(mut saved) = read(sid, &before) else { return Ok(false) };
            if saved.version != version {
                return Ok(false);
            }
            change(&mut saved);
            let named = |json| (KIND.to_owned(), sid.to_owned(), Some(json));
            let (before, after) = (vec![named((*before).clone())], vec![named(json(&saved)?)]);
            let replaced = self.catalog.replace_documents(before, after);
            let replaced = tokio::time::timeout(CATALOG, replaced).await;
            match replaced.map_err(|_| late("the catalog", CATALOG))? {
                Ok(()) => return Ok(true),
                Err(catalog::Error::Changed { .. }) => {
                    // The concurrent change that won arrives with the next snapshot.
                    let _ = tokio::time::timeout(Duration::from_secs(1), changes.changed()).await;
                }
                Err(error) => return Err(of_catalog(&error)),
            }
        }
        Err(Error::Unavailable(format!("the job {sid} is being changed by others; try again")))
    }

    /// Returns the version in the document of a job, also if the job has expired, or this process cannot read
    /// the rest of the document.
    pub(crate) fn version(&self, sid: &str) -> Option<String> {
        let document = self.catalog.snapshot().document(KIND, sid)?;
        version_in(&document).map(str::to_owned)
    }

    /// Deletes the document of a job, then its object. Returns false if there is none, another job's, or one
    /// for which `is_due` returns false.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the catalog fails: the job stays. An object that cannot be deleted now is
    /// deleted later.
    pub(crate) async fn remove(
        &self,
        (sid, version): (&str, &str),
        reason: &'static str,
        is_due: impl Fn(&serde_json::Value) -> bool + Send + Sync,
    ) -> Result<bool, Error> {
        let mut changes = self.catalog.subscribe();
        for _ in 0..ATTEMPTS {
            let snapshot = changes.borrow_and_update().clone();
            let Some(before) = snapshot.document(KIND, sid) else { return Ok(false) };
            // The job may have expired and been replaced since the caller has looked.
            if version_in(&before) != Some(version) || !is_due(&before) {
                return Ok(false);
            }
            let named = |json| vec![(KIND.to_owned(), sid.to_owned(), json)];
            let before = named(Some((*before).clone()));
            let replaced = self.catalog.replace_documents_in_time(before, named(None));
            let replaced = tokio::time::timeout(CATALOG, replaced).await;
            match replaced.map_err(|_| late("the catalog", CATALOG))? {
                Ok(()) => {
                    counter!(names::SAVED_JOBS_REMOVED, "reason" => reason).increment(1);
                    self.delete(&path(sid, version)).await;
                    return Ok(true);
                }
                Err(catalog::Error::Changed { .. }) => {
                    // The concurrent change that won arrives with the next snapshot.
                    let _ = tokio::time::timeout(Duration::from_secs(1), changes.changed()).await;
                }
                Err(error) => return Err(of_catalog(&error)),
            }
        }
        Err(Error::Unavailable(format!("the job {sid} is being changed by others; try again")))
    }

    /// Removes expired jobs.
    pub(crate) async fn expire(&self) {
        let now = self.clock.now();
        for (sid, saved) in self.all().iter().filter(|(_, saved)| saved.is_over(now)) {
            // A use may have been written since.
            let is_over =
                |json: &serde_json::Value| read(sid, json).is_some_and(|saved| saved.is_over(now));
            if let Err(error) = self.remove((sid, &saved.version), "expired", is_over).await {
                // The next pass tries again.
                tracing::warn!(%sid, %error, "cannot remove a saved job whose time is over");
                return;
            }
        }
    }

    /// Deletes the objects that no document names, and that are older than an hour; once an hour.
    pub(crate) async fn delete_orphans(&self) {
        let now = Instant::now();
        if self.looked.lock().is_some_and(|last| now - last < LOOK) {
            return;
        }
        *self.looked.lock() = Some(now);
        if let Err(error) = self.delete_all_orphans().await {
            tracing::warn!(%error, "cannot look for objects of jobs that are not saved any more");
        }
    }

    async fn delete_all_orphans(&self) -> Result<(), Error> {
        let root = Path::from(ROOT);
        let mut listed = self.store()?.list(Some(&root));
        let grace = i64::try_from(GRACE.as_micros()).unwrap_or(i64::MAX);
        let mut old = Vec::new();
        let now = self.clock.now();
        let failed = |error| Error::Unavailable(format!("cannot list {ROOT}/: {error}"));
        while let Some(object) = listed.try_next().await.map_err(failed)? {
            let written = object.last_modified.timestamp_micros();
            if is_object(&object.location) && now.0.saturating_sub(written) >= grace {
                old.push(object.location);
            }
        }
        // The snapshot is taken after the listing: objects of jobs that are saved in between are younger than
        // the grace period.
        let snapshot = self.catalog.snapshot();
        let named = snapshot
            .documents(KIND)
            .into_iter()
            .filter_map(|document| Some(path(&document.name, version_in(&document.json)?)));
        let named: HashSet<Path> = named.collect();
        for orphan in old.into_iter().filter(|location| !named.contains(location)) {
            if self.delete(&orphan).await {
                counter!(names::SAVED_JOBS_REMOVED, "reason" => "orphan").increment(1);
            }
        }
        Ok(())
    }

    async fn delete(&self, path: &Path) -> bool {
        let Ok(store) = self.store() else { return false };
        match tokio::time::timeout(STORE, store.delete(path)).await {
            Ok(Ok(()) | Err(object_store::Error::NotFound { .. })) => return true,
            Ok(Err(error)) => {
                tracing::warn!(%path, %error, "cannot delete the object of a job; it is tried again");
            }
            Err(_) => {
                tracing::warn!(%path, "object storage does not delete the object of a job in time");
            }
        }
        false
    }

    fn store(&self) -> Result<&Arc<dyn ObjectStore>, Error> {
        let missing = || Error::Unavailable("this process has no object storage".to_owned());
        self.store.as_ref().ok_or_else(missing)
    }

    /// Whether this process removes expired jobs: it is the one that writes the catalog.
    pub(crate) fn leads(&self) -> bool {
        !self.catalog.follows()
    }

    pub(crate) fn now(&self) -> EventTime {
        self.clock.now()
    }
}

fn path(sid: &str, version: &str) -> Path {
    Path::from_iter([ROOT, sid, version])
}

/// Whether an object belongs to a job. Foreign objects under the same prefix are not deleted.
fn is_object(location: &Path) -> bool {
    let is_version = |name: &str| name.len() == 32 && name.chars().all(|c| c.is_ascii_hexdigit());
    location.parts().count() == 3 && location.filename().is_some_and(is_version)
}

/// The path of the object, for errors.
pub(crate) fn path_text(sid: &str, version: &str) -> String {
    path(sid, version).to_string()
}

/// Parses a document; `None` if another version of Karst wrote it in another format.
fn read(sid: &str, json: &serde_json::Value) -> Option<SavedJob> {
    let read = SavedJob::deserialize(json);
    read.inspect_err(|error| tracing::debug!(%sid, %error, "cannot read the document of a job"))
        .ok()
}

/// The version in a document, which can be read even if the rest cannot.
fn version_in(json: &serde_json::Value) -> Option<&str> {
    json["version"].as_str()
}

fn json(saved: &SavedJob) -> Result<serde_json::Value, Error> {
    serde_json::to_value(saved).map_err(|error| Error::Internal(error.to_string()))
}

fn late(who: &str, after: Duration) -> Error {
    Error::Unavailable(format!("{who} does not answer within {} s", after.as_secs()))
}

fn of_catalog(error: &catalog::Error) -> Error {
    match error.kind() {
        ErrorKind::Invalid => Error::Request(error.to_string()),
        _ => Error::Unavailable(error.to_string()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use object_store::memory::InMemory;
    use runtime::SystemClock;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_job_is_not_removed_in_place_of_the_one_that_it_has_replaced() {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let settings = catalog::Settings::default();
        let opening = Catalog::open(Arc::clone(&store), "catalog", settings, Arc::clone(&clock));
        let catalog = Box::pin(opening).await.unwrap();
        let archive = Archive::new(catalog.clone(), Some(Arc::clone(&store)), clock);
        catalog.put_document(KIND, "mine", json!({ "version": "new" })).await.unwrap();
        store.put(&path("mine", "new"), "rows".into()).await.unwrap();

        assert!(!archive.remove(("mine", "old"), "expired", |_| true).await.unwrap());
        assert!(!archive.remove(("mine", "new"), "expired", |_| false).await.unwrap());
        assert_eq!(archive.version("mine").as_deref(), Some("new"));
        store.get(&path("mine", "new")).await.unwrap();

        assert!(archive.remove(("mine", "new"), "deleted", |_| true).await.unwrap());
        assert_eq!(archive.version("mine"), None);
        store.get(&path("mine", "new")).await.unwrap_err();
        assert!(!archive.remove(("mine", "new"), "deleted", |_| true).await.unwrap());
    }
}
