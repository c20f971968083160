//! Buckets that the catalog has, and whose objects are missing: the catalog was restored, or rebuilt from an
//! older one, after they were frozen.
//!
//! Guarantees: such a bucket does not keep others from being frozen, and is frozen itself if the archive has
//! its copy. A thaw puts the copy back at the path of its object. An object that is there is never replaced.

use std::sync::Arc;

use model::{BucketEntry, BucketHeader};
use object_store::ObjectStoreExt;
use object_store::path::Path;

use super::Lifecycle;
use super::archive::Found;
use super::join::QUARANTINE;
use crate::Error;

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

impl Lifecycle {
    /// Returns what the catalog has of an archived bucket.
    pub(super) async fn known(&self, found: &Found) -> Result<Known, Error> {
        let (snapshot, id) = (self.catalog.snapshot(), found.entry.id);
        let bucket = snapshot.bucket(id).filter(|bucket| bucket.index == found.entry.index);
        let Some(bucket) = bucket else { return Ok(Known::Nothing) };
        let path = bucket.path();
        match self.store.head(&Path::from(path.as_str())).await {
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
                let source = Arc::new(error);
                Err(Error::Storage { operation: "look at", path, source })
            }
            Ok(_) if snapshot.document(QUARANTINE, &id.to_string()).is_some() => {
                let reason = format!(
                    "its bucket is in quarantine, and the object {path} is there: if that is damaged, \
                     remove it and thaw again; otherwise release the bucket"
                );
                Ok(Known::Refused(Error::Archive { place: found.at.to_string(), reason }))
            }
            Ok(_) => Ok(Known::Searchable),
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
