//! Buckets that the catalog has, and whose objects are missing: the catalog was restored, or rebuilt from an
//! older one, after they were frozen.
//!
//! Guarantees: such a bucket does not keep others from being frozen, and is frozen itself if the archive has
//! its copy. A thaw puts the copy back at the path of its object. An object that is there is never replaced.

use std::sync::Arc;

use foldhash::HashSet;
use futures::StreamExt;
use model::{BucketEntry, BucketHeader, BucketState};
use object_store::ObjectStoreExt;
use object_store::path::Path;

use super::Lifecycle;
use super::archive::{Found, READERS};
use super::join::QUARANTINE;
use crate::Error;
use crate::hot::one_object::refuses_object;

/// What the catalog has of an archived bucket.
#[derive(Debug)]
pub(super) enum Known {
    /// Nothing under its ID.
    Nothing,
    /// The bucket, which searches read.
    Searchable,
    /// The bucket, without its object, which was at this path.
    Missing(String),
    /// The bucket, which searches do not read, and whose object is not replaced: the reason.
    Refused(Error),
}

/// Whether the error says that the object of the bucket is missing, not its copy in an archive.
pub(super) fn is_missing(error: &Error, bucket: &BucketHeader) -> bool {
    let Error::Storage { path, source, .. } = error else { return false };
    matches!(**source, object_store::Error::NotFound { .. }) && *path == bucket.path()
}

/// Whether a bucket is in its index as it was when a pass over the index began: it was neither merged nor
/// frozen nor thawed since. `now` is the bucket with its ID in the catalog.
pub(super) fn is_as_before(now: Option<&BucketHeader>, before: &BucketHeader) -> bool {
    let is_thawed = |bucket: &BucketHeader| bucket.state == BucketState::Thawed;
    now.is_some_and(|now| now.index == before.index && is_thawed(now) == is_thawed(before))
}

impl Lifecycle {
    /// Returns the paths of the buckets that the catalog has of archived ones, and whose objects are there.
    pub(super) async fn there(&self, all: &[Found]) -> HashSet<String> {
        let snapshot = self.catalog.snapshot();
        let known = all.iter().filter_map(|found| snapshot.bucket(found.entry.id));
        let paths: Vec<String> = known.map(|bucket| bucket.path()).collect();
        let looks = paths.into_iter().map(|path| {
            let store = Arc::clone(&self.store);
            async move {
                let is_there = store.head(&Path::from(path.as_str())).await.is_ok();
                is_there.then_some(path)
            }
        });
        let looks = futures::stream::iter(looks).buffer_unordered(READERS);
        looks.filter_map(std::future::ready).collect().await
    }

    /// Returns what the catalog has of an archived bucket. The objects at the paths `there` exist; others are
    /// looked for.
    pub(super) async fn known(
        &self,
        found: &Found,
        there: &HashSet<String>,
    ) -> Result<Known, Error> {
        let (snapshot, id) = (self.catalog.snapshot(), found.entry.id);
        let bucket = snapshot.bucket(id).filter(|bucket| bucket.index == found.entry.index);
        let Some(bucket) = bucket else { return Ok(Known::Nothing) };
        let path = bucket.path();
        let looked = match there.contains(&path) {
            true => Ok(()),
            false => self.store.head(&Path::from(path.as_str())).await.map(drop),
        };
        match looked {
            // A smaller one in the archive is not its copy.
            Err(object_store::Error::NotFound { .. }) if bucket.size == found.entry.size => {
                Ok(Known::Missing(path))
            }
            Err(object_store::Error::NotFound { .. }) => {
                let (expected, size) = (bucket.size, found.entry.size);
                let reason = format!(
                    "it has {size} bytes, and the bucket with its id had {expected}, whose object is missing"
                );
                Ok(Known::Refused(Error::Archive { place: found.at.to_string(), reason }))
            }
            Err(error) => {
                let is_of_object = refuses_object(&error);
                let source = Arc::new(error);
                let error = Error::Storage { operation: "look at", path, source };
                if is_of_object { Ok(Known::Refused(error)) } else { Err(error) }
            }
            Ok(()) if snapshot.document(QUARANTINE, &id.to_string()).is_some() => {
                let reason = format!(
                    "its bucket is in quarantine, and the object {path} is there: if that is damaged, \
                     remove it and thaw again; otherwise release the bucket"
                );
                Ok(Known::Refused(Error::Archive { place: found.at.to_string(), reason }))
            }
            Ok(()) => Ok(Known::Searchable),
        }
    }

    /// Releases a bucket whose object is there again from the quarantine.
    pub(super) async fn release(&self, bucket: &BucketEntry) -> Result<(), Error> {
        let name = bucket.id.to_string();
        if self.catalog.snapshot().document(QUARANTINE, &name).is_none() {
            return Ok(());
        }
        let released = self.catalog.delete_document(QUARANTINE, &name).await;
        released.map_err(|error| Error::Catalog(Arc::new(error)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::bucket;
    use super::*;

    #[test]
    fn a_bucket_that_was_thawed_merged_or_frozen_meanwhile_is_not_frozen() {
        let due = bucket(1, 1, 2, 3);
        assert!(is_as_before(Some(&due), &due) && !is_as_before(None, &due));
        let mut thawed = BucketHeader::clone(&due);
        thawed.state = BucketState::Thawed;
        assert!(!is_as_before(Some(&thawed), &due) && is_as_before(Some(&thawed), &thawed));
        let mut other = BucketHeader::clone(&due);
        other.index = model::IndexName::new("other").expect("a valid name");
        assert!(!is_as_before(Some(&other), &due));
    }

    #[test]
    fn only_the_object_of_the_bucket_counts_as_missing() {
        let bucket = bucket(1, 1, 2, 3);
        let of = |path: String, source: object_store::Error| {
            let source = Arc::new(source);
            is_missing(&Error::Storage { operation: "read", path, source }, &bucket)
        };
        let not_found =
            || object_store::Error::NotFound { path: "x".to_owned(), source: "no".into() };
        assert!(of(bucket.path(), not_found()));
        assert!(!of("main/20260102/x.parquet".to_owned(), not_found()), "the archive is away");
        let denied =
            object_store::Error::PermissionDenied { path: "x".to_owned(), source: "no".into() };
        assert!(!of(bucket.path(), denied));
    }
}
