//! The identity of a directory that frozen buckets are copied to: shows whether its disk is mounted.
//!
//! Below the mount point of a disk that is not mounted, another directory is found, or none. Buckets that are
//! copied there are on the wrong disk, are hidden once the right one is mounted, and are deleted from object
//! storage all the same. A random UUID is therefore in two places, as that of an object store
//! (`catalog::StoreId`): in the file `archive.id` of the directory, and in a document of the catalog with the
//! name of the directory. The first freeze into a directory writes both, the file first: after a crash in
//! between, the next freeze finds the file, and remembers it. From then on buckets are copied only while the
//! file has this UUID, and the directory is never made anew; buckets stay in their index meanwhile.
//!
//! - A UUID, not the device or the inode: an archive may be copied to a larger disk, and a network file
//!   system may get another device number whenever it is mounted.
//! - The document is in the catalog, not in a data directory: in a cluster, whichever control plane leads
//!   freezes, and on its machine the directory has to be the same archive.
//! - Another directory is accepted by writing the UUID into its `archive.id`. That needs neither a command
//!   nor a change of the catalog, and can be done on each machine whose process may lead.
//! - A prefix and an S3 bucket have no identity: a store that is away answers with an error, and does not
//!   look like an empty one.
//!
//! Not noticed: a disk that is not mounted at the first freeze into its directory.

use std::sync::Arc;

use bytes::Bytes;
use catalog::Snapshot;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};
use serde_json::{Value, json};
use uuid::Uuid;

use super::archive::not_a_directory;
use crate::Error;

/// The file in the directory. No index has this name.
const FILE: &str = "archive.id";
/// The kind of the documents.
pub(super) const KIND: &str = "archives";
/// Maximum size that is read: a UUID and white space.
const MAX_BYTES: u64 = 128;

/// Returns the directory of an archive; `None` if it is not in a directory.
pub(super) fn directory_of(place: &str) -> Option<&str> {
    let path = place.strip_prefix("file://").unwrap_or(place);
    let directory = path.trim_end_matches('/');
    path.starts_with('/').then_some(if directory.is_empty() { "/" } else { directory })
}

/// Returns the identity of a directory into which buckets were frozen; `None` if there were none yet.
///
/// # Errors
/// The document has no identity, so that another directory would be accepted.
pub(super) fn known(snapshot: &Snapshot, directory: &str) -> Result<Option<Uuid>, Error> {
    snapshot.document(KIND, directory).map(|document| id_of(&document, directory)).transpose()
}

fn id_of(document: &Value, directory: &str) -> Result<Uuid, Error> {
    let id = document.get("id").and_then(Value::as_str);
    id.and_then(|id| Uuid::parse_str(id).ok()).ok_or_else(|| Error::Document {
        kind: KIND,
        name: directory.to_owned(),
        reason: "its id is not a UUID".to_owned(),
    })
}

/// Returns the content of the document.
pub(super) fn document(id: Uuid) -> Value {
    json!({ "id": id.to_string() })
}

/// Fails if the directory does not exist or cannot be examined, before it is opened, because opening would
/// create it.
pub(super) fn expect_directory(directory: &str, expected: Uuid) -> Result<(), Error> {
    match not_a_directory(directory)? {
        None => Ok(()),
        Some(found) => Err(other_archive(directory, found.to_owned(), expected)),
    }
}

/// Fails if the directory, which has been opened, has another identity.
pub(super) async fn expect(
    store: &dyn ObjectStore,
    directory: &str,
    expected: Uuid,
) -> Result<(), Error> {
    match read(store, directory).await? {
        Some(found) if found == expected => Ok(()),
        Some(found) => Err(other_archive(directory, format!("its {FILE} is {found}"), expected)),
        None => Err(other_archive(directory, format!("it has no {FILE}"), expected)),
    }
}

/// Returns the identity of a directory, and creates it if there is none.
pub(super) async fn give(store: &dyn ObjectStore, directory: &str) -> Result<Uuid, Error> {
    if let Some(found) = read(store, directory).await? {
        return Ok(found);
    }
    let id = runtime::random::uuid();
    let payload = PutPayload::from(format!("{id}\n").into_bytes());
    let options = PutOptions::from(PutMode::Create);
    match store.put_opts(&Path::from(FILE), payload, options).await {
        Ok(_) => Ok(id),
        // A freeze of another index, or of another deployment with the same archive, has created it.
        Err(object_store::Error::AlreadyExists { .. }) => {
            let found = read(store, directory).await?;
            found.ok_or_else(|| unusable(directory, "was removed a moment ago"))
        }
        Err(error) => Err(failed("write", directory)(error)),
    }
}

async fn read(store: &dyn ObjectStore, directory: &str) -> Result<Option<Uuid>, Error> {
    let got = match store.get(&Path::from(FILE)).await {
        Ok(got) => got,
        Err(object_store::Error::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(failed("read", directory)(error)),
    };
    let bytes = match got.meta.size {
        0..=MAX_BYTES => got.bytes().await.map_err(failed("read", directory))?,
        _ => Bytes::new(),
    };
    let id = Uuid::parse_str(String::from_utf8_lossy(&bytes).trim());
    id.map(Some).map_err(|_| unusable(directory, "is not a UUID: restore it, or remove it"))
}

fn other_archive(directory: &str, found: String, expected: Uuid) -> Error {
    Error::OtherArchive { directory: directory.to_owned(), found, expected }
}

fn unusable(directory: &str, what: &str) -> Error {
    Error::Archive { place: directory.to_owned(), reason: format!("its file {FILE} {what}") }
}

fn failed(operation: &'static str, directory: &str) -> impl FnOnce(object_store::Error) -> Error {
    let path = format!("{directory}/{FILE}");
    move |source| Error::Storage { operation, path, source: Arc::new(source) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use object_store::memory::InMemory;

    use super::*;

    #[test]
    fn directories_are_told_from_other_archives() {
        assert_eq!(directory_of("/mnt/cold"), Some("/mnt/cold"));
        assert_eq!(directory_of("/mnt/cold//"), Some("/mnt/cold"));
        assert_eq!(directory_of("file:///mnt/cold/"), Some("/mnt/cold"));
        assert_eq!(directory_of("/"), Some("/"));
        for other in ["archive/cold", "s3://bucket/mnt", ""] {
            assert_eq!(directory_of(other), None, "{other}");
        }
    }

    #[test]
    fn only_a_missing_directory_is_told_as_missing() {
        let refused = |directory: &str| expect_directory(directory, Uuid::nil()).unwrap_err();
        assert!(refused("/no/such/directory").to_string().contains("it does not exist"));
        assert!(refused("/dev/null").to_string().contains("it is not a directory"));
        // A name that no file system has: the path cannot be examined.
        let error = refused(&format!("/{}", "x".repeat(300)));
        assert!(matches!(error, Error::Storage { .. }), "{error}");
        assert_eq!(error.kind(), model::ErrorKind::Unavailable);
        assert!(expect_directory("/", Uuid::nil()).is_ok());
    }

    #[test]
    fn a_damaged_document_is_not_taken_for_a_first_freeze() {
        let id = Uuid::now_v7();
        assert_eq!(id_of(&document(id), "/cold").unwrap(), id);
        for damaged in [json!({}), json!({ "id": 7 }), json!({ "id": "x" })] {
            let error = id_of(&damaged, "/cold").unwrap_err();
            assert_eq!(error.kind(), model::ErrorKind::Corrupt, "{error}");
        }
    }

    #[tokio::test]
    async fn a_directory_keeps_its_identity_and_another_one_is_refused() {
        let (own, other) = (InMemory::new(), InMemory::new());
        let id = give(&own, "/cold").await.unwrap();
        assert_eq!(give(&own, "/cold").await.unwrap(), id);
        expect(&own, "/cold", id).await.unwrap();
        let refused = expect(&other, "/cold", id).await.unwrap_err().to_string();
        let accepting = format!("echo {id} > '/cold/archive.id'");
        assert!(refused.contains("it has no archive.id") && refused.contains(&accepting));
        let found = give(&other, "/cold").await.unwrap();
        let refused = expect(&other, "/cold", id).await.unwrap_err().to_string();
        assert!(refused.contains(&format!("its archive.id is {found}")), "{refused}");
        // The file has the content that the error message proposes.
        let payload = PutPayload::from(format!("{id}\n").into_bytes());
        other.put(&Path::from(FILE), payload).await.unwrap();
        expect(&other, "/cold", id).await.unwrap();
        other.put(&Path::from(FILE), PutPayload::from_static(b"x")).await.unwrap();
        let refused = give(&other, "/cold").await.unwrap_err().to_string();
        assert!(refused.contains("\"/cold\": its file archive.id is not a UUID"), "{refused}");
    }
}
