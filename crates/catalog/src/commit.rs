//! An atomic change of the catalog, and the plan to apply it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use model::{BucketEntry, BucketId, EventTime, JournalPosition, StreamId};
use serde_json::Value;

use crate::error::Result;
use crate::{Error, Snapshot, codec};

/// Maximum length of the path of a garbage object.
const MAX_PATH: usize = 1024;

/// An atomic change: buckets to add and remove, and new journal positions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commit {
    /// Buckets to add. An existing bucket may only change its state.
    pub add: Vec<BucketEntry>,
    /// Buckets to remove; unknown IDs are ignored.
    pub remove: Vec<BucketId>,
    /// Journal positions up to which each stream is in object storage. They never decrease.
    ///
    /// If none of them is ahead of the known positions, the commit is a repetition. Buckets that it
    /// would add and that do not exist have then been replaced by a merge, and are ignored.
    pub positions: Vec<(StreamId, JournalPosition)>,
    /// Buckets that must exist, so that a replacement does not restore deleted events. If one is
    /// missing, the commit fails without changes.
    pub expect: Vec<BucketId>,
    /// Objects without a bucket, from now on or not yet: the garbage collector deletes them when
    /// they are due, also after a crash.
    pub discard: Vec<Discarded>,
    /// Paths of garbage objects that have been deleted, or now belong to a bucket.
    pub forget: Vec<String>,
}

/// A garbage object: an object without a bucket.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Discarded {
    /// Its path in the store of buckets.
    pub path: String,
    /// When it may be deleted, because no search reads it any more.
    pub delete_after: EventTime,
}

impl Commit {
    /// The rule that the commit violates regardless of the catalog, if any.
    pub(crate) fn contradiction(&self) -> Option<String> {
        let mut seen = HashSet::new();
        for entry in &self.add {
            if !seen.insert(entry.id) {
                return Some(format!("bucket {} is added twice", entry.id));
            }
        }
        let both = self.remove.iter().find(|id| seen.contains(id));
        if let Some(id) = both {
            return Some(format!("bucket {id} is both added and removed"));
        }
        let bad = |path: &&str| path.is_empty() || path.len() > MAX_PATH;
        let mut paths =
            self.discard.iter().map(|object| &*object.path).chain(self.forget.iter().map(|p| &**p));
        if let Some(path) = paths.find(bad) {
            return Some(format!("a path has 1 to {MAX_PATH} bytes, and one has {}", path.len()));
        }
        let kept = self.add.iter().find(|b| self.discard.iter().any(|d| d.path == b.path));
        kept.map(|entry| format!("the object of bucket {} is discarded", entry.id))
    }
}

/// What a change writes, and the resulting in-memory state.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) puts: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) deletes: Vec<Vec<u8>>,
    pub(crate) next: Snapshot,
    pub(crate) added: Vec<Arc<BucketEntry>>,
    pub(crate) removed: Vec<BucketId>,
}

impl Plan {
    /// An empty plan.
    pub(crate) fn from(now: &Snapshot) -> Self {
        let next = now.clone();
        Self { puts: vec![], deletes: vec![], next, added: vec![], removed: vec![] }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.puts.is_empty() && self.deletes.is_empty()
    }

    /// Plans a commit to the catalog at `path`.
    pub(crate) fn commit(
        now: &Snapshot,
        buckets: &HashMap<BucketId, Arc<BucketEntry>>,
        commit: Commit,
        path: &str,
    ) -> Result<Self> {
        if let Some(id) = commit.expect.iter().find(|id| !buckets.contains_key(id)) {
            return Err(Error::Gone { path: path.to_owned(), id: *id });
        }
        let mut plan = Self::from(now);
        let ahead = plan.advance(&commit.positions);
        let repeated = !commit.positions.is_empty() && !ahead;
        for entry in commit.add {
            let old = buckets.get(&entry.id);
            if old.is_none() && repeated {
                tracing::info!(bucket = %entry.id, "a repeated commit adds a bucket that has gone");
                continue;
            }
            plan.add(entry, old, path)?;
        }
        for id in commit.remove {
            let Some(entry) = buckets.get(&id) else { continue };
            plan.next.remove(entry);
            plan.deletes.push(codec::bucket_key(id));
            plan.removed.push(id);
        }
        plan.discard(commit.discard);
        plan.forget(&commit.forget);
        Ok(plan)
    }

    fn discard(&mut self, objects: Vec<Discarded>) {
        for Discarded { path, delete_after } in objects {
            if self.next.discarded.get(&path) == Some(&delete_after) {
                continue;
            }
            self.puts.push((codec::discarded_key(&path), codec::time_value(delete_after)));
            Arc::make_mut(&mut self.next.discarded).insert(path, delete_after);
        }
    }

    fn forget(&mut self, paths: &[String]) {
        for path in paths {
            if self.next.discarded.contains_key(path) {
                self.deletes.push(codec::discarded_key(path));
                Arc::make_mut(&mut self.next.discarded).remove(path);
            }
        }
    }

    /// Advances positions; returns whether any advanced.
    fn advance(&mut self, positions: &[(StreamId, JournalPosition)]) -> bool {
        let mut ahead = false;
        for (stream, position) in positions {
            if self.next.positions.get(stream).is_some_and(|known| known >= position) {
                continue;
            }
            Arc::make_mut(&mut self.next.positions).insert(stream.clone(), *position);
            self.puts.push((codec::position_key(stream), codec::position_value(*position)));
            ahead = true;
        }
        ahead
    }

    fn add(
        &mut self,
        entry: BucketEntry,
        old: Option<&Arc<BucketEntry>>,
        path: &str,
    ) -> Result<()> {
        if let Some(old) = old {
            if **old == entry {
                return Ok(());
            }
            let renewed = BucketEntry { state: entry.state, ..(**old).clone() };
            if renewed != entry {
                return Err(Error::Conflict { path: path.to_owned(), id: entry.id });
            }
        }
        let key = codec::bucket_key(entry.id);
        let value = codec::json_value(&entry).map_err(|damage| damage.at(path, &key))?;
        self.puts.push((key, value));
        let entry = Arc::new(entry);
        self.next.insert(Arc::clone(&entry), old);
        self.added.push(entry);
        Ok(())
    }

    /// Writes several documents.
    pub(crate) fn documents(
        now: &Snapshot,
        documents: Vec<(String, String, Value)>,
        path: &str,
    ) -> Result<Self> {
        let mut plan = Self::from(now);
        for (kind, name, json) in documents {
            plan.set_document(&kind, &name, Some(json), path)?;
        }
        Ok(plan)
    }

    /// Writes a document, or deletes it if there is no content.
    pub(crate) fn document(
        now: &Snapshot,
        kind: &str,
        name: &str,
        json: Option<Value>,
        path: &str,
    ) -> Result<Self> {
        let mut plan = Self::from(now);
        plan.set_document(kind, name, json, path)?;
        Ok(plan)
    }

    fn set_document(
        &mut self,
        kind: &str,
        name: &str,
        json: Option<Value>,
        path: &str,
    ) -> Result<()> {
        let plan = self;
        let id = (kind.to_owned(), name.to_owned());
        let key = codec::document_key(kind, name);
        let old = plan.next.documents.get(&id);
        match json {
            Some(json) if old.is_some_and(|old| **old == json) => {}
            Some(json) => {
                let value = codec::json_value(&json).map_err(|damage| damage.at(path, &key))?;
                plan.puts.push((key, value));
                Arc::make_mut(&mut plan.next.documents).insert(id, Arc::new(json));
            }
            None if old.is_none() => {}
            None => {
                plan.deletes.push(key);
                Arc::make_mut(&mut plan.next.documents).remove(&id);
            }
        }
        Ok(())
    }
}
