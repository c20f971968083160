//! Packs of headers: their keys and values, their list, and the log of the headers that writes have changed
//! ([`crate::packs`]).

use std::collections::BTreeMap;
use std::ops::Range;

use super::fields::{Fields, put_bytes, put_number, put_signed};
use super::{Damage, HEADER, LEVEL, content, unpacked};

/// Version of packs, of their list and of the log.
const PACKED: u8 = 4;
// Behind everything that the scan of single headers reads: a scan begins a block before its first key, and a
// damaged block of packs must not end it.
const PACK: u8 = b'y';
const LOG: u8 = b'w';
/// The key of the list of packs.
pub(crate) const PACK_LIST: &[u8] = b"x";
/// Kinds that repeat headers.
pub(crate) const REPETITIONS: [u8; 3] = [PACK, LOG, PACK_LIST[0]];
/// The key of an entry that is in each batch of packing. Only the time at which it was written is read.
pub(crate) const PACKING: &[u8] = b"u";
pub(crate) const PACKING_VALUE: &[u8] = &[PACKED];

/// The packs that together have the headers of all buckets after a write.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PackList {
    /// Number of the write.
    pub(crate) number: u64,
    /// Number of the buckets, and the exclusive or of their IDs: packs are only used if they have these.
    pub(crate) buckets: u64,
    pub(crate) ids: u128,
    /// The log has no entries up to this write for certain. Those up to `number` are deleted after the list
    /// is written.
    pub(crate) cleaned: u64,
    /// Number of the next pack. Packs with this or a greater number belong to no list.
    pub(crate) next: u64,
    /// The packs: those of an index one after the other, oldest buckets first.
    pub(crate) packs: Vec<u64>,
}

pub(crate) fn pack_key(pack: u64) -> Vec<u8> {
    numbered(PACK, pack)
}

pub(crate) fn pack_keys(packs: Range<u64>) -> Range<Vec<u8>> {
    pack_key(packs.start)..pack_key(packs.end)
}

pub(crate) fn log_key(number: u64) -> Vec<u8> {
    numbered(LOG, number)
}

pub(crate) fn log_keys(numbers: Range<u64>) -> Range<Vec<u8>> {
    log_key(numbers.start)..log_key(numbers.end)
}

fn numbered(kind: u8, number: u64) -> Vec<u8> {
    let mut key = vec![kind];
    key.extend_from_slice(&number.to_be_bytes());
    key
}

/// Returns the number in the key of a pack, or of an entry of the log.
pub(crate) fn number_in(key: &[u8]) -> Result<u64, Damage> {
    let number = key.get(1..).and_then(|rest| <[u8; 8]>::try_from(rest).ok());
    number.map(u64::from_be_bytes).ok_or_else(|| content("the key has no number"))
}

/// Whether the entry of this key repeats headers that have entries of their own, or is written with these.
pub(crate) fn is_repetition(key: &[u8]) -> bool {
    [PACK_LIST, PACKING].contains(&key)
        || key.first().is_some_and(|kind| [PACK, LOG].contains(kind))
}

/// Returns the content of a value. A value of another release is not read, because opening does not need it.
fn body(value: &[u8]) -> Result<&[u8], Damage> {
    match value.split_first() {
        Some((&PACKED, body)) => Ok(body),
        Some((version, _)) => {
            Err(content(format!("the value has format {version} instead of {PACKED}")))
        }
        None => Err(content("the value is empty")),
    }
}

/// Compresses the columns of a pack.
pub(crate) fn pack_value(columns: &[u8]) -> Result<Vec<u8>, Damage> {
    let packed = zstd::bulk::compress(columns, LEVEL).map_err(content)?;
    let mut bytes = Vec::with_capacity(packed.len() + 1);
    bytes.push(PACKED);
    bytes.extend_from_slice(&packed);
    Ok(bytes)
}

/// Returns the columns of a pack.
pub(crate) fn pack_body(value: &[u8]) -> Result<Vec<u8>, Damage> {
    unpacked(body(value)?)
}

pub(crate) fn pack_list_value(list: &PackList) -> Vec<u8> {
    let mut bytes = vec![PACKED];
    for number in [list.number, list.buckets, list.cleaned, list.next] {
        put_number(&mut bytes, number);
    }
    put_bytes(&mut bytes, &list.ids.to_be_bytes());
    put_number(&mut bytes, list.packs.len() as u64);
    let mut before = 0;
    for pack in &list.packs {
        put_signed(&mut bytes, pack.wrapping_sub(before).cast_signed());
        before = *pack;
    }
    bytes
}

pub(crate) fn pack_list(value: &[u8]) -> Result<PackList, Damage> {
    let mut fields = Fields::of(body(value)?);
    let (number, buckets) = (fields.number()?, fields.number()?);
    let (cleaned, next) = (fields.number()?, fields.number()?);
    let ids: [u8; 16] = fields.bytes()?.try_into().map_err(content)?;
    let ids = u128::from_be_bytes(ids);
    let count = fields.count()?;
    let mut packs = Vec::with_capacity(count);
    let mut pack = 0_u64;
    for _ in 0..count {
        pack = pack.wrapping_add_signed(fields.signed()?);
        packs.push(pack);
    }
    fields.end()?;
    Ok(PackList { number, buckets, ids, cleaned, next, packs })
}

/// Encodes the entry of the log for a write: its headers as they are written, key and value, and without a
/// value those that it deletes. Returns the entry and the number of the headers.
pub(crate) fn log_value(entries: &BTreeMap<Vec<u8>, Option<Vec<u8>>>) -> (Vec<u8>, u64) {
    let mut bytes = vec![PACKED];
    let mut count = 0;
    for (key, value) in entries.range(vec![HEADER]..vec![HEADER + 1]) {
        put_bytes(&mut bytes, key);
        put_bytes(&mut bytes, value.as_deref().unwrap_or_default());
        count += 1;
    }
    (bytes, count)
}

/// Calls `take` with each header of an entry of the log: its key, and its value, which a deleted one does not
/// have.
pub(crate) fn read_log(
    value: &[u8],
    mut take: impl FnMut(&[u8], Option<&[u8]>) -> Result<(), Damage>,
) -> Result<(), Damage> {
    let mut fields = Fields::of(body(value)?);
    while !fields.is_empty() {
        let key = fields.bytes()?;
        if key.first() != Some(&HEADER) {
            return Err(content("the log has an entry that is not a header"));
        }
        let header = fields.bytes()?;
        take(key, (!header.is_empty()).then_some(header))?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use model::{BucketId, IndexName};

    use super::*;

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let list = PackList {
            number: 900,
            buckets: 4_000,
            ids: u128::MAX - 7,
            cleaned: 850,
            next: 77,
            packs: vec![7, 3, 76, 75, 0, u64::MAX],
        };
        let value = pack_list_value(&list);
        assert_eq!(pack_list(&value).unwrap(), list);
        assert_eq!(pack_list(&pack_list_value(&PackList::default())).unwrap(), PackList::default());
        for cut in 0..value.len() {
            assert!(pack_list(&value[..cut]).is_err(), "{cut} bytes");
        }
        assert!(pack_list(&[value.as_slice(), &[0]].concat()).is_err());
        let mut newer = value;
        newer[0] += 1;
        assert!(pack_list(&newer).is_err());
    }

    #[test]
    fn the_log_has_the_headers_of_a_write_and_nothing_else() {
        let index = IndexName::new("main").unwrap();
        let key = |id| super::super::header_key(&index, BucketId(uuid::Uuid::from_u128(id)));
        let entries = BTreeMap::from([
            (b"duser\0a".to_vec(), Some(vec![1, 2])),
            (key(1), Some(vec![2, 9])),
            (key(2), None),
            (b"oindexer".to_vec(), Some(vec![2])),
        ]);
        let (value, count) = log_value(&entries);
        assert_eq!(count, 2);
        let mut found = Vec::new();
        let take = |key: &[u8], header: Option<&[u8]>| {
            found.push((key.to_vec(), header.map(<[u8]>::to_vec)));
            Ok(())
        };
        read_log(&value, take).unwrap();
        assert_eq!(found, [(key(1), Some(vec![2, 9])), (key(2), None)]);
        let (empty, count) = log_value(&BTreeMap::new());
        assert_eq!((empty.len(), count), (1, 0));
        read_log(&empty, |_, _| panic!("it has no header")).unwrap();
        assert!(read_log(&value[..value.len() - 2], |_, _| Ok(())).is_err());
    }

    #[test]
    fn keys_are_in_the_order_of_their_numbers() {
        assert!(pack_key(255) < pack_key(256) && log_key(1) < log_key(u64::MAX));
        assert_eq!(number_in(&log_key(70_000)).unwrap(), 70_000);
        assert!(number_in(b"w").is_err() && number_in(b"").is_err());
        for key in [pack_key(1), log_key(1), PACK_LIST.to_vec(), PACKING.to_vec()] {
            assert!(is_repetition(&key) && !super::super::is_in_memory(&key));
        }
        assert!(!is_repetition(b"hmain") && !is_repetition(b""));
    }
}
