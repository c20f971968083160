//! Rolled buckets into object storage and the catalog.
//!
//! Buckets are encoded and uploaded side by side, but the buckets of one stream are committed in
//! the order in which they rolled, because a commit says "everything of the stream up to here".
//! While storage is away the uploader tries again for ever; the events stay in memory and in the
//! journal. An object of the planned name and size that is there already is an earlier attempt of
//! this process whose answer was lost.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use bucket::{FieldSource, Written};
use bytes::Bytes;
use catalog::{Catalog, Commit};
use foldhash::HashMap;
use model::{BucketEntry, BucketState, StreamId};
use object_store::path::Path;
use object_store::{
    ObjectStore, ObjectStoreExt, PutMode, PutMultipartOptions, PutOptions, PutPayload,
    WriteMultipart,
};
use runtime::{Shutdown, metrics as names};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

use super::store::{HotStore, RolledBucket};
use crate::set::SetState;
use crate::{Error, Settings};

/// Size of the parts of a large upload.
const PART: usize = 16 << 20;

/// The entrance to the uploader, and its progress.
#[derive(Debug)]
pub(crate) struct Uploads {
    queue: mpsc::UnboundedSender<Arc<RolledBucket>>,
    waiting: AtomicU64,
    committed: AtomicU64,
    failures: AtomicU64,
    last_error: Mutex<Option<String>>,
    /// Wakes threads; the number is how many buckets are done.
    progress: (Mutex<()>, Condvar),
    /// Wakes tasks.
    idle: watch::Sender<u64>,
}

/// What the uploader does, for the status page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UploadStatus {
    /// Buckets that are not in the catalog yet.
    pub waiting: u64,
    /// Buckets committed since the start.
    pub committed: u64,
    /// Attempts that failed since the start.
    pub failures: u64,
    /// The last failure, while buckets wait.
    pub last_error: Option<String>,
}

/// What the uploader works with.
pub(crate) struct Uploader {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) fields: Arc<dyn FieldSource>,
    pub(crate) hot: Arc<HotStore>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) shutdown: Shutdown,
}

impl Uploads {
    /// An entrance and the queue behind it.
    pub(crate) fn new() -> (Arc<Self>, mpsc::UnboundedReceiver<Arc<RolledBucket>>) {
        // Bounded by `maxRolledBuckets`: the commit thread stops before there are more.
        let (queue, rolled) = mpsc::unbounded_channel();
        let uploads = Self {
            queue,
            waiting: AtomicU64::new(0),
            committed: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            last_error: Mutex::new(None),
            progress: (Mutex::new(()), Condvar::new()),
            idle: watch::Sender::new(0),
        };
        (Arc::new(uploads), rolled)
    }

    pub(crate) fn submit(&self, rolled: Arc<RolledBucket>) {
        let waiting = self.waiting.fetch_add(1, Ordering::SeqCst) + 1;
        self.idle.send_replace(waiting);
        if self.queue.send(rolled).is_err() {
            // The uploader has ended; the journal has the events.
            tracing::debug!("a rolled bucket stays in the journal");
        }
    }

    /// Blocks the thread until a bucket is done, or `wait` is over.
    pub(crate) fn wait_for_progress(&self, wait: Duration) {
        let guard = self.progress.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _woken = self.progress.1.wait_timeout(guard, wait);
    }

    /// Waits until no bucket waits.
    pub(crate) async fn idle(&self) {
        let mut waiting = self.idle.subscribe();
        // The sender lives in `self`: it cannot be gone.
        let _ = waiting.wait_for(|waiting| *waiting == 0).await;
    }

    fn done(&self) {
        self.committed.fetch_add(1, Ordering::SeqCst);
        let waiting = self.waiting.fetch_sub(1, Ordering::SeqCst) - 1;
        self.idle.send_replace(waiting);
        self.progress.1.notify_all();
    }

    fn failed(&self, error: &Error, pause: Duration) {
        tracing::warn!(%error, again_in = ?pause, "bucket is not stored yet");
        self.failures.fetch_add(1, Ordering::SeqCst);
        metrics::counter!(names::ROLL_FAILURES).increment(1);
        let mut last = self.last_error.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(error.to_string());
    }

    pub(crate) fn status(&self) -> UploadStatus {
        let waiting = self.waiting.load(Ordering::SeqCst);
        let last_error = self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone();
        UploadStatus {
            waiting,
            committed: self.committed.load(Ordering::SeqCst),
            failures: self.failures.load(Ordering::SeqCst),
            last_error: last_error.filter(|_| waiting > 0),
        }
    }
}

impl Uploader {
    /// Works until the signal to stop; what is not done then is in the journal.
    pub(crate) async fn run(
        self,
        uploads: Arc<Uploads>,
        mut rolled: mpsc::UnboundedReceiver<Arc<RolledBucket>>,
        sets: HashMap<u16, Arc<SetState>>,
    ) {
        let uploader = Arc::new(self);
        let slots = Arc::new(Semaphore::new(uploader.settings.upload_concurrency));
        let mut before: HashMap<StreamId, oneshot::Receiver<()>> = HashMap::default();
        loop {
            let next = tokio::select! {
                () = uploader.shutdown.stopped() => return,
                next = rolled.recv() => next,
            };
            let Some(bucket) = next else { return };
            // Slots are taken in the order of rolling, so a bucket that waits for its
            // predecessor's commit never keeps the predecessor from its slot.
            let slot = tokio::select! {
                () = uploader.shutdown.stopped() => return,
                slot = Arc::clone(&slots).acquire_owned() => slot,
            };
            let (finished, after) = oneshot::channel();
            let predecessor = before.insert(bucket.stream.clone(), after);
            let (uploader, uploads) = (Arc::clone(&uploader), Arc::clone(&uploads));
            let set = sets.get(&bucket.stream.set).cloned();
            let shutdown = uploader.shutdown.clone();
            shutdown.spawn(async move {
                let _slot = slot;
                if uploader.upload(&bucket, predecessor, &uploads).await {
                    uploader.let_go(bucket, set).await;
                    // Dropping the sender instead tells the successor not to commit.
                    let _ = finished.send(());
                    uploads.done();
                }
            });
        }
    }

    /// Encodes, puts and commits; `false` when the process stops first.
    async fn upload(
        &self,
        rolled: &Arc<RolledBucket>,
        predecessor: Option<oneshot::Receiver<()>>,
        uploads: &Uploads,
    ) -> bool {
        let Some(written) = self.again(uploads, || self.encode(rolled)).await else {
            return false;
        };
        let put = || self.put(&rolled.path, &written.bytes);
        if self.again(uploads, put).await.is_none() {
            return false;
        }
        if let Some(predecessor) = predecessor
            && predecessor.await.is_err()
        {
            return false;
        }
        if self.commit_again(uploads, rolled, &written).await.is_none() {
            return false;
        }
        metrics::counter!(names::BUCKET_BYTES).increment(written.bytes.len() as u64);
        metrics::histogram!(names::ROLL_SECONDS).record(rolled.rolled_at.elapsed().as_secs_f64());
        tracing::info!(
            bucket = %rolled.content.id, path = %rolled.path, size = written.bytes.len(),
            rows = written.summary.rows, "bucket committed"
        );
        true
    }

    /// Tries until it works; `None` when the process stops first.
    async fn again<T, F>(&self, uploads: &Uploads, mut attempt: impl FnMut() -> F) -> Option<T>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let (mut pause, longest) = self.settings.upload_retry;
        loop {
            let result = tokio::select! {
                () = self.shutdown.stopped() => return None,
                result = attempt() => result,
            };
            match result {
                Ok(value) => return Some(value),
                Err(error) => uploads.failed(&error, pause),
            }
            if !self.shutdown.sleep(jittered(pause)).await {
                return None;
            }
            pause = (pause * 2).min(longest);
        }
    }

    /// As [`Self::again`], but an attempt is never given up half-way: what becomes of it must be
    /// known before this process or the next one reads positions.
    async fn commit_again(
        &self,
        uploads: &Uploads,
        rolled: &RolledBucket,
        written: &Written,
    ) -> Option<()> {
        let (mut pause, longest) = self.settings.upload_retry;
        while !self.shutdown.is_stopped() {
            match self.commit(rolled, written).await {
                Ok(()) => return Some(()),
                Err(error) => uploads.failed(&error, pause),
            }
            self.shutdown.sleep(jittered(pause)).await;
            pause = (pause * 2).min(longest);
        }
        None
    }

    async fn encode(&self, rolled: &Arc<RolledBucket>) -> Result<Written, Error> {
        let rolled = Arc::clone(rolled);
        let fields = Arc::clone(&self.fields);
        let settings = Arc::clone(&self.settings);
        let work = self.shutdown.spawn_blocking(move || {
            let batches = rolled.batches()?;
            let (id, index) = (rolled.content.id, &rolled.stream.index);
            bucket::write_bucket(id, index, &batches, &*fields, &settings.bucket)
                .map_err(|error| Error::Bucket(Arc::new(error)))
        });
        work.await.unwrap_or(Err(Error::Abandoned))
    }

    async fn put(&self, path: &str, bytes: &Bytes) -> Result<(), Error> {
        let location = Path::from(path);
        let fail = |operation| {
            move |source| Error::Storage {
                operation,
                path: path.to_owned(),
                source: Arc::new(source),
            }
        };
        if bytes.len() as u64 > self.settings.multipart_threshold {
            // Parts cannot be put conditionally everywhere; the name is unique: a look is enough.
            match self.store.head(&location).await {
                Ok(there) => return same_size(path, bytes, there.size),
                Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(fail("head")(error)),
            }
            let options = PutMultipartOptions::default();
            let upload = self.store.put_multipart_opts(&location, options).await;
            let upload = upload.map_err(fail("put"))?;
            let mut writer = WriteMultipart::new_with_chunk_size(upload, PART);
            writer.put(bytes.clone());
            writer.finish().await.map_err(fail("put"))?;
            return Ok(());
        }
        let options = PutOptions::from(PutMode::Create);
        let payload = PutPayload::from_bytes(bytes.clone());
        match self.store.put_opts(&location, payload, options).await {
            Ok(_) => Ok(()),
            Err(object_store::Error::AlreadyExists { .. }) => {
                let there = self.store.head(&location).await.map_err(fail("head"))?;
                same_size(path, bytes, there.size)
            }
            Err(error) => Err(fail("put")(error)),
        }
    }

    async fn commit(&self, rolled: &RolledBucket, written: &Written) -> Result<(), Error> {
        let entry = BucketEntry {
            id: rolled.content.id,
            index: rolled.stream.index.clone(),
            path: rolled.path.clone(),
            size: written.bytes.len() as u64,
            state: BucketState::Warm,
            summary: written.summary.clone(),
        };
        let commit = Commit {
            add: vec![entry],
            remove: Vec::new(),
            positions: vec![(rolled.stream.clone(), rolled.content.upto)],
        };
        let done = self.catalog.commit(commit).await;
        done.map_err(|error| Error::Catalog(Arc::new(error)))
    }

    /// The catalog has the bucket: forget it here and in the journal.
    async fn let_go(&self, rolled: Arc<RolledBucket>, set: Option<Arc<SetState>>) {
        self.hot.remove(&rolled);
        let Some(set) = set else { return };
        let release = move || set.release(&rolled.stream, rolled.content.upto);
        if self.shutdown.spawn_blocking(release).await.is_err() {
            tracing::error!("the journal could not be released; the next bucket tries again");
        }
    }
}

fn same_size(path: &str, bytes: &Bytes, found: u64) -> Result<(), Error> {
    let expected = bytes.len() as u64;
    if found == expected {
        return Ok(());
    }
    Err(Error::ObjectConflict { path: path.to_owned(), expected, found })
}

/// Between half and all of the pause, so that many do not come back at once.
fn jittered(pause: Duration) -> Duration {
    let random = uuid::Uuid::new_v4().as_u64_pair().0 % 1000;
    pause / 2 + (pause / 2).mul_f64(f64::from(u16::try_from(random).unwrap_or(0)) / 1000.0)
}
