//! Uploads one finished bucket to object storage, on the condition that no object exists at its path.
//!
//! Small objects are put with "if none match". Large objects use a multipart upload, of which a few parts are
//! sent at a time. The client cannot complete a multipart upload conditionally, so the path is checked first:
//! bucket paths are unique, so only an earlier attempt of this process can be there. An upload that fails is
//! aborted; the parts that a killed process leaves are removed by the store's own rule for incomplete
//! uploads.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{
    MultipartUpload, ObjectStore, ObjectStoreExt, PutMode, PutMultipartOptions, PutOptions,
    PutPayload,
};
use tokio::task::JoinSet;

use super::spool::Spool;
use crate::Error;

/// Part size of a multipart upload, in bytes.
const PART: u64 = 16 << 20;
/// Maximum number of concurrent parts of one upload.
const PARTS_AT_A_TIME: usize = 4;

/// Name of the operation that reads an object to be put elsewhere, for errors.
pub(crate) const READ: &str = "read";

/// The location of the bytes of a finished bucket.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// The spool, under the path of the object.
    Spooled(Arc<Spool>),
    /// Memory, if the disk has no room.
    Memory(Bytes),
    /// Another object, possibly in another store.
    Object(Arc<dyn ObjectStore>, Path),
}

impl Content {
    async fn read(&self, path: &str, range: Range<u64>) -> Result<Bytes, Error> {
        match self {
            Self::Memory(bytes) => {
                // The range is within memory, so it fits into `usize`.
                Ok(bytes.slice(range.start as usize..range.end as usize))
            }
            Self::Object(store, from) => {
                store.get_range(from, range).await.map_err(fail(READ, from.as_ref()))
            }
            Self::Spooled(spool) => {
                let (spool, path) = (Arc::clone(spool), path.to_owned());
                let read = tokio::task::spawn_blocking(move || spool.read(&path, range));
                read.await.unwrap_or(Err(Error::Abandoned))
            }
        }
    }
}

/// Puts the object; idempotent.
pub(crate) async fn put(
    store: &dyn ObjectStore,
    path: &str,
    content: &Content,
    size: u64,
    multipart_threshold: u64,
) -> Result<(), Error> {
    let location = Path::from(path);
    if size > multipart_threshold {
        return match store.head(&location).await {
            Ok(there) => same_size(path, size, there.size),
            Err(object_store::Error::NotFound { .. }) => {
                put_parts(store, &location, content, size).await
            }
            Err(error) => Err(fail("head", path)(error)),
        };
    }
    let options = PutOptions::from(PutMode::Create);
    let payload = PutPayload::from_bytes(content.read(path, 0..size).await?);
    match store.put_opts(&location, payload, options).await {
        Ok(_) => Ok(()),
        Err(object_store::Error::AlreadyExists { .. }) => {
            let there = store.head(&location).await.map_err(fail("head", path))?;
            same_size(path, size, there.size)
        }
        Err(error) => Err(fail("put", path)(error)),
    }
}

async fn put_parts(
    store: &dyn ObjectStore,
    location: &Path,
    content: &Content,
    size: u64,
) -> Result<(), Error> {
    let path = location.as_ref();
    let upload = store.put_multipart_opts(location, PutMultipartOptions::default()).await;
    let mut upload = upload.map_err(fail("begin the upload", path))?;
    let sent = send_parts(upload.as_mut(), path, content, size).await;
    let done = match sent {
        Ok(()) => upload.complete().await.map(drop).map_err(fail("complete the upload", path)),
        Err(error) => Err(error),
    };
    if done.is_err()
        && let Err(error) = upload.abort().await
    {
        tracing::debug!(%path, %error, "an upload in parts could not be aborted");
    }
    done
}

async fn send_parts(
    upload: &mut dyn MultipartUpload,
    path: &str,
    content: &Content,
    size: u64,
) -> Result<(), Error> {
    let mut parts = JoinSet::new();
    let finished =
        |part: Option<Result<object_store::Result<()>, tokio::task::JoinError>>| match part {
            None | Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(error))) => Err(fail("put a part", path)(error)),
            Some(Err(_)) => Err(Error::Abandoned),
        };
    let mut start = 0;
    while start < size {
        if parts.len() >= PARTS_AT_A_TIME {
            finished(parts.join_next().await)?;
        }
        let end = (start + PART).min(size);
        let bytes = content.read(path, start..end).await?;
        parts.spawn(upload.put_part(PutPayload::from_bytes(bytes)));
        start = end;
    }
    while !parts.is_empty() {
        finished(parts.join_next().await)?;
    }
    Ok(())
}

fn fail(operation: &'static str, path: &str) -> impl FnOnce(object_store::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Storage { operation, path, source: Arc::new(source) }
}

fn same_size(path: &str, expected: u64, found: u64) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    Err(Error::ObjectConflict { path: path.to_owned(), expected, found })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use object_store::local::LocalFileSystem;
    use object_store::memory::InMemory;
    use testkit::{FailingStore, Moment};

    use super::*;

    #[tokio::test]
    async fn a_large_object_arrives_whole_in_parts_and_again_is_harmless() {
        let store = InMemory::new();
        let bytes: Bytes = (0..40u32 << 20).map(|at| (at % 251) as u8).collect();
        let content = Content::Memory(bytes.clone());
        for _ in 0..2 {
            put(&store, "a", &content, bytes.len() as u64, 1000).await.unwrap();
        }
        let there = store.get(&Path::from("a")).await.unwrap().bytes().await.unwrap();
        assert_eq!(there, bytes);
    }

    #[tokio::test]
    async fn a_failed_upload_in_parts_leaves_nothing_and_can_be_repeated() {
        let directory = tempfile::tempdir().unwrap();
        let local = LocalFileSystem::new_with_prefix(directory.path()).unwrap();
        let store = FailingStore::new(Arc::new(local));
        let content = Content::Memory(vec![7; 20 << 20].into());
        store.hooks().fail(Moment::After);
        put(&store, "a", &content, 20 << 20, 1000).await.unwrap_err();
        store.hooks().heal();
        put(&store, "a", &content, 20 << 20, 1000).await.unwrap();
        assert_eq!(store.head(&Path::from("a")).await.unwrap().size, 20 << 20);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn another_object_in_the_place_is_a_conflict() {
        let store = InMemory::new();
        for threshold in [1000, 1] {
            let (mine, other) = (Content::Memory("mine".into()), Content::Memory("other".into()));
            let path = format!("at-{threshold}");
            put(&store, &path, &other, 5, threshold).await.unwrap();
            let error = put(&store, &path, &mine, 4, threshold).await.unwrap_err();
            assert_eq!(error.kind(), model::ErrorKind::Conflict);
        }
    }
}
