//! The copies of other indexers' journals that this process holds.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use catalog::Catalog;
use metrics::gauge;
use model::IndexerId;
use parking_lot::Mutex;
use runtime::{Shutdown, metrics as names};
use tokio::time::Instant;
use uuid::Uuid;

use crate::disk::Copy;
use crate::members::Members;

/// Interval of the search for copies that the catalog does not name.
const CLEAN: Duration = Duration::from_secs(60);
/// How long a copy that the catalog does not name is kept: its owner may be about to name it.
const UNNAMED: Duration = Duration::from_secs(600);

pub(crate) type Key = (IndexerId, Uuid);

/// A copy, and the time of its last change.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) copy: Copy,
    pub(crate) changed: Instant,
}

/// A copy; `None` once it is removed.
pub(crate) type Shared = Arc<Mutex<Option<Held>>>;

/// See the module. Clones share it.
#[derive(Debug, Clone)]
pub struct Copies {
    root: PathBuf,
    held: Arc<Mutex<HashMap<Key, Shared>>>,
}

impl Copies {
    /// Reads the copies in the data directory of this process.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn open(data: &Path) -> io::Result<Self> {
        let root = data.join("replicas");
        let mut held = HashMap::new();
        for (indexer, path) in folders(&root)? {
            for (id, path) in folders(&path)? {
                let copy = Copy::open(&path)?;
                let known = Held { copy, changed: Instant::now() };
                held.insert((IndexerId(indexer), id), Arc::new(Mutex::new(Some(known))));
            }
        }
        Ok(Self { root, held: Arc::new(Mutex::new(held)) })
    }

    fn directory(&self, (indexer, id): Key) -> PathBuf {
        self.root.join(indexer.0.to_string()).join(id.to_string())
    }

    /// Creates an empty copy; an existing one is kept.
    pub(crate) fn begin(&self, key: Key) -> io::Result<()> {
        if self.get(key).is_some() {
            return Ok(());
        }
        let copy = Copy::create(&self.directory(key))?;
        let known = Held { copy, changed: Instant::now() };
        self.held.lock().insert(key, Arc::new(Mutex::new(Some(known))));
        Ok(())
    }

    pub(crate) fn get(&self, key: Key) -> Option<Shared> {
        self.held.lock().get(&key).map(Arc::clone)
    }

    /// Removes a copy.
    pub(crate) fn drop(&self, key: Key) -> io::Result<()> {
        let known = self.held.lock().remove(&key);
        let removed = known.and_then(|known| known.lock().take());
        removed.map_or(Ok(()), |held| held.copy.remove())
    }

    /// Removes copies that the catalog does not name, until the shutdown signal.
    pub async fn clean(self, catalog: Catalog, own: IndexerId, shutdown: Shutdown) {
        loop {
            // Without a leader, this process may have a state of the catalog that is older than a copy.
            let is_current = !catalog.lacks_leader();
            let snapshot = catalog.snapshot();
            let keys: Vec<Key> = self.held.lock().keys().copied().collect();
            let mut bytes = 0;
            for key in keys {
                let Some(held) = self.get(key) else { continue };
                let named = Members::of(&snapshot, key.0);
                let is_named =
                    named.iter().any(|member| (member.peer, member.copy) == (own, key.1));
                let is_old = {
                    let held = held.lock();
                    bytes += held.as_ref().map_or(0, |held| held.copy.bytes());
                    held.as_ref().is_none_or(|held| held.changed.elapsed() >= UNNAMED)
                };
                if !is_named && is_old && is_current {
                    tracing::info!(indexer = %key.0, copy = %key.1, "a copy is not needed any more");
                    let own = self.clone();
                    let removed = tokio::task::spawn_blocking(move || own.drop(key)).await;
                    if let Ok(Err(error)) = removed {
                        tracing::warn!(indexer = %key.0, %error, "a copy stays");
                    }
                }
            }
            #[allow(clippy::cast_precision_loss)]
            gauge!(names::REPLICAS_HELD_BYTES).set(bytes as f64);
            if !shutdown.sleep(CLEAN).await {
                return;
            }
        }
    }
}

/// Returns the directories below a path whose names are identities; none if the path does not exist.
fn folders(path: &Path) -> io::Result<Vec<(Uuid, PathBuf)>> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let id = path.file_name().and_then(|name| Uuid::parse_str(name.to_str()?).ok());
        found.extend(id.filter(|_| path.is_dir()).map(|id| (id, path)));
    }
    Ok(found)
}
