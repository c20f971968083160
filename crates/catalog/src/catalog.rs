//! The open catalog: opening, reading, and changes.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use model::{BucketId, BucketSummary, IndexerId, JournalPosition, StreamId};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion};
use runtime::Clock;
use serde_json::Value;
use slatedb::Db;
use slatedb::config::{CloseOptions, GarbageCollectorOptions, SstBlockSize};
use tokio::sync::watch;
use transport::Transport;

use crate::adapter::{Adapter, LastFailure};
use crate::codec;
use crate::commit::{Documents, NamedDocument, violated_by_name};
use crate::error::{Result, chain, opened};
use crate::follower::Follower;
use crate::load::Loaded;
use crate::packs::Packed;
use crate::rules::Changes;
use crate::store_id::{PLACE, StoreId, contradiction};
use crate::summaries::Source;
use crate::ticks::{Ticks, last_write};
use crate::writer::{Opened, Writer, patiently};
use crate::{Commit, Document, Error, Settings, Snapshot, Stalled, load, migration};

/// Time without a leader after which a follower reports a health condition: a standby takes over in about
/// three seconds.
const WITHOUT_LEADER: Duration = Duration::from_secs(5);

/// The catalog: open for writing, or following the process that has it open. Clones share it.
#[derive(Clone)]
pub struct Catalog {
    inner: Arc<Inner>,
}

struct Inner {
    /// The newest snapshot, in either role.
    view: Arc<watch::Sender<Arc<Snapshot>>>,
    /// The role. A follower may become the writer, and then stays it.
    role: watch::Sender<Role>,
}

#[derive(Clone)]
enum Role {
    Writer(Arc<Writer>),
    Follower(Arc<Follower>),
    /// A simulation makes the changes.
    Simulated(Arc<dyn Changes>),
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (buckets, path) = (self.inner.view.borrow().len(), self.path());
        f.debug_struct("Catalog").field("path", &path).field("buckets", &buckets).finish()
    }
}

impl Catalog {
    /// Opens the catalog below `path` in the store, creating it if it does not exist, and fences
    /// any earlier writer.
    ///
    /// # Errors
    /// [`Error::Store`] if the store is unavailable, [`Error::NoConditions`] if it ignores
    /// conditional puts, [`Error::Corrupt`] or [`Error::Version`] if an entry cannot be read.
    pub async fn open(
        store: Arc<dyn ObjectStore>,
        path: &str,
        settings: Settings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        Self::open_with(store, path, settings, clock, Arc::default()).await
    }

    async fn open_with(
        store: Arc<dyn ObjectStore>,
        path: &str,
        settings: Settings,
        clock: Arc<dyn Clock>,
        ticks: Arc<Ticks>,
    ) -> Result<Self> {
        settings.validate()?;
        let failure = LastFailure::default();
        let database = open_database(store, path, (&settings, ticks), &failure).await?;
        let Loaded { snapshot, shared: headers, packed } =
            read(&database, path, &settings, &failure).await?;
        let snapshot = Snapshot { changed: clock.now(), ..snapshot };
        let view = Arc::new(watch::Sender::new(Arc::new(snapshot)));
        let opened = Opened { database, failure, headers, packed, view: Arc::clone(&view) };
        let writer = Writer::new(path.to_owned(), settings, clock, opened);
        Ok(Self::with(view, Role::Writer(Arc::new(writer))))
    }

    /// Creates a catalog that follows a simulated one: the owner of the sender sends its snapshots, and
    /// `changes` makes changes.
    #[must_use]
    pub fn simulated(view: Arc<watch::Sender<Arc<Snapshot>>>, changes: Arc<dyn Changes>) -> Self {
        Self::with(view, Role::Simulated(changes))
    }

    fn with(view: Arc<watch::Sender<Arc<Snapshot>>>, role: Role) -> Self {
        Self { inner: Arc::new(Inner { view, role: watch::Sender::new(role) }) }
    }

    fn role(&self) -> Role {
        self.inner.role.borrow().clone()
    }

    /// Follows the process that has the catalog open and serves it ([`service`](Self::service)), at one of
    /// several addresses (`<host>:<port>`). Returns once it has the leader's state. Changes are made by
    /// the leader; reading needs no request, except summaries.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an invalid address, [`Error::Unreachable`] if no leader answers in time,
    /// [`Error::Refused`] if a process belongs to another cluster, or has another secret or version.
    pub async fn follow(
        addresses: &[String],
        transport: &Transport,
        settings: Settings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        Self::follow_telling((addresses, transport), settings, clock, watch::Sender::default())
            .await
    }

    /// As [`follow`](Self::follow). `failure` receives the last reason why no leader has been found, with the
    /// address; it is empty until a process has been asked.
    ///
    /// # Errors
    /// As [`follow`](Self::follow).
    pub async fn follow_telling(
        processes: (&[String], &Transport),
        settings: Settings,
        clock: Arc<dyn Clock>,
        failure: watch::Sender<String>,
    ) -> Result<Self> {
        settings.validate()?;
        let follower = Box::pin(Follower::start(processes, settings, clock, failure)).await?;
        let view = Arc::clone(&follower.view);
        Ok(Self::with(view, Role::Follower(Arc::new(follower))))
    }

    /// Opens the catalog that this process has followed, and fences the writer. Subscribers only see the next
    /// snapshot, and changes that wait for the former leader are made here. If it fails, this process
    /// continues to follow. A catalog that does not exist is not created.
    ///
    /// # Errors
    /// As [`open`](Self::open). [`Error::OtherCatalog`] if the store has no catalog, another one than the one
    /// that was followed, or an older state of it.
    pub async fn lead(
        &self,
        store: Arc<dyn ObjectStore>,
        path: &str,
        clock: Arc<dyn Clock>,
    ) -> Result<()> {
        let Role::Follower(follower) = self.role() else { return Ok(()) };
        let (settings, view) = (follower.settings.clone(), Arc::clone(&self.inner.view));
        let failure = LastFailure::default();
        if !exists(&store, path).await? {
            let reason = "there is none in this object store".to_owned();
            return Err(other_catalog(path, &reason));
        }
        let database = open_database(store, path, (&settings, Arc::default()), &failure).await?;
        // The former writer is fenced. All states that it has sent are durable, so the follower has this
        // state or an older one.
        let number = load::number_of(&database, path).await?;
        let found = (load::store_id_of(&database, path).await?, number);
        let followed = Arc::clone(&view.borrow());
        if let Some(reason) = contradiction((followed.store_id(), followed.number()), found) {
            // Nothing was written, so an error on close is irrelevant.
            let _ = Box::pin(database.close()).await;
            return Err(other_catalog(path, &reason));
        }
        let (newer, headers, packed) = if followed.number() == number {
            let packed = Box::pin(Packed::of(&database, path, &followed)).await?;
            (None, codec::Shared::default(), packed)
        } else {
            let Loaded { snapshot, shared, packed } =
                read(&database, path, &settings, &failure).await?;
            (Some(Snapshot { changed: clock.now(), ..snapshot }), shared, packed)
        };
        follower.end().await;
        if let Some(newer) = newer {
            view.send_replace(Arc::new(newer));
        }
        let opened = Opened { database, failure, headers, packed, view };
        let writer = Arc::new(Writer::new(path.to_owned(), settings, clock, opened));
        writer.feed_followers();
        self.inner.role.send_replace(Role::Writer(writer));
        Ok(())
    }

    /// Gives the catalog, which this process has open, and its object store the same identity. If only one of
    /// them has an identity, the other one gets it.
    ///
    /// # Errors
    /// [`Error::OtherCatalog`] if they have two identities. [`Error::Store`] if the object cannot be read or
    /// written; as [`put_document`](Self::put_document).
    pub async fn identify(&self, store: &dyn ObjectStore) -> Result<StoreId> {
        let known = self.snapshot().store_id();
        let found = match StoreId::read_at_start(store).await? {
            Some(found) => found,
            None => known.unwrap_or_else(StoreId::random).create(store).await?,
        };
        match known {
            Some(known) if known != found => {
                let reason = format!(
                    "its id is {known}, and that of the object store is {found}; restore both from the same \
                     copy, or delete the object {PLACE} if the buckets of this catalog are in the store"
                );
                Err(other_catalog(&self.path(), &reason))
            }
            Some(known) => Ok(known),
            None => {
                let (kind, name, json) = found.document();
                self.put_document(kind, name, json).await?;
                Ok(found)
            }
        }
    }

    /// Waits until this process has the catalog open.
    pub async fn leads(&self) {
        let mut role = self.inner.role.subscribe();
        // The sender lives in self, so waiting cannot fail.
        let _ = role.wait_for(|role| matches!(role, Role::Writer(_))).await;
    }

    /// Whether this process follows and no leader answers.
    #[must_use]
    pub fn lacks_leader(&self) -> bool {
        match self.role() {
            Role::Writer(_) | Role::Simulated(_) => false,
            Role::Follower(follower) => follower.leader.is_lost(),
        }
    }

    /// Returns for how long this process has had no leader, and so may lack later changes.
    #[must_use]
    pub fn leader_lost_for(&self) -> Option<Duration> {
        match self.role() {
            Role::Writer(_) | Role::Simulated(_) => None,
            Role::Follower(follower) => follower.leader.lost_for(),
        }
    }

    /// Returns what prevents this catalog from accepting changes, if it has done so for several seconds.
    #[must_use]
    pub fn stalled(&self) -> Option<Stalled> {
        let follower = match self.role() {
            Role::Writer(writer) => return writer.stalled(),
            Role::Simulated(_) => return None,
            Role::Follower(follower) => follower,
        };
        let lost = follower.leader.lost_for().filter(|lost| *lost >= WITHOUT_LEADER)?;
        let (leader, reason) = (follower.path(), follower.leader.failure());
        Some(Stalled::Following { leader, seconds: lost.as_secs(), reason })
    }

    /// Returns the writer, if this process leads.
    pub(crate) fn writer(&self) -> Result<Arc<Writer>> {
        match self.role() {
            Role::Writer(writer) => Ok(writer),
            Role::Follower(follower) => Err(Error::NotLeading { leader: follower.path() }),
            Role::Simulated(_) => Err(Error::NotLeading { leader: self.path() }),
        }
    }

    /// Makes one atomic change durable. After `Ok`, [`snapshot`](Self::snapshot) includes it. While the store
    /// is unavailable it waits and retries. Commits are idempotent. Commits that wait at the same time are
    /// written together, and each of them has its own outcome.
    ///
    /// # Errors
    /// [`Error::Fenced`] if another process took the catalog over; [`Error::Conflict`],
    /// [`Error::Overlap`], [`Error::OldEpoch`], [`Error::Gone`] and [`Error::Invalid`] if the commit
    /// contradicts the catalog or itself. The catalog is then unchanged. [`Error::Unreachable`] if the leader
    /// does not answer: whether the commit has taken effect is not known, and repeating it is safe.
    pub async fn commit(&self, commit: Commit) -> Result<()> {
        let follower = match self.role() {
            Role::Writer(writer) => return writer.commit(commit).await,
            Role::Simulated(changes) => return changes.commit(commit).await,
            Role::Follower(follower) => follower,
        };
        tokio::select! {
            done = Box::pin(follower.commit(&commit)) => done,
            // The leader may already have made the change; repeating it is harmless.
            () = self.leads() => self.writer()?.commit(commit).await,
        }
    }

    /// Returns the snapshot after the last commit.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.inner.view.borrow().clone()
    }

    /// A receiver that always has the newest snapshot.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.inner.view.subscribe()
    }

    /// Returns the summaries of buckets, in their order. `None` for a bucket that is no longer in the
    /// catalog, and at a follower whose leader does not answer: then the caller can read the summary from the
    /// object of the bucket. Summaries that are not in memory are read in one pass, so a single call for many
    /// buckets is faster than several calls.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Corrupt`] or [`Error::Version`] if a summary cannot be read.
    pub async fn summaries(&self, ids: &[BucketId]) -> Result<Vec<Option<Arc<BucketSummary>>>> {
        match self.role() {
            Role::Writer(writer) => writer.summaries(ids).await,
            Role::Follower(follower) => {
                follower.summaries.of(ids, Source::Leader(&follower.leader)).await
            }
            Role::Simulated(_) => Ok(vec![None; ids.len()]),
        }
    }

    /// Whether another process has the catalog open, and this one follows it.
    #[must_use]
    pub fn follows(&self) -> bool {
        !matches!(*self.inner.role.borrow(), Role::Writer(_))
    }

    /// Waits until this process, as the leader, can no longer write. Returns why: [`Error::Fenced`] if
    /// another process has taken over the catalog; otherwise the reason why the database has ended, in which
    /// case the catalog must be opened again. Also notices a database that ends while nothing is written.
    pub async fn lost(&self) -> Error {
        self.leads().await;
        let Role::Writer(writer) = self.role() else { return std::future::pending().await };
        writer.lost().await
    }

    /// Whether the database of this process has ended although no other process has taken over the catalog.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        let Role::Writer(writer) = self.role() else { return false };
        let ended = writer.ended.borrow();
        ended.as_ref().is_some_and(|error| !matches!(error, Error::Fenced { .. }))
    }

    /// Returns the journal positions up to which the streams of an indexer are in object storage; recovery
    /// only replays records above them.
    #[allow(clippy::unused_async)] // A remote catalog would have to ask.
    pub async fn positions(&self, indexer: IndexerId) -> Vec<(StreamId, JournalPosition)> {
        self.snapshot().positions(indexer)
    }

    /// Writes a small document, durable on return.
    ///
    /// # Errors
    /// As [`commit`](Self::commit); [`Error::Invalid`] if the name is empty or contains NUL, or the
    /// document exceeds the size limit.
    pub async fn put_document(&self, kind: &str, name: &str, json: Value) -> Result<()> {
        self.change_documents_in_time(vec![(kind.to_owned(), name.to_owned(), Some(json))]).await
    }

    /// Writes several documents in one atomic, durable change.
    ///
    /// # Errors
    /// As [`put_document`](Self::put_document); the size limit does not apply.
    pub async fn put_documents(&self, documents: Vec<(String, String, Value)>) -> Result<()> {
        let some = |(kind, name, json)| (kind, name, Some(json));
        self.change_documents(documents.into_iter().map(some).collect()).await
    }

    /// Writes documents, and deletes those without content, in one atomic, durable change.
    ///
    /// # Errors
    /// As [`put_documents`](Self::put_documents).
    pub async fn change_documents(
        &self,
        documents: Vec<(String, String, Option<Value>)>,
    ) -> Result<()> {
        self.make(documents.into()).await
    }

    /// Changes documents as [`change_documents`](Self::change_documents), for interactive callers: it has the
    /// deadline of [`put_document`](Self::put_document), and the size limit applies to each document.
    ///
    /// # Errors
    /// As [`put_document`](Self::put_document).
    pub async fn change_documents_in_time(&self, documents: Vec<NamedDocument>) -> Result<()> {
        self.replace_documents_in_time(Vec::new(), documents).await
    }

    /// Changes documents as [`replace_documents`](Self::replace_documents), for interactive callers, as
    /// [`change_documents_in_time`](Self::change_documents_in_time).
    ///
    /// # Errors
    /// As [`put_document`](Self::put_document) and [`replace_documents`](Self::replace_documents).
    pub async fn replace_documents_in_time(
        &self,
        before: Vec<NamedDocument>,
        after: Vec<NamedDocument>,
    ) -> Result<()> {
        let limit = self.settings().document_bytes;
        for (kind, name, json) in &after {
            self.check_document_name(kind, name)?;
            let size = json.as_ref().and_then(|json| serde_json::to_vec(json).ok());
            let size = size.map_or(0, |text| text.len());
            if size > limit {
                let reason = format!("it has {size} bytes, and document_bytes is {limit}");
                return Err(self.invalid(&format!("document {kind}/{name}"), &reason));
            }
        }
        self.make_in_time(Documents { after, before }).await
    }

    /// Changes documents as [`change_documents`](Self::change_documents), if the catalog has each document of
    /// `before` with that content, or lacks it if it has none. So a delayed change does not undo a later one.
    /// Repeating a change that has been made is harmless.
    ///
    /// # Errors
    /// [`Error::Changed`] if a document differs; then nothing is changed. As
    /// [`change_documents`](Self::change_documents).
    pub async fn replace_documents(
        &self,
        before: Vec<NamedDocument>,
        after: Vec<NamedDocument>,
    ) -> Result<()> {
        self.make(Documents { after, before }).await
    }

    async fn make(&self, documents: Documents) -> Result<()> {
        let follower = match self.role() {
            Role::Writer(writer) => return writer.documents(documents).await,
            Role::Simulated(changes) => return changes.documents(documents).await,
            Role::Follower(follower) => follower,
        };
        tokio::select! {
            done = Box::pin(follower.documents(&documents)) => done,
            () = self.leads() => self.writer()?.documents(documents).await,
        }
    }

    async fn make_in_time(&self, documents: Documents) -> Result<()> {
        let follower = match self.role() {
            Role::Writer(writer) => return writer.documents_in_time(documents).await,
            Role::Simulated(changes) => {
                let deadline = self.settings().document_deadline;
                let changing = changes.documents(documents);
                let done = tokio::time::timeout(deadline, changing).await;
                return done.unwrap_or_else(|_| Err(crate::rules::under_way(deadline)));
            }
            Role::Follower(follower) => follower,
        };
        let deadline = follower.settings.document_deadline;
        let changing = Box::pin(follower.documents(&documents));
        tokio::select! {
            done = tokio::time::timeout(deadline, changing) => done.unwrap_or_else(|_| {
                let reason = follower.leader.delay();
                Err(follower.leader.unreachable(deadline, Some(reason)))
            }),
            () = self.leads() => self.writer()?.documents_in_time(documents).await,
        }
    }

    /// Returns the documents of a kind, by name.
    #[allow(clippy::unused_async)] // A remote catalog would have to ask.
    pub async fn documents(&self, kind: &str) -> Vec<Document> {
        self.snapshot().documents(kind)
    }

    /// Deletes a document, durable on return; deleting a missing one is not an error.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub async fn delete_document(&self, kind: &str, name: &str) -> Result<()> {
        self.change_documents_in_time(vec![(kind.to_owned(), name.to_owned(), None)]).await
    }

    /// Closes the catalog after pending commits, and compacts it so that it opens fast.
    ///
    /// # Errors
    /// [`Error::Fenced`] or [`Error::Store`]; committed changes are durable in any case.
    pub async fn close(&self) -> Result<()> {
        match self.role() {
            Role::Writer(writer) => writer.close().await,
            Role::Follower(follower) => {
                follower.close();
                Ok(())
            }
            Role::Simulated(_) => Ok(()),
        }
    }

    /// Packs the headers of all buckets, so that the catalog opens fast, and waits for it. The process that
    /// has the catalog open also does this by itself, after many changes.
    ///
    /// # Errors
    /// [`Error::NotLeading`] at a follower; [`Error::Fenced`], [`Error::Closed`] or [`Error::Store`]. Nothing
    /// is lost in any case.
    pub async fn pack(&self) -> Result<()> {
        self.writer()?.pack().await
    }

    /// Whether this process has opened the catalog, and has read the headers of all buckets from packs.
    #[doc(hidden)]
    #[must_use]
    pub fn opened_from_packs(&self) -> bool {
        self.writer().is_ok_and(|writer| writer.from_packs)
    }

    fn settings(&self) -> Settings {
        match self.role() {
            Role::Writer(writer) => writer.settings.clone(),
            Role::Follower(follower) => follower.settings.clone(),
            Role::Simulated(_) => Settings::default(),
        }
    }

    fn path(&self) -> String {
        match self.role() {
            Role::Writer(writer) => writer.path.clone(),
            Role::Follower(follower) => follower.path(),
            Role::Simulated(_) => "simulated".to_owned(),
        }
    }

    fn invalid(&self, what: &str, reason: &str) -> Error {
        let (path, what, reason) = (self.path(), what.to_owned(), reason.to_owned());
        Error::Invalid { path, what, reason }
    }

    fn check_document_name(&self, kind: &str, name: &str) -> Result<()> {
        match violated_by_name(kind, name) {
            Some(rule) => Err(self.invalid(&format!("document {kind:?}/{name:?}"), rule)),
            None => Ok(()),
        }
    }
}

fn other_catalog(path: &str, reason: &str) -> Error {
    let reason = format!("catalog \"{path}\" is not that of the cluster: {reason}");
    Error::OtherCatalog { reason }
}

/// Whether a database exists.
async fn exists(store: &Arc<dyn ObjectStore>, path: &str) -> Result<bool> {
    let manifests = Path::from(format!("{path}/manifest"));
    let first = store.list(Some(&manifests)).next().await.transpose();
    let first = first.map_err(|error| {
        let (path, reason) = (path.to_owned(), chain(&error));
        Error::Store { path, what: "be found", reason }
    })?;
    Ok(first.is_some())
}

/// Opens the database, creating it if it does not exist, and fences any earlier writer.
async fn open_database(
    store: Arc<dyn ObjectStore>,
    path: &str,
    (settings, ticks): (&Settings, Arc<Ticks>),
    failure: &LastFailure,
) -> Result<Db> {
    let conditions = has_conditions(&store, path).await?;
    let adapter = Arc::new(Adapter::new(store, failure.clone()));
    let reading = Box::pin(ticks.go_on_from_files(Arc::clone(&adapter), path));
    patiently((settings.slow_commit, failure), "opening the catalog", reading).await?;
    loop {
        let mut database = settings.database();
        if let Some(cleanup) = &mut database.garbage_collector_options {
            cleanup.boundary_files_enabled = conditions;
            keep_longer(cleanup, ticks.ahead());
        }
        let building = Db::builder(path.to_owned(), Arc::<Adapter>::clone(&adapter))
            .with_settings(database)
            .with_system_clock(Arc::<Ticks>::clone(&ticks))
            .with_db_cache_disabled()
            .with_sst_block_size(SstBlockSize::Block16Kib)
            .build();
        let opening = Box::pin(opened(path, building));
        let database =
            patiently((settings.slow_commit, failure), "opening the catalog", opening).await?;
        let last = Box::pin(last_write(&database, path)).await?;
        let is_far_behind = last.is_some_and(|last| ticks.is_far_behind(last));
        if is_far_behind {
            // The cleanup of the open database uses the clock that it was opened with. The database is closed
            // before the clock is changed, because otherwise a cleanup that runs now would delete its files
            // as old.
            let closing = Box::pin(database.close_with_options(CloseOptions { flush_type: None }));
            let closed = closing.await;
            closed.map_err(|error| Error::from_database(path, "close", &error))?;
        }
        if let Some(last) = last {
            ticks.go_on_from(last);
        }
        if !is_far_behind {
            ticks.report(path);
            return Ok(database);
        }
    }
}

/// Raises the minimum age of files whose age is computed from times of the store: to a clock that is ahead
/// they look older.
fn keep_longer(cleanup: &mut GarbageCollectorOptions, ahead: Duration) {
    let by_store =
        [&mut cleanup.manifest_options, &mut cleanup.wal_options, &mut cleanup.compactions_options];
    for files in by_store.into_iter().flatten() {
        files.min_age += ahead;
    }
}

/// Reads all entries that are kept in memory.
async fn read(
    database: &Db,
    path: &str,
    settings: &Settings,
    failure: &LastFailure,
) -> Result<Loaded> {
    let loading = Box::pin(async {
        migration::split_buckets(database, path).await?;
        load::load(database, path, settings.pack_changes > 0).await
    });
    patiently((settings.slow_commit, failure), "reading the catalog", loading).await
}

/// Tries a conditional update that must fail. Returns false if the store reports that it has no conditional
/// updates (the database then works without them). Fails if the store ignores the condition or is
/// unavailable.
async fn has_conditions(store: &Arc<dyn ObjectStore>, path: &str) -> Result<bool> {
    let probe = Path::from(format!("{path}/conditions-probe"));
    let never = UpdateVersion { e_tag: Some("\"0\"".to_owned()), version: None };
    let options = PutOptions { mode: PutMode::Update(never), ..PutOptions::default() };
    let put = store.put_opts(&probe, PutPayload::from_static(b"probe"), options).await;
    match put {
        Err(object_store::Error::Precondition { .. } | object_store::Error::NotFound { .. }) => {
            Ok(true)
        }
        Err(
            object_store::Error::NotImplemented { .. } | object_store::Error::NotSupported { .. },
        ) => Ok(false),
        Err(error) => {
            let (path, reason) = (path.to_owned(), chain(&error));
            Err(Error::Store { path, what: "reach the store", reason })
        }
        Ok(_) => {
            // A leftover probe is harmless, so a failed delete is ignored.
            let _ = store.delete(&probe).await;
            Err(Error::NoConditions { path: path.to_owned() })
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use futures::TryStreamExt;
    use object_store::memory::InMemory;
    use runtime::SystemClock;
    use serde_json::json;
    use slatedb::admin::Admin;
    use slatedb_common::clock::SystemClock as _;

    use super::*;

    const YEAR: i64 = 365 * 86_400 * 1000;
    const HOUR: i64 = 3_600 * 1000;
    const LONG: Duration = Duration::from_secs(60);

    async fn open_by(store: &Arc<dyn ObjectStore>, ticks: Arc<Ticks>) -> Catalog {
        let (settings, clock) = (Settings::default(), Arc::new(SystemClock));
        let opening = Catalog::open_with(Arc::clone(store), "catalog", settings, clock, ticks);
        Box::pin(opening).await.unwrap()
    }

    /// Writes a document on a machine whose clock is a year ahead, and packs the headers an hour later.
    /// Closing folds the writes into files that the manifest knows.
    async fn write_ahead_of_time(store: &Arc<dyn ObjectStore>, is_closed: bool) -> Catalog {
        let ticks = Arc::new(Ticks::default());
        ticks.go_on_from(ticks.now().timestamp_millis() + YEAR);
        let ahead = open_by(store, Arc::clone(&ticks)).await;
        ahead.put_document("user", "a", json!(1)).await.unwrap();
        ticks.go_on_from(ticks.now().timestamp_millis() + HOUR);
        ahead.pack().await.unwrap();
        if is_closed {
            ahead.close().await.unwrap();
        }
        ahead
    }

    /// Returns the epoch of the database, which each opening increments.
    async fn epoch(store: &Arc<dyn ObjectStore>) -> u64 {
        let adapter = Arc::new(Adapter::new(Arc::clone(store), LastFailure::default()));
        let admin = Admin::builder("catalog".to_owned(), adapter).build();
        Box::pin(admin.read_manifest(None)).await.unwrap().unwrap().writer_epoch()
    }

    #[test]
    fn files_that_the_store_dates_are_kept_for_longer_by_a_clock_that_is_ahead() {
        let settings = Settings::default();
        let mut cleanup = settings.database().garbage_collector_options.unwrap();
        keep_longer(&mut cleanup, LONG);
        for files in [cleanup.manifest_options, cleanup.wal_options, cleanup.compactions_options] {
            assert_eq!(files.unwrap().min_age, settings.cleanup_age + LONG);
        }
        assert_eq!(cleanup.compacted_options.unwrap().min_age, settings.cleanup_age);
    }

    /// Returns a copy of the files that no writer changes, without those of the compactor, which can be
    /// written at any time.
    async fn copied(store: &Arc<dyn ObjectStore>) -> Arc<dyn ObjectStore> {
        let copy: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let all: Vec<_> = store.list(None).try_collect().await.unwrap();
        for object in all {
            if !object.location.as_ref().contains("compactions") {
                let bytes = store.get(&object.location).await.unwrap().bytes().await.unwrap();
                copy.put(&object.location, bytes.into()).await.unwrap();
            }
        }
        copy
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_clock_that_was_ahead_counts_for_the_cleanup_if_only_the_last_write_shows_it() {
        for is_closed in [true, false] {
            let written: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
            let _ahead = write_ahead_of_time(&written, is_closed).await;
            let store = copied(&written).await;
            let shown = Ticks::default();
            let adapter = Arc::new(Adapter::new(Arc::clone(&store), LastFailure::default()));
            shown.go_on_from_files(adapter, "catalog").await.unwrap();
            let latest = Duration::from_millis((YEAR + HOUR).unsigned_abs());
            let is_shown = shown.ahead() > latest - LONG;
            assert!(is_shown || !is_closed);
            let before = epoch(&store).await;
            let after = open_by(&store, Arc::default()).await;
            // The cleanup uses the settings with which the database was opened.
            assert_eq!(epoch(&store).await > before + 1, !is_shown, "{is_closed}");
            after.put_document("user", "b", json!(2)).await.unwrap();
            assert_eq!(after.documents("user").await.len(), 2);
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_clock_that_was_set_back_does_not_end_it() {
        for is_closed in [true, false] {
            let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
            let _ahead = write_ahead_of_time(&store, is_closed).await;
            // Twice, because the second opening uses the files of the first one.
            for name in ["b", "c"] {
                let after = open_by(&store, Arc::default()).await;
                after.put_document("user", name, json!(2)).await.unwrap();
                after.close().await.unwrap();
            }
            let last = open_by(&store, Arc::default()).await;
            assert_eq!(last.documents("user").await.len(), 3);
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn one_whose_database_has_ended_is_lost() {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let catalog = open_by(&store, Arc::default()).await;
        catalog.put_document("user", "a", json!(1)).await.unwrap();
        catalog.writer().unwrap().database.close().await.unwrap();
        catalog.put_document("user", "b", json!(1)).await.unwrap_err();
        // Both the failed write and the database report the end; either may be seen first.
        for _ in 0..20 {
            let why = tokio::time::timeout(LONG, catalog.lost()).await.unwrap();
            assert!(!matches!(why, Error::Fenced { .. }), "{why:?}");
        }
        assert!(catalog.has_failed());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn one_whose_database_ends_between_two_writes_is_lost() {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let catalog = open_by(&store, Arc::default()).await;
        catalog.put_document("user", "a", json!(1)).await.unwrap();
        let lost = tokio::spawn({
            let catalog = catalog.clone();
            async move { catalog.lost().await }
        });
        assert!(!catalog.has_failed());
        catalog.writer().unwrap().database.close().await.unwrap();
        let why = tokio::time::timeout(LONG, lost).await.unwrap().unwrap();
        assert!(matches!(why, Error::Closed { .. }), "{why:?}");
        assert!(catalog.has_failed());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn one_that_is_closed_is_not_lost() {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let catalog = open_by(&store, Arc::default()).await;
        catalog.close().await.unwrap();
        tokio::time::timeout(Duration::from_millis(100), catalog.lost()).await.unwrap_err();
        assert!(!catalog.has_failed());
    }
}
