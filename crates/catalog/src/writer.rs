//! The single writer to the database. Changes that wait at the same time are written together.
//!
//! A change is queued. If no leader task runs, the caller starts one: it takes groups of waiting changes from
//! the queue, applies them in order to the newest state, writes their entries as one batch, publishes the
//! snapshot and answers the changes, until the queue is empty. A write costs one request to the store however
//! many changes it has, so the rate of commits does not depend on the latency of the store.
//!
//! A change is applied even if its caller is cancelled: the snapshot must match the durable state.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{BucketId, BucketSummary};
use parking_lot::Mutex;
use runtime::{Clock, metrics as names};
use slatedb::config::{CloseOptions, FlushOptions, FlushType};
use slatedb::{CloseReason, Db, DbStatus, WriteBatch};
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore, oneshot, watch};

use crate::adapter::LastFailure;
use crate::change::{Change, Writes};
use crate::codec::{PackList, Shared};
use crate::commit::{Documents, violated_by_name};
use crate::error::{Result, chain};
use crate::feed::{Delta, Feed};
use crate::lease::Renewals;
use crate::packs::{self, Packed};
use crate::summaries::{Source, Summaries};
use crate::{Commit, Error, Settings, Snapshot, Stalled};

/// A group takes no more changes once it writes this many bytes: one object should not take long to send.
const GROUP_BYTES: usize = 8 << 20;

/// How long to wait for the pending write to fail after its database has ended: only its error has the
/// reason.
const FAILING: Duration = Duration::from_secs(1);

type Apply = Box<dyn FnOnce(&mut Change<'_>) -> Result<()> + Send>;

/// A change that waits for the leader.
struct Waiting {
    apply: Apply,
    answer: oneshot::Sender<Result<()>>,
    /// Its permit for a place in the queue.
    place: OwnedSemaphorePermit,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    /// Whether a leader task takes changes from the queue.
    is_led: bool,
}

/// The state that only the leader task uses.
struct State {
    /// The newest state: the view will show it after the pending write.
    next: Snapshot,
    /// The parts that headers have in common.
    shared: Shared,
    /// Writes since the write-ahead files were last compacted.
    unfolded: u32,
    /// Number of writes, and of headers that they have changed, since the headers were last packed.
    logged: u64,
    /// The permanent write failure, if any; every later change returns it.
    failed: Option<Error>,
}

/// The open database, and the data that was read from it.
pub(crate) struct Opened {
    pub(crate) database: Db,
    pub(crate) failure: LastFailure,
    /// The parts that headers have in common.
    pub(crate) headers: Shared,
    pub(crate) packed: Packed,
    /// The sender of the newest state.
    pub(crate) view: Arc<watch::Sender<Arc<Snapshot>>>,
}

pub(crate) struct Writer {
    pub(crate) path: String,
    pub(crate) settings: Settings,
    pub(crate) view: Arc<watch::Sender<Arc<Snapshot>>>,
    /// Why nothing can be written any more: another process has taken over the catalog, or the database has
    /// ended.
    pub(crate) ended: watch::Sender<Option<Error>>,
    pub(crate) summaries: Summaries,
    /// The last writes, if there are followers.
    pub(crate) feed: Mutex<Option<Feed>>,
    /// The renewals of the lease under which the catalog is open, if there is one.
    pub(crate) renewals: Mutex<Option<Renewals>>,
    clock: Arc<dyn Clock>,
    pub(crate) database: Db,
    queue: Mutex<Queue>,
    places: Arc<Semaphore>,
    state: tokio::sync::Mutex<State>,
    /// The list of the packs that the database has. Locked by the task that packs.
    packs: Arc<tokio::sync::Mutex<Option<PackList>>>,
    /// Whether the catalog was opened from packs.
    pub(crate) from_packs: bool,
    failure: LastFailure,
    /// The start of the pending write.
    writing: Mutex<Option<Instant>>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Writer {
    pub(crate) fn new(
        path: String,
        settings: Settings,
        clock: Arc<dyn Clock>,
        Opened { database, failure, headers: shared, packed, view }: Opened,
    ) -> Self {
        let snapshot = Snapshot::clone(&view.borrow());
        metrics::gauge!(names::CATALOG_BUCKETS).set(count(snapshot.len()));
        // The first write compacts write-ahead files that earlier processes may have left.
        let unfolded = settings.fold_commits - 1;
        let Packed { list, logged, is_read: from_packs } = packed;
        let state = State { next: snapshot, shared, unfolded, logged, failed: None };
        let places = Arc::new(Semaphore::new(settings.waiting_commits));
        Self {
            path,
            summaries: Summaries::new(settings.summary_bytes),
            settings,
            feed: Mutex::new(None),
            renewals: Mutex::new(None),
            view,
            ended: watch::Sender::new(None),
            clock,
            database,
            queue: Mutex::default(),
            places,
            state: tokio::sync::Mutex::new(state),
            packs: Arc::new(tokio::sync::Mutex::new(list)),
            from_packs,
            failure,
            writing: Mutex::new(None),
        }
    }

    pub(crate) fn invalid(&self, what: &str, reason: &str) -> Error {
        let (what, reason) = (what.to_owned(), reason.to_owned());
        Error::Invalid { path: self.path.clone(), what, reason }
    }

    /// Starts to keep the last writes for followers.
    pub(crate) fn feed_followers(&self) {
        self.feed.lock().get_or_insert_with(|| Feed::new(self.settings.feed_bytes));
    }

    /// Whether changes wait for the object store: a write takes long, or the lease is not renewed.
    pub(crate) fn stalled(&self) -> Option<Stalled> {
        let writing = *self.writing.lock();
        let waited = writing.map(|since| since.elapsed());
        if let Some(waited) = waited.filter(|waited| *waited >= self.settings.slow_commit) {
            let (seconds, reason) = (waited.as_secs(), self.failure.reason());
            return Some(Stalled::Committing { seconds, reason });
        }
        let renewals = self.renewals.lock().clone()?;
        let (age, reason) = (renewals.overdue()?, renewals.reason()?);
        Some(Stalled::Committing { seconds: age.as_secs(), reason })
    }

    /// Applies a commit and makes it durable.
    pub(crate) async fn commit(self: &Arc<Self>, commit: Commit) -> Result<()> {
        if let Some(reason) = commit.contradiction() {
            return Err(self.invalid("a commit", &reason));
        }
        self.change(move |change: &mut Change<'_>| change.commit(commit)).await
    }

    /// Writes and deletes documents in one durable change.
    pub(crate) async fn documents(self: &Arc<Self>, documents: Documents) -> Result<()> {
        for (kind, name, _) in documents.after.iter().chain(&documents.before) {
            if let Some(rule) = violated_by_name(kind, name) {
                return Err(self.invalid(&format!("document {kind:?}/{name:?}"), rule));
            }
        }
        self.change(move |change| change.documents(documents)).await
    }

    pub(crate) async fn summaries(
        &self,
        ids: &[BucketId],
    ) -> Result<Vec<Option<Arc<BucketSummary>>>> {
        self.summaries.of(ids, Source::Database(&self.database, &self.path)).await
    }

    /// As [`documents`](Self::documents), with a deadline for interactive callers: after it, returns an
    /// error that the change is still pending, and why.
    pub(crate) async fn documents_in_time(self: &Arc<Self>, documents: Documents) -> Result<()> {
        let deadline = self.settings.document_deadline;
        match tokio::time::timeout(deadline, self.documents(documents)).await {
            Ok(done) => done,
            Err(_) => Err(Error::Slow {
                path: self.path.clone(),
                seconds: deadline.as_secs(),
                reason: self.failure.reason(),
            }),
        }
    }

    /// Applies a change to the newest state and makes it durable. A change that fails must leave the
    /// state as it was. It is not applied if its caller is cancelled while the queue is full.
    pub(crate) async fn change<F>(self: &Arc<Self>, apply: F) -> Result<()>
    where
        F: FnOnce(&mut Change<'_>) -> Result<()> + Send + 'static,
    {
        let start = Instant::now();
        let stopped = || Error::Store {
            path: self.path.clone(),
            what: "finish a commit",
            reason: "its writer has stopped".to_owned(),
        };
        // The semaphore is never closed.
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| stopped())?;
        let (answer, answered) = oneshot::channel();
        let leads = {
            let mut queue = self.queue.lock();
            queue.waiting.push_back(Waiting { apply: Box::new(apply), answer, place });
            !std::mem::replace(&mut queue.is_led, true)
        };
        if leads {
            let leader = Leader { writer: Arc::clone(self), is_done: false };
            runtime::detached(leader.lead());
        }
        let done = answered.await.unwrap_or_else(|_| Err(stopped()));
        let outcome = if done.is_ok() { "done" } else { "failed" };
        metrics::counter!(names::CATALOG_COMMITS, "outcome" => outcome).increment(1);
        metrics::histogram!(names::CATALOG_COMMIT_SECONDS).record(start.elapsed());
        done
    }

    /// Applies and writes one group of waiting changes; `false` if none waits.
    async fn write_group(self: &Arc<Self>) -> bool {
        let mut state = self.state.lock().await;
        let state = &mut *state;
        let mut writes = Writes::default();
        let mut answers = Vec::new();
        while answers.len() < self.settings.group_commits && writes.bytes < GROUP_BYTES {
            let Some(waiting) = self.queue.lock().waiting.pop_front() else { break };
            let done = match &state.failed {
                Some(error) => Err(error.clone()),
                None => (waiting.apply)(&mut Change {
                    state: &mut state.next,
                    writes: &mut writes,
                    shared: &mut state.shared,
                    summaries: &self.summaries,
                    path: &self.path,
                }),
            };
            answers.push((waiting.answer, done, waiting.place));
        }
        if answers.is_empty() {
            return false;
        }
        let mut failed = None;
        if !writes.entries.is_empty() {
            let number = state.next.number + 1;
            let changed = writes.number(number);
            let delta = self.feed.lock().is_some().then(|| Delta::of(number, &writes));
            match self.write(writes).await {
                Ok(()) => self.publish(state, delta, changed),
                Err(error) => {
                    // The database itself retries without limit, so this error is permanent.
                    self.ended.send_replace(Some(error.clone()));
                    state.failed = Some(error.clone());
                    failed = Some(error);
                }
            }
        }
        for (answer, done, _place) in answers {
            // The outcome of a change was computed with a state that does not exist if the write failed.
            let done = failed.clone().map_or(done, Err);
            // A caller that was cancelled needs no answer.
            let _ = answer.send(done);
        }
        true
    }

    /// Writes one batch, as one write-ahead object.
    async fn write(&self, writes: Writes) -> Result<()> {
        let mut batch = WriteBatch::new();
        for (key, value) in writes.entries {
            match value {
                Some(value) => batch.put(key, value),
                None => batch.delete(key),
            }
        }
        metrics::counter!(names::CATALOG_WRITES).increment(1);
        let writing = async {
            let handle = self.database.write(batch).await?;
            self.database.flush().await?;
            handle.await_durable().await
        };
        *self.writing.lock() = Some(Instant::now());
        let written = self.patiently("committing to the catalog", Box::pin(writing)).await;
        *self.writing.lock() = None;
        written.map_err(|error| Error::from_database(&self.path, "commit", &error))
    }

    /// Publishes a state that is durable. `changed` is the number of headers that its write has changed.
    fn publish(self: &Arc<Self>, state: &mut State, delta: Option<Delta>, changed: u64) {
        // Before the snapshot: a reader that sees its number must find the write.
        if let (Some(feed), Some(delta)) = (&mut *self.feed.lock(), delta) {
            feed.push(delta);
        }
        state.next.number += 1;
        state.next.changed = self.clock.now();
        metrics::gauge!(names::CATALOG_BUCKETS).set(count(state.next.len()));
        self.view.send_replace(Arc::new(state.next.clone()));
        state.unfolded += 1;
        if state.unfolded >= self.settings.fold_commits {
            state.unfolded = 0;
            runtime::detached(Arc::clone(self).fold());
        }
        state.logged += changed + 1;
        self.pack_if_due(state);
    }

    /// Starts to pack the headers, unless that is under way, or little has changed since the last time.
    fn pack_if_due(self: &Arc<Self>, state: &mut State) {
        let least = self.settings.pack_changes;
        if least == 0 || !packs::is_due(state.logged, state.next.len(), least) {
            return;
        }
        if let Ok(list) = Arc::clone(&self.packs).try_lock_owned() {
            state.logged = 0;
            runtime::detached(Arc::clone(self).write_packs(list));
        }
    }

    /// Packs the headers of the published state. A failure loses nothing.
    async fn write_packs(
        self: Arc<Self>,
        mut list: OwnedMutexGuard<Option<PackList>>,
    ) -> Result<()> {
        let state = (Arc::clone(&self.view.borrow()), self.settings.packs_together);
        let writing = packs::write(&self.database, &self.path, state, &mut list);
        let written = Box::pin(writing).await;
        if let Err(error) = &written
            && !matches!(error, Error::Closed { .. } | Error::Fenced { .. })
        {
            tracing::warn!(path = self.path, %error, "the headers of the catalog cannot be packed");
        }
        written
    }

    /// Packs the headers now, and waits for it.
    pub(crate) async fn pack(self: &Arc<Self>) -> Result<()> {
        let list = Arc::clone(&self.packs).lock_owned().await;
        // A task of its own, because packing must not be cancelled.
        let packing = runtime::detached(Arc::clone(self).write_packs(list));
        packing.await.unwrap_or_else(|panic| {
            let (path, reason) = (self.path.clone(), panic.to_string());
            Err(Error::Store { path, what: "pack headers", reason })
        })
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

    /// Closes the database after the changes that wait now.
    pub(crate) async fn close(self: &Arc<Self>) -> Result<()> {
        // An empty change is answered after all earlier ones.
        let before = self.change(|_| Ok(())).await;
        let mut state = self.state.lock().await;
        if let Some(error) = &state.failed {
            let known = error.clone();
            return if matches!(known, Error::Closed { .. }) { Ok(()) } else { Err(known) };
        }
        before?;
        state.failed = Some(Error::Closed { path: self.path.clone() });
        let fold = CloseOptions { flush_type: Some(FlushType::MemTable) };
        let closing = Box::pin(self.database.close_with_options(fold));
        self.patiently("closing the catalog", closing)
            .await
            .map_err(|error| Error::from_database(&self.path, "close", &error))
    }

    /// Waits until nothing can be written any more, although this process has not closed the catalog. Returns
    /// why. The database may also end while nothing is written, because its own tasks read and write files.
    pub(crate) async fn lost(&self) -> Error {
        let mut ended = self.ended.subscribe();
        let mut status = self.database.subscribe();
        tokio::select! {
            () = async { let _ = ended.wait_for(Option::is_some).await; } => {}
            reason = closed(&mut status) => {
                let is_writing = self.writing.lock().is_some();
                if is_writing {
                    // If no error arrives in this time, the reason is that of the database.
                    let _ = tokio::time::timeout(FAILING, ended.wait_for(Option::is_some)).await;
                }
                // The closing task holds the state until it is done. A failed write reports its reason before
                // it sets the state, with the same error if the database was closed meanwhile.
                let closes = self.state.lock().await.failed.clone();
                let is_told = self.ended.borrow().is_some();
                let is_closed = !is_told && matches!(closes, Some(Error::Closed { .. }));
                if reason == CloseReason::Clean && is_closed {
                    return std::future::pending().await;
                }
                let error = self.ended_by(reason);
                self.ended.send_if_modified(|known| {
                    let is_new = known.is_none();
                    known.get_or_insert(error);
                    is_new
                });
            }
        }
        let error = self.ended.borrow().clone();
        match error {
            Some(error) => error,
            // One of the branches has set the error.
            None => std::future::pending().await,
        }
    }

    /// Returns the error of every later write to a database that has ended by itself.
    fn ended_by(&self, reason: CloseReason) -> Error {
        let path = self.path.clone();
        match reason {
            CloseReason::Fenced => Error::Fenced { path },
            CloseReason::Clean => Error::Closed { path },
            _ => {
                let reason = "a task of its database has failed; restart this process".to_owned();
                Error::Store { path, what: "commit", reason }
            }
        }
    }

    async fn patiently<F: Future>(&self, what: &str, work: F) -> F::Output {
        patiently((self.settings.slow_commit, &self.failure), what, work).await
    }
}

/// Waits until a database has ended. Returns how.
async fn closed(status: &mut watch::Receiver<DbStatus>) -> CloseReason {
    loop {
        let reason = status.borrow_and_update().close_reason;
        if let Some(reason) = reason {
            return reason;
        }
        if status.changed().await.is_err() {
            // The database lives as long as its writer, which is waiting here.
            return std::future::pending().await;
        }
    }
}

/// The task that takes changes from the queue.
struct Leader {
    writer: Arc<Writer>,
    is_done: bool,
}

impl Leader {
    async fn lead(mut self) {
        loop {
            while self.writer.write_group().await {}
            let mut queue = self.writer.queue.lock();
            // A change may have been queued since the last check.
            if queue.waiting.is_empty() {
                queue.is_led = false;
                drop(queue);
                self.is_done = true;
                return;
            }
        }
    }
}

impl Drop for Leader {
    /// If the database panicked, it is unknown what it has written: nothing more is written, and waiting
    /// callers get an error instead of waiting forever.
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        *self.writer.writing.lock() = None;
        let reason = "a commit has failed in an unexpected way; restart this process".to_owned();
        let error = Error::Store { path: self.writer.path.clone(), what: "commit", reason };
        if let Ok(mut state) = self.writer.state.try_lock() {
            state.failed.get_or_insert_with(|| error.clone());
        }
        self.writer.ended.send_replace(Some(error));
        let mut queue = self.writer.queue.lock();
        queue.waiting.clear();
        queue.is_led = false;
    }
}

#[allow(clippy::cast_precision_loss)]
pub(crate) fn count(number: usize) -> f64 {
    number as f64
}

/// Waits for work that must not be cancelled, and logs if it takes long.
pub(crate) async fn patiently<F: Future>(
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
