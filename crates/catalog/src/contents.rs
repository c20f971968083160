//! Loads the entries of a catalog into memory: all of them when it is opened or first followed, then those of
//! each write.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{EventTime, IndexerId, JournalPosition, StreamId};
use serde_json::Value;

use crate::Snapshot;
use crate::codec::{Deleted, Entry};

/// The entries of a complete state.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// Has only the buckets: the other entries are in the fields below until all have arrived.
    snapshot: Snapshot,
    positions: BTreeMap<StreamId, JournalPosition>,
    documents: BTreeMap<(String, String), Arc<Value>>,
    discarded: BTreeMap<String, EventTime>,
    owners: BTreeMap<(IndexerId, u16), (u64, IndexerId)>,
}

impl Contents {
    pub(crate) fn take(&mut self, entry: Entry) {
        match entry {
            Entry::Header(header) => self.snapshot.insert_new(*header),
            Entry::Document { kind, name, json } => {
                self.documents.insert((kind, name), Arc::new(json));
            }
            Entry::Discarded(path, time) => {
                self.discarded.insert(path, time);
            }
            Entry::Owner(indexer, set, epoch, owner) => {
                self.owners.insert((indexer, set), (epoch, owner));
            }
            Entry::Position(stream, position) => {
                self.positions.insert(stream, position);
            }
            // These entries are not kept in memory.
            Entry::Bucket(_) | Entry::Summary(..) | Entry::Number(_) => {}
        }
    }

    pub(crate) fn into_snapshot(self, number: u64) -> Snapshot {
        Snapshot {
            positions: Arc::new(self.positions),
            documents: Arc::new(self.documents),
            discarded: Arc::new(self.discarded),
            owners: Arc::new(self.owners),
            number,
            ..self.snapshot
        }
    }
}

impl Snapshot {
    /// Applies an entry that another process has written.
    pub(crate) fn put(&mut self, entry: Entry) {
        match entry {
            Entry::Header(header) => self.insert(*header),
            Entry::Document { kind, name, json } => {
                Arc::make_mut(&mut self.documents).insert((kind, name), Arc::new(json));
            }
            Entry::Discarded(path, time) => {
                Arc::make_mut(&mut self.discarded).insert(path, time);
            }
            Entry::Owner(indexer, set, epoch, owner) => {
                Arc::make_mut(&mut self.owners).insert((indexer, set), (epoch, owner));
            }
            Entry::Position(stream, position) => {
                Arc::make_mut(&mut self.positions).insert(stream, position);
            }
            Entry::Bucket(_) | Entry::Summary(..) | Entry::Number(_) => {}
        }
    }

    /// Deletes an entry that another process has deleted.
    pub(crate) fn delete(&mut self, deleted: Deleted) {
        match deleted {
            Deleted::Bucket(id) => {
                self.remove(id);
            }
            Deleted::Document(kind, name) => {
                Arc::make_mut(&mut self.documents).remove(&(kind, name));
            }
            Deleted::Discarded(path) => {
                Arc::make_mut(&mut self.discarded).remove(&path);
            }
        }
    }
}
