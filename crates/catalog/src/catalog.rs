//! The open catalog: opening it, reading it, and the changes that it takes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use model::{BucketId, BucketSummary, IndexerId, JournalPosition, StreamId};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion};
use runtime::Clock;
use serde_json::Value;
use slatedb::Db;
use slatedb::config::{ScanOptions, SstBlockSize};
use tokio::sync::watch;

use crate::adapter::{Adapter, LastFailure};
use crate::codec::{self, Entry, Shared};
use crate::commit::Change;
use crate::error::{Result, chain, opened};
use crate::writer::{Writer, patiently};
use crate::{Commit, Document, Error, Settings, Snapshot, migration};

/// The catalog, open for writing. Clones share it.
#[derive(Clone)]
pub struct Catalog {
    writer: Arc<Writer>,
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let buckets = self.writer.view.borrow().len();
        let path = &self.writer.path;
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
            .with_sst_block_size(SstBlockSize::Block16Kib)
            .build();
        let database = patiently(
            (settings.slow_commit, &failure),
            "opening the catalog",
            Box::pin(opened(path, building)),
        )
        .await?;
        let loading = Box::pin(async {
            migration::split_buckets(&database, path).await?;
            load(&database, path).await
        });
        let (mut snapshot, shared) =
            patiently((settings.slow_commit, &failure), "reading the catalog", loading).await?;
        snapshot.changed = clock.now();
        let path = path.to_owned();
        let content = (snapshot, shared);
        let writer = Writer::new(path, settings, clock, database, failure, content);
        Ok(Self { writer: Arc::new(writer) })
    }

    /// Makes one atomic change durable. After `Ok`, [`snapshot`](Self::snapshot) includes it. While
    /// the store is unavailable it waits and retries. Commits are idempotent. Commits that wait at the same
    /// time are written together, each of them with its own outcome.
    ///
    /// # Errors
    /// [`Error::Fenced`] if another process took the catalog over; [`Error::Conflict`],
    /// [`Error::Overlap`], [`Error::Gone`] and [`Error::Invalid`] if the commit contradicts the catalog or
    /// itself. The catalog is then unchanged.
    pub async fn commit(&self, commit: Commit) -> Result<()> {
        if let Some(reason) = commit.contradiction() {
            return Err(self.writer.invalid("a commit", &reason));
        }
        self.writer.change(move |change: &mut Change<'_>| change.commit(commit)).await
    }

    /// The catalog as of the last commit.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.writer.view.borrow().clone()
    }

    /// A receiver that always has the newest snapshot.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.writer.view.subscribe()
    }

    /// The summaries of buckets, in their order; `None` for a bucket that has left the catalog. Those that
    /// are not in memory are read in one pass: it is better to ask for many at a time than for one after the
    /// other.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Corrupt`] or [`Error::Version`] if a summary cannot be read.
    pub async fn summaries(&self, ids: &[BucketId]) -> Result<Vec<Option<Arc<BucketSummary>>>> {
        let Writer { summaries, database, path, .. } = &*self.writer;
        summaries.of(ids, (database, path.as_str())).await
    }

    /// Waits until this catalog is fenced by another process.
    pub async fn fenced(&self) {
        let mut fenced = self.writer.fenced.subscribe();
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
        let limit = self.writer.settings.document_bytes;
        if size > limit {
            let reason = format!("it has {size} bytes, and document_bytes is {limit}");
            return Err(self.writer.invalid(&format!("document {kind}/{name}"), &reason));
        }
        let (kind, name) = (kind.to_owned(), name.to_owned());
        self.writer.in_time(move |change| change.document(&kind, &name, Some(json))).await
    }

    /// Writes several documents in one atomic, durable change.
    ///
    /// # Errors
    /// As [`put_document`](Self::put_document); the size limit does not apply.
    pub async fn put_documents(&self, documents: Vec<(String, String, Value)>) -> Result<()> {
        for (kind, name, _) in &documents {
            self.check_document_name(kind, name)?;
        }
        self.writer.change(move |change| change.documents(documents)).await
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
        self.writer.in_time(move |change| change.document(&kind, &name, None)).await
    }

    /// Closes the catalog after pending commits, and compacts it so that it opens fast.
    ///
    /// # Errors
    /// [`Error::Fenced`] or [`Error::Store`]; committed changes are durable in any case.
    pub async fn close(&self) -> Result<()> {
        self.writer.close().await
    }

    fn check_document_name(&self, kind: &str, name: &str) -> Result<()> {
        let bad = |text: &str| text.is_empty() || text.contains('\0') || text.len() > 1024;
        if bad(kind) || bad(name) {
            let reason = "kind and name must have 1 to 1024 bytes and no NUL";
            return Err(self.writer.invalid(&format!("document {kind:?}/{name:?}"), reason));
        }
        Ok(())
    }
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

async fn load(database: &Db, path: &str) -> Result<(Snapshot, Shared)> {
    let failed = |error: slatedb::Error| Error::from_database(path, "read", &error);
    // Reads perhaps over a slow link: without read-ahead, 2,000 buckets took minutes at 50 ms per block.
    let ahead = ScanOptions::default().with_read_ahead_bytes(READ_AHEAD).with_max_fetch_tasks(8);
    let range = codec::IN_MEMORY.start.to_vec()..codec::IN_MEMORY.end.to_vec();
    let mut entries = database.scan_with_options(range, &ahead).await.map_err(failed)?;
    let mut shared = Shared::default();
    let mut buckets = Vec::new();
    let mut positions = BTreeMap::new();
    let mut documents = BTreeMap::new();
    let mut discarded = BTreeMap::new();
    let mut owners = BTreeMap::new();
    let decoded = |key: &[u8], value: &[u8], shared: &mut Shared| {
        codec::decode(key, value, shared).map_err(|damage| damage.at(path, key))
    };
    while let Some(pair) = entries.next().await.map_err(failed)? {
        match decoded(&pair.key, &pair.value, &mut shared)? {
            Entry::Header(header) => buckets.push(Arc::new(*header)),
            Entry::Document { kind, name, json } => {
                documents.insert((kind, name), Arc::new(json));
            }
            Entry::Discarded(path, time) => {
                discarded.insert(path, time);
            }
            Entry::Owner(indexer, set, epoch, owner) => {
                owners.insert((indexer, set), (epoch, owner));
            }
            Entry::Position(stream, position) => {
                positions.insert(stream, position);
            }
            // Neither is in the range.
            Entry::Bucket(_) | Entry::Summary(..) | Entry::Number(_) => {}
        }
    }
    let number = match database.get(codec::NUMBER).await.map_err(failed)? {
        Some(value) => match decoded(codec::NUMBER, &value, &mut shared)? {
            Entry::Number(number) => number,
            _ => 0,
        },
        None => 0,
    };
    let mut snapshot = Snapshot {
        positions: Arc::new(positions),
        documents: Arc::new(documents),
        discarded: Arc::new(discarded),
        owners: Arc::new(owners),
        number,
        ..Snapshot::default()
    };
    snapshot.fill(buckets);
    Ok((snapshot, shared))
}
