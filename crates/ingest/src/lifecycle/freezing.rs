//! Notes of the buckets that are being copied into the archive of their index.
//!
//! A bucket is frozen in two steps: its object is copied, then it is removed from the catalog. If the process
//! is killed in between, the bucket is in both places, and `thaw` skips it because the catalog has its id. A
//! merge would replace the id: the archive would have the events of the merged bucket once more, and a thaw
//! would return them twice. Therefore a document of the catalog, with the name of the index, has the ids of
//! the buckets before the first of them is copied, and a noted bucket is not merged.
//!
//! Guarantees: a bucket that may have a copy stays noted until it leaves its index, also if it is not due any
//! more: its copy stays in the archive. At most [`AT_A_TIME`] buckets of an index are copied under one note,
//! those that are noted already first ([`noted_first`]), so that few are kept out of merges while the archive
//! is away, or after the retention has become longer.

use std::collections::BTreeSet;
use std::sync::Arc;

use catalog::Snapshot;
use model::{BucketHeader, BucketId, IndexName};
use serde_json::json;
use uuid::Uuid;

use super::Lifecycle;
use super::retention::Reason;
use crate::Error;

/// The kind of the documents.
const KIND: &str = "freezing";
/// Number of buckets that are copied under one note.
pub(super) const AT_A_TIME: usize = 64;
/// Attempts to change a note while another pass over the index changes it.
const ATTEMPTS: usize = 4;

/// Returns the buckets of an index that may have a copy in its archive.
pub(super) fn noted(snapshot: &Snapshot, index: &IndexName) -> BTreeSet<BucketId> {
    let Some(document) = snapshot.document(KIND, index.as_str()) else { return BTreeSet::new() };
    let ids = document["buckets"].as_array().into_iter().flatten();
    ids.filter_map(|id| Uuid::parse_str(id.as_str()?).ok().map(BucketId)).collect()
}

/// Moves the noted buckets to the front: if the archive is away, each pass notes the same ones.
pub(super) fn noted_first(wanted: &mut [(BucketHeader, Reason)], noted: &BTreeSet<BucketId>) {
    wanted.sort_by_key(|(bucket, _)| !noted.contains(&bucket.id));
}

impl Lifecycle {
    /// Notes buckets of an index before they are copied. Forgets those that have left the index, and those in
    /// whose place the archive has another object: they have no copy.
    pub(super) async fn note_copies(
        &self,
        index: &IndexName,
        buckets: &[(BucketHeader, Reason)],
    ) -> Result<(), Error> {
        for _ in 1..ATTEMPTS {
            match self.change_note(index, buckets).await {
                Err(catalog::Error::Changed { .. }) => {}
                done => return done.map_err(of_catalog),
            }
        }
        self.change_note(index, buckets).await.map_err(of_catalog)
    }

    async fn change_note(
        &self,
        index: &IndexName,
        buckets: &[(BucketHeader, Reason)],
    ) -> Result<(), catalog::Error> {
        let snapshot = self.catalog.snapshot();
        let before = noted(&snapshot, index);
        let has_other =
            |id| matches!(self.refused.recent(index, id), Some(Error::ObjectConflict { .. }));
        let mut now = before.clone();
        now.retain(|id| !has_other(*id));
        now.extend(buckets.iter().map(|(bucket, _)| bucket.id));
        now.retain(|id| snapshot.contains(index, *id));
        if now == before {
            return Ok(());
        }
        let ids: Vec<String> = now.iter().map(|id| id.0.to_string()).collect();
        let content = (!ids.is_empty()).then(|| json!({ "buckets": ids }));
        let named = |content| vec![(KIND.to_owned(), index.as_str().to_owned(), content)];
        let known = snapshot.document(KIND, index.as_str()).map(|known| (*known).clone());
        self.catalog.replace_documents(named(known), named(content)).await
    }

    /// Forgets the notes of buckets that have left their index.
    pub(super) async fn forget_copies(&self) {
        for document in self.catalog.snapshot().documents(KIND) {
            let Ok(index) = IndexName::new(&document.name) else { continue };
            if let Err(error) = self.note_copies(&index, &[]).await {
                tracing::warn!(%index, %error, "frozen buckets could not be forgotten");
                return;
            }
        }
    }
}

fn of_catalog(error: catalog::Error) -> Error {
    Error::Catalog(Arc::new(error))
}

#[cfg(test)]
mod tests {
    use super::super::tests::bucket;
    use super::*;

    #[test]
    fn noted_buckets_are_frozen_first_and_the_others_in_their_order() {
        let due = |number| (BucketHeader::clone(&bucket(number, 1, 2, 3)), Reason::Age);
        let mut wanted: Vec<_> = [3, 1, 4, 2].map(due).into();
        let id = |number| BucketId(Uuid::from_u128(number));
        noted_first(&mut wanted, &BTreeSet::from([id(2), id(4), id(9)]));
        let order: Vec<BucketId> = wanted.iter().map(|(bucket, _)| bucket.id).collect();
        assert_eq!(order, [4, 2, 3, 1].map(id));
    }
}
