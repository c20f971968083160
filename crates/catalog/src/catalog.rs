//! The open catalog: the single writer to the database, and its in-memory state.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{BucketEntry, BucketId, IndexerId, JournalPosition, StreamId};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion};
use runtime::{Clock, metrics as names};
use serde_json::Value;
use slatedb::config::{CloseOptions, FlushOptions, FlushType, ScanOptions};
use slatedb::{Db, WriteBatch};
use tokio::sync::{Mutex, watch};

use crate::adapter::{Adapter, LastFailure};
use crate::codec::{self, Entry};
use crate::commit::Plan;
use crate::error::{Result, chain, opened};
use crate::{Commit, Document, Error, Settings, Snapshot};

/// The catalog, open for writing. Clones share it.
#[derive(Clone)]
pub struct Catalog {
    inner: Arc<Inner>,
}

struct Inner {
    path: String,
    settings: Settings,
    clock: Arc<dyn Clock>,
    database: Db,
    writer: Mutex<Writer>,
    view: watch::Sender<Arc<Snapshot>>,
    /// Whether another process has taken the catalog over.
    fenced: watch::Sender<bool>,
    failure: LastFailure,
}

/// State of the writer.
struct Writer {
    buckets: HashMap<BucketId, Arc<BucketEntry>>,
    /// Commits since the write-ahead files were last compacted.
    unfolded: u32,
    /// The permanent write failure, if any; every later commit returns it.
    failed: Option<Error>,
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let buckets = self.inner.view.borrow().len();
        let path = &self.inner.path;
        f.debug_struct("Catalog").field("path", path).field("buckets", &buckets).finish()
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
        settings.validate()?;
        let mut database = settings.database();
        let conditions = has_conditions(&store, path).await?;
        if let Some(cleanup) = &mut database.garbage_collector_options {
            cleanup.boundary_files_enabled = conditions;
        }
        let failure = LastFailure::default();
        let adapter = Arc::new(Adapter::new(store, failure.clone()));
        let building = Db::builder(path.to_owned(), adapter)
            .with_settings(database)
            .with_db_cache_disabled()
            .build();
        let database = patiently(
            (settings.slow_commit, &failure),
            "opening the catalog",
            Box::pin(opened(path, building)),
        )
        .await?;
        let loading = Box::pin(load(&database, path));
        let (buckets, mut snapshot) =
            patiently((settings.slow_commit, &failure), "reading the catalog", loading).await?;
        snapshot.changed = clock.now();
        metrics::gauge!(names::CATALOG_BUCKETS).set(count(snapshot.len()));
        // The first commit compacts what earlier processes may have left.
        let unfolded = settings.fold_commits - 1;
        let writer = Mutex::new(Writer { buckets, unfolded, failed: None });
        let (view, _) = watch::channel(Arc::new(snapshot));
        let path = path.to_owned();
        let fenced = watch::Sender::new(false);
        let inner = Inner { path, settings, clock, database, writer, view, fenced, failure };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Makes one atomic change durable. After `Ok`, [`snapshot`](Self::snapshot) includes it. While
    /// the store is unavailable it waits and retries. Commits are idempotent.
    ///
    /// # Errors
    /// [`Error::Fenced`] if another process took the catalog over; [`Error::Conflict`] and
    /// [`Error::Invalid`] if the commit contradicts the catalog or itself. The catalog is then
    /// unchanged.
    pub async fn commit(&self, commit: Commit) -> Result<()> {
        if let Some(reason) = commit.contradiction() {
            return Err(self.inner.invalid("a commit", &reason));
        }
        self.inner
            .change(move |now, writer, path| Plan::commit(now, &writer.buckets, commit, path))
            .await
    }

    /// The catalog as of the last commit.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.inner.view.borrow().clone()
    }

    /// A receiver that always has the newest snapshot.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.inner.view.subscribe()
    }

    /// Waits until this catalog is fenced by another process.
    pub async fn fenced(&self) {
        let mut fenced = self.inner.fenced.subscribe();
        // The sender lives in self, so waiting cannot fail.
        let _ = fenced.wait_for(|fenced| *fenced).await;
    }

    /// The journal positions up to which the streams of an indexer are in object storage; recovery
    /// replays only what is above them.
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
        self.check_document_name(kind, name)?;
        let size = serde_json::to_vec(&json).map_or(0, |text| text.len());
        let limit = self.inner.settings.document_bytes;
        if size > limit {
            let reason = format!("it has {size} bytes, and document_bytes is {limit}");
            return Err(self.inner.invalid(&format!("document {kind}/{name}"), &reason));
        }
        let (kind, name) = (kind.to_owned(), name.to_owned());
        self.inner
            .in_time(move |now, _, path| Plan::document(now, &kind, &name, Some(json), path))
            .await
    }

    /// Writes several documents in one atomic, durable change.
    ///
    /// # Errors
    /// As [`put_document`](Self::put_document); the size limit does not apply.
    pub async fn put_documents(&self, documents: Vec<(String, String, Value)>) -> Result<()> {
        for (kind, name, _) in &documents {
            self.check_document_name(kind, name)?;
        }
        self.inner.change(move |now, _, path| Plan::documents(now, documents, path)).await
    }

    /// Documents of a kind, by name.
    #[allow(clippy::unused_async)] // A remote catalog would have to ask.
    pub async fn documents(&self, kind: &str) -> Vec<Document> {
        self.snapshot().documents(kind)
    }

    /// Deletes a document, durable on return; deleting a missing one is not an error.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub async fn delete_document(&self, kind: &str, name: &str) -> Result<()> {
        self.check_document_name(kind, name)?;
        let (kind, name) = (kind.to_owned(), name.to_owned());
        self.inner.in_time(move |now, _, path| Plan::document(now, &kind, &name, None, path)).await
    }

    /// Closes the catalog after pending commits, and compacts it so that it opens fast.
    ///
    /// # Errors
    /// [`Error::Fenced`] or [`Error::Store`]; committed changes are durable in any case.
    pub async fn close(&self) -> Result<()> {
        let inner = &self.inner;
        let mut writer = inner.writer.lock().await;
        if let Some(error) = &writer.failed {
            let known = error.clone();
            return if matches!(known, Error::Closed { .. }) { Ok(()) } else { Err(known) };
        }
        writer.failed = Some(Error::Closed { path: inner.path.clone() });
        let fold = CloseOptions { flush_type: Some(FlushType::MemTable) };
        let closing = Box::pin(inner.database.close_with_options(fold));
        patiently((inner.settings.slow_commit, &inner.failure), "closing the catalog", closing)
            .await
            .map_err(|error| Error::from_database(&inner.path, "close", &error))
    }

    fn check_document_name(&self, kind: &str, name: &str) -> Result<()> {
        let bad = |text: &str| text.is_empty() || text.contains('\0') || text.len() > 1024;
        if bad(kind) || bad(name) {
            let reason = "kind and name must have 1 to 1024 bytes and no NUL";
            return Err(self.inner.invalid(&format!("document {kind:?}/{name:?}"), reason));
        }
        Ok(())
    }
}

impl Inner {
    fn invalid(&self, what: &str, reason: &str) -> Error {
        let (what, reason) = (what.to_owned(), reason.to_owned());
        Error::Invalid { path: self.path.clone(), what, reason }
    }

    /// As [`change`](Self::change), with a deadline for interactive callers: after it, returns an
    /// error that the change is still pending, and why.
    async fn in_time<F>(self: &Arc<Self>, plan: F) -> Result<()>
    where
        F: FnOnce(&Snapshot, &Writer, &str) -> Result<Plan> + Send + 'static,
    {
        let deadline = self.settings.document_deadline;
        match tokio::time::timeout(deadline, self.change(plan)).await {
            Ok(done) => done,
            Err(_) => Err(Error::Slow {
                path: self.path.clone(),
                seconds: deadline.as_secs(),
                reason: self.failure.reason(),
            }),
        }
    }

    /// Plans a change on the newest state and applies it, even if the caller is cancelled: the
    /// snapshot must match the durable state.
    async fn change<F>(self: &Arc<Self>, plan: F) -> Result<()>
    where
        F: FnOnce(&Snapshot, &Writer, &str) -> Result<Plan> + Send + 'static,
    {
        let inner = Arc::clone(self);
        let start = Instant::now();
        let work = async move {
            let mut writer = inner.writer.lock().await;
            if let Some(error) = &writer.failed {
                return Err(error.clone());
            }
            let now = inner.view.borrow().clone();
            let planned = plan(&now, &writer, &inner.path)?;
            if planned.is_empty() {
                return Ok(());
            }
            if let Err(error) = inner.write(&planned).await {
                // The database never gives up on the store by itself, so this error is permanent.
                if matches!(error, Error::Fenced { .. }) {
                    inner.fenced.send_replace(true);
                }
                writer.failed = Some(error.clone());
                return Err(error);
            }
            inner.publish(&mut writer, planned);
            Ok(())
        };
        let done = runtime::detached(work).await.unwrap_or_else(|error| {
            let reason = chain(&error);
            Err(Error::Store { path: self.path.clone(), what: "finish a commit", reason })
        });
        let outcome = if done.is_ok() { "done" } else { "failed" };
        metrics::counter!(names::CATALOG_COMMITS, "outcome" => outcome).increment(1);
        metrics::histogram!(names::CATALOG_COMMIT_SECONDS).record(start.elapsed());
        done
    }

    /// One write batch, one write-ahead object.
    async fn write(&self, plan: &Plan) -> Result<()> {
        let mut batch = WriteBatch::new();
        for (key, value) in &plan.puts {
            batch.put(key, value);
        }
        for key in &plan.deletes {
            batch.delete(key);
        }
        let writing = async {
            let handle = self.database.write(batch).await?;
            self.database.flush().await?;
            handle.await_durable().await
        };
        patiently(
            (self.settings.slow_commit, &self.failure),
            "committing to the catalog",
            Box::pin(writing),
        )
        .await
        .map_err(|error| Error::from_database(&self.path, "commit", &error))
    }

    fn publish(self: &Arc<Self>, writer: &mut Writer, plan: Plan) {
        for entry in plan.added {
            writer.buckets.insert(entry.id, entry);
        }
        for id in plan.removed {
            writer.buckets.remove(&id);
        }
        let mut next = plan.next;
        next.number += 1;
        next.changed = self.clock.now();
        metrics::gauge!(names::CATALOG_BUCKETS).set(count(next.len()));
        self.view.send_replace(Arc::new(next));
        writer.unfolded += 1;
        if writer.unfolded >= self.settings.fold_commits {
            writer.unfolded = 0;
            runtime::detached(Arc::clone(self).fold());
        }
    }

    /// Compacts write-ahead files, so that opening stays fast. A failure loses nothing.
    async fn fold(self: Arc<Self>) {
        let options = FlushOptions { flush_type: FlushType::MemTable };
        if let Err(error) = Box::pin(self.database.flush_with_options(options)).await {
            let closed = matches!(error.kind(), slatedb::ErrorKind::Closed(_));
            if !closed {
                tracing::warn!(path = self.path, error = chain(&error), "catalog fold failed");
            }
        }
    }
}

#[allow(clippy::cast_precision_loss)]
fn count(number: usize) -> f64 {
    number as f64
}

/// Tries a conditional update that must fail. `false`: the store reports that it has no conditional
/// updates (the database then works without them); an error: the store ignores the condition, or is
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

/// Read-ahead while opening a catalog, in bytes.
const READ_AHEAD: usize = 4 << 20;

type Loaded = (HashMap<BucketId, Arc<BucketEntry>>, Snapshot);

async fn load(database: &Db, path: &str) -> Result<Loaded> {
    let failed = |error: slatedb::Error| Error::from_database(path, "read", &error);
    // Reads everything, perhaps over a slow link: without read-ahead, 2,000 buckets took minutes at
    // 50 ms per block.
    let ahead = ScanOptions::default().with_read_ahead_bytes(READ_AHEAD).with_max_fetch_tasks(8);
    let mut entries = database.scan_with_options(.., &ahead).await.map_err(failed)?;
    let mut buckets = HashMap::new();
    let mut positions = BTreeMap::new();
    let mut documents = BTreeMap::new();
    let mut discarded = BTreeMap::new();
    while let Some(pair) = entries.next().await.map_err(failed)? {
        let entry =
            codec::decode(&pair.key, &pair.value).map_err(|damage| damage.at(path, &pair.key))?;
        match entry {
            Entry::Bucket(entry) => {
                buckets.insert(entry.id, Arc::new(*entry));
            }
            Entry::Document { kind, name, json } => {
                documents.insert((kind, name), Arc::new(json));
            }
            Entry::Discarded(path, time) => {
                discarded.insert(path, time);
            }
            Entry::Position(stream, position) => {
                positions.insert(stream, position);
            }
        }
    }
    let mut snapshot = Snapshot {
        positions: Arc::new(positions),
        documents: Arc::new(documents),
        discarded: Arc::new(discarded),
        ..Snapshot::default()
    };
    snapshot.fill(buckets.values().cloned());
    Ok((buckets, snapshot))
}

/// Waits for work that must not be cancelled, and logs while it takes long.
async fn patiently<F: Future>(
    (every, failure): (Duration, &LastFailure),
    what: &str,
    work: F,
) -> F::Output {
    let start = Instant::now();
    let mut work = pin!(work);
    loop {
        match tokio::time::timeout(every, work.as_mut()).await {
            Ok(done) => return done,
            Err(_) => tracing::warn!(
                seconds = start.elapsed().as_secs(),
                "{what} takes long: {}",
                failure.reason()
            ),
        }
    }
}
