//! Who has copies of the journal of an indexer: a document of the catalog.

use catalog::{Catalog, Error, Snapshot};
use model::IndexerId;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The kind of the documents. Their names are the identities of the owners.
const KIND: &str = "replicas";

/// A copy, and who has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Member {
    /// The indexer that has the copy.
    pub(crate) peer: IndexerId,
    /// The copy. An indexer that has lost its disk has another one, or none.
    pub(crate) copy: Uuid,
}

#[derive(Debug, Serialize, Deserialize)]
struct Document {
    members: Vec<Member>,
}

/// The documents.
pub(crate) struct Members;

impl Members {
    /// Who has copies of the journal of an indexer.
    pub(crate) fn of(snapshot: &Snapshot, owner: IndexerId) -> Vec<Member> {
        let document = snapshot.document(KIND, &owner.0.to_string());
        let read =
            document.and_then(|json| serde_json::from_value::<Document>((*json).clone()).ok());
        read.map(|document| document.members).unwrap_or_default()
    }

    /// The indexers with copies of their journals at `peer`.
    pub(crate) fn held_at(snapshot: &Snapshot, peer: IndexerId) -> Vec<IndexerId> {
        let has_copy =
            |owner: &IndexerId| Self::of(snapshot, *owner).iter().any(|member| member.peer == peer);
        Self::owners(snapshot).into_iter().filter(has_copy).collect()
    }

    /// The indexers whose journals have copies.
    pub(crate) fn owners(snapshot: &Snapshot) -> Vec<IndexerId> {
        let documents = snapshot.documents(KIND).into_iter();
        let owners = documents.filter_map(|document| Uuid::parse_str(&document.name).ok());
        owners.map(IndexerId).collect()
    }

    pub(crate) async fn write(
        catalog: &Catalog,
        owner: IndexerId,
        members: &[Member],
    ) -> Result<(), Error> {
        let document = serde_json::json!(Document { members: members.to_vec() });
        catalog.put_document(KIND, &owner.0.to_string(), document).await
    }

    pub(crate) async fn remove(catalog: &Catalog, owner: IndexerId) -> Result<(), Error> {
        let name = owner.0.to_string();
        if catalog.snapshot().document(KIND, &name).is_none() {
            return Ok(());
        }
        catalog.delete_document(KIND, &name).await
    }
}

/// Indexers in the order in which an owner asks them for copies: always the same one for an owner, and spread
/// over all.
pub(crate) fn in_order(owner: IndexerId, mut peers: Vec<IndexerId>) -> Vec<IndexerId> {
    peers.sort_by_key(|peer| (std::cmp::Reverse(weight(owner, *peer)), *peer));
    peers
}

/// CRC-32 of both, spread by a multiplication.
fn weight(owner: IndexerId, peer: IndexerId) -> u64 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(owner.0.as_bytes());
    hasher.update(peer.0.as_bytes());
    u64::from(hasher.finalize()).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn owners_ask_different_indexers_first() {
        let all: Vec<_> = (0..10).map(|n| IndexerId(Uuid::from_u128(n))).collect();
        let first = |owner: &IndexerId| in_order(*owner, all.clone()).first().copied();
        let firsts: BTreeSet<_> = all.iter().filter_map(first).collect();
        assert!(firsts.len() > 3, "{firsts:?}");
    }
}
