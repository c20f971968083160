//! Reads all entries that are kept in memory, when a catalog is opened.
//!
//! Headers are read from packs if possible ([`packed`]). Without packs, each header is an entry. The
//! database returns its entries one by one, at some microseconds each. So the keys of a large catalog are
//! divided into ranges that are read concurrently, and decoded in their order: buckets in the order of their
//! IDs are mostly appended, while any other order would move existing ones.

pub(crate) mod packed;

use std::num::NonZero;
use std::ops::Range;

use bytes::Bytes;
use slatedb::config::ScanOptions;
use slatedb::{Db, IterationOrder};
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};

use crate::Snapshot;
use crate::codec::{self, Damage, Entry};
use crate::contents::Contents;
use crate::error::{Error, Result};
use crate::packs::{self, Packed};
use crate::store_id::StoreId;

/// Read-ahead while opening a catalog, in bytes.
const READ_AHEAD: usize = 4 << 20;
/// Size of a database, in bytes, up to which its entries are read in one range, because dividing it takes
/// some requests.
const SMALL: u64 = 32 << 20;
/// Number of ranges into which the keys of a larger one are divided.
const RANGES: usize = 32;
/// Maximum number of ranges that are read concurrently.
const SIDE_BY_SIDE: usize = 8;
/// Number of entries that are decoded at a time.
const AT_A_TIME: usize = 1024;
/// Maximum number of batches of a range that wait to be decoded: about 16 MB.
const WAITING: usize = 64;

type Batch = Vec<(Bytes, Bytes)>;
type Keys = Range<Vec<u8>>;

/// Applies an entry, its key and value, to what has been read.
type Take<T> = fn(&mut T, &[u8], &[u8]) -> std::result::Result<(), Damage>;

/// What has been read from a database.
pub(crate) struct Loaded {
    pub(crate) snapshot: Snapshot,
    /// The parts that headers share.
    pub(crate) shared: codec::Shared,
    pub(crate) packed: Packed,
}

/// Loads everything except summaries.
pub(crate) async fn load(database: &Db, path: &str, uses_packs: bool) -> Result<Loaded> {
    let list = Box::pin(packs::list_of(database, path)).await?;
    if uses_packs && let Some(known) = &list {
        let loaded = Box::pin(packed::load(database, path, known)).await;
        match loaded {
            Ok((snapshot, shared, logged)) => {
                let packed = Packed { list, logged, is_read: true };
                return Ok(Loaded { snapshot, shared, packed });
            }
            // Every header also has an entry, which is read now. If the store is away, that fails, too.
            Err(error) => packs::not_used(path, &error),
        }
    }
    let ranges = ranges(database, path).await?;
    let (snapshot, shared) = load_ranges(database, path, ranges).await?;
    let logged = snapshot.len() as u64;
    let packed = Packed { list, logged, is_read: false };
    Ok(Loaded { snapshot, shared, packed })
}

async fn load_ranges(
    database: &Db,
    path: &str,
    ranges: Vec<Keys>,
) -> Result<(Snapshot, codec::Shared)> {
    let none = (Contents::default(), codec::Shared::default());
    let read = read_ranges(database, path, (ranges, AT_A_TIME), none, take_entry);
    let (contents, shared) = read.await?;
    let number = number_of(database, path).await?;
    Ok((contents.into_snapshot(number), shared))
}

fn take_entry(
    (contents, shared): &mut (Contents, codec::Shared),
    key: &[u8],
    value: &[u8],
) -> std::result::Result<(), Damage> {
    contents.take(codec::decode(key, value, shared)?);
    Ok(())
}

/// Reads ranges of keys, several at the same time, a number of entries at a time. Their entries are taken in
/// the order of the ranges, on a thread that may be busy for long.
async fn read_ranges<T: Send + 'static>(
    database: &Db,
    path: &str,
    (ranges, at_a_time): (Vec<Keys>, usize),
    mut taken: T,
    take: Take<T>,
) -> Result<T> {
    // One range is decoded while the others are read.
    let beside = std::thread::available_parallelism().map_or(1, NonZero::get).min(SIDE_BY_SIDE);
    let (sender, receiver) = mpsc::channel(beside.saturating_sub(1).max(1));
    let place = path.to_owned();
    let decoding = tokio::task::spawn_blocking(move || {
        take_all(receiver, &place, &mut taken, take).map(|()| taken)
    });
    // The tasks are aborted when this is dropped.
    let mut reading = JoinSet::new();
    for range in ranges {
        let Ok(permit) = sender.reserve().await else {
            // Decoding has failed and reports the error.
            break;
        };
        let (batches, waiting) = mpsc::channel(WAITING);
        reading.spawn(read(database.clone(), path.to_owned(), (range, at_a_time), batches));
        permit.send(waiting);
    }
    drop(sender);
    let taken = decoding.await.map_err(|error| ended(path, &error))??;
    // A task that has panicked has not sent all of its entries.
    while let Some(read) = reading.join_next().await {
        read.map_err(|error| ended(path, &error))?;
    }
    Ok(taken)
}

fn ended(path: &str, error: &JoinError) -> Error {
    let (path, reason) = (path.to_owned(), error.to_string());
    Error::Store { path, what: "decode the catalog", reason }
}

/// Returns ranges of keys, in order, that together cover everything that is kept in memory.
async fn ranges(database: &Db, path: &str) -> Result<Vec<Keys>> {
    let is_large = bytes_of(database) > SMALL;
    Ok(between(if is_large { ends(database, path).await? } else { Vec::new() }))
}

fn between(ends: Vec<Vec<u8>>) -> Vec<Keys> {
    let mut start = codec::IN_MEMORY.start.to_vec();
    let mut ranges = Vec::with_capacity(ends.len() + 1);
    for end in ends.into_iter().chain([codec::IN_MEMORY.end.to_vec()]) {
        // Damaged keys may be in another order.
        if end > start {
            ranges.push(std::mem::replace(&mut start, end.clone())..end);
        }
    }
    ranges
}

/// Returns the approximate size of the database, without the last writes.
fn bytes_of(database: &Db) -> u64 {
    let manifest = database.manifest();
    manifest.all_sst_views().map(|view| view.estimate_size()).sum()
}

/// Returns the boundaries of ranges of headers. The IDs of an index begin with a time, so equal ranges of
/// them have roughly equal numbers of buckets.
async fn ends(database: &Db, path: &str) -> Result<Vec<Vec<u8>>> {
    let mut indexes = Vec::new();
    let mut rest = codec::HEADERS.start.to_vec();
    while indexes.len() < RANGES {
        let range = rest.clone()..codec::HEADERS.end.to_vec();
        let Some(first) = first_key(database, path, range, IterationOrder::Ascending).await? else {
            break;
        };
        let ids = codec::headers_of_same_index(&first).map_err(|damage| damage.at(path, &first))?;
        rest.clone_from(&ids.end);
        let last = first_key(database, path, ids, IterationOrder::Descending).await?;
        indexes.push((first.to_vec(), last.map_or_else(|| first.to_vec(), |last| last.to_vec())));
    }
    let each = RANGES / indexes.len().max(1);
    Ok(indexes.iter().flat_map(|(first, last)| divide(first, last, each)).collect())
}

/// Returns `first` and the keys that divide the range from `first` to `last` into this number of parts.
fn divide(first: &[u8], last: &[u8], parts: usize) -> Vec<Vec<u8>> {
    let mut ends = vec![first.to_vec()];
    let (Some((prefix, low)), Some((_, high))) =
        (first.split_last_chunk::<16>(), last.split_last_chunk::<16>())
    else {
        return ends;
    };
    let (low, high) = (u128::from_be_bytes(*low), u128::from_be_bytes(*high));
    let step = high.saturating_sub(low) / parts.max(1) as u128;
    if step > 0 {
        ends.extend(
            (1..parts as u128).map(|part| [prefix, &(low + part * step).to_be_bytes()].concat()),
        );
    }
    ends
}

async fn first_key(
    database: &Db,
    path: &str,
    range: Keys,
    order: IterationOrder,
) -> Result<Option<Bytes>> {
    let failed = |error: slatedb::Error| Error::from_database(path, "read", &error);
    let options = ScanOptions::default().with_order(order);
    let mut entries = database.scan_with_options(range, &options).await.map_err(failed)?;
    Ok(entries.next().await.map_err(failed)?.map(|pair| pair.key))
}

/// Reads the entries of a range and sends them.
async fn read(
    database: Db,
    path: String,
    (range, at_a_time): (Keys, usize),
    batches: mpsc::Sender<Result<Batch>>,
) {
    let entries = async |some: &mut Batch| {
        // Reads perhaps over a slow link: without read-ahead, 2,000 buckets took minutes at 50 ms per block.
        let ahead =
            ScanOptions::default().with_read_ahead_bytes(READ_AHEAD).with_max_fetch_tasks(8);
        let mut entries = database.scan_with_options(range.clone(), &ahead).await?;
        while let Some(pair) = entries.next().await? {
            some.push((pair.key, pair.value));
            if some.len() == at_a_time {
                let some = std::mem::replace(some, Vec::with_capacity(at_a_time));
                if batches.send(Ok(some)).await.is_err() {
                    // Decoding has failed and reports the error.
                    break;
                }
            }
        }
        Ok(())
    };
    let mut some = Vec::with_capacity(at_a_time);
    let last = match entries(&mut some).await {
        Ok(()) => Ok(some),
        Err(error) => Err(Error::from_database(&path, "read", &error)),
    };
    let _ = batches.send(last).await;
}

fn take_all<T>(
    mut ranges: mpsc::Receiver<mpsc::Receiver<Result<Batch>>>,
    path: &str,
    taken: &mut T,
    take: Take<T>,
) -> Result<()> {
    while let Some(mut range) = ranges.blocking_recv() {
        while let Some(some) = range.blocking_recv() {
            for (key, value) in some? {
                take(taken, &key, &value).map_err(|damage| damage.at(path, &key))?;
            }
        }
    }
    Ok(())
}

/// Returns the number of the last write.
pub(crate) async fn number_of(database: &Db, path: &str) -> Result<u64> {
    let value = database.get(codec::NUMBER).await;
    let value = value.map_err(|error| Error::from_database(path, "read", &error))?;
    let Some(value) = value else { return Ok(0) };
    let entry = codec::decode(codec::NUMBER, &value, &mut codec::Shared::default());
    match entry.map_err(|damage| damage.at(path, codec::NUMBER))? {
        Entry::Number(number) => Ok(number),
        _ => Ok(0),
    }
}

/// Returns the identity of the catalog.
pub(crate) async fn store_id_of(database: &Db, path: &str) -> Result<Option<StoreId>> {
    let key = StoreId::key();
    let value = database.get(&key).await;
    let value = value.map_err(|error| Error::from_database(path, "read", &error))?;
    let Some(value) = value else { return Ok(None) };
    let entry = codec::decode(&key, &value, &mut codec::Shared::default());
    match entry.map_err(|damage| damage.at(path, &key))? {
        Entry::Document { json, .. } => Ok(StoreId::in_document(&json)),
        _ => Ok(None),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use model::{BucketHeader, BucketId, BucketState, EventTime, IndexName};
    use object_store::memory::InMemory;
    use uuid::Uuid;

    use super::*;
    use crate::adapter::{Adapter, LastFailure};

    fn key(index: &str, id: u128) -> Vec<u8> {
        codec::header_key(&IndexName::new(index).unwrap(), BucketId(Uuid::from_u128(id)))
    }

    #[test]
    fn keys_of_an_index_are_divided_into_equal_ranges_of_ids() {
        let ends = divide(&key("web", 100), &key("web", 503), 4);
        assert_eq!(ends, [100, 200, 300, 400].map(|id| key("web", id)));
        assert_eq!(divide(&key("web", 7), &key("web", 7), 4), [key("web", 7)]);
        assert_eq!(divide(&key("web", 7), &key("web", 9), 1), [key("web", 7)]);
        assert_eq!(divide(b"h", b"hx", 4), [b"h".to_vec()], "damaged keys");
    }

    #[test]
    fn the_headers_of_an_index_are_between_its_name_and_that_of_the_next() {
        let range = codec::headers_of_same_index(&key("web", 7)).unwrap();
        assert!(range.contains(&key("web", 0)) && range.contains(&key("web", u128::MAX)));
        assert!(!range.contains(&key("web2", 0)) && !range.contains(&key("wea", u128::MAX)));
        assert!(codec::headers_of_same_index(b"hweb").is_err());
    }

    async fn database() -> Db {
        let store = Adapter::new(Arc::new(InMemory::new()), LastFailure::default());
        Db::open("catalog", Arc::new(store)).await.unwrap()
    }

    fn header(index: &str, id: u128) -> BucketHeader {
        let time = EventTime(i64::try_from(id % 1_000).unwrap());
        BucketHeader {
            id: BucketId(Uuid::from_u128(id)),
            index: IndexName::new(index).unwrap(),
            other_path: None,
            size: 1,
            rows: 1,
            raw_bytes: 1,
            first_time: time,
            last_time: time,
            first_index_time: time,
            last_index_time: time,
            version: 3,
            fingerprint: 7,
            shape: None,
            state: BucketState::Warm,
            fields_complete: true,
            summary_rows: false,
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn a_catalog_that_is_read_in_ranges_has_every_entry_once() {
        let database = database().await;
        let mut expected = Vec::new();
        for index in ["a", "main", "main2", "z"] {
            // Enough for several batches, one, and none in most ranges.
            let ids: Vec<u128> = match index {
                "main" => (0..5_000).map(|id| id << 80).collect(),
                "main2" => vec![1, u128::MAX],
                _ => vec![9],
            };
            for id in ids {
                let value = codec::header_value(&header(index, id));
                database.put(key(index, id), value).await.unwrap();
                expected.push((index.to_owned(), id));
            }
        }
        let document = codec::json_value(&serde_json::json!({"a": 1})).unwrap();
        database.put(codec::document_key("user", "ann"), document).await.unwrap();
        let owner = codec::owner_value(4, model::IndexerId(Uuid::from_u128(5)));
        let key = codec::owner_key(model::IndexerId(Uuid::from_u128(6)), 2);
        database.put(key, owner).await.unwrap();

        assert_eq!(ranges(&database, "catalog").await.unwrap().len(), 1, "it is small");
        let ends = ends(&database, "catalog").await.unwrap();
        assert!(ends.is_sorted() && ends.len() > RANGES / 2, "{}", ends.len());
        for ranges in [between(ends), between(Vec::new())] {
            let (snapshot, _) = load_ranges(&database, "catalog", ranges).await.unwrap();
            let mut found: Vec<(String, u128)> = snapshot
                .overlapping(&[], &model::TimeRange::ALL)
                .map(|header| (header.index.to_string(), header.id.0.as_u128()))
                .collect();
            found.sort();
            assert_eq!(found, expected);
            assert!(snapshot.document("user", "ann").is_some());
            assert_eq!(snapshot.owner(model::IndexerId(Uuid::from_u128(6)), 2).0, 4);
        }
    }

    #[tokio::test]
    async fn damage_in_one_of_the_ranges_is_named() {
        let database = database().await;
        for id in 0..100 {
            let value = codec::header_value(&header("main", id));
            database.put(key("main", id), value).await.unwrap();
        }
        database.put(key("main", 77), b"\x02damaged").await.unwrap();
        let ends = ends(&database, "catalog").await.unwrap();
        let error = load_ranges(&database, "catalog", between(ends)).await.unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    }
}
