//! The object store that a control plane of a cluster has used, in its data directory: with another one and
//! no leader in sight, it would begin a cluster of its own.
//!
//! It is compared before a control plane leads from its start. One that finds a leader learns from that
//! one's catalog whether the store is the right one (`leadership`).

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use catalog::{OtherStore, StoreId};
use object_store::ObjectStore;

use super::identity::write_once;

/// The file: the identity of the store, a space, its URL.
const FILE: &str = "store.id";

/// See the module.
#[derive(Debug)]
pub(crate) struct KnownStore {
    path: PathBuf,
}

impl KnownStore {
    pub(crate) fn of(data: &Path) -> Self {
        Self { path: data.join(FILE) }
    }

    /// Remembers the store of the cluster. A disk that takes nothing only loses the comparison.
    pub(crate) fn note(&self, id: StoreId, url: &str) {
        let text = format!("{id} {url}\n");
        if fs::read_to_string(&self.path).is_ok_and(|known| known == text) {
            return;
        }
        if let Err(error) = write_once(&self.path, text.as_bytes(), 0o600) {
            tracing::warn!(error = format!("{error:#}"), "the object store is not remembered");
        }
    }

    /// Fails if the store at this URL is not the one that was remembered.
    ///
    /// # Errors
    /// The same; or the file or the identity of the store cannot be read.
    pub(crate) async fn refuse_other(&self, store: &dyn ObjectStore, url: &str) -> Result<()> {
        let path = self.path.display();
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error).with_context(|| format!("cannot read {path}")),
        };
        let (id, known_url) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let Ok(id) = id.parse::<StoreId>() else {
            bail!("{path} is damaged: delete it if {url} is the object store of the cluster")
        };
        let other = OtherStore::than(store, id).await.with_context(|| {
            format!("cannot compare the object store ({url}) with that of the cluster")
        })?;
        if let Some(other) = other {
            bail!(
                "this object store ({url}) is not that of the cluster to which this control plane belongs \
                 ({known_url}; {other}), and no control plane of that cluster leads: correct \
                 --object-store, or delete {path} to begin another cluster"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use catalog::Catalog;
    use object_store::memory::InMemory;
    use runtime::SystemClock;

    use super::*;

    /// A store with a catalog, and its identity.
    async fn store() -> (Arc<dyn ObjectStore>, StoreId) {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let (settings, clock) = (catalog::Settings::default(), Arc::new(SystemClock));
        let catalog = Catalog::open(Arc::clone(&store), "catalog", settings, clock).await.unwrap();
        let id = catalog.identify(store.as_ref()).await.unwrap();
        (store, id)
    }

    #[tokio::test]
    async fn another_store_than_that_of_the_cluster_is_refused_and_both_are_named() {
        let data = tempfile::tempdir().unwrap();
        let known = KnownStore::of(data.path());
        let ((own, id), (other, other_id)) = (store().await, store().await);
        known.refuse_other(other.as_ref(), "s3://b").await.unwrap();
        known.note(id, "s3://a");
        known.refuse_other(own.as_ref(), "s3://a").await.unwrap();
        known.refuse_other(own.as_ref(), "s3://a-by-another-name").await.unwrap();
        let refused = known.refuse_other(other.as_ref(), "s3://b").await.unwrap_err().to_string();
        assert!(refused.starts_with("this object store (s3://b) is not"), "{refused}");
        for part in ["(s3://a;", &id.to_string(), &other_id.to_string(), "store.id"] {
            assert!(refused.contains(part), "{refused}");
        }
        let empty = InMemory::new();
        let refused = known.refuse_other(&empty, "s3://c").await.unwrap_err().to_string();
        assert!(refused.contains("it has no id"), "{refused}");
        known.note(other_id, "s3://b");
        known.refuse_other(other.as_ref(), "s3://b").await.unwrap();
    }

    #[tokio::test]
    async fn a_damaged_file_is_named() {
        let data = tempfile::tempdir().unwrap();
        fs::write(data.path().join(FILE), "noise").unwrap();
        let known = KnownStore::of(data.path());
        let refused = known.refuse_other(&InMemory::new(), "s3://c").await.unwrap_err().to_string();
        assert!(refused.contains("store.id is damaged"), "{refused}");
    }
}
