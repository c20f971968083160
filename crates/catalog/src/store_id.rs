//! The identity of an object store, by which a process detects that its object store is not that of its
//! cluster.
//!
//! It is a random UUID in two places: in the object `installed/store.id`, and in a document of the catalog
//! that is in the same store. The process that leads writes both
//! ([`Catalog::identify`](crate::Catalog::identify)). Other processes get the document with the state of the
//! catalog, and compare it with the object in their own store. Catalogs of earlier releases have no identity
//! until the next process leads; nothing is compared then.

use std::fmt;
use std::str::FromStr;

use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{GetResult, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};
use runtime::store::ask_again;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::error::{Result, chain};
use crate::{Error, Snapshot, codec};

/// Path of the object. Indexers and search heads have the permission to read below this prefix
/// (`terraform/modules/identity`), but not in the root of the store.
pub(crate) const PLACE: &str = "installed/store.id";
/// Kind and name of the document.
const KIND: &str = "store";
const NAME: &str = "identity";
/// Maximum size that is read: a UUID and white space.
const MAX_BYTES: u64 = 128;

/// The identity of an object store and of the catalog in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreId(Uuid);

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for StoreId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> std::result::Result<Self, uuid::Error> {
        Uuid::parse_str(text).map(Self)
    }
}

/// An object store that is not that of the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherStore {
    /// The identity of the object store; `None` if it has none.
    pub found: Option<StoreId>,
    /// The identity of the catalog.
    pub expected: StoreId,
}

impl fmt::Display for OtherStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { found, expected } = self;
        match found {
            Some(found) => write!(f, "its id is {found}, the cluster's is {expected}"),
            None => write!(f, "it has no id, the cluster's is {expected}"),
        }
    }
}

impl OtherStore {
    /// Compares an object store with the catalog of a snapshot; `None` if both belong together, or if the
    /// catalog has no identity. Reads one object.
    ///
    /// # Errors
    /// [`Error::Store`] if the object cannot be read.
    pub async fn find(store: &dyn ObjectStore, snapshot: &Snapshot) -> Result<Option<Self>> {
        let Some(expected) = snapshot.store_id() else { return Ok(None) };
        Ok(Self::of(StoreId::read(store).await?, expected))
    }

    /// As [`find`](Self::find), but retries a truncated response, because it would end a process that starts.
    ///
    /// # Errors
    /// [`Error::Store`] if the object cannot be read for some seconds.
    pub async fn find_at_start(
        store: &dyn ObjectStore,
        snapshot: &Snapshot,
    ) -> Result<Option<Self>> {
        let Some(expected) = snapshot.store_id() else { return Ok(None) };
        Self::than_at_start(store, expected).await
    }

    /// Compares an object store with an identity; returns `None` if they match. For a process that starts:
    /// retries a truncated response.
    ///
    /// # Errors
    /// [`Error::Store`] if the object cannot be read for some seconds.
    pub async fn than_at_start(store: &dyn ObjectStore, expected: StoreId) -> Result<Option<Self>> {
        Ok(Self::of(StoreId::read_at_start(store).await?, expected))
    }

    fn of(found: Option<StoreId>, expected: StoreId) -> Option<Self> {
        (found != Some(expected)).then_some(Self { found, expected })
    }
}

impl Snapshot {
    /// Returns the identity of the catalog and of its object store; `None` in catalogs of earlier releases.
    #[must_use]
    pub fn store_id(&self) -> Option<StoreId> {
        StoreId::in_document(&*self.document(KIND, NAME)?)
    }
}

impl StoreId {
    pub(crate) fn random() -> Self {
        Self(runtime::random::uuid())
    }

    /// Returns kind, name and content of the document.
    pub(crate) fn document(self) -> (&'static str, &'static str, Value) {
        (KIND, NAME, json!({ "id": self.0.to_string() }))
    }

    /// Returns the key of the document in the database.
    pub(crate) fn key() -> Vec<u8> {
        codec::document_key(KIND, NAME)
    }

    pub(crate) fn in_document(json: &Value) -> Option<Self> {
        let text = json.get("id")?.as_str()?;
        Uuid::parse_str(text).ok().map(Self)
    }

    /// Reads the identity of an object store; returns `None` if it has none.
    pub(crate) async fn read(store: &dyn ObjectStore) -> Result<Option<Self>> {
        Self::understood(store.get(&Path::from(PLACE)).await).await
    }

    /// As [`read`](Self::read), but retries a truncated response, because it would end a process that starts.
    pub(crate) async fn read_at_start(store: &dyn ObjectStore) -> Result<Option<Self>> {
        let place = Path::from(PLACE);
        Self::understood(ask_again(PLACE, || store.get(&place)).await).await
    }

    async fn understood(got: object_store::Result<GetResult>) -> Result<Option<Self>> {
        let away = |error: &object_store::Error| failed("read its identity", chain(error));
        let got = match got {
            Ok(got) => got,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(away(&error)),
        };
        if got.meta.size > MAX_BYTES {
            return Err(unreadable(&format!("it has {} bytes", got.meta.size)));
        }
        let bytes = got.bytes().await.map_err(|error| away(&error))?;
        let text = String::from_utf8_lossy(&bytes);
        let id = Uuid::parse_str(text.trim()).map_err(|error| unreadable(&error.to_string()))?;
        Ok(Some(Self(id)))
    }

    /// Gives the identity to an object store that has none. Returns the identity that the store has
    /// afterwards, which is another one if another process has written it first.
    pub(crate) async fn create(self, store: &dyn ObjectStore) -> Result<Self> {
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        let payload = PutPayload::from(format!("{self}\n").into_bytes());
        match store.put_opts(&Path::from(PLACE), payload, options).await {
            Ok(_) => Ok(self),
            Err(object_store::Error::AlreadyExists { .. }) => {
                let found = Self::read(store).await?;
                found.ok_or_else(|| unreadable("it was deleted a moment ago"))
            }
            Err(error) => Err(failed("write its identity", chain(&error))),
        }
    }
}

/// Whether there is a catalog at a path of a store. For a process that starts: retries a truncated response,
/// which proves neither that there is a catalog nor that there is none.
///
/// # Errors
/// [`Error::Store`] if the path cannot be listed for some seconds.
pub async fn has_catalog_at_start(store: &dyn ObjectStore, path: &str) -> Result<bool> {
    let prefix = Path::from(path);
    let list = || async { store.list(Some(&prefix)).try_next().await };
    let listed = ask_again(path, list).await;
    let first = listed.map_err(|error| Error::Store {
        path: path.to_owned(),
        what: "list its objects",
        reason: chain(&error),
    })?;
    Ok(first.is_some())
}

fn failed(what: &'static str, reason: String) -> Error {
    Error::Store { path: PLACE.to_owned(), what, reason }
}

fn unreadable(reason: &str) -> Error {
    failed("understand its identity", format!("the object {PLACE} is not a UUID: {reason}"))
}

/// Returns why the catalog of a store is not the one that this process has followed; `None` if it is, in the
/// same or a later state. Identities are compared if the followed catalog had one.
pub(crate) fn contradiction(
    (known, known_number): (Option<StoreId>, u64),
    (found, number): (Option<StoreId>, u64),
) -> Option<String> {
    if let Some(known) = known
        && found != Some(known)
    {
        let found = found.map_or_else(|| "no id".to_owned(), |found| format!("the id {found}"));
        return Some(format!("it has {found}, and the id of the followed one is {known}"));
    }
    (number < known_number).then(|| {
        format!("its state {number} is older than the state {known_number} that was followed")
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use object_store::memory::InMemory;
    use testkit::{FailingStore, Moment};

    use super::*;

    fn id(number: u128) -> StoreId {
        StoreId(Uuid::from_u128(number))
    }

    fn with_id(id: StoreId) -> Snapshot {
        let (kind, name, json) = id.document();
        let mut snapshot = Snapshot::default();
        Arc::make_mut(&mut snapshot.documents)
            .insert((kind.to_owned(), name.to_owned()), Arc::new(json));
        snapshot
    }

    #[tokio::test]
    async fn a_store_gets_one_identity() {
        let store = InMemory::new();
        assert_eq!(StoreId::read(&store).await.unwrap(), None);
        assert_eq!(id(1).create(&store).await.unwrap(), id(1));
        assert_eq!(id(2).create(&store).await.unwrap(), id(1), "another process was faster");
        assert_eq!(StoreId::read(&store).await.unwrap(), Some(id(1)));
        store.put(&Path::from(PLACE), PutPayload::from_static(b"x")).await.unwrap();
        let error = StoreId::read(&store).await.unwrap_err().to_string();
        assert!(error.contains("installed/store.id"), "{error}");
    }

    #[tokio::test]
    async fn a_store_without_the_identity_of_the_catalog_is_another_one() {
        let store = InMemory::new();
        let (older, snapshot) = (Snapshot::default(), with_id(id(1)));
        assert_eq!(snapshot.store_id(), Some(id(1)));
        assert_eq!(OtherStore::find(&store, &older).await.unwrap(), None);
        let other = OtherStore::find(&store, &snapshot).await.unwrap().unwrap();
        assert_eq!(other, OtherStore { found: None, expected: id(1) });
        assert!(other.to_string().starts_with("it has no id, the cluster's is 0000"), "{other}");
        id(2).create(&store).await.unwrap();
        let other = OtherStore::find(&store, &snapshot).await.unwrap().unwrap();
        assert_eq!(other.found, Some(id(2)));
        assert_eq!(OtherStore::find(&store, &older).await.unwrap(), None);
        assert_eq!(OtherStore::find(&store, &with_id(id(2))).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_process_that_starts_compares_the_store_again_after_a_cut_answer() {
        let store = FailingStore::new(Arc::new(InMemory::new()));
        id(1).create(&store).await.unwrap();
        store.hooks().fail(Moment::Before);
        OtherStore::find(&store, &with_id(id(1))).await.unwrap_err();
        let heals = async {
            while store.hooks().failures() < 3 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            store.hooks().heal();
        };
        let snapshot = with_id(id(2));
        let (found, ()) = tokio::join!(OtherStore::find_at_start(&store, &snapshot), heals);
        assert_eq!(found.unwrap().unwrap().found, Some(id(1)));
        assert_eq!(OtherStore::than_at_start(&store, id(1)).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_listing_that_is_cut_is_not_mistaken_for_a_catalog() {
        let store = FailingStore::new(Arc::new(InMemory::new()));
        store.hooks().fail(Moment::Before);
        let heals = async {
            while store.hooks().failures() < 2 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            store.hooks().heal();
        };
        let (found, ()) = tokio::join!(has_catalog_at_start(&store, "catalog"), heals);
        assert!(!found.unwrap(), "the store is empty");
        store.put(&Path::from("catalog/a"), PutPayload::from_static(b"x")).await.unwrap();
        assert!(has_catalog_at_start(&store, "catalog").await.unwrap());
    }

    #[test]
    fn a_catalog_is_led_if_it_is_the_followed_one_and_not_older() {
        let (one, two) = (Some(id(1)), Some(id(2)));
        assert_eq!(contradiction((one, 460), (one, 460)), None);
        assert_eq!(contradiction((one, 460), (one, 461)), None);
        assert_eq!(contradiction((None, 460), (one, 461)), None, "it had none yet");
        let reason = contradiction((None, 460), (None, 3)).unwrap();
        assert!(reason.contains("state 3") && reason.contains("460"), "{reason}");
        assert!(contradiction((one, 460), (one, 459)).is_some());
        let reason = contradiction((one, 3), (two, 900)).unwrap();
        assert!(reason.contains(&id(1).to_string()), "{reason}");
        assert!(contradiction((one, 3), (None, 900)).unwrap().contains("no id"));
    }
}
