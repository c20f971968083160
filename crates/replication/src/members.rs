//! The document of the catalog that names the indexers with copies of a journal.

use catalog::{Catalog, Error, Snapshot};
use model::IndexerId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

/// The kind of the documents. Their names are the identities of the owners.
const KIND: &str = "replicas";

/// A copy, and the indexer that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Member {
    /// The indexer that has the copy.
    pub(crate) peer: IndexerId,
    /// The identity of the copy. An indexer that has lost its disk has another copy, or none.
    pub(crate) copy: Uuid,
}

#[derive(Debug, Serialize, Deserialize)]
struct Document {
    members: Vec<Member>,
    /// Incremented by each change, so that no two versions are equal.
    #[serde(default)]
    version: u64,
}

/// The copies of the journal of an indexer, as the catalog names them at a moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Named {
    /// The indexers with copies.
    pub(crate) members: Vec<Member>,
    version: u64,
    /// The document; `None` if it does not exist.
    json: Option<Value>,
}

impl Named {
    /// Returns the copies of the journal of an indexer.
    pub(crate) fn of(snapshot: &Snapshot, owner: IndexerId) -> Self {
        let json = snapshot.document(KIND, &owner.0.to_string()).map(|json| (*json).clone());
        let read = json.clone().and_then(|json| serde_json::from_value::<Document>(json).ok());
        let Document { members, version } =
            read.unwrap_or_else(|| Document { members: Vec::new(), version: 0 });
        Self { members, version, json }
    }

    /// Whether the document exists.
    pub(crate) fn is_there(&self) -> bool {
        self.json.is_some()
    }

    /// Names other copies, if the document is still the one in this value: a delayed change does not undo
    /// another one.
    ///
    /// # Errors
    /// The catalog did not accept the change. Except for [`Error::Changed`](catalog::Error::Changed), it is
    /// then unknown whether the change was made.
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
    /// Returns the copies of the journal of an indexer.
    pub(crate) fn of(snapshot: &Snapshot, owner: IndexerId) -> Vec<Member> {
        Named::of(snapshot, owner).members
    }

    /// Returns the indexers with copies of their journals at `peer`.
    pub(crate) fn held_at(snapshot: &Snapshot, peer: IndexerId) -> Vec<IndexerId> {
        let has_copy =
            |owner: &IndexerId| Self::of(snapshot, *owner).iter().any(|member| member.peer == peer);
        Self::owners(snapshot).into_iter().filter(has_copy).collect()
    }

    /// Returns the indexers whose journals have copies, each with the indexers that have these.
    pub(crate) fn all(snapshot: &Snapshot) -> Vec<(IndexerId, Vec<IndexerId>)> {
        let peers = |owner| Self::of(snapshot, owner).iter().map(|member| member.peer).collect();
        Self::owners(snapshot).into_iter().map(|owner| (owner, peers(owner))).collect()
    }

    /// Returns the indexers whose journals have copies.
    pub(crate) fn owners(snapshot: &Snapshot) -> Vec<IndexerId> {
        let documents = snapshot.documents(KIND).into_iter();
        let owners = documents.filter_map(|document| Uuid::parse_str(&document.name).ok());
        let owners = owners.map(IndexerId);
        owners.filter(|owner| !Self::of(snapshot, *owner).is_empty()).collect()
    }
}

/// Sorts indexers in the order in which an owner asks them for copies: stable for an owner, and different
/// between owners, so that copies are distributed evenly.
pub(crate) fn in_order(owner: IndexerId, mut peers: Vec<IndexerId>) -> Vec<IndexerId> {
    peers.sort_by_key(|peer| (std::cmp::Reverse(weight(owner, *peer)), *peer));
    peers
}

/// Returns the CRC-32 of both identities, spread by a multiplication.
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
