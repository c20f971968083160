//! Collections of the KV store: documents by `_key`, kept in memory and as numbered objects.
//!
//! Each batch of changes is one object `collections/<owner>/<app>/<name>/<number>.jsonl`, created and never
//! overwritten, so that a batch is there as a whole or not at all, and two writers cannot take the same
//! number. Once there are many, an object with everything takes their place.
//!
//! If several processes share the collections, each change is followed by a write of a document in the
//! catalog, with a unique value: a process that has not read the collection since then lists its objects
//! again.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use catalog::Catalog;
use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions};
use serde_json::{Map, Value};
use tokio::sync::{Mutex, RwLock};

use crate::{Error, Namespace};

/// Documents that a batch may have.
pub const MAX_BATCH: usize = 50_000;
/// Number of objects of a collection after which they are merged into one.
const FOLD_AFTER: usize = 64;
/// The directory of collections in object storage.
const ROOT: &str = "collections";

/// The documents of a collection by `_key`.
pub type Collection = BTreeMap<String, Map<String, Value>>;

/// The kind of the documents that tell of changes.
const KIND: &str = "collection";
/// Listings of objects that are replaced while they are read.
const LISTINGS: usize = 10;

#[derive(Debug)]
pub(crate) struct Collections {
    store: Arc<dyn ObjectStore>,
    /// The catalog through which processes notify each other of changes, if there are other processes.
    shared: Option<Catalog>,
    open: Mutex<HashMap<String, Arc<RwLock<Open>>>>,
}

/// A collection as it was read and written by this process.
#[derive(Debug, Default)]
struct Open {
    documents: Arc<Collection>,
    /// The number of the last object that is part of `documents`.
    last: u64,
    objects: Vec<u64>,
    /// Objects that a merged one has replaced. They are deleted at the next merge: a process that has not
    /// read them must not find their numbers free.
    replaced: Vec<u64>,
    /// The value of the catalog's document for the last change that is part of `documents`.
    told: Option<Arc<Value>>,
}

/// The change that one object contains.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Put(Map<String, Value>),
    Delete(String),
    /// Removes all earlier documents.
    Clear,
}

impl Change {
    fn line(&self) -> String {
        let value = match self {
            Self::Put(document) => serde_json::json!({ "put": document }),
            Self::Delete(key) => serde_json::json!({ "delete": key }),
            Self::Clear => serde_json::json!({ "clear": true }),
        };
        format!("{value}\n")
    }

    fn read(line: &str) -> Option<Self> {
        let mut value: Map<String, Value> = serde_json::from_str(line).ok()?;
        if let Some(Value::Object(document)) = value.remove("put") {
            return Some(Self::Put(document));
        }
        match value.remove("delete") {
            Some(Value::String(key)) => Some(Self::Delete(key)),
            _ => value.contains_key("clear").then_some(Self::Clear),
        }
    }

    fn apply(self, documents: &mut Collection) {
        match self {
            Self::Put(document) => {
                let key = document.get("_key").and_then(Value::as_str).unwrap_or_default();
                documents.insert(key.to_owned(), document);
            }
            Self::Delete(key) => drop(documents.remove(&key)),
            Self::Clear => documents.clear(),
        }
    }
}

impl Collections {
    pub(crate) fn new(store: Arc<dyn ObjectStore>, shared: Option<Catalog>) -> Self {
        Self { store, shared, open: Mutex::default() }
    }

    /// Returns the value of the catalog's document for the last change.
    fn told(&self, folder: &Path) -> Option<Arc<Value>> {
        self.shared.as_ref()?.snapshot().document(KIND, folder.as_ref())
    }

    /// Notifies other processes of a change. This process lists the objects again, too: this write may have
    /// replaced the notification of another process.
    async fn tell(&self, folder: &Path) {
        let Some(catalog) = self.shared.clone() else { return };
        let value = Value::String(runtime::random::uuid().as_simple().to_string());
        let (lacks_leader, folder) = (catalog.lacks_leader(), folder.to_string());
        let telling = async move {
            if let Err(error) = catalog.put_document(KIND, &folder, value).await {
                tracing::warn!(folder, %error, "other processes do not see a change of a collection yet");
            }
        };
        // The change is durable. Without a leader, the other processes are notified of it once there is one.
        if lacks_leader {
            runtime::detached(telling);
        } else {
            Box::pin(telling).await;
        }
    }

    fn folder(namespace: &Namespace, name: &str) -> Path {
        Path::from_iter([ROOT, &namespace.owner, &namespace.app, name])
    }

    /// The documents, as of now.
    pub(crate) async fn documents(
        &self,
        namespace: &Namespace,
        name: &str,
    ) -> Result<Arc<Collection>, Error> {
        let slot = self.open(namespace, name).await?;
        let open = slot.read().await;
        Ok(Arc::clone(&open.documents))
    }

    async fn open(&self, namespace: &Namespace, name: &str) -> Result<Arc<RwLock<Open>>, Error> {
        let folder = Self::folder(namespace, name);
        let slot = {
            let mut open = self.open.lock().await;
            Arc::clone(open.entry(folder.to_string()).or_default())
        };
        let is_behind = {
            let open = slot.read().await;
            open.objects.is_empty() || open.told != self.told(&folder)
        };
        if is_behind {
            let mut open = slot.write().await;
            // Read before the objects are listed: the objects of a notified change exist already.
            let told = self.told(&folder);
            if open.objects.is_empty() || open.told != told {
                self.catch_up(&folder, &mut open).await?;
                open.told = told;
            }
        }
        Ok(slot)
    }

    /// Reads the objects that are not part of the documents yet.
    async fn catch_up(&self, folder: &Path, open: &mut Open) -> Result<(), Error> {
        for _ in 0..LISTINGS {
            if self.read_new(folder, open).await? {
                return Ok(());
            }
        }
        let reason = "its objects are replaced again and again while they are read".to_owned();
        Err(Error::Damaged { what: folder.to_string(), reason })
    }

    /// Reads the objects that exist now; `false` if some of them were removed meanwhile: their content is in
    /// new objects, which the list did not have yet.
    async fn read_new(&self, folder: &Path, open: &mut Open) -> Result<bool, Error> {
        let listed: Vec<_> = self
            .store
            .list(Some(folder))
            .try_collect()
            .await
            .map_err(|source| failed("list", folder, source))?;
        let number = |path: &Path| path.filename()?.strip_suffix(".jsonl")?.parse::<u64>().ok();
        let mut numbers: Vec<u64> =
            listed.iter().filter_map(|object| number(&object.location)).collect();
        numbers.sort_unstable();
        numbers.retain(|number| *number > open.last);
        for number in numbers {
            let path = object(folder, number);
            let bytes = match self.store.get(&path).await {
                Ok(found) => found.bytes().await,
                Err(object_store::Error::NotFound { .. }) => return Ok(false),
                Err(error) => Err(error),
            };
            let bytes = bytes.map_err(|source| failed("read", &path, source))?;
            let text = std::str::from_utf8(&bytes).unwrap_or_default();
            let documents = Arc::make_mut(&mut open.documents);
            for line in text.lines() {
                let change = Change::read(line).ok_or_else(|| Error::Damaged {
                    what: path.to_string(),
                    reason: "a line is no change of a collection".to_owned(),
                })?;
                change.apply(documents);
            }
            open.last = number;
            open.objects.push(number);
        }
        Ok(true)
    }

    pub(crate) async fn change(
        &self,
        namespace: &Namespace,
        name: &str,
        changes: Vec<Change>,
    ) -> Result<(), Error> {
        if changes.is_empty() {
            return Ok(());
        }
        let folder = Self::folder(namespace, name);
        let slot = self.open(namespace, name).await?;
        let mut open = slot.write().await;
        let lines: String = changes.iter().map(Change::line).collect();
        if self.shared.is_some() {
            // Others may have made changes without a leader to tell of them.
            self.catch_up(&folder, &mut open).await?;
        }
        loop {
            let number = open.last + 1;
            let path = object(&folder, number);
            if self.create(&path, &lines).await? {
                if self.is_outrun(&folder, open.last).await? {
                    let gone = self.store.delete(&path).await;
                    gone.map_err(|source| failed("remove", &path, source))?;
                    self.catch_up(&folder, &mut open).await?;
                    continue;
                }
                let documents = Arc::make_mut(&mut open.documents);
                changes.into_iter().for_each(|change| change.apply(documents));
                open.last = number;
                open.objects.push(number);
                break;
            }
            // Another process has used the number first: its change comes first.
            self.catch_up(&folder, &mut open).await?;
        }
        if open.objects.len() > FOLD_AFTER {
            self.fold(&folder, &mut open).await?;
        }
        self.tell(&folder).await;
        Ok(())
    }

    /// Whether others have merged the last object that was read, and those after it, while the next one was
    /// written: its number was free, but no process reads it.
    async fn is_outrun(&self, folder: &Path, last: u64) -> Result<bool, Error> {
        if self.shared.is_none() || last == 0 {
            return Ok(false);
        }
        let path = object(folder, last);
        match self.store.head(&path).await {
            Ok(_) => Ok(false),
            Err(object_store::Error::NotFound { .. }) => Ok(true),
            Err(source) => Err(failed("read", &path, source)),
        }
    }

    /// Whether the object could be created: it was not there before.
    async fn create(&self, path: &Path, text: &str) -> Result<bool, Error> {
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        match self.store.put_opts(path, text.to_owned().into(), options).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
            Err(source) => Err(failed("write", path, source)),
        }
    }

    /// Merges all objects into one, and removes those that the last merge replaced.
    async fn fold(&self, folder: &Path, open: &mut Open) -> Result<(), Error> {
        let number = open.last + 1;
        let mut text = Change::Clear.line();
        for document in open.documents.values() {
            text.push_str(&Change::Put(document.clone()).line());
        }
        if !self.create(&object(folder, number), &text).await? {
            return Ok(());
        }
        open.last = number;
        let replaced = std::mem::replace(&mut open.objects, vec![number]);
        for old in std::mem::replace(&mut open.replaced, replaced) {
            let path = object(folder, old);
            if let Err(error) = self.store.delete(&path).await
                && !matches!(error, object_store::Error::NotFound { .. })
            {
                // The old object is harmless: the merged one after it replaces its content.
                tracing::warn!(%path, %error, "cannot remove an old object of a collection");
            }
        }
        Ok(())
    }
}

fn object(folder: &Path, number: u64) -> Path {
    folder.clone().join(format!("{number:020}.jsonl"))
}

fn failed(action: &'static str, path: &Path, source: object_store::Error) -> Error {
    Error::Store { action, path: path.to_string(), source }
}
