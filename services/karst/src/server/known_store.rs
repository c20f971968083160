//! The object store that a process with its own catalog has used, recorded in its data directory: with
//! another store, or below an empty mount point, the process would create a new catalog, and the events it
//! receives would be lost to the installation.
//!
//! It is compared before a process leads at its start. A control plane that finds a leader compares the store
//! with the leader's catalog (`leadership`).

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, anyhow, bail};
use catalog::{OtherStore, StoreId};
use object_store::ObjectStore;

use super::identity::write_once;

/// The file: the identity of the store, a space, its URL.
const FILE: &str = "store.id";

/// See the module.
#[derive(Debug)]
pub(crate) struct KnownStore {
    path: PathBuf,
    /// Whether any store may be used (`--new-instance`).
    takes_any: bool,
}

impl KnownStore {
    pub(crate) fn of(data: &Path) -> Self {
        Self { path: data.join(FILE), takes_any: false }
    }

    /// Whether a store is recorded.
    pub(crate) fn is_there(&self) -> bool {
        self.path.is_file()
    }

    /// With `true`, accepts any store, and then records it.
    pub(crate) fn taking_any(self, takes_any: bool) -> Self {
        Self { takes_any, ..self }
    }

    /// Remembers the store. A disk that takes nothing only loses the comparison.
    pub(crate) fn note(&self, id: StoreId, url: &str) {
        let text = format!("{id} {url}\n");
        let known = fs::read_to_string(&self.path).unwrap_or_default();
        if known == text {
            return;
        }
        if let Some(before) = other_store(&known, id) {
            tracing::warn!(
                "another object store ({id} {url}) than before ({before}) is used from now on; if \
                 --new-instance or KARST_NEW_INSTANCE is set, start without it again"
            );
        }
        if let Err(error) = write_once(&self.path, text.as_bytes(), 0o600) {
            tracing::warn!(error = format!("{error:#}"), "the object store is not remembered");
        }
    }

    /// Fails if the store at this URL is not the recorded one. With `has_catalog`, a store without an
    /// identity is accepted: the identity of its catalog is compared
    /// ([`refuse_catalog`](Self::refuse_catalog)).
    ///
    /// # Errors
    /// If the store is not the recorded one, or the file or the identity of the store cannot be read.
    pub(crate) async fn refuse_other(
        &self,
        store: &dyn ObjectStore,
        url: &str,
        has_catalog: bool,
    ) -> Result<()> {
        if self.takes_any {
            let path = self.path.display();
            tracing::warn!(
                "the object store is not compared with the one of {path}, because --new-instance or \
                 KARST_NEW_INSTANCE is set: start without it again, or a store that is not mounted is taken \
                 for a new one"
            );
        }
        let Some((id, known_url)) = self.read(url)? else { return Ok(()) };
        let other = OtherStore::than_at_start(store, id).await.with_context(|| {
            format!("cannot compare the object store ({url}) with the one that was used before")
        })?;
        match other {
            Some(other) if other.found.is_some() || !has_catalog => {
                Err(self.refusal(other, url, &known_url))
            }
            _ => Ok(()),
        }
    }

    /// Fails if the catalog of the store at this URL has another identity than the store that was remembered.
    ///
    /// # Errors
    /// The same; or the file cannot be read.
    pub(crate) fn refuse_catalog(&self, found: Option<StoreId>, url: &str) -> Result<()> {
        match self.read(url)? {
            // A catalog that was rebuilt may have none.
            Some((expected, known_url)) if found.is_some_and(|found| found != expected) => {
                Err(self.refusal(OtherStore { found, expected }, url, &known_url))
            }
            _ => Ok(()),
        }
    }

    /// The identity of the store that was remembered, and its URL; `None` if any is accepted.
    fn read(&self, url: &str) -> Result<Option<(StoreId, String)>> {
        if self.takes_any {
            return Ok(None);
        }
        let path = self.path.display();
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("cannot read {path}")),
        };
        let (id, known_url) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let Ok(id) = id.parse::<StoreId>() else {
            bail!(
                "{path} is damaged: delete it, or start once with --new-instance, if {url} is the object \
                 store of this installation"
            )
        };
        Ok(Some((id, known_url.to_owned())))
    }

    fn refusal(&self, other: OtherStore, url: &str, known_url: &str) -> Error {
        let OtherStore { found, expected } = other;
        // If a store has lost its catalog and identity, its buckets may still exist.
        let rebuild = if found.is_none() {
            ", or run karst catalog rebuild if its buckets are there"
        } else {
            ""
        };
        let found = found.map_or_else(|| "it has no id".to_owned(), |id| format!("its id is {id}"));
        anyhow!(
            "this object store ({url}) is not the one that this data directory was used with ({known_url}; \
             {found}, that one's is {expected}): correct --object-store, or mount the directory{rebuild}; to \
             begin a new installation on purpose, delete {}, or start once with --new-instance",
            self.path.display()
        )
    }
}

/// The store of the file's text, if it is not the one with this identity.
fn other_store(known: &str, id: StoreId) -> Option<&str> {
    let known = known.trim();
    let known_id = known.split(' ').next().unwrap_or_default();
    (!known.is_empty() && known_id != id.to_string()).then_some(known)
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

    async fn refuse(known: &KnownStore, store: &Arc<dyn ObjectStore>, url: &str) -> Result<()> {
        known.refuse_other(store.as_ref(), url, false).await
    }

    #[tokio::test]
    async fn another_store_than_the_known_one_is_refused_and_both_are_named() {
        let data = tempfile::tempdir().unwrap();
        let known = KnownStore::of(data.path());
        let ((own, id), (other, other_id)) = (store().await, store().await);
        refuse(&known, &other, "s3://b").await.unwrap();
        known.note(id, "s3://a");
        refuse(&known, &own, "s3://a").await.unwrap();
        refuse(&known, &own, "s3://a-by-another-name").await.unwrap();
        let refused = refuse(&known, &other, "s3://b").await.unwrap_err().to_string();
        assert!(refused.starts_with("this object store (s3://b) is not"), "{refused}");
        assert!(refused.contains("--new-instance") && !refused.contains("rebuild"), "{refused}");
        for part in ["(s3://a;", &id.to_string(), &other_id.to_string(), "store.id"] {
            assert!(refused.contains(part), "{refused}");
        }
        let refused = known.refuse_other(&InMemory::new(), "s3://c", false).await.unwrap_err();
        let refused = refused.to_string();
        assert!(
            refused.contains("it has no id") && refused.contains("catalog rebuild"),
            "{refused}"
        );
        let taking = KnownStore::of(data.path()).taking_any(true);
        refuse(&taking, &other, "s3://b").await.unwrap();
        taking.refuse_catalog(Some(other_id), "s3://b").unwrap();
        known.note(other_id, "s3://b");
        refuse(&known, &other, "s3://b").await.unwrap();
    }

    #[tokio::test]
    async fn of_a_store_without_an_identity_the_one_of_its_catalog_counts() {
        let data = tempfile::tempdir().unwrap();
        let known = KnownStore::of(data.path());
        let ((_, id), (other, other_id)) = (store().await, store().await);
        known.refuse_catalog(Some(id), "s3://a").unwrap();
        known.note(id, "s3://a");
        known.refuse_other(&InMemory::new(), "s3://a", true).await.unwrap();
        known.refuse_other(other.as_ref(), "s3://b", true).await.unwrap_err();
        known.refuse_catalog(Some(id), "s3://a").unwrap();
        known.refuse_catalog(None, "s3://a").unwrap();
        let refused = known.refuse_catalog(Some(other_id), "s3://b").unwrap_err().to_string();
        assert!(refused.contains(&other_id.to_string()), "{refused}");
    }

    #[tokio::test]
    async fn a_store_that_replaces_another_one_is_noticed() {
        let ((_, id), (_, other)) = (store().await, store().await);
        let known = format!("{id} s3://a\n");
        assert_eq!(other_store(&known, other), Some(known.trim()));
        assert_eq!(other_store(&known, id), None);
        assert_eq!(other_store("", id), None);
    }

    #[tokio::test]
    async fn a_damaged_file_is_named() {
        let data = tempfile::tempdir().unwrap();
        fs::write(data.path().join(FILE), "noise").unwrap();
        let known = KnownStore::of(data.path());
        let refused = known.refuse_other(&InMemory::new(), "s3://c", false).await.unwrap_err();
        assert!(refused.to_string().contains("store.id is damaged"), "{refused}");
    }
}
