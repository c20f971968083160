//! Uploads rolled buckets to object storage and commits them to the catalog.
//!
//! A rolled bucket is encoded and written to the spool, which frees its memory; then its object is put, then
//! committed. Encoding and putting are concurrent and do not wait for each other, so an unavailable store
//! stops neither. The buckets of one stream are committed in the order in which they rolled, because a commit
//! covers everything of the stream up to its position. While storage is unavailable the uploader retries
//! without limit; the events stay in the spool and in the journal. If an object with the planned name and
//! size already exists, it is from an earlier attempt of this process whose response was lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use catalog::{Catalog, Commit};
use foldhash::HashMap;
use inputs::Durability;
use model::{BucketEntry, BucketId, BucketState, IndexerId, StreamId};
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

/// Interval at which the log repeats that buckets are not stored, for each cause.
const LOG_EVERY: Duration = Duration::from_secs(60);

/// The queue of the uploader, and its progress.
#[derive(Debug)]
pub(crate) struct Uploads {
    queue: mpsc::UnboundedSender<Arc<RolledBucket>>,
    waiting: AtomicU64,
    committed: AtomicU64,
    failures: AtomicU64,
    /// Buckets whose last attempt failed, with the error; the latest failure is the last one.
    failing: Mutex<Vec<(BucketId, String)>>,
    /// When each cause was last logged.
    logged: Mutex<HashMap<&'static str, Instant>>,
    /// Wakes threads; the number counts finished buckets.
    progress: (Mutex<()>, Condvar),
    /// Wakes tasks.
    idle: watch::Sender<u64>,
}

/// The state of the uploader, for the status page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UploadStatus {
    /// Number of buckets that are not in the catalog yet.
    pub waiting: u64,
    /// Buckets committed since the start.
    pub committed: u64,
    /// Attempts that failed since the start.
    pub failures: u64,
    /// The last failure of a bucket that has not got any further since.
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

/// The components of the uploader.
pub(crate) struct Uploader {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) sifter: Arc<Sifter>,
    pub(crate) hot: Arc<HotStore>,
    pub(crate) spool: Arc<Spool>,
    pub(crate) fence: Arc<Fence>,
    pub(crate) sets: Arc<Sets>,
    /// The identity of this indexer.
    pub(crate) indexer: IndexerId,
    pub(crate) settings: Arc<Settings>,
    pub(crate) shutdown: Shutdown,
}

impl Uploads {
    /// Creates the uploader's handle and the queue that it reads.
    pub(crate) fn new() -> (Arc<Self>, mpsc::UnboundedReceiver<Arc<RolledBucket>>) {
        // Bounded by `maxRolledBuckets` and the spool's limits: the commit thread stops before
        // there are more.
        let (queue, rolled) = mpsc::unbounded_channel();
        let uploads = Self {
            queue,
            waiting: AtomicU64::new(0),
            committed: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            failing: Mutex::default(),
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
            // The uploader has ended; the journal keeps the events.
            tracing::debug!("a rolled bucket stays in the journal");
        }
    }

    /// Blocks the thread until a bucket is finished, or `wait` is over.
    pub(crate) fn wait_for_progress(&self, wait: Duration) {
        self.progress.1.wait_for(&mut self.progress.0.lock(), wait);
    }

    /// Waits until no bucket waits.
    pub(crate) async fn idle(&self) {
        let mut waiting = self.idle.subscribe();
        // The sender lives in `self`, so it cannot be dropped.
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

    /// Records that a bucket has left memory.
    fn moved(&self) {
        self.progress.1.notify_all();
    }

    fn failed(&self, bucket: BucketId, error: &Error, pause: Duration) {
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
        let remedy = match cause {
            FULL => "; free space, or inodes, on that disk",
            CLOCK => {
                "; the clock of this machine differs from that of the object store: set it, for example \
                 with NTP"
            }
            _ => "",
        };
        let mut failing = self.failing.lock();
        failing.retain(|(id, _)| *id != bucket);
        failing.push((bucket, format!("{error}{remedy}")));
    }

    /// Records that an attempt of a bucket succeeded: its earlier failures do not explain why it waits.
    fn succeeded(&self, bucket: BucketId) {
        self.failing.lock().retain(|(id, _)| *id != bucket);
    }

    pub(crate) fn status(&self) -> UploadStatus {
        let last_error = self.failing.lock().last().map(|(_, error)| error.clone());
        UploadStatus {
            waiting: self.waiting.load(Ordering::SeqCst),
            committed: self.committed.load(Ordering::SeqCst),
            failures: self.failures.load(Ordering::SeqCst),
            last_error,
        }
    }
}

impl Uploader {
    /// Runs until the shutdown signal; buckets that are not stored by then stay in the journal.
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

/// The outcome of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The catalog has it.
    Stored,
    /// Another process stores its events.
    Dropped,
}

/// The upload of one bucket.
struct Job {
    uploader: Arc<Uploader>,
    uploads: Arc<Uploads>,
    putting: Arc<Semaphore>,
    bucket: Arc<RolledBucket>,
}

impl Job {
    /// Encodes, puts and commits; returns `false` if the process stops first, or no longer owns the set.
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
        // No slot is held while waiting for the predecessor, which may need one.
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

    fn failed(&self, error: &Error, pause: Duration) {
        self.uploads.failed(self.bucket.content.id, error, pause);
    }

    /// Retries until the attempt succeeds; returns `None` if the process stops first.
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
                Ok(value) => {
                    self.uploads.succeeded(self.bucket.content.id);
                    return Some(value);
                }
                Err(error) => self.failed(&error, pause),
            }
            if !shutdown.sleep(jittered(pause)).await {
                return None;
            }
            pause = (pause * 2).min(longest);
        }
    }

    /// Encodes the object and writes it to the spool, where it needs no memory. If the disk has no room the
    /// object stays in memory, which `maxRolledBuckets` limits.
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

    /// Stops accepting events, because another process commits the buckets of the set from now on. Spool and
    /// journal are kept: they have events that the other process may not know.
    fn stop(&self, error: &Error) {
        let reason: Arc<str> = error.to_string().into();
        if self.uploader.fence.close(&reason) {
            tracing::error!(reason = &*reason, "intake stops permanently");
        }
        self.failed(error, Duration::ZERO);
    }

    /// Retries as [`Self::again`] does, but never cancels an attempt: its outcome must be known before this
    /// process or the next one reads positions. Also returns `None` if another process owns the set.
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
                Ok(()) => {
                    self.uploads.succeeded(self.bucket.content.id);
                    return Some(Outcome::Stored);
                }
                // The bucket was adopted from another indexer, and another process owns the set now, which
                // has all its events too.
                Err(catalog::Error::OldEpoch { .. })
                    if self.bucket.stream.indexer != self.uploader.indexer =>
                {
                    tracing::warn!(
                        path = %self.bucket.path,
                        "a bucket of another indexer is dropped: another process owns it"
                    );
                    self.uploads.succeeded(self.bucket.content.id);
                    return Some(Outcome::Dropped);
                }
                Err(catalog::Error::OldEpoch { set, known, owner, .. }) => {
                    self.stop(&Error::lost_set(self.uploader.indexer, set, (known, owner)));
                    return None;
                }
                Err(error) => self.failed(&Error::Catalog(Arc::new(error)), pause),
            }
            shutdown.sleep(jittered(pause)).await;
            pause = (pause * 2).min(longest);
        }
        None
    }

    /// Handles a bucket that is in the catalog: notifies the waiting senders, and removes it from memory,
    /// from the spool and from the journal; but not from the journal if another process has to store it.
    async fn let_go(&self, outcome: Outcome) {
        for waiting in self.bucket.take_waiting() {
            waiting.share.complete_as(Durability::Remote, waiting.events, waiting.bytes);
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

/// The reason of [`cause`] if the object store is a directory on a full disk.
const FULL: &str = "no space left on device";
/// The same if the object store refuses the time of the requests.
const CLOCK: &str = "clock";

/// Returns the reason why a bucket is not stored, for the log.
fn cause(error: &Error) -> &'static str {
    match error {
        Error::Storage { source, .. } if runtime::store::is_full(source.as_ref()) => FULL,
        Error::Storage { source, .. } if runtime::store::is_clock_skew(&source.to_string()) => {
            CLOCK
        }
        Error::Storage { .. } => "object storage",
        Error::ObjectConflict { .. } => "another object",
        Error::Catalog(_) => "catalog",
        Error::TakenOver { .. } | Error::BegunAgain { .. } => "taken over",
        Error::Bucket(_) => "encoding",
        _ => "other",
    }
}

/// Returns a random time between half and all of the pause, so that uploads do not retry at the same time.
fn jittered(pause: Duration) -> Duration {
    let random = runtime::random::uuid().as_u64_pair().0 % 1000;
    pause / 2 + (pause / 2).mul_f64(f64::from(u16::try_from(random).unwrap_or(0)) / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_refuses_the_time_of_requests_is_told_with_the_clock() {
        let (uploads, _rolled) = Uploads::new();
        let source = object_store::Error::PermissionDenied {
            path: "b/1".to_owned(),
            source: "403 Forbidden: <Code>RequestTimeTooSkewed</Code>".into(),
        };
        let path = "b/1".to_owned();
        let error = Error::Storage { operation: "put", path, source: Arc::new(source) };
        uploads.failed(BucketId(uuid::Uuid::from_u128(1)), &error, Duration::ZERO);
        let told = uploads.status().last_error.unwrap_or_default();
        assert!(told.contains("; the clock of this machine differs"), "{told}");
    }

    #[test]
    fn a_failure_is_told_until_its_bucket_gets_further() {
        let (uploads, _rolled) = Uploads::new();
        let (one, two) = (BucketId(uuid::Uuid::from_u128(1)), BucketId(uuid::Uuid::from_u128(2)));
        let told = || uploads.status().last_error;
        assert_eq!(told(), None);
        uploads.failed(one, &Error::Abandoned, Duration::ZERO);
        uploads.failed(two, &Error::Closed, Duration::ZERO);
        assert_eq!(told(), Some(Error::Closed.to_string()));
        uploads.succeeded(two);
        assert_eq!(told(), Some(Error::Abandoned.to_string()), "the first one still fails");
        uploads.succeeded(one);
        assert_eq!(told(), None, "an error of long ago");
        assert_eq!(uploads.status().failures, 2);
    }
}
