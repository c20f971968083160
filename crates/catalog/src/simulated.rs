//! The database of a simulated catalog, for simulations of a cluster: how the entries of a catalog become a
//! state, from packs or header by header, and the writing of packs, both with the code of every catalog.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use model::BucketHeader;

use crate::codec::{self, Batch, Damage, Entry, PackList, Shared};
use crate::contents::Contents;
use crate::error::Result;
use crate::load::packed;
use crate::packs::{self, Destination, Numbered};
use crate::rules::PATH;
use crate::{Snapshot, salvage};

/// The entries of a catalog, by key.
pub type Entries = BTreeMap<Vec<u8>, Bytes>;

/// The database as the process sees it that has it open.
pub trait Batches: Send + Sync {
    /// Makes a batch durable: all of its entries or none.
    ///
    /// # Errors
    /// [`Error::Fenced`](crate::Error::Fenced) if another process has opened the database since.
    fn put(&self, batch: Batch) -> BoxFuture<'_, Result<()>>;

    /// Returns the keys of a range.
    fn keys(&self, range: Range<Vec<u8>>) -> Vec<Vec<u8>>;
}

/// The packs of a database, as the process knows them that has it open.
#[derive(Debug)]
pub struct Packs {
    list: Option<PackList>,
    /// Number of packs that are written together.
    together: usize,
}

impl Packs {
    /// Writes the headers of a state as packs, which must not be cancelled unless the process ends.
    ///
    /// # Errors
    /// As [`Batches::put`]; [`Error::Store`](crate::Error::Store) if the state contradicts itself.
    pub async fn write(&mut self, database: &dyn Batches, state: Arc<Snapshot>) -> Result<()> {
        let state = (state, self.together);
        Box::pin(packs::write_to(&Simulated(database), PATH, state, &mut self.list)).await
    }
}

struct Simulated<'a>(&'a dyn Batches);

impl Destination for Simulated<'_> {
    fn put(&self, batch: Batch) -> BoxFuture<'_, Result<()>> {
        self.0.put(with_mark(batch))
    }

    fn put_packs(&self, chunks: Numbered) -> BoxFuture<'_, Result<()>> {
        let entries = chunks.iter().map(|(pack, chunk)| {
            let (key, value) = packs::entry(*pack, chunk)?;
            Ok::<_, Damage>((key, Some(value)))
        });
        match entries.collect::<std::result::Result<Batch, Damage>>() {
            Ok(batch) => self.0.put(with_mark(batch)),
            Err(damage) => {
                let error = damage.at(PATH, codec::PACK_LIST);
                Box::pin(async move { Err(error) })
            }
        }
    }

    fn delete(&self, keys: Range<Vec<u8>>) -> BoxFuture<'_, Result<()>> {
        let found: Batch = self.0.keys(keys).into_iter().map(|key| (key, None)).collect();
        Box::pin(async move {
            match found.is_empty() {
                true => Ok(()),
                false => self.0.put(with_mark(found)).await,
            }
        })
    }

    fn delete_unread(&self, writes: Range<u64>) -> BoxFuture<'_, Result<()>> {
        self.delete(codec::log_keys(writes))
    }
}

/// Adds the entry that each batch of packing has.
fn with_mark(mut batch: Batch) -> Batch {
    batch.insert(codec::PACKING.to_vec(), Some(codec::PACKING_VALUE.to_vec()));
    batch
}

/// Whether a batch replaces the list of packs, or deletes packs.
#[must_use]
pub fn replaces_packs(batch: &Batch) -> bool {
    let is_replaced = |(key, value): (&Vec<u8>, &Option<Vec<u8>>)| {
        key == codec::PACK_LIST || (value.is_none() && is_pack(key))
    };
    batch.iter().any(is_replaced)
}

/// Takes the deletions of packs out of a batch.
#[must_use]
pub fn split_deleted_packs(batch: Batch) -> (Batch, Batch) {
    batch.into_iter().partition(|(key, value)| value.is_none() && is_pack(key))
}

fn is_pack(key: &[u8]) -> bool {
    codec::pack_keys(0..u64::MAX).contains(&key.to_vec())
}

/// Whether packs are due, after a number of writes and of headers that they have changed. `least`:
/// [`Settings::pack_changes`](crate::Settings::pack_changes).
#[must_use]
pub fn is_due(logged: u64, buckets: usize, least: usize) -> bool {
    packs::is_due(logged, buckets, least)
}

/// A database that a process has opened.
#[derive(Debug)]
pub struct Opened {
    /// The state.
    pub snapshot: Snapshot,
    /// Its packs.
    pub packs: Packs,
    /// Number of writes and headers that the packs lack; without usable packs, the number of all headers.
    pub logged: u64,
    /// Whether the state was read from packs.
    pub is_from_packs: bool,
}

/// Reads a database, as [`Catalog::open`](crate::Catalog::open), or goes on with the state that the process
/// has followed, as [`Catalog::lead`](crate::Catalog::lead). The chunks of a followed state count as not
/// packed: a simulation shares them between processes, but a follower has chunks of its own. `uses_packs`:
/// false for the release before packs.
///
/// # Errors
/// [`Error::Corrupt`](crate::Error::Corrupt) or [`Error::Version`](crate::Error::Version) if an entry cannot
/// be read.
pub fn open(
    entries: &Entries,
    followed: &Snapshot,
    (uses_packs, together): (bool, usize),
) -> Result<Opened> {
    let number = number_of(entries)?;
    let list = entries.get(codec::PACK_LIST).and_then(|list| codec::pack_list(list).ok());
    let opened = |snapshot: Snapshot, list, logged, is_from_packs| {
        let packs = Packs { list, together };
        Opened { snapshot, packs, logged, is_from_packs }
    };
    if number > 0 && followed.number() == number {
        let has = |write: u64| entries.contains_key(&codec::log_key(write));
        let logged = match &list {
            Some(list) if list.number == number => 0,
            Some(list) if has(list.number + 1) && has(number) => number - list.number,
            _ => followed.len() as u64,
        };
        return Ok(opened(unpacked(followed), list, logged, false));
    }
    if uses_packs {
        match packed::with_headers(single(entries, number, false)?, entries) {
            Ok(Some((snapshot, _, logged))) => return Ok(opened(snapshot, list, logged, true)),
            Ok(None) => {}
            Err(damage) => packs::not_used(PATH, &damage.at(PATH, codec::PACK_LIST)),
        }
    }
    let snapshot = single(entries, number, true)?;
    let logged = snapshot.len() as u64;
    Ok(opened(snapshot, list, logged, false))
}

/// What the packs of a database say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compared {
    /// There is no list of packs.
    None,
    /// Packs and log have the headers that have entries of their own.
    Same,
    /// They are not complete, and so are not used: the number of the write of the list, and the reason.
    Unused(u64, String),
    /// They have other headers.
    Different(String),
}

/// Compares what opening reads from packs and log with the entries of single headers.
///
/// # Errors
/// As [`open`].
pub fn compare(entries: &Entries) -> Result<Compared> {
    let damaged = |damage: Damage| damage.at(PATH, codec::PACK_LIST);
    let Some(list) = entries.get(codec::PACK_LIST) else { return Ok(Compared::None) };
    let number = codec::pack_list(list).map_err(damaged)?.number;
    let packed = match packed::of_entries(entries) {
        Ok(Some(packed)) => packed,
        Ok(None) => return Ok(Compared::None),
        Err(damage) => return Ok(Compared::Unused(number, damage.reason())),
    };
    let (mut headers, mut shared) = (Vec::<BucketHeader>::new(), Shared::default());
    for (key, value) in entries.range(codec::HEADERS.start.to_vec()..codec::HEADERS.end.to_vec()) {
        let entry =
            codec::decode(key, value, &mut shared).map_err(|damage| damage.at(PATH, key))?;
        if let Entry::Header(header) = entry {
            headers.push(*header);
        }
    }
    let different = salvage::difference(PATH, &packed, &headers);
    Ok(different.map_or(Compared::Same, Compared::Different))
}

/// The state that the entries have, with or without their headers.
fn single(entries: &Entries, number: u64, has_headers: bool) -> Result<Snapshot> {
    let (mut contents, mut shared) = (Contents::default(), Shared::default());
    let (start, end) = (codec::IN_MEMORY.start.to_vec(), codec::IN_MEMORY.end.to_vec());
    for (key, value) in entries.range(start..end) {
        if has_headers || !codec::HEADERS.contains(&key.as_slice()) {
            let entry = codec::decode(key, value, &mut shared);
            contents.take(entry.map_err(|damage| damage.at(PATH, key))?);
        }
    }
    Ok(contents.into_snapshot(number))
}

fn number_of(entries: &Entries) -> Result<u64> {
    let Some(value) = entries.get(codec::NUMBER) else { return Ok(0) };
    let entry = codec::decode(codec::NUMBER, value, &mut Shared::default());
    match entry.map_err(|damage| damage.at(PATH, codec::NUMBER))? {
        Entry::Number(number) => Ok(number),
        _ => Ok(0),
    }
}

fn unpacked(followed: &Snapshot) -> Snapshot {
    let indexes = followed.indexes.iter();
    let indexes = indexes.map(|(name, buckets)| (name.clone(), Arc::new(buckets.unpacked())));
    Snapshot { indexes: indexes.collect(), ..followed.clone() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use model::{BucketEntry, BucketId, BucketState, BucketSummary, EventTime, IndexName};
    use parking_lot::Mutex;
    use serde_json::json;

    use super::*;
    use crate::{Commit, Documents, Rules, Written};

    #[derive(Default)]
    struct Database {
        entries: Mutex<Entries>,
        /// Number of batches after which the process ends.
        left: Mutex<Option<usize>>,
    }

    impl Database {
        fn apply(&self, batch: Batch) {
            let mut entries = self.entries.lock();
            for (key, value) in batch {
                match value {
                    Some(value) => entries.insert(key, value.into()),
                    None => entries.remove(&key),
                };
            }
        }

        fn compared(&self) -> Compared {
            compare(&self.entries.lock()).unwrap()
        }

        fn opened(&self, uses_packs: bool) -> Opened {
            open(&self.entries.lock(), &Snapshot::default(), (uses_packs, 1)).unwrap()
        }
    }

    impl Batches for Database {
        fn put(&self, batch: Batch) -> BoxFuture<'_, Result<()>> {
            Box::pin(async move {
                if let Some(left) = &mut *self.left.lock() {
                    if *left == 0 {
                        return Err(crate::Error::Fenced { path: PATH.to_owned() });
                    }
                    *left -= 1;
                }
                self.apply(batch);
                Ok(())
            })
        }

        fn keys(&self, range: Range<Vec<u8>>) -> Vec<Vec<u8>> {
            self.entries.lock().range(range).map(|(key, _)| key.clone()).collect()
        }
    }

    fn bucket(number: u128) -> BucketEntry {
        let name = if number.is_multiple_of(2) { "web" } else { "main" };
        let (index, id) = (IndexName::new(name).unwrap(), BucketId(uuid::Uuid::from_u128(number)));
        let summary = Arc::new(BucketSummary::bare(1, EventTime(1), EventTime(1)));
        let path = id.object_path(&index, "20261020");
        BucketEntry { id, index, path, size: 3, state: BucketState::Warm, summary }
    }

    fn add(rules: &mut Rules, number: u128) -> Written {
        let commit = Commit { add: vec![bucket(number)], ..Commit::default() };
        rules.commit(commit).unwrap().unwrap()
    }

    #[tokio::test]
    async fn a_process_that_ends_after_any_batch_of_packing_leaves_usable_packs() {
        for ends_after in 0..6 {
            let database = Database::default();
            let mut rules = Rules::over(Snapshot::default());
            for number in 0..10 {
                database.apply(add(&mut rules, number).batch);
            }
            let mut packs = database.opened(true).packs;
            packs.write(&database, rules.snapshot()).await.unwrap();
            assert_eq!(database.compared(), Compared::Same);
            database.apply(add(&mut rules, 10).batch);
            database.apply(add(&mut rules, 11).batch);
            *database.left.lock() = Some(ends_after);
            let ended = packs.write(&database, rules.snapshot()).await;
            // Two packs, the list, and the log.
            assert_eq!(ended.is_err(), ends_after < 4, "{ends_after}");
            assert_eq!(database.compared(), Compared::Same, "{ends_after}");
            let opened = database.opened(true);
            assert!(opened.is_from_packs);
            assert_eq!((opened.snapshot.len(), opened.snapshot.number()), (12, 12));
            // The next process uses the same numbers of packs.
            *database.left.lock() = None;
            let mut packs = opened.packs;
            packs.write(&database, Arc::new(opened.snapshot)).await.unwrap();
            assert_eq!(database.compared(), Compared::Same, "{ends_after}");
        }
    }

    #[tokio::test]
    async fn packs_are_not_used_after_a_write_without_log_until_they_are_written_again() {
        let database = Database::default();
        let mut rules = Rules::over(Snapshot::default());
        database.apply(add(&mut rules, 1).batch);
        let mut packs = database.opened(true).packs;
        packs.write(&database, rules.snapshot()).await.unwrap();
        let written = add(&mut rules, 2);
        assert_eq!(written.headers, 1);
        database.apply(written.clone().without_log().batch);
        assert!(matches!(database.compared(), Compared::Unused(1, _)));
        let opened = database.opened(true);
        assert_eq!((opened.is_from_packs, opened.snapshot.len(), opened.logged), (false, 2, 2));
        database.apply(written.with_empty_log().batch);
        assert!(matches!(database.compared(), Compared::Different(_)));
        let mut packs = opened.packs;
        packs.write(&database, Arc::new(opened.snapshot)).await.unwrap();
        assert_eq!(database.compared(), Compared::Same);
        let documents = vec![("user".to_owned(), "ann".to_owned(), Some(json!(1)))];
        let written = rules.documents(Documents::from(documents)).unwrap().unwrap();
        database.apply(written.batch);
        let opened = database.opened(true);
        assert!(opened.is_from_packs && opened.snapshot.document("user", "ann").is_some());
        assert_eq!(opened.snapshot.number(), 3);
    }

    #[test]
    fn deletions_of_packs_are_taken_out_of_a_batch() {
        let (list, pack) = (codec::PACK_LIST.to_vec(), codec::pack_key(7));
        let batch = Batch::from([(list.clone(), Some(vec![1])), (pack.clone(), None)]);
        assert!(replaces_packs(&batch) && !replaces_packs(&with_mark(Batch::new())));
        let (deleted, rest) = split_deleted_packs(batch);
        assert_eq!((deleted.get(&pack), rest.get(&list)), (Some(&None), Some(&Some(vec![1]))));
        assert_eq!((deleted.len(), rest.len()), (1, 1));
    }
}
