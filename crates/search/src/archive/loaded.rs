//! A cache of recently read rows of stored jobs. Concurrent requests share one read, and the cache is limited
//! to a share of the memory for results.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{OnceCell, Semaphore};

use crate::Error;
use crate::jobs::Loaded;

/// Maximum number of objects that are read concurrently.
const AT_ONCE: usize = 2;
/// Time after which unused rows are evicted.
const IDLE: Duration = Duration::from_secs(600);

type Cell = Arc<OnceCell<Option<Loaded>>>;

/// The cache; see the module documentation.
#[derive(Debug)]
pub(crate) struct LoadedJobs {
    /// The entries, least recently used first.
    entries: Mutex<VecDeque<Entry>>,
    limit: usize,
    readers: Semaphore,
}

#[derive(Debug)]
struct Entry {
    version: String,
    used: Instant,
    cell: Cell,
}

impl Entry {
    fn bytes(&self) -> usize {
        self.cell.get().and_then(Option::as_ref).map_or(0, |loaded| loaded.results.bytes())
    }
}

impl LoadedJobs {
    /// Creates a cache with this limit in bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { entries: Mutex::default(), limit, readers: Semaphore::new(AT_ONCE) }
    }

    /// Returns the rows of a version, read with `read` unless they are cached; `None` if they have been
    /// removed.
    ///
    /// # Errors
    /// Those of `read`; who asks next reads again.
    pub(crate) async fn of(
        &self,
        version: &str,
        read: impl Future<Output = Result<Option<Loaded>, Error>>,
    ) -> Result<Option<Loaded>, Error> {
        let cell = self.cell(version);
        let reading = async {
            let turn = self.readers.acquire().await;
            let turn = turn.map_err(|error| Error::Internal(error.to_string()))?;
            let loaded = read.await;
            drop(turn);
            loaded
        };
        let loaded = cell.get_or_try_init(|| reading).await.cloned();
        self.keep_at_most(self.limit);
        loaded
    }

    fn cell(&self, version: &str) -> Cell {
        let mut entries = self.entries.lock();
        let known = entries.iter().position(|entry| entry.version == version);
        let known = known.and_then(|at| entries.remove(at)).map(|entry| entry.cell);
        let cell = known.unwrap_or_default();
        let entry =
            Entry { version: version.to_owned(), used: Instant::now(), cell: Arc::clone(&cell) };
        entries.push_back(entry);
        cell
    }

    /// Evicts the rows of a version.
    pub(crate) fn forget(&self, version: &str) {
        self.entries.lock().retain(|entry| entry.version != version);
    }

    /// Evicts rows that have not been used recently.
    pub(crate) fn forget_idle(&self) {
        self.entries.lock().retain(|entry| entry.used.elapsed() < IDLE);
    }

    /// Evicts the least recently used rows until the total is within this number of bytes. Current users keep
    /// their rows.
    pub(crate) fn keep_at_most(&self, limit: usize) {
        let mut entries = self.entries.lock();
        let mut bytes: usize = entries.iter().map(Entry::bytes).sum();
        while bytes > limit
            && let Some(first) = entries.pop_front()
        {
            bytes -= first.bytes();
        }
    }
}
