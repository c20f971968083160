//! An immutable, shared snapshot of the catalog.
//!
//! Taking one copies a pointer. Commits build the next snapshot from the previous one, and both share
//! everything that is unchanged.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use model::{
    BucketHeader, BucketId, EventTime, IndexName, IndexerId, JournalPosition, StreamId, TimeRange,
};
use serde_json::Value;

use crate::Takeover;
use crate::buckets::{Buckets, ById, Chunk, Place, Selected};

/// The epoch in which an indexer owns its hot sets itself, before the first takeover.
pub const OWN_EPOCH: u64 = 0;

/// A small named JSON document.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Its name, unique within its kind.
    pub name: String,
    /// Its content.
    pub json: Arc<Value>,
}

/// The consistent state of the catalog after a commit.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub(crate) indexes: HashMap<IndexName, Arc<Buckets>>,
    pub(crate) by_id: ById,
    /// The indexes to whose numbers the places in `by_id` refer; an index stays here after its buckets are
    /// gone.
    pub(crate) numbered: Arc<Vec<IndexName>>,
    pub(crate) positions: Arc<BTreeMap<StreamId, JournalPosition>>,
    pub(crate) documents: Arc<BTreeMap<(String, String), Arc<Value>>>,
    pub(crate) discarded: Arc<BTreeMap<String, EventTime>>,
    pub(crate) owners: Arc<BTreeMap<(IndexerId, u16), (u64, IndexerId)>>,
    pub(crate) number: u64,
    pub(crate) changed: EventTime,
}

impl Snapshot {
    /// Iterates over the indexes that have buckets, in no order.
    pub fn indexes(&self) -> impl Iterator<Item = &IndexName> {
        self.indexes.keys()
    }

    /// Returns the buckets of an index in every state, newest event first.
    #[must_use]
    pub fn buckets(&self, index: &IndexName) -> &Buckets {
        static NONE: Buckets = Buckets::EMPTY;
        self.indexes.get(index).map_or(&NONE, |buckets| buckets)
    }

    /// Returns a bucket in any state.
    #[must_use]
    pub fn bucket(&self, id: BucketId) -> Option<BucketHeader> {
        self.place(id).map(|(_, header)| header)
    }

    fn place(&self, id: BucketId) -> Option<(Place, BucketHeader)> {
        self.by_id.places(id).find_map(|place| {
            let index = self.numbered.get(usize::try_from(place.index).ok()?)?;
            let header = self.indexes.get(index)?.find(id, place.last_time)?;
            Some((place, header))
        })
    }

    /// Whether the index has the bucket, in any state.
    #[must_use]
    pub fn contains(&self, index: &IndexName, id: BucketId) -> bool {
        self.bucket(id).is_some_and(|bucket| bucket.index == *index)
    }

    /// Returns the number of buckets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there are no buckets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the catalog was never written: it has no bucket, no document and no position.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.is_empty()
            && self.documents.is_empty()
            && self.positions.is_empty()
            && self.discarded.is_empty()
            && self.owners.is_empty()
    }

    /// Returns the indexers that have positions.
    #[must_use]
    pub fn indexers(&self) -> std::collections::BTreeSet<IndexerId> {
        self.positions.keys().map(|stream| stream.indexer).collect()
    }

    /// Returns the number of the last write, which persists over restarts; equal numbers mean equal content.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns when this process last changed the catalog, or opened it if it has not changed it.
    #[must_use]
    pub fn changed(&self) -> EventTime {
        self.changed
    }

    /// Buckets of the indexes (all if the list is empty) that may contain events of the range,
    /// newest event first within each index. Includes frozen buckets.
    pub fn overlapping<'a>(
        &'a self,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> impl Iterator<Item = BucketHeader> {
        let wanted = self
            .indexes
            .iter()
            .filter(move |(name, _)| indexes.is_empty() || indexes.contains(name));
        wanted.flat_map(move |(_, buckets)| buckets.overlapping(range))
    }

    /// Returns [`Buckets::searchable_in`] of some indexes, none if the list is empty.
    pub fn searchable_in(
        &self,
        indexes: &[IndexName],
        range: &TimeRange,
        mut wanted: impl FnMut(&BucketHeader) -> bool,
    ) -> Selected {
        let mut all = Selected::default();
        for index in indexes {
            let Selected { left, excluded } = self.buckets(index).searchable_in(range, &mut wanted);
            all.left.extend(left);
            all.excluded += excluded;
        }
        all
    }

    /// Returns the journal positions of the streams of an indexer.
    #[must_use]
    pub fn positions(&self, indexer: IndexerId) -> Vec<(StreamId, JournalPosition)> {
        let own = self.positions.iter().filter(|(stream, _)| stream.indexer == indexer);
        own.map(|(stream, position)| (stream.clone(), *position)).collect()
    }

    /// Returns epoch and owner of a hot set of an indexer: the indexer itself in epoch 0 if it was never
    /// taken over.
    #[must_use]
    pub fn owner(&self, indexer: IndexerId, set: u16) -> (u64, IndexerId) {
        self.owners.get(&(indexer, set)).copied().unwrap_or((OWN_EPOCH, indexer))
    }

    /// Whether a process that owns a hot set in an epoch still owns it.
    ///
    /// # Errors
    /// The takeover by which the process lost the set.
    pub fn check_owner(&self, indexer: IndexerId, set: u16, epoch: u64) -> Result<(), Takeover> {
        let (known, owner) = self.owner(indexer, set);
        if known > epoch {
            return Err(Takeover { indexer, set, epoch: known, owner });
        }
        Ok(())
    }

    /// Iterates over the hot sets that were taken over.
    pub fn taken_over(&self) -> impl Iterator<Item = Takeover> {
        let taken = |(&(indexer, set), &(epoch, owner))| Takeover { indexer, set, epoch, owner };
        self.owners.iter().map(taken)
    }

    /// Iterates over the garbage objects with the time from which each may be deleted.
    pub fn discarded(&self) -> impl Iterator<Item = (&str, EventTime)> {
        self.discarded.iter().map(|(path, time)| (path.as_str(), *time))
    }

    /// Returns the content of a document.
    #[must_use]
    pub fn document(&self, kind: &str, name: &str) -> Option<Arc<Value>> {
        self.documents.get(&(kind.to_owned(), name.to_owned())).cloned()
    }

    /// Returns the documents of a kind, by name.
    #[must_use]
    pub fn documents(&self, kind: &str) -> Vec<Document> {
        let from = (kind.to_owned(), String::new());
        let own = self.documents.range(from..).take_while(|((other, _), _)| other == kind);
        own.map(|((_, name), json)| Document { name: name.clone(), json: Arc::clone(json) })
            .collect()
    }

    /// Inserts or replaces a bucket.
    pub(crate) fn insert(&mut self, header: BucketHeader) {
        self.remove(header.id);
        self.insert_new(header);
    }

    /// Inserts a bucket that must not be present.
    pub(crate) fn insert_new(&mut self, header: BucketHeader) {
        let index = self.number_of(&header.index);
        self.by_id.insert(header.id, Place { index, last_time: header.last_time });
        match self.indexes.get_mut(&header.index) {
            Some(buckets) => Arc::make_mut(buckets).insert(header),
            None => {
                let (name, mut buckets) = (header.index.clone(), Buckets::default());
                buckets.insert(header);
                self.indexes.insert(name, Arc::new(buckets));
            }
        }
    }

    /// Iterates over the chunks of all buckets: those of an index one after the other, oldest buckets first.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = &Arc<Chunk>> {
        self.indexes.values().flat_map(|buckets| buckets.chunks())
    }

    /// Appends a chunk of buckets that must not be present. Returns false if those of its index are not all
    /// before them.
    pub(crate) fn append(&mut self, chunk: Arc<Chunk>) -> bool {
        let index = self.number_of(chunk.index());
        for (id, last_time) in chunk.ids() {
            self.by_id.insert(id, Place { index, last_time });
        }
        let buckets = self.indexes.entry(chunk.index().clone()).or_default();
        Arc::make_mut(buckets).append(chunk)
    }

    fn number_of(&mut self, index: &IndexName) -> u32 {
        // Searched from the end: when all buckets are loaded, those of an index are adjacent, and its name is
        // the last one.
        let known = self.numbered.iter().rposition(|known| known == index);
        let number = known.unwrap_or_else(|| {
            Arc::make_mut(&mut self.numbered).push(index.clone());
            self.numbered.len() - 1
        });
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    /// Removes a bucket; returns it if there was one.
    pub(crate) fn remove(&mut self, id: BucketId) -> Option<BucketHeader> {
        let (place, old) = self.place(id)?;
        self.by_id.remove(id, place);
        if let Some(shared) = self.indexes.get_mut(&old.index) {
            let buckets = Arc::make_mut(shared);
            buckets.remove(id, old.last_time);
            if buckets.is_empty() {
                self.indexes.remove(&old.index);
            }
        }
        Some(old)
    }
}
