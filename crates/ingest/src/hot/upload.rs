//! Rolled buckets into object storage and the catalog.
//!
//! A rolled bucket is encoded and put into the spool, which frees its memory; then its object is
//! put, then committed. Encoding and putting go on side by side and do not wait for each other, so a
//! store that is away stops neither; but the buckets of one stream are committed in the order in
//! which they rolled, because a commit says "everything of the stream up to here". While storage is
//! away the uploader tries again for ever; the events stay in the spool and in the journal. An object
//! of the planned name and size that is there already is an earlier attempt of this process whose
//! answer was lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use catalog::{Catalog, Commit};
use foldhash::HashMap;
use inputs::Durability;
use model::{BucketEntry, BucketState, IndexerId, StreamId};
use object_store::ObjectStore;
use parking_lot::{Condvar, Mutex, RwLock};
use runtime::{Shutdown, metrics as names};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};

use super::put::{Content, put};
use super::sift::Sifter;
use super::spool::Spool;
use super::store::{HotStore, RolledBucket};
use crate::fence::Fence;
use crate::set::{SetId, SetState};
use crate::{Error, Settings};

/// How often the log repeats that buckets are not stored, for each cause.
const LOG_EVERY: Duration = Duration::from_secs(60);

/// The entrance to the uploader, and its progress.
#[derive(Debug)]
pub(crate) struct Uploads {
    queue: mpsc::UnboundedSender<Arc<RolledBucket>>,
    waiting: AtomicU64,
    committed: AtomicU64,
    failures: AtomicU64,
    last_error: Mutex<Option<String>>,
    /// When each cause was last logged.
    logged: Mutex<HashMap<&'static str, Instant>>,
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

/// The sets whose journals are released by commits; a set joins once it is recovered.
#[derive(Debug, Default)]
pub(crate) struct Sets(RwLock<HashMap<SetId, Arc<SetState>>>);

impl Sets {
    pub(crate) fn add(&self, set: Arc<SetState>) {
        self.0.write().insert(set.id, set);
    }

    pub(crate) fn remove(&self, set: SetId) {
        self.0.write().remove(&set);
    }

    pub(crate) fn get(&self, set: SetId) -> Option<Arc<SetState>> {
        self.0.read().get(&set).cloned()
    }
}

/// What the uploader works with.
pub(crate) struct Uploader {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) sifter: Arc<Sifter>,
    pub(crate) hot: Arc<HotStore>,
    pub(crate) spool: Arc<Spool>,
    pub(crate) fence: Arc<Fence>,
    pub(crate) sets: Arc<Sets>,
    /// This indexer.
    pub(crate) indexer: IndexerId,
    pub(crate) settings: Arc<Settings>,
    pub(crate) shutdown: Shutdown,
}

impl Uploads {
    /// An entrance and the queue behind it.
    pub(crate) fn new() -> (Arc<Self>, mpsc::UnboundedReceiver<Arc<RolledBucket>>) {
        // Bounded by `maxRolledBuckets` and the spool's limits: the commit thread stops before
        // there are more.
        let (queue, rolled) = mpsc::unbounded_channel();
        let uploads = Self {
            queue,
            waiting: AtomicU64::new(0),
            committed: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            last_error: Mutex::new(None),
            logged: Mutex::default(),
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
        self.progress.1.wait_for(&mut self.progress.0.lock(), wait);
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

    /// Whether the uploader has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.queue.is_closed()
    }

    /// A bucket has left memory.
    fn moved(&self) {
        self.progress.1.notify_all();
    }

    fn failed(&self, error: &Error, pause: Duration) {
        let cause = cause(error);
        let is_due = {
            let mut logged = self.logged.lock();
            let due = logged.get(cause).is_none_or(|since| since.elapsed() >= LOG_EVERY);
            if due {
                logged.insert(cause, Instant::now());
            }
            due
        };
        if is_due {
            let failures = self.failures.load(Ordering::SeqCst) + 1;
            tracing::warn!(%error, again_in = ?pause, failures, cause, "bucket is not stored yet");
        }
        self.failures.fetch_add(1, Ordering::SeqCst);
        metrics::counter!(names::ROLL_FAILURES).increment(1);
        let mut last = self.last_error.lock();
        *last = Some(error.to_string());
    }

    pub(crate) fn status(&self) -> UploadStatus {
        let waiting = self.waiting.load(Ordering::SeqCst);
        let last_error = self.last_error.lock().clone();
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
    ) {
        let uploader = Arc::new(self);
        let encoding = Arc::new(Semaphore::new(uploader.settings.encode_concurrency));
        let putting = Arc::new(Semaphore::new(uploader.settings.upload_concurrency));
        let mut before: HashMap<StreamId, oneshot::Receiver<()>> = HashMap::default();
        loop {
            let next = tokio::select! {
                () = uploader.shutdown.stopped() => return,
                next = rolled.recv() => next,
            };
            let Some(bucket) = next else { return };
            let slot = tokio::select! {
                () = uploader.shutdown.stopped() => return,
                slot = Arc::clone(&encoding).acquire_owned() => slot,
            };
            let (finished, after) = oneshot::channel();
            let predecessor = before.insert(bucket.stream.clone(), after);
            let job = Job {
                uploader: Arc::clone(&uploader),
                uploads: Arc::clone(&uploads),
                putting: Arc::clone(&putting),
                bucket,
            };
            uploader.shutdown.spawn(async move {
                if job.store(slot.ok(), predecessor).await {
                    // Dropping the sender instead tells the successor not to commit.
                    let _ = finished.send(());
                    job.uploads.done();
                }
            });
        }
    }
}

/// What became of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The catalog has it.
    Stored,
    /// Another process stores its events.
    Dropped,
}

/// One bucket on its way.
struct Job {
    uploader: Arc<Uploader>,
    uploads: Arc<Uploads>,
    putting: Arc<Semaphore>,
    bucket: Arc<RolledBucket>,
}

impl Job {
    /// Encodes, puts and commits; `false` when the process stops first, or is not the owner any more.
    async fn store(
        &self,
        encoding: Option<OwnedSemaphorePermit>,
        predecessor: Option<oneshot::Receiver<()>>,
    ) -> bool {
        let Some(encoded) = self.again(|| self.encode()).await else { return false };
        self.uploads.moved();
        drop(encoding);
        let entry = match encoded {
            // All its events were set aside: only its positions are committed.
            None => None,
            Some((entry, content)) if self.put(&entry, &content).await => Some(entry),
            Some(_) => return false,
        };
        // A slot is never held while waiting for the predecessor, which may need one.
        if let Some(predecessor) = predecessor
            && predecessor.await.is_err()
        {
            return false;
        }
        let Some(outcome) = self.commit_again(entry.as_deref()).await else { return false };
        self.let_go(outcome).await;
        let Some(entry) = entry.filter(|_| outcome == Outcome::Stored) else { return true };
        metrics::counter!(names::BUCKET_BYTES).increment(entry.size);
        let seconds = self.bucket.rolled_at.elapsed().as_secs_f64();
        metrics::histogram!(names::ROLL_SECONDS).record(seconds);
        tracing::info!(
            bucket = %entry.id, path = %entry.path, size = entry.size,
            rows = entry.summary.rows, "bucket committed"
        );
        true
    }

    /// Tries until it works; `None` when the process stops first.
    async fn again<T, F>(&self, mut attempt: impl FnMut() -> F) -> Option<T>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let shutdown = &self.uploader.shutdown;
        let (mut pause, longest) = self.uploader.settings.upload_retry;
        loop {
            let result = tokio::select! {
                () = shutdown.stopped() => return None,
                result = attempt() => result,
            };
            match result {
                Ok(value) => return Some(value),
                Err(error) => self.uploads.failed(&error, pause),
            }
            if !shutdown.sleep(jittered(pause)).await {
                return None;
            }
            pause = (pause * 2).min(longest);
        }
    }

    /// Makes the object and puts it into the spool, where it needs no memory; where the disk has
    /// no room it stays in memory, which `maxRolledBuckets` bounds.
    async fn encode(&self) -> Result<Option<(Arc<BucketEntry>, Content)>, Error> {
        let rolled = Arc::clone(&self.bucket);
        let uploader = Arc::clone(&self.uploader);
        let work = self.uploader.shutdown.spawn_blocking(move || {
            let (id, index) = (rolled.content.id, &rolled.stream.index);
            let Some(written) = uploader.sifter.encode(&rolled)? else { return Ok(None) };
            let entry = Arc::new(BucketEntry {
                id,
                index: index.clone(),
                path: rolled.path.clone(),
                size: written.bytes.len() as u64,
                state: BucketState::Warm,
                summary: Arc::new(written.summary),
            });
            match uploader.spool.write(&rolled.path, &written.bytes) {
                Ok(()) => {
                    uploader.hot.spooled(&rolled, Arc::clone(&entry));
                    Ok(Some((entry, Content::Spooled(Arc::clone(&uploader.spool)))))
                }
                Err(error) => {
                    tracing::warn!(%error, "a finished bucket stays in memory until its upload");
                    Ok(Some((entry, Content::Memory(written.bytes))))
                }
            }
        });
        work.await.unwrap_or(Err(Error::Abandoned))
    }

    async fn put(&self, entry: &BucketEntry, content: &Content) -> bool {
        // The semaphore is never closed.
        let _slot = Arc::clone(&self.putting).acquire_owned().await.ok();
        let store = self.uploader.store.as_ref();
        let threshold = self.uploader.settings.multipart_threshold;
        let attempt = || put(store, &entry.path, content, entry.size, threshold);
        self.again(attempt).await.is_some()
    }

    /// Another process commits the buckets of the set from now on. This one takes nothing more in, and
    /// keeps what it has: spool and journal have the events that the other may not know.
    fn stop(&self, error: &Error) {
        let reason: Arc<str> = error.to_string().into();
        if self.uploader.fence.close(&reason) {
            tracing::error!(reason = &*reason, "intake stops permanently");
        }
        self.uploads.failed(error, Duration::ZERO);
    }

    /// As [`Self::again`], but an attempt is never given up half-way: what becomes of it must be
    /// known before this process or the next one reads positions. `None` when another process owns the
    /// set, too.
    async fn commit_again(&self, entry: Option<&BucketEntry>) -> Option<Outcome> {
        let shutdown = &self.uploader.shutdown;
        let (mut pause, longest) = self.uploader.settings.upload_retry;
        while !shutdown.is_stopped() {
            let commit = Commit {
                add: entry.cloned().into_iter().collect(),
                ranges: vec![self.bucket.journal_range()],
                ..Commit::default()
            };
            match self.uploader.catalog.commit(commit).await {
                Ok(()) => return Some(Outcome::Stored),
                // Adopted from another indexer, and another process's by now, which has all events too.
                Err(catalog::Error::OldEpoch { .. })
                    if self.bucket.stream.indexer != self.uploader.indexer =>
                {
                    tracing::warn!(
                        path = %self.bucket.path,
                        "a bucket of another indexer is dropped: another process owns it"
                    );
                    return Some(Outcome::Dropped);
                }
                Err(catalog::Error::OldEpoch { set, known, owner, .. }) => {
                    self.stop(&Error::lost_set(self.uploader.indexer, set, (known, owner)));
                    return None;
                }
                Err(error) => self.uploads.failed(&Error::Catalog(Arc::new(error)), pause),
            }
            shutdown.sleep(jittered(pause)).await;
            pause = (pause * 2).min(longest);
        }
        None
    }

    /// The catalog has the bucket: tell who waited, and forget it here, in the spool and in the
    /// journal; not in the journal if another process has to store it.
    async fn let_go(&self, outcome: Outcome) {
        for waiting in self.bucket.take_waiting() {
            waiting.share.settle_as(Durability::Remote, waiting.events, waiting.bytes);
        }
        self.uploader.hot.remove(&self.bucket);
        let (bucket, uploader) = (Arc::clone(&self.bucket), Arc::clone(&self.uploader));
        let release = move || {
            uploader.spool.remove(&bucket.path);
            let set = uploader.sets.get(SetId::of(&bucket.stream));
            if let Some(set) = set.filter(|_| outcome == Outcome::Stored) {
                set.release(&bucket.stream, bucket.content.upto);
            }
        };
        if self.uploader.shutdown.spawn_blocking(release).await.is_err() {
            tracing::error!("the journal could not be released; the next bucket tries again");
        }
    }
}

/// What keeps a bucket from being stored, for the log.
fn cause(error: &Error) -> &'static str {
    match error {
        Error::Storage { source, .. } if runtime::store::is_full(source.as_ref()) => {
            "no space left on device"
        }
        Error::Storage { .. } => "object storage",
        Error::ObjectConflict { .. } => "another object",
        Error::Catalog(_) => "catalog",
        Error::TakenOver { .. } | Error::BegunAgain { .. } => "taken over",
        Error::Bucket(_) => "encoding",
        _ => "other",
    }
}

/// Between half and all of the pause, so that many do not come back at once.
fn jittered(pause: Duration) -> Duration {
    let random = runtime::random::uuid().as_u64_pair().0 % 1000;
    pause / 2 + (pause / 2).mul_f64(f64::from(u16::try_from(random).unwrap_or(0)) / 1000.0)
}
