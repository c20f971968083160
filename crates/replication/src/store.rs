//! The journals as an object store.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::join_all;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt, TryStreamExt};
use model::IndexerId;
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, Result,
};
use tonic::Status;
use uuid::Uuid;

use crate::members::Members;
use crate::own::{Failed, Replicas};

const STORE: &str = "journal copies";
/// The directory of all journals.
const FOLDER: &str = "journal";

/// See the module. Clones share it.
#[derive(Debug, Clone)]
pub struct ReplicaStore(pub Arc<Replicas>);

impl fmt::Display for ReplicaStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "copies of journals")
    }
}

fn generic(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::Generic { store: STORE, source: reason.into() }
}

fn failed(status: &Status) -> Error {
    generic(transport::reason(status))
}

fn unsupported(operation: &str) -> Error {
    Error::NotImplemented { operation: operation.to_owned(), implementer: STORE.to_owned() }
}

/// Returns the owner of a directory below that of all journals.
fn owner_of(prefix: &Path) -> Result<IndexerId> {
    let id = prefix.as_ref().strip_prefix("journal/").and_then(|id| Uuid::parse_str(id).ok());
    id.map(IndexerId).ok_or_else(|| generic(format!("{prefix} is not the journal of an indexer")))
}

/// Returns owner and number of an object.
fn object_of(path: &Path) -> Result<(IndexerId, u64)> {
    let parsed = path.as_ref().rsplit_once('/').and_then(|(folder, name)| {
        let number = name.strip_suffix(".journal")?.parse().ok()?;
        Some((owner_of(&Path::from(folder)).ok()?, number))
    });
    parsed.ok_or_else(|| generic(format!("{path} is not an object of a journal")))
}

fn path_of(owner: IndexerId, number: u64) -> Path {
    Path::from(format!("{FOLDER}/{}/{number:020}.journal", owner.0))
}

fn meta(location: Path, size: u64) -> ObjectMeta {
    ObjectMeta { location, last_modified: Default::default(), size, e_tag: None, version: None }
}

impl Replicas {
    /// Seals the journal, to end the acknowledgements of an owner that may still be running.
    async fn seal(&self, owner: IndexerId, number: u64) -> Result<()> {
        let members = Members::of(&self.catalog.snapshot(), owner);
        let puts =
            members.iter().map(|member| self.client.put(owner, *member, (number, Bytes::new())));
        one_of(join_all(puts).await).map(drop)
    }

    /// Returns the objects of all copies that answer, with their sizes.
    async fn objects(&self, owner: IndexerId) -> Result<BTreeMap<u64, u64>> {
        let members = Members::of(&self.catalog.snapshot(), owner);
        let lists = members.iter().map(|member| self.client.list(owner, *member));
        let mut objects = BTreeMap::new();
        for (number, bytes) in one_of(join_all(lists).await)?.into_iter().flatten() {
            // The last number may be a seal in one copy and have records in another: these are not
            // acknowledged.
            let known = objects.entry(number).or_insert(bytes);
            *known = bytes.max(*known);
        }
        Ok(objects)
    }

    async fn object(&self, owner: IndexerId, number: u64, path: &Path) -> Result<Bytes> {
        let members = Members::of(&self.catalog.snapshot(), owner);
        let gets = members
            .iter()
            .map(|member| async move { self.client.get(owner, *member, number).await });
        let mut absent = false;
        let mut lost = None;
        for get in gets {
            match get.await {
                // A number that is a seal in this copy may have records in another.
                Ok(Some(data)) if data.is_empty() => absent = true,
                Ok(Some(data)) => return Ok(data),
                Ok(None) => absent = true,
                Err(status) => lost = Some(status),
            }
        }
        match lost {
            Some(status) if !absent => Err(failed(&status)),
            _ => Err(Error::NotFound { path: path.to_string(), source: "no copy has it".into() }),
        }
    }
}

/// Returns the successful answers; fails if copies were asked and none answered.
fn one_of<T>(answers: Vec<Result<T, Status>>) -> Result<Vec<T>> {
    let mut came = Vec::new();
    let mut lost = None;
    for answer in answers {
        match answer {
            Ok(answer) => came.push(answer),
            Err(status) => lost = Some(status),
        }
    }
    match lost {
        Some(status) if came.is_empty() => Err(failed(&status)),
        _ => Ok(came),
    }
}

#[async_trait]
impl ObjectStore for ReplicaStore {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        _: PutOptions,
    ) -> Result<PutResult> {
        let (owner, number) = object_of(location)?;
        let data = Bytes::from(payload);
        if owner != self.0.own {
            if !data.is_empty() {
                return Err(unsupported("writing to the journal of another indexer"));
            }
            self.0.seal(owner, number).await?;
        } else {
            match self.0.put(number, data).await {
                Ok(()) => {}
                Err(Failed::For(reason)) => return Err(generic(reason)),
                Err(Failed::Taken) => {
                    let path = location.to_string();
                    return Err(Error::AlreadyExists { path, source: "it is sealed".into() });
                }
            }
        }
        Ok(PutResult { e_tag: None, version: None })
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(unsupported("uploads in parts"))
    }

    async fn get_opts(&self, location: &Path, _: GetOptions) -> Result<GetResult> {
        let (owner, number) = object_of(location)?;
        let data = self.0.object(owner, number, location).await?;
        let size = data.len() as u64;
        let payload = GetResultPayload::Stream(stream::once(async { Ok(data) }).boxed());
        Ok(GetResult {
            payload,
            meta: meta(location.clone(), size),
            range: 0..size,
            attributes: Attributes::new(),
        })
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let own = Arc::clone(&self.0);
        let deleted = async move {
            let locations: Vec<Result<Path>> = locations.collect().await;
            let objects = locations.iter().flatten().filter_map(|path| object_of(path).ok());
            // Journals of other indexers are deleted as a whole (`Replicas::forget`).
            let numbers: Vec<u64> =
                objects.filter(|(owner, _)| *owner == own.own).map(|(_, number)| number).collect();
            if !numbers.is_empty() {
                own.delete_own(&numbers).await;
            }
            stream::iter(locations)
        };
        deleted.into_stream().flatten().boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let owner = prefix.map_or_else(|| Err(unsupported("listing all journals")), owner_of);
        let own = Arc::clone(&self.0);
        let listed = async move {
            let owner = owner?;
            let objects = own.objects(owner).await?.into_iter();
            let listed = objects.map(move |(number, size)| Ok(meta(path_of(owner, number), size)));
            Ok::<_, Error>(stream::iter(listed))
        };
        listed.into_stream().try_flatten().boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        let owners = Members::owners(&self.0.catalog.snapshot()).into_iter();
        let folders = owners.map(|owner| Path::from(format!("{FOLDER}/{}", owner.0)));
        Ok(ListResult { common_prefixes: folders.collect(), objects: Vec::new() })
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(unsupported("copies"))
    }
}
