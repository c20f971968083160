//! Reads the headers of a catalog from packs and from the log of later writes ([`crate::packs`]).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use slatedb::Db;

use super::{AT_A_TIME, Keys, SIDE_BY_SIDE, ended, load_ranges, number_of, read_ranges};
use crate::Snapshot;
use crate::buckets::Chunk;
use crate::codec::{self, Damage, Entry, PackList, Shared, content};
use crate::error::Result;

/// Number of packs that are decoded at a time: they are larger than other entries, about 45 KB each.
const PACKS_AT_A_TIME: usize = 4;

/// The packs that have been read.
struct Packs {
    /// Their places in the list.
    places: HashMap<u64, usize>,
    /// The packs by their places.
    chunks: Vec<Option<Arc<Chunk>>>,
    shared: Shared,
}

impl Packs {
    /// None of the packs of a list.
    fn none_of(list: &PackList) -> Self {
        let places = list.packs.iter().enumerate().map(|(place, pack)| (*pack, place)).collect();
        Self { places, chunks: vec![None; list.packs.len()], shared: Shared::default() }
    }
}

/// The log that has been read.
struct Log {
    /// Number of the next write.
    next: u64,
    writes: Vec<Vec<u8>>,
}

/// Loads everything except summaries. Returns the state, the parts that headers share, and the number of
/// writes and changed headers that the packs lack. Fails if the packs or the log are incomplete.
pub(super) async fn load(
    database: &Db,
    path: &str,
    list: &PackList,
) -> Result<(Snapshot, Shared, u64)> {
    let number = number_of(database, path).await?;
    let others = vec![
        codec::IN_MEMORY.start.to_vec()..codec::HEADERS.start.to_vec(),
        codec::HEADERS.end.to_vec()..codec::IN_MEMORY.end.to_vec(),
    ];
    let (log, packs, (others, _)) = tokio::try_join!(
        Box::pin(read_log(database, path, (list.number, number))),
        Box::pin(read_packs(database, path, list)),
        Box::pin(load_ranges(database, path, others)),
    )?;
    let expected = (list.buckets, list.ids);
    let joining = tokio::task::spawn_blocking(move || join(others, packs, expected, &log));
    let joined = joining.await.map_err(|error| ended(path, &error))?;
    joined.map_err(|damage| damage.at(path, codec::PACK_LIST))
}

/// Reads the log of the writes after one, up to another one.
async fn read_log(database: &Db, path: &str, (after, upto): (u64, u64)) -> Result<Vec<Vec<u8>>> {
    if after == upto {
        return Ok(Vec::new());
    }
    if after > upto {
        return Err(ahead(after, upto).at(path, codec::PACK_LIST));
    }
    let range = codec::log_keys(after + 1..upto + 1);
    let log = Log { next: after + 1, writes: Vec::new() };
    let log = read_ranges(database, path, (vec![range], AT_A_TIME), log, take_log).await?;
    if log.next != upto + 1 {
        return Err(gap(log.next).at(path, &codec::log_key(log.next)));
    }
    Ok(log.writes)
}

fn take_log(log: &mut Log, key: &[u8], value: &[u8]) -> std::result::Result<(), Damage> {
    if codec::number_in(key)? != log.next {
        return Err(gap(log.next));
    }
    log.next += 1;
    // A copy, because the value is a part of what was read at a time.
    log.writes.push(value.to_vec());
    Ok(())
}

fn ahead(after: u64, upto: u64) -> Damage {
    content(format!("the packs are of write {after}, and the last is {upto}"))
}

fn gap(number: u64) -> Damage {
    content(format!(
        "write {number} is not in the log of headers: a release that keeps no log has made it, or its entry \
         is lost"
    ))
}

async fn read_packs(database: &Db, path: &str, list: &PackList) -> Result<Packs> {
    let (ranges, packs) = (ranges_of(&list.packs), Packs::none_of(list));
    read_ranges(database, path, (ranges, PACKS_AT_A_TIME), packs, take_pack).await
}

/// Returns the buckets that are read from the packs and the log of these entries; `None` if they have no list
/// of packs. Fails if packs or log are incomplete, so that they are not used.
pub(crate) fn of_entries(
    entries: &BTreeMap<Vec<u8>, Bytes>,
) -> std::result::Result<Option<Snapshot>, Damage> {
    Ok(with_headers(Snapshot::default(), entries)?.map(|(snapshot, ..)| snapshot))
}

/// Adds the buckets of packs and log to a state without buckets; `None` if the entries have no list of packs.
/// Also returns the parts that headers share, and the number of writes and changed headers in the log.
pub(crate) fn with_headers(
    others: Snapshot,
    entries: &BTreeMap<Vec<u8>, Bytes>,
) -> std::result::Result<Option<(Snapshot, Shared, u64)>, Damage> {
    let Some(list) = entries.get(codec::PACK_LIST) else { return Ok(None) };
    let list = codec::pack_list(list)?;
    let number = match entries.get(codec::NUMBER) {
        Some(number) => codec::decode(codec::NUMBER, number, &mut Shared::default())?,
        None => Entry::Number(0),
    };
    let Entry::Number(number) = number else { return Err(content("it has no number")) };
    let mut packs = Packs::none_of(&list);
    for key in list.packs.iter().map(|pack| codec::pack_key(*pack)) {
        if let Some(value) = entries.get(&key) {
            take_pack(&mut packs, &key, value)?;
        }
    }
    if number < list.number {
        return Err(ahead(list.number, number));
    }
    let mut log = Log { next: list.number + 1, writes: Vec::new() };
    for write in list.number + 1..=number {
        let key = codec::log_key(write);
        take_log(&mut log, &key, entries.get(&key).ok_or_else(|| gap(write))?)?;
    }
    join(others, packs, (list.buckets, list.ids), &log.writes).map(Some)
}

/// Returns ranges of keys with equal numbers of these packs.
fn ranges_of(packs: &[u64]) -> Vec<Keys> {
    let mut packs = packs.to_vec();
    packs.sort_unstable();
    let each = packs.len().div_ceil(SIDE_BY_SIDE).max(1);
    let ends = packs.chunks(each).filter_map(|some| some.first().copied().zip(some.last()));
    ends.map(|(first, last)| codec::pack_keys(first..last.saturating_add(1))).collect()
}

fn take_pack(packs: &mut Packs, key: &[u8], value: &[u8]) -> std::result::Result<(), Damage> {
    let pack = codec::number_in(key)?;
    // The others are left over from a process that was killed.
    if let Some(place) = packs.places.get(&pack).copied() {
        let chunk = Chunk::decode(&codec::pack_body(value)?, &mut packs.shared)?;
        chunk.set_pack(pack);
        packs.chunks[place] = Some(Arc::new(chunk));
    }
    Ok(())
}

/// Adds the headers of packs and log to a state without headers. The packs must have as many buckets as the
/// list says, and this exclusive or of their IDs.
fn join(
    mut snapshot: Snapshot,
    packs: Packs,
    expected: (u64, u128),
    log: &[Vec<u8>],
) -> std::result::Result<(Snapshot, Shared, u64), Damage> {
    let Packs { chunks, mut shared, .. } = packs;
    let mut found = (0, 0);
    for chunk in chunks {
        let chunk = chunk.ok_or_else(|| content("a pack of the list is missing"))?;
        found = chunk.counted(found);
        if !snapshot.append(chunk) {
            return Err(content("the packs of an index are not in order"));
        }
    }
    if found != expected {
        return Err(content("the packs have other buckets than their list says"));
    }
    let mut logged = 0;
    for write in log {
        logged += 1;
        // Deletions are first, because that of a header only names the ID of its bucket, and the write may
        // add the bucket to another index.
        codec::read_log(write, |key, header| {
            logged += 1;
            if header.is_none() {
                snapshot.delete(codec::deleted(key)?);
            }
            Ok(())
        })?;
        codec::read_log(write, |key, header| {
            if let Some(value) = header {
                snapshot.put(codec::decode(key, value, &mut shared)?);
            }
            Ok(())
        })?;
    }
    Ok((snapshot, shared, logged))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::buckets::Buckets;
    use crate::fuzzing::{Move, moved_bucket};

    #[test]
    fn a_bucket_that_a_write_moves_to_another_index_is_in_that_one() {
        let Move { before, after, entries } = moved_bucket();
        let mut buckets = Buckets::default();
        buckets.insert(before);
        let (log, _) = codec::log_value(&entries);
        let joined = |expected, log: &[Vec<u8>]| {
            let chunks = buckets.chunks().iter().map(|chunk| Some(Arc::clone(chunk))).collect();
            let packs = Packs { places: HashMap::new(), chunks, shared: Shared::default() };
            join(Snapshot::default(), packs, expected, log)
        };
        let ids = after.id.0.as_u128();
        let (snapshot, _, logged) = joined((1, ids), &[log]).unwrap();
        assert_eq!((snapshot.len(), logged), (1, 3));
        assert_eq!(snapshot.bucket(after.id), Some(after));
        for expected in [(2, ids), (0, ids), (1, ids + 1)] {
            assert!(joined(expected, &[]).is_err(), "{expected:?}");
        }
    }

    #[test]
    fn ranges_have_equal_numbers_of_packs_in_any_order() {
        let packs: Vec<u64> = (0..40).map(|at| 1_000 - at * 7).collect();
        let ranges = ranges_of(&packs);
        assert_eq!(ranges.len(), SIDE_BY_SIDE);
        for pack in packs {
            let key = codec::pack_key(pack);
            assert_eq!(ranges.iter().filter(|range| range.contains(&key)).count(), 1, "{pack}");
        }
        assert_eq!(ranges_of(&[7]), [codec::pack_keys(7..8)]);
        assert!(ranges_of(&[]).is_empty());
    }
}
