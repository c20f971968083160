//! Archives of frozen buckets: each is an unchanged copy at `<archive>/<index>/<yyyymmdd>/<id>.parquet`.
//!
//! An archive needs no list of its own: the object of a bucket describes its content, so archives survive the
//! loss of the catalog, and any Parquet reader can read them.

use std::io;
use std::sync::Arc;

use bucket::BucketReader;
use futures::{StreamExt, TryStreamExt};
use model::{BucketEntry, BucketHeader, BucketId, BucketState, ErrorKind, IndexName, TimeRange};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};

use super::retention::Reason;
use crate::Error;
use crate::hot::one_object::{BRING_BACK, LIST, is_of_object};
use crate::hot::put::{Content, put};

/// The prefix of the objects of buckets.
const BUCKETS: &str = "buckets";
/// Prefixes in object storage that Karst uses itself: an archive there would mix frozen buckets with objects
/// that are listed or deleted.
const IN_USE: [&str; 7] =
    [BUCKETS, "catalog", "collections", "installed", "journal", "lookups", "saved_jobs"];
/// Number of objects that are compared with buckets of the deployment.
const COMPARED: usize = 3;
/// Number of objects that are read or looked at concurrently.
pub(super) const READERS: usize = 16;

/// A place for frozen buckets.
#[derive(Debug)]
pub(super) enum Archive {
    /// A prefix in the store of the deployment: the store itself makes the copies.
    Prefix(Path),
    /// A directory or another S3 bucket.
    Other(Arc<dyn ObjectStore>),
}

/// An archived bucket.
#[derive(Debug)]
pub(super) struct Found {
    /// Its entry as it was in the catalog.
    pub(super) entry: BucketEntry,
    /// Its object in the archive.
    pub(super) at: Path,
}

impl Archive {
    /// Opens the archive that `coldToFrozenDir` names: `s3://bucket/prefix`, an absolute directory, or a
    /// prefix in object storage.
    pub(super) fn open(place: &str, options: &runtime::store::Options) -> Result<Self, Error> {
        let fail = |reason: String| Error::Archive { place: place.to_owned(), reason };
        if place.starts_with('/') || place.contains("://") {
            let opened = runtime::store::open(place, options);
            let opened = opened.map_err(|error| fail(error.to_string()))?;
            return Ok(Self::Other(opened.store));
        }
        let prefix = Path::parse(place).map_err(|error| fail(error.to_string()))?;
        let first = prefix.parts().next();
        match first {
            None => Err(fail("it is empty".to_owned())),
            Some(part) if IN_USE.contains(&part.as_ref()) => {
                Err(fail(format!("{}/ is in use by Karst; name another prefix", part.as_ref())))
            }
            Some(_) => Ok(Self::Prefix(prefix)),
        }
    }

    /// Opens an archive that must exist, because opening a directory would create it.
    pub(super) fn open_existing(
        place: &str,
        options: &runtime::store::Options,
    ) -> Result<Self, Error> {
        let path = place.strip_prefix("file://").unwrap_or(place);
        if path.starts_with('/') && not_a_directory(path)?.is_some() {
            let reason = "there is no such directory on the machine of the server".to_owned();
            return Err(Error::Archive { place: place.to_owned(), reason });
        }
        Self::open(place, options)
    }

    /// Returns the store of the archive; `own` is the store of the deployment.
    pub(super) fn store<'a>(&'a self, own: &'a Arc<dyn ObjectStore>) -> &'a Arc<dyn ObjectStore> {
        match self {
            Self::Prefix(_) => own,
            Self::Other(store) => store,
        }
    }

    fn below(&self, rest: &str) -> Path {
        match self {
            Self::Prefix(prefix) => Path::from(format!("{prefix}/{rest}")),
            Self::Other(..) => Path::from(rest),
        }
    }

    /// Returns the path of a bucket, and that of its copy.
    fn places(&self, bucket: &BucketHeader) -> (Path, Path) {
        let from = Path::from(bucket.path());
        let day = from.parts().nth(2);
        let day = day.as_ref().map_or("undated", AsRef::as_ref);
        let to = self.below(&format!("{}/{day}/{}.parquet", bucket.index, bucket.id));
        (from, to)
    }

    /// Copies the object of a bucket into the archive; idempotent.
    pub(super) async fn keep(
        &self,
        own: &Arc<dyn ObjectStore>,
        bucket: &BucketHeader,
        threshold: u64,
    ) -> Result<(), Error> {
        let (from, to) = self.places(bucket);
        match self {
            Self::Prefix(_) => {
                // First what is there: a copy would replace it.
                let there = match own.head(&to).await {
                    Err(object_store::Error::NotFound { .. }) => {
                        own.copy(&from, &to).await.map_err(failed("archive", &from))?;
                        own.head(&to).await
                    }
                    there => there,
                };
                let there = there.map_err(failed("look at", &to))?;
                if there.size == bucket.size {
                    return Ok(());
                }
                let (expected, found) = (bucket.size, there.size);
                Err(Error::ObjectConflict { path: to.to_string(), expected, found })
            }
            Self::Other(store) => {
                match compare((own.as_ref(), &from), (store.as_ref(), &to), bucket.size).await? {
                    There::Original => {
                        let reason = "it is in the object store of the deployment, and its file is that of the \
                                      bucket itself, which would be deleted: name another place";
                        let (place, reason) = (to.to_string(), reason.to_owned());
                        return Err(Error::Archive { place, reason });
                    }
                    There::OnlyCopy => return Ok(()),
                    There::Other => {}
                }
                let content = Content::Object(Arc::clone(own), from);
                put(store.as_ref(), to.as_ref(), &content, bucket.size, threshold).await
            }
        }
    }

    /// Returns the archived buckets of an index that have events in the range, oldest first, and why other
    /// objects cannot be read, whatever their range.
    ///
    /// # Errors
    /// The archive is unavailable.
    pub(super) async fn find(
        &self,
        own: &Arc<dyn ObjectStore>,
        index: &IndexName,
        range: &TimeRange,
    ) -> Result<(Vec<Found>, Vec<Error>), Error> {
        let store = self.store(own);
        let prefix = self.below(index.as_str());
        let mut reads = Reads::new();
        let mut buckets = Vec::new();
        let mut listed = store.list(Some(&prefix));
        while let Some(meta) = listed.next().await {
            match meta.map_err(failed(LIST, &prefix)) {
                Ok(meta) if meta.location.extension() == Some("parquet") => buckets.push(meta),
                Ok(_) => {}
                Err(error) => reads.add(Err(error))?,
            }
        }
        let opened =
            buckets.into_iter().map(|meta| read_end(Arc::clone(store), meta, index.clone()));
        let mut opened = futures::stream::iter(opened).buffered(READERS);
        while let Some(read) = opened.next().await {
            reads.add(read)?;
        }
        let (mut found, unreadable) = reads.divided()?;
        found.retain(|found: &Found| found.entry.summary.overlaps(range));
        found.sort_by_key(|found| (found.entry.summary.last_time, found.entry.id));
        Ok((found, unreadable))
    }

    /// Whether the archive has any bucket of an index.
    pub(super) async fn has_any(
        &self,
        own: &Arc<dyn ObjectStore>,
        index: &IndexName,
    ) -> Result<bool, Error> {
        let prefix = self.below(index.as_str());
        let first = self.store(own).list(Some(&prefix)).try_next().await;
        Ok(first.map_err(failed(LIST, &prefix))?.is_some())
    }

    /// Whether its objects of an index are those of the buckets of the deployment: the archive may be named
    /// by a path into the object store. The first objects of its listing tell, if all of them are the same:
    /// one copy in another S3 bucket may look like its original, see [`is_same`].
    pub(super) async fn has_own_buckets(
        &self,
        own: &Arc<dyn ObjectStore>,
        index: &IndexName,
    ) -> bool {
        let Self::Other(store) = self else { return false };
        let prefix = self.below(index.as_str());
        let mut listed = store.list(Some(&prefix)).take(COMPARED);
        let mut is_own = false;
        while let Some(meta) = listed.next().await {
            // Other errors of the archive are those of its listing.
            let Ok(meta) = meta else { return false };
            let here = Path::from(format!("{BUCKETS}/{}", meta.location));
            let (Ok(here), Ok(there)) = (own.head(&here).await, store.head(&meta.location).await)
            else {
                return false;
            };
            if !is_same(&here, &there) {
                return false;
            }
            is_own = true;
        }
        is_own
    }

    /// Whether it has the objects of these buckets themselves, as far as some of them tell, spread over all:
    /// a copy in another S3 bucket may look like its original, see [`is_same`], but then others have none.
    pub(super) async fn has_originals(
        &self,
        own: &Arc<dyn ObjectStore>,
        buckets: &[(BucketHeader, Reason)],
    ) -> bool {
        let Self::Other(store) = self else { return false };
        let step = buckets.len().div_ceil(COMPARED).max(1);
        let mut is_own = false;
        for (bucket, _) in buckets.iter().rev().step_by(step) {
            let (from, to) = self.places(bucket);
            match (own.head(&from).await, store.head(&to).await) {
                (Ok(here), Ok(there)) if is_same(&here, &there) => is_own = true,
                // It is in neither place.
                (Err(object_store::Error::NotFound { .. }), Err(_)) => {}
                _ => return false,
            }
        }
        is_own
    }

    /// Copies an archived bucket to `path` in the deployment's store.
    ///
    /// # Errors
    /// [`is_of_object`] tells whether only this bucket cannot be read.
    pub(super) async fn bring_back(
        &self,
        own: &Arc<dyn ObjectStore>,
        found: &Found,
        path: &str,
        threshold: u64,
    ) -> Result<(), Error> {
        match self {
            Self::Prefix(_) => {
                let to = Path::from(path);
                own.copy(&found.at, &to).await.map_err(failed(BRING_BACK, &found.at))
            }
            Self::Other(store) => {
                let content = Content::Object(Arc::clone(store), found.at.clone());
                put(own.as_ref(), path, &content, found.entry.size, threshold).await
            }
        }
    }
}

/// Returns why there is no directory at a path; `None` if there is one.
///
/// # Errors
/// The path cannot be examined: its file system may be away, as one of NFS, or the permissions may be wrong.
pub(super) fn not_a_directory(path: &str) -> Result<Option<&'static str>, Error> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Ok(None),
        Ok(_) => Ok(Some("it is not a directory")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Some("it does not exist")),
        Err(error) => {
            let source = Box::new(error);
            let source = object_store::Error::Generic { store: "LocalFileSystem", source };
            let (path, source) = (path.to_owned(), Arc::new(source));
            Err(Error::Storage { operation: "look at", path, source })
        }
    }
}

async fn read_end(
    store: Arc<dyn ObjectStore>,
    meta: ObjectMeta,
    index: IndexName,
) -> Result<Found, Error> {
    let path = meta.location.clone();
    let stem = path.filename().and_then(|name| name.strip_suffix(".parquet"));
    let id = stem.and_then(|stem| uuid::Uuid::parse_str(stem).ok()).map(BucketId);
    let id = id.ok_or_else(|| Error::Archive {
        place: path.to_string(),
        reason: "its name is not that of a bucket; move it elsewhere".to_owned(),
    })?;
    let reader = BucketReader::open(store, &path, meta.size).await;
    let reader = reader.map_err(|error| Error::BucketRead(Arc::new(error)))?;
    let day = path.parts().rev().nth(1);
    let day = day.as_ref().map_or("undated", AsRef::as_ref);
    let entry = BucketEntry {
        id,
        path: id.object_path(&index, day),
        index,
        size: meta.size,
        state: BucketState::Frozen,
        summary: Arc::new(reader.summary().clone()),
    };
    Ok(Found { entry, at: path })
}

/// The results of reading archived objects. A store that refuses only some of them, as S3 does in Glacier, or
/// whose disk cannot read some, counts as available. If it refuses all of them, its permissions may be wrong.
#[derive(Debug)]
struct Reads<T> {
    found: Vec<T>,
    unreadable: Vec<Error>,
    refused: Vec<Error>,
}

impl<T> Reads<T> {
    fn new() -> Self {
        Self { found: Vec::new(), unreadable: Vec::new(), refused: Vec::new() }
    }

    /// # Errors
    /// The store is unavailable.
    fn add(&mut self, read: Result<T, Error>) -> Result<(), Error> {
        match read {
            Ok(found) => self.found.push(found),
            Err(error) if error.kind() == ErrorKind::NotFound => self.unreadable.push(error),
            Err(error) if is_of_object(&error) => self.refused.push(error),
            Err(error) if error.kind() == ErrorKind::Unavailable => return Err(error),
            Err(error) => self.unreadable.push(error),
        }
        Ok(())
    }

    /// Returns the results, and why the other objects cannot be read.
    ///
    /// # Errors
    /// The store has refused all of them.
    fn divided(mut self) -> Result<(Vec<T>, Vec<Error>), Error> {
        if self.found.is_empty() && !self.refused.is_empty() {
            return Err(self.refused.swap_remove(0));
        }
        self.unreadable.append(&mut self.refused);
        Ok((self.found, self.unreadable))
    }
}

fn failed(operation: &'static str, path: &Path) -> impl FnOnce(object_store::Error) -> Error {
    let path = path.to_string();
    move |source| Error::Storage { operation, path, source: Arc::new(source) }
}

/// What is at the place of the copy of a bucket in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum There {
    /// The object of the bucket itself, see [`is_same`].
    Original,
    /// A copy, and the object of the bucket is missing: the bucket was frozen before, and the catalog has it
    /// again since it was restored or rebuilt.
    OnlyCopy,
    /// Nothing, a copy beside the object of the bucket, or another object.
    Other,
}

async fn compare(
    (own, from): (&dyn ObjectStore, &Path),
    (other, to): (&dyn ObjectStore, &Path),
    size: u64,
) -> Result<There, Error> {
    let there = match other.head(to).await {
        Ok(there) => there,
        Err(object_store::Error::NotFound { .. }) => return Ok(There::Other),
        Err(error) => return Err(failed("look at", to)(error)),
    };
    match own.head(from).await {
        Ok(here) if is_same(&here, &there) => Ok(There::Original),
        Ok(_) => Ok(There::Other),
        Err(object_store::Error::NotFound { .. }) if there.size == size => Ok(There::OnlyCopy),
        Err(error) => Err(failed("look at", from)(error)),
    }
}

/// Whether two stores have one and the same object at two places: an archive may be named by a path into the
/// object store of the deployment, through a link even. A copy in a directory differs in its time and its
/// tag, which has the inode. Between two S3 buckets, size and tag of a copy are the same, and the time is the
/// same if both objects were written in the same second, for example by a restore or a replication of both
/// buckets: such a copy, of a freeze that was cut off before its commit, is refused until it is removed.
fn is_same(here: &ObjectMeta, there: &ObjectMeta) -> bool {
    here.size == there.size
        && here.last_modified == there.last_modified
        && here.e_tag == there.e_tag
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use model::{BucketSummary, EventTime};
    use object_store::memory::InMemory;
    use object_store::prefix::PrefixStore;
    use rustix::io::Errno;

    use super::super::missing::is_missing;
    use super::*;
    use crate::hot::one_object::refuses_object;
    use crate::hot::put::READ;

    #[tokio::test]
    async fn a_bucket_is_not_frozen_into_itself() {
        let (id, index) = (BucketId(uuid::Uuid::now_v7()), IndexName::new("main").unwrap());
        let summary = Arc::new(BucketSummary::bare(1, EventTime(1), EventTime(1)));
        let path = id.object_path(&index, "20261020");
        let (size, state) = (3, BucketState::Warm);
        let entry = BucketEntry { id, index, path: path.clone(), size, state, summary };
        let header = BucketHeader::of(&entry);
        let own = Arc::new(InMemory::new());
        own.put(&Path::from(path), "abc".into()).await.unwrap();
        let store = Arc::clone(&own) as Arc<dyn ObjectStore>;
        let archive = |prefix: &str| {
            Archive::Other(Arc::new(PrefixStore::new(Arc::clone(&own), prefix.to_owned())))
        };
        for _ in 0..2 {
            // The second time, the copy is there.
            archive("archive").keep(&store, &header, 1 << 20).await.unwrap();
        }
        let refused = archive("buckets").keep(&store, &header, 1 << 20).await.unwrap_err();
        assert!(refused.to_string().contains("is that of the bucket itself"), "{refused}");
        // Nothing is thawed from there either.
        for (prefix, expected) in [("archive", false), ("buckets", true), ("none", false)] {
            let is_own = archive(prefix).has_own_buckets(&store, &header.index).await;
            assert_eq!(is_own, expected, "{prefix}");
            let due = [(header.clone(), Reason::Age)];
            assert_eq!(archive(prefix).has_originals(&store, &due).await, expected, "{prefix}");
        }
    }

    #[tokio::test]
    async fn a_bucket_without_its_object_is_kept_if_the_archive_has_its_copy() {
        let (id, index) = (BucketId(uuid::Uuid::now_v7()), IndexName::new("main").unwrap());
        let summary = Arc::new(BucketSummary::bare(1, EventTime(1), EventTime(1)));
        let path = id.object_path(&index, "20261020");
        let (size, state) = (3, BucketState::Warm);
        let entry = BucketEntry { id, index, path, size, state, summary };
        let header = BucketHeader::of(&entry);
        let own: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let other = Arc::new(InMemory::new());
        let archive = Archive::Other(Arc::clone(&other) as Arc<dyn ObjectStore>);
        let to = Path::from(format!("main/20261020/{id}.parquet"));
        for content in [None, Some("other"), Some("abc")] {
            if let Some(content) = content {
                other.put(&to, content.into()).await.unwrap();
            }
            let kept = archive.keep(&own, &header, 1 << 20).await;
            match kept {
                Ok(()) => assert_eq!(content, Some("abc")),
                Err(error) => {
                    assert!(is_missing(&error, &header) && content != Some("abc"), "{error}");
                }
            }
        }
    }

    #[tokio::test]
    async fn an_object_of_a_prefix_is_kept_if_it_is_not_the_bucket() {
        let (id, index) = (BucketId(uuid::Uuid::now_v7()), IndexName::new("main").unwrap());
        let summary = Arc::new(BucketSummary::bare(1, EventTime(1), EventTime(1)));
        let path = id.object_path(&index, "20261020");
        let to = Path::from(format!("archive/main/20261020/{id}.parquet"));
        let (size, state) = (3, BucketState::Warm);
        let entry = BucketEntry { id, index, path: path.clone(), size, state, summary };
        let header = BucketHeader::of(&entry);
        let own: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        own.put(&Path::from(path), "abc".into()).await.unwrap();
        own.put(&to, "other".into()).await.unwrap();
        let archive = Archive::Prefix(Path::from("archive"));
        let refused = archive.keep(&own, &header, 1 << 20).await.unwrap_err();
        assert!(matches!(refused, Error::ObjectConflict { expected: 3, found: 5, .. }));
        assert_eq!(own.head(&to).await.unwrap().size, 5);
        own.delete(&to).await.unwrap();
        for _ in 0..2 {
            archive.keep(&own, &header, 1 << 20).await.unwrap();
        }
        assert_eq!(own.head(&to).await.unwrap().size, 3);
    }

    fn failed_read(source: object_store::Error) -> Result<u8, Error> {
        let path = "main/20260102/x.parquet".to_owned();
        Err(Error::BucketRead(Arc::new(bucket::Error::Store { path, source })))
    }

    fn of_directory(kind: io::ErrorKind) -> object_store::Error {
        let source = Box::new(io::Error::from(kind));
        object_store::Error::Generic { store: "LocalFileSystem", source }
    }

    /// Simulates a disk error such as a bad block.
    fn of_disk(number: i32) -> object_store::Error {
        let source = Box::new(io::Error::from_raw_os_error(number));
        object_store::Error::Generic { store: "LocalFileSystem", source }
    }

    fn of_s3() -> object_store::Error {
        let source = "InvalidObjectState".into();
        object_store::Error::PermissionDenied { path: "x".to_owned(), source }
    }

    fn divided<const N: usize>(
        all: [Result<u8, Error>; N],
    ) -> Result<(Vec<u8>, Vec<Error>), Error> {
        let mut reads = Reads::new();
        for read in all {
            reads.add(read)?;
        }
        reads.divided()
    }

    #[test]
    fn an_object_that_the_store_refuses_does_not_keep_the_others() {
        let denied = || failed_read(of_directory(io::ErrorKind::PermissionDenied));
        let (found, unreadable) = divided([denied(), failed_read(of_s3()), Ok(1)]).unwrap();
        assert_eq!((found, unreadable.len()), (vec![1], 2));
        // If all are refused, the permissions may be wrong.
        assert!(divided([denied(), denied()]).is_err());
        assert!(divided([Ok(1), failed_read(of_directory(io::ErrorKind::TimedOut))]).is_err());
    }

    #[test]
    fn a_bad_block_of_an_object_does_not_keep_the_others() {
        let bad = || failed_read(of_disk(Errno::IO.raw_os_error()));
        let (found, unreadable) = divided([bad(), Ok(1), bad()]).unwrap();
        assert_eq!((found, unreadable.len()), (vec![1], 2));
        assert!(divided([bad(), bad()]).is_err(), "the disk may be broken");
        let gone = failed_read(of_disk(Errno::NODEV.raw_os_error()));
        assert!(divided([Ok(1), gone]).is_err(), "the disk is gone");
        // Damage that is only found when the whole object is read, and errors of the other store.
        let concerns =
            |operation, source| is_of_object(&failed(operation, &Path::from("main/x"))(source));
        let block = || of_disk(Errno::IO.raw_os_error());
        assert!(concerns(READ, block()) && concerns(LIST, block()) && concerns(READ, of_s3()));
        assert!(!concerns("put", block()) && !concerns("put a part", block()));
        assert!(!concerns(READ, of_directory(io::ErrorKind::TimedOut)));
        // Whatever the operation was.
        assert!(refuses_object(&of_s3()) && refuses_object(&block()));
        assert!(!refuses_object(&of_directory(io::ErrorKind::TimedOut)));
    }
}
