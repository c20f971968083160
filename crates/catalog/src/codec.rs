//! Binary encoding of the keys and values of the catalog.
//!
//! The first byte of a key is its kind, so that one scan reads all entries of a kind in order. The first byte
//! of a value is its format version. Documents are JSON compressed with zstd; headers are binary; summaries
//! are binary compressed with zstd, because hosts and fields repeat much. Old versions stay readable.
//!
//! ```text
//! d <kind> 0 <name>                                          -> 1 zstd(json)
//! g <path>                                                   -> 1 <delete after, microseconds, 8>
//! h <index> 0 <id, 16 bytes>                                 -> 2 header
//! o <indexer, 16 bytes> <set, 2>                             -> 2 <epoch, 8> <owner, 16>
//! p <indexer, 16 bytes> <set, 2> <lane, 1>       <index>     -> 1 <position, 8>
//! s <id, 16 bytes>                                           -> 2 zstd(summary)
//! u                                                          -> 4
//! v                                                          -> 2 <number of the last write, 8>
//! w <number of a write, 8>                                   -> 4 <the headers that it has changed>
//! x                                                          -> 4 <the list of the packs>
//! y <pack, 8>                                                -> 4 zstd(columns of headers)
//! ```
//! Numbers are big-endian. The kinds `w`, `x` and `y` repeat headers, so that a large catalog opens fast
//! ([`crate::packs`]), and `u` is written with `x` and `y`; a release that does not know them ignores them.
//! Until version 2, a bucket was one entry, which opening replaces ([`crate::migration`]):
//!
//! ```text
//! b <id, 16 bytes>                                           -> 1 zstd(json BucketEntry)
//! ```
//! A release that only knows version 1 refuses a catalog with headers, and reports that the release is too
//! old.

pub(crate) mod fields;
mod header;
mod packs;
mod summary;

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{
    BucketEntry, BucketHeader, BucketId, BucketSummary, EventTime, IndexName, IndexerId,
    JournalPosition, Lane, StreamId,
};

pub(crate) use self::header::{Shared, encode_shape};
pub(crate) use self::packs::{
    PACK_LIST, PACKING, PACKING_VALUE, PackList, REPETITIONS, is_repetition, log_key, log_keys,
    log_value, number_in, pack_body, pack_key, pack_keys, pack_list, pack_list_value, pack_value,
    read_log,
};
use crate::Error;

/// Version of documents, garbage objects, positions, and buckets as one entry.
const FIRST: u8 = 1;
/// Version of headers, summaries and the number of the last write.
const SPLIT: u8 = 2;
const BUCKET: u8 = b'b';
const DOCUMENT: u8 = b'd';
const DISCARDED: u8 = b'g';
const HEADER: u8 = b'h';
const OWNER: u8 = b'o';
const POSITION: u8 = b'p';
const SUMMARY: u8 = b's';
/// The key of the number of the last write.
pub(crate) const NUMBER: &[u8] = b"v";
/// All kinds, in key order, except those that repeat headers.
pub(crate) const KINDS: [u8; 8] =
    [BUCKET, DOCUMENT, DISCARDED, HEADER, OWNER, POSITION, SUMMARY, NUMBER[0]];
/// Keys of entries that are in memory: all but summaries and the number.
pub(crate) const IN_MEMORY: std::ops::Range<&[u8]> = b"d".as_slice()..b"s".as_slice();
/// Keys of headers.
pub(crate) const HEADERS: std::ops::Range<&[u8]> = b"h".as_slice()..b"i".as_slice();
/// Keys of buckets as one entry.
pub(crate) const WHOLE_BUCKETS: std::ops::Range<&[u8]> = b"b".as_slice()..b"c".as_slice();
/// Larger decompressed values are treated as damage: a summary has at most a few MiB.
const MAX_VALUE: usize = 256 << 20;
const LEVEL: i32 = 3;

/// The entries of one atomic write: values by key; `None` deletes the key.
pub type Batch = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// One decoded entry.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Entry {
    /// A bucket as one entry, as catalogs had it before headers.
    Bucket(Box<BucketEntry>),
    Header(Box<BucketHeader>),
    Summary(BucketId, Arc<BucketSummary>),
    /// Indexer and set, epoch, and its owner.
    Owner(IndexerId, u16, u64, IndexerId),
    /// Number of the last write.
    Number(u64),
    Document {
        kind: String,
        name: String,
        json: serde_json::Value,
    },
    Discarded(String, EventTime),
    Position(StreamId, JournalPosition),
}

/// An entry that a write has deleted.
#[derive(Debug, PartialEq)]
pub(crate) enum Deleted {
    Bucket(BucketId),
    Document(String, String),
    Discarded(String),
}

/// Why bytes cannot be decoded as an entry.
#[derive(Debug)]
pub(crate) enum Damage {
    Version(u8),
    Content(String),
}

impl Damage {
    /// The error for this damage, with path and key.
    pub(crate) fn at(self, path: &str, key: &[u8]) -> Error {
        let (path, key) = (path.to_owned(), key.escape_ascii().to_string());
        match self {
            Self::Version(found) => Error::Version { path, key, found, known: SPLIT },
            Self::Content(reason) => Error::Corrupt { path, key, reason },
        }
    }

    /// The damage alone, without the advice of [`Error`], for entries that opening does not need.
    pub(crate) fn reason(self) -> String {
        match self {
            Self::Version(found) => format!("an entry has the unknown format {found}"),
            Self::Content(reason) => reason,
        }
    }
}

pub(crate) fn content(reason: impl ToString) -> Damage {
    Damage::Content(reason.to_string())
}

pub(crate) fn bucket_key(id: BucketId) -> Vec<u8> {
    let mut key = vec![BUCKET];
    key.extend_from_slice(id.0.as_bytes());
    key
}

pub(crate) fn header_key(index: &IndexName, id: BucketId) -> Vec<u8> {
    let mut key = vec![HEADER];
    key.extend_from_slice(index.as_str().as_bytes());
    key.push(0);
    key.extend_from_slice(id.0.as_bytes());
    key
}

/// Returns the range of all header keys of the same index as this key.
pub(crate) fn headers_of_same_index(key: &[u8]) -> Result<std::ops::Range<Vec<u8>>, Damage> {
    let end = key.iter().position(|byte| *byte == 0);
    let prefix = &key[..end.ok_or_else(|| content("the key has no index"))?];
    Ok([prefix, &[0]].concat()..[prefix, &[1]].concat())
}

pub(crate) fn summary_key(id: BucketId) -> Vec<u8> {
    let mut key = vec![SUMMARY];
    key.extend_from_slice(id.0.as_bytes());
    key
}

pub(crate) fn document_key(kind: &str, name: &str) -> Vec<u8> {
    let mut key = vec![DOCUMENT];
    key.extend_from_slice(kind.as_bytes());
    key.push(0);
    key.extend_from_slice(name.as_bytes());
    key
}

pub(crate) fn discarded_key(path: &str) -> Vec<u8> {
    let mut key = vec![DISCARDED];
    key.extend_from_slice(path.as_bytes());
    key
}

pub(crate) fn owner_key(indexer: IndexerId, set: u16) -> Vec<u8> {
    let mut key = vec![OWNER];
    key.extend_from_slice(indexer.0.as_bytes());
    key.extend_from_slice(&set.to_be_bytes());
    key
}

pub(crate) fn position_key(stream: &StreamId) -> Vec<u8> {
    let mut key = vec![POSITION];
    key.extend_from_slice(stream.indexer.0.as_bytes());
    key.extend_from_slice(&stream.set.to_be_bytes());
    key.push(stream.lane.tag());
    key.extend_from_slice(stream.index.as_str().as_bytes());
    key
}

/// Encodes a JSON value; fails only if serde does, which it never does for our types.
pub(crate) fn json_value<T: serde::Serialize>(value: &T) -> Result<Vec<u8>, Damage> {
    let json = serde_json::to_vec(value).map_err(content)?;
    let packed = zstd::bulk::compress(&json, LEVEL).map_err(content)?;
    let mut bytes = Vec::with_capacity(packed.len() + 1);
    bytes.push(FIRST);
    bytes.extend_from_slice(&packed);
    Ok(bytes)
}

pub(crate) fn header_value(header: &BucketHeader) -> Vec<u8> {
    let mut bytes = vec![SPLIT];
    bytes.extend_from_slice(&header::encode(header));
    bytes
}

/// Encodes a summary. Returns its value and its fingerprint.
pub(crate) fn summary_value(summary: &BucketSummary) -> Result<(Vec<u8>, u64), Damage> {
    let plain = summary::encode(summary);
    let packed = zstd::bulk::compress(&plain, LEVEL).map_err(content)?;
    let mut bytes = Vec::with_capacity(packed.len() + 1);
    bytes.push(SPLIT);
    bytes.extend_from_slice(&packed);
    Ok((bytes, fingerprint(&plain)))
}

/// Computes FNV-1a, which is the same in every release, because it is compared with values of other releases.
fn fingerprint(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

pub(crate) fn owner_value(epoch: u64, owner: IndexerId) -> Vec<u8> {
    let mut bytes = vec![SPLIT];
    bytes.extend_from_slice(&epoch.to_be_bytes());
    bytes.extend_from_slice(owner.0.as_bytes());
    bytes
}

pub(crate) fn number_value(number: u64) -> Vec<u8> {
    let mut bytes = vec![SPLIT];
    bytes.extend_from_slice(&number.to_be_bytes());
    bytes
}

pub(crate) fn position_value(position: JournalPosition) -> Vec<u8> {
    let mut bytes = vec![FIRST];
    bytes.extend_from_slice(&position.0.to_be_bytes());
    bytes
}

pub(crate) fn time_value(time: EventTime) -> Vec<u8> {
    let mut bytes = vec![FIRST];
    bytes.extend_from_slice(&time.0.to_be_bytes());
    bytes
}

/// Decodes an entry. Parts that headers have in common are taken from `shared`.
pub(crate) fn decode(key: &[u8], value: &[u8], shared: &mut Shared) -> Result<Entry, Damage> {
    let (&kind, rest) = key.split_first().ok_or_else(|| content("the key is empty"))?;
    let (&version, body) = value.split_first().ok_or_else(|| content("the value is empty"))?;
    let expected = match kind {
        BUCKET | DOCUMENT | DISCARDED | POSITION => FIRST,
        HEADER | OWNER | SUMMARY => SPLIT,
        _ if key == NUMBER => SPLIT,
        // A later release may have kinds that this one does not know.
        _ if version > SPLIT => return Err(Damage::Version(version)),
        _ => return Err(content("the key's kind is not known")),
    };
    match version {
        _ if version > SPLIT => return Err(Damage::Version(version)),
        _ if version != expected => {
            return Err(content(format!("the value has format {version} instead of {expected}")));
        }
        _ => {}
    }
    match kind {
        BUCKET => bucket(rest, body),
        DOCUMENT => document(rest, body),
        DISCARDED => discarded(rest, body),
        HEADER => Ok(Entry::Header(Box::new(header::decode(rest, body, shared)?))),
        OWNER => owner(rest, body),
        POSITION => position(rest, body),
        SUMMARY => {
            let id: [u8; 16] = rest.try_into().map_err(content)?;
            let summary = summary::decode(&unpacked(body)?)?;
            Ok(Entry::Summary(BucketId(uuid::Uuid::from_bytes(id)), Arc::new(summary)))
        }
        _ => {
            let number: [u8; 8] = body.try_into().map_err(content)?;
            Ok(Entry::Number(u64::from_be_bytes(number)))
        }
    }
}

fn unpacked(body: &[u8]) -> Result<Vec<u8>, Damage> {
    let mut text = Vec::new();
    let mut reader = zstd::Decoder::new(body).map_err(content)?;
    let mut limited = std::io::Read::take(&mut reader, MAX_VALUE as u64 + 1);
    std::io::Read::read_to_end(&mut limited, &mut text).map_err(content)?;
    if text.len() > MAX_VALUE {
        return Err(content("the value is larger than 256 MiB"));
    }
    Ok(text)
}

fn json<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, Damage> {
    serde_json::from_slice(&unpacked(body)?).map_err(content)
}

fn bucket(id: &[u8], body: &[u8]) -> Result<Entry, Damage> {
    let entry: BucketEntry = json(body)?;
    if id != entry.id.0.as_bytes() {
        return Err(content("the key is of another bucket than the value"));
    }
    Ok(Entry::Bucket(Box::new(entry)))
}

fn document(key: &[u8], body: &[u8]) -> Result<Entry, Damage> {
    let (kind, name) = name_of(key)?;
    Ok(Entry::Document { kind, name, json: json(body)? })
}

fn name_of(key: &[u8]) -> Result<(String, String), Damage> {
    let key = std::str::from_utf8(key).map_err(content)?;
    let (kind, name) = key.split_once('\0').ok_or_else(|| content("the key has no name"))?;
    Ok((kind.to_owned(), name.to_owned()))
}

/// Returns kind and name of the document of a key.
pub(crate) fn document_name(key: &[u8]) -> Result<(String, String), Damage> {
    match key.split_first() {
        Some((&DOCUMENT, rest)) => name_of(rest),
        _ => Err(content("the key is not of a document")),
    }
}

/// Whether every process that has the catalog keeps the entry of this key in memory.
pub(crate) fn is_in_memory(key: &[u8]) -> bool {
    IN_MEMORY.contains(&key)
}

/// Decodes which entry the deletion of a key removes.
pub(crate) fn deleted(key: &[u8]) -> Result<Deleted, Damage> {
    match key.split_first() {
        Some((&DOCUMENT, rest)) => {
            let (kind, name) = name_of(rest)?;
            Ok(Deleted::Document(kind, name))
        }
        Some((&DISCARDED, path)) => {
            let path = std::str::from_utf8(path).map_err(content)?;
            Ok(Deleted::Discarded(path.to_owned()))
        }
        Some((&HEADER, rest)) => {
            let id = rest.last_chunk::<16>().ok_or_else(|| content("short key"))?;
            Ok(Deleted::Bucket(BucketId(uuid::Uuid::from_bytes(*id))))
        }
        _ => Err(content("entries of the key's kind are never deleted")),
    }
}

fn discarded(path: &[u8], body: &[u8]) -> Result<Entry, Damage> {
    let path = std::str::from_utf8(path).map_err(content)?;
    let time: [u8; 8] = body.try_into().map_err(content)?;
    Ok(Entry::Discarded(path.to_owned(), EventTime(i64::from_be_bytes(time))))
}

fn owner(key: &[u8], body: &[u8]) -> Result<Entry, Damage> {
    let (indexer, set) = key.split_first_chunk::<16>().ok_or_else(|| content("short key"))?;
    let set: [u8; 2] = set.try_into().map_err(content)?;
    let (epoch, owner) = body.split_first_chunk::<8>().ok_or_else(|| content("short value"))?;
    let owner: [u8; 16] = owner.try_into().map_err(content)?;
    let indexer_of = |bytes: [u8; 16]| IndexerId(uuid::Uuid::from_bytes(bytes));
    let (indexer, owner) = (indexer_of(*indexer), indexer_of(owner));
    Ok(Entry::Owner(indexer, u16::from_be_bytes(set), u64::from_be_bytes(*epoch), owner))
}

fn position(key: &[u8], body: &[u8]) -> Result<Entry, Damage> {
    let (indexer, rest) = key.split_first_chunk::<16>().ok_or_else(|| content("short key"))?;
    let (set, rest) = rest.split_first_chunk::<2>().ok_or_else(|| content("short key"))?;
    let (lane, index) = rest.split_first().ok_or_else(|| content("short key"))?;
    let index = std::str::from_utf8(index).map_err(content)?;
    let position: [u8; 8] = body.try_into().map_err(content)?;
    let stream = StreamId {
        indexer: IndexerId(uuid::Uuid::from_bytes(*indexer)),
        set: u16::from_be_bytes(*set),
        index: IndexName::new(index).map_err(content)?,
        lane: Lane::from_tag(*lane),
    };
    Ok(Entry::Position(stream, JournalPosition(u64::from_be_bytes(position))))
}

#[cfg(test)]
mod tests;
