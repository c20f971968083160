//! Who has copies of the journal of an indexer: a document of the catalog.

use catalog::{Catalog, Error, Snapshot};
use model::IndexerId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
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
    /// Grows with each change, so that no two are the same.
    #[serde(default)]
    version: u64,
}

/// What the catalog says at a moment of the copies of the journal of an indexer.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Named {
    /// Who has copies.
    pub(crate) members: Vec<Member>,
    version: u64,
    /// The document; none if there is none.
    json: Option<Value>,
}

impl Named {
    /// Who has copies of the journal of an indexer.
    pub(crate) fn of(snapshot: &Snapshot, owner: IndexerId) -> Self {
        let json = snapshot.document(KIND, &owner.0.to_string()).map(|json| (*json).clone());
        let read = json.clone().and_then(|json| serde_json::from_value::<Document>(json).ok());
        let Document { members, version } =
            read.unwrap_or_else(|| Document { members: Vec::new(), version: 0 });
        Self { members, version, json }
    }

    /// Whether the catalog says something.
    pub(crate) fn is_there(&self) -> bool {
        self.json.is_some()
    }

    /// Names other copies, if the catalog says what this says: a change that is late does not undo another
    /// one.
    ///
    /// # Errors
    /// The catalog does not take the change. Whether it has is not known then, but for
    /// [`Error::Changed`](catalog::Error::Changed).
    pub(crate) async fn replace(
        &self,
        catalog: &Catalog,
        owner: IndexerId,
        members: &[Member],
    ) -> Result<Self, Error> {
        let (members, version) = (members.to_vec(), self.version + 1);
        let json = serde_json::json!(Document { members: members.clone(), version });
        let named = |json| vec![(KIND.to_owned(), owner.0.to_string(), json)];
        let (before, after) = (named(self.json.clone()), named(Some(json.clone())));
        catalog.replace_documents(before, after).await?;
        Ok(Self { members, version, json: Some(json) })
    }
}

/// The documents.
pub(crate) struct Members;

impl Members {
    /// Who has copies of the journal of an indexer.
    pub(crate) fn of(snapshot: &Snapshot, owner: IndexerId) -> Vec<Member> {
        Named::of(snapshot, owner).members
    }

    /// The indexers with copies of their journals at `peer`.
    pub(crate) fn held_at(snapshot: &Snapshot, peer: IndexerId) -> Vec<IndexerId> {
        let has_copy =
            |owner: &IndexerId| Self::of(snapshot, *owner).iter().any(|member| member.peer == peer);
        Self::owners(snapshot).into_iter().filter(has_copy).collect()
    }

    /// The indexers whose journals have copies, and who has them.
    pub(crate) fn all(snapshot: &Snapshot) -> Vec<(IndexerId, Vec<IndexerId>)> {
        let peers = |owner| Self::of(snapshot, owner).iter().map(|member| member.peer).collect();
        Self::owners(snapshot).into_iter().map(|owner| (owner, peers(owner))).collect()
    }

    /// The indexers whose journals have copies.
    pub(crate) fn owners(snapshot: &Snapshot) -> Vec<IndexerId> {
        let documents = snapshot.documents(KIND).into_iter();
        let owners = documents.filter_map(|document| Uuid::parse_str(&document.name).ok());
        let owners = owners.map(IndexerId);
        owners.filter(|owner| !Self::of(snapshot, *owner).is_empty()).collect()
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
