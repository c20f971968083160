//! Keeps the caches of indexers warm for each other: the search head tells the next choice of each bucket
//! which buckets searches read, and this one reads their index data in advance. If the first choice is lost,
//! the index data is in the cache of the process that reads the bucket from then on.
//!
//! Guarantees: no search waits for it; reads have a limit per second, few run at a time, and none begins
//! while searches use more than half of the requests to the store. Hints that are lost or refused change
//! nothing but the speed of later searches.
//!
//! Not here: what is told and remembered (`hints`), and which process is the next choice (`parts`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use bucket::{BucketReader, TermQuery};
use cache::{CachedStore, SearchReads};
use futures::future::join_all;
use metrics::counter;
use model::BucketId;
use object_store::ObjectStore;
use object_store::path::Path;
use parking_lot::Mutex;
use runtime::{Shutdown, metrics as names};

use crate::SearchService;
use crate::hints::{Hint, Hints, Pace, Taken, count, received};
use crate::workers::Worker;

/// Interval in which hints are sent.
const BATCH: Duration = Duration::from_secs(2);

/// Time in which a process must take hints.
const ANSWER: Duration = Duration::from_secs(2);

/// Maximum number of buckets that are read in advance at the same time.
const AT_A_TIME: u32 = 4;

/// Time until the next look for hints, or for fewer requests of searches, and after a read that failed.
const LOOK: Duration = Duration::from_millis(500);

/// Pause after a bucket whose index data was in the cache, as a multiple of the time that it took to find
/// this out: the buckets that are looked at at the same time take half of a core at most.
const REST: u32 = 2 * AT_A_TIME;

impl SearchService {
    /// Sends hints to other processes, and reads the buckets of their hints, until the shutdown.
    pub async fn keep_warm(self, shutdown: Shutdown) {
        let reading = async {
            let Some(cache) = self.dependencies().objects.cache() else { return };
            let pace = Mutex::new(Pace::new(self.settings().warming.bytes_per_second));
            let readers = (0..AT_A_TIME).map(|_| self.read_hinted(&cache, &pace, &shutdown));
            join_all(readers).await;
        };
        let working = async {
            tokio::join!(Box::pin(self.send_hints(&shutdown)), Box::pin(reading));
        };
        tokio::select! {
            () = shutdown.stopped() => {}
            () = working => {}
        }
    }

    /// Takes the hints of another process, and returns the number of buckets that are read in advance.
    pub(crate) fn take_hints(&self, hints: &[u8]) -> usize {
        match received(hints) {
            Ok(hints) => take_readable(&self.engine().hints, hints),
            // Of a later release.
            Err(error) => {
                tracing::debug!(%error, "hints about buckets are unreadable");
                0
            }
        }
    }

    async fn send_hints(&self, shutdown: &Shutdown) {
        while shutdown.sleep(BATCH).await {
            send_waiting(&self.engine().hints).await;
        }
    }

    /// Reads buckets of hints, one after the other.
    async fn read_hinted(&self, cache: &CachedStore, pace: &Mutex<Pace>, shutdown: &Shutdown) {
        let mut pause = Duration::ZERO;
        while shutdown.sleep(pause).await {
            pause = LOOK;
            if cache.is_busy() {
                continue;
            }
            let Some((query, bucket)) = self.next_hint(cache) else { continue };
            let start = Instant::now();
            let read = Box::pin(self.read_ahead(cache, &query, bucket)).await;
            let now = Instant::now();
            pause = pause_after(read, now - start, (&mut pace.lock(), now));
        }
    }

    /// The bucket to read next; `None` if none waits, or blocks that are read because of hints may not take
    /// more of the cache.
    fn next_hint(&self, cache: &CachedStore) -> Option<(Arc<TermQuery>, BucketId)> {
        let snapshot = self.dependencies().catalog.snapshot();
        let is_cached = |id: BucketId| {
            snapshot.bucket(id).is_some_and(|header| cache.has_end(&header.path(), header.size))
        };
        self.engine().hints.inbox.lock().next(is_cached)
    }

    /// Reads the index data of a bucket that a search with the query reads, as far as it is not in the cache.
    /// Returns the number of bytes that were read from the store; `None` if the bucket cannot be read.
    async fn read_ahead(
        &self,
        cache: &CachedStore,
        query: &TermQuery,
        bucket: BucketId,
    ) -> Option<u64> {
        let Some(header) = self.dependencies().catalog.snapshot().bucket(bucket) else {
            // It was merged or frozen.
            count("skipped", 1);
            return Some(0);
        };
        let cached = cache.end_bytes(&header.path(), header.size);
        if cached > 0 && *query == TermQuery::All {
            self.engine().hints.inbox.lock().note(bucket, 0, cached);
            count("skipped", 1);
            return Some(0);
        }
        let reads: Arc<SearchReads> = Arc::default();
        let store: Arc<dyn ObjectStore> = Arc::new(cache.warming(&reads));
        let path = Path::from(header.path());
        let read = async {
            let reader = BucketReader::open(store, &path, header.size).await?;
            reader.read_index_for(query).await
        };
        let read: Result<(), bucket::Error> = read.await;
        let stats = reads.stats();
        let outcome = match &read {
            Ok(()) if stats.store_bytes == 0 => "skipped",
            Ok(()) => "read",
            // A search that reads the bucket reports the error.
            Err(error) => {
                tracing::debug!(%error, "a bucket cannot be read in advance");
                "failed"
            }
        };
        count(outcome, 1);
        counter!(names::CACHE_WARMED_BLOCKS).increment(stats.store_reads);
        counter!(names::CACHE_WARMED_BYTES).increment(stats.store_bytes);
        self.engine().hints.inbox.lock().note(bucket, stats.store_bytes, cached);
        read.is_ok().then_some(stats.store_bytes)
    }
}

/// Takes hints for this process, and returns the number of buckets that are read in advance.
fn take_readable(hints: &Hints, new: Vec<Hint>) -> usize {
    let counts = hints.inbox.lock().take(new, Instant::now());
    let Taken { taken, skipped, dropped } = counts;
    count("skipped", skipped);
    count("dropped", dropped);
    taken
}

/// Sends all hints that wait. Processes that do not answer delay no others.
async fn send_waiting(hints: &Hints) {
    let batches = hints.outbox.lock().take();
    join_all(batches.into_iter().map(|(worker, some)| send(hints, worker, some))).await;
}

/// Sends hints to a process.
async fn send(hints: &Hints, worker: Worker, some: Vec<Hint>) {
    let Some(channel) = worker.channel.clone() else {
        take_readable(hints, some);
        return;
    };
    // Words and identities can always be serialized as JSON.
    let some = serde_json::to_vec(&some).unwrap_or_default();
    match distributed::warm(channel, some.into(), ANSWER).await {
        Ok(true) => {}
        Ok(false) => hints.outbox.lock().note_refusal(&worker),
        Err(failure) => {
            tracing::debug!(indexer = %worker.name, %failure, "hints about buckets were not taken");
        }
    }
}

/// Returns how long a reader pauses after a bucket: `read` bytes of it were read from the store (`None`: it
/// cannot be read), which took this long.
fn pause_after(read: Option<u64>, took: Duration, (pace, now): (&mut Pace, Instant)) -> Duration {
    match read {
        None => LOOK,
        Some(0) => took * REST,
        Some(bytes) => pace.after(bytes, now),
    }
}

#[cfg(test)]
mod tests {
    use distributed::Channel;
    use hyper_util::rt::TokioIo;
    use tokio::io::DuplexStream;
    use tonic::transport::Endpoint;

    use super::*;

    /// A connection to a process that does not answer.
    fn silent() -> Channel {
        type Connected = std::io::Result<TokioIo<DuplexStream>>;
        let connector = tower::service_fn(|_| std::future::pending::<Connected>());
        Endpoint::from_static("http://worker").connect_with_connector_lazy(connector)
    }

    fn worker(id: &str, channel: Option<Channel>) -> Worker {
        let (id, started, name) = (id.to_owned(), "then".to_owned(), id.to_owned());
        Worker { id, started, name, channel, is_near: true, cold_since: None }
    }

    #[tokio::test(start_paused = true)]
    async fn processes_that_do_not_answer_delay_no_others() {
        let hints = Hints::new(1);
        let mut workers = Vec::from(["a", "b", "c"].map(|id| worker(id, Some(silent()))));
        workers.push(worker("own", None));
        let bucket = |number| BucketId(uuid::Uuid::from_u128(number));
        let buckets: Vec<_> = (0..4).map(|number| vec![bucket(number)]).collect();
        let now = Instant::now();
        let dropped = hints.outbox.lock().note_search(&TermQuery::All, &workers, &buckets, now);
        assert_eq!(dropped, 0);
        let start = tokio::time::Instant::now();
        send_waiting(&hints).await;
        let took = start.elapsed();
        assert!((ANSWER..2 * ANSWER).contains(&took), "all in the time of one: {took:?}");
        let next = hints.inbox.lock().next(|_| false);
        assert_eq!(next.map(|(_, bucket)| bucket), Some(bucket(3)), "its own hints are taken");
        assert!(hints.outbox.lock().take().is_empty(), "they are not sent again");
    }

    #[test]
    fn a_reader_pauses_for_what_its_bucket_has_cost() {
        let (mut pace, now) = (Pace::new(1_000), Instant::now());
        let took = Duration::from_millis(10);
        let mut pause = |read| pause_after(read, took, (&mut pace, now));
        assert_eq!(pause(None), LOOK, "a store that fails is not asked all the time");
        let rest = pause(Some(0));
        assert!(took * AT_A_TIME * 2 <= took + rest, "all readers take half of a core: {rest:?}");
        let second = Duration::from_secs(1);
        assert_eq!([pause(Some(1_000)), pause(Some(500))], [second, second * 3 / 2], "in turn");
    }
}
