//! Binary encoding of the keys and values of the catalog.
//!
//! A key's first byte is its kind, so that one scan reads the whole catalog in order. A value's
//! first byte is its format version; the rest is JSON compressed with zstd (field catalogues repeat
//! many names), or a number for positions. Old versions stay readable.
//!
//! ```text
//! b <id, 16 bytes>                                           -> 1 zstd(json BucketEntry)
//! d <kind> 0 <name>                                          -> 1 zstd(json)
//! g <path>                                                   -> 1 <delete after, microseconds, 8>
//! p <indexer, 16 bytes> <set, 2> <lane, 1>       <index>     -> 1 <position, 8>
//! ```
//! Numbers are big-endian.

use model::{
    BucketEntry, BucketId, EventTime, IndexName, IndexerId, JournalPosition, Lane, StreamId,
};

use crate::Error;

const VERSION: u8 = 1;
const BUCKET: u8 = b'b';
const DOCUMENT: u8 = b'd';
const DISCARDED: u8 = b'g';
const POSITION: u8 = b'p';
/// All kinds, in key order.
pub(crate) const KINDS: [u8; 4] = [BUCKET, DOCUMENT, DISCARDED, POSITION];
/// Larger decompressed values are treated as damage: a summary has at most a few MiB.
const MAX_VALUE: usize = 256 << 20;
const LEVEL: i32 = 3;

/// One decoded entry.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Entry {
    Bucket(Box<BucketEntry>),
    Document { kind: String, name: String, json: serde_json::Value },
    Discarded(String, EventTime),
    Position(StreamId, JournalPosition),
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
            Self::Version(found) => Error::Version { path, key, found, known: VERSION },
            Self::Content(reason) => Error::Corrupt { path, key, reason },
        }
    }
}

fn content(reason: impl ToString) -> Damage {
    Damage::Content(reason.to_string())
}

pub(crate) fn bucket_key(id: BucketId) -> Vec<u8> {
    let mut key = vec![BUCKET];
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
    bytes.push(VERSION);
    bytes.extend_from_slice(&packed);
    Ok(bytes)
}

pub(crate) fn position_value(position: JournalPosition) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(&position.0.to_be_bytes());
    bytes
}

pub(crate) fn time_value(time: EventTime) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(&time.0.to_be_bytes());
    bytes
}

/// Decodes an entry.
pub(crate) fn decode(key: &[u8], value: &[u8]) -> Result<Entry, Damage> {
    let body = match value.split_first() {
        Some((&VERSION, body)) => body,
        Some((&version, _)) => return Err(Damage::Version(version)),
        None => return Err(content("the value is empty")),
    };
    match key.split_first() {
        Some((&BUCKET, id)) => bucket(id, body),
        Some((&DOCUMENT, name)) => document(name, body),
        Some((&DISCARDED, path)) => discarded(path, body),
        Some((&POSITION, stream)) => position(stream, body),
        _ => Err(content("the key's kind is not known")),
    }
}

fn json<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, Damage> {
    let mut text = Vec::new();
    let mut reader = zstd::Decoder::new(body).map_err(content)?;
    let mut limited = std::io::Read::take(&mut reader, MAX_VALUE as u64 + 1);
    std::io::Read::read_to_end(&mut limited, &mut text).map_err(content)?;
    if text.len() > MAX_VALUE {
        return Err(content("the value is larger than 256 MiB"));
    }
    serde_json::from_slice(&text).map_err(content)
}

fn bucket(id: &[u8], body: &[u8]) -> Result<Entry, Damage> {
    let entry: BucketEntry = json(body)?;
    if id != entry.id.0.as_bytes() {
        return Err(content("the key is of another bucket than the value"));
    }
    Ok(Entry::Bucket(Box::new(entry)))
}

fn document(key: &[u8], body: &[u8]) -> Result<Entry, Damage> {
    let key = std::str::from_utf8(key).map_err(content)?;
    let (kind, name) = key.split_once('\0').ok_or_else(|| content("the key has no name"))?;
    Ok(Entry::Document { kind: kind.to_owned(), name: name.to_owned(), json: json(body)? })
}

fn discarded(path: &[u8], body: &[u8]) -> Result<Entry, Damage> {
    let path = std::str::from_utf8(path).map_err(content)?;
    let time: [u8; 8] = body.try_into().map_err(content)?;
    Ok(Entry::Discarded(path.to_owned(), EventTime(i64::from_be_bytes(time))))
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
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_newer_format_is_named_and_not_misread() {
        let damage = decode(&document_key("user", "a"), &[9, 1, 2]).unwrap_err();
        let text = damage.at("catalog", b"duser\0a").to_string();
        assert!(text.contains("format 9") && text.contains("duser\\x00a"), "{text}");
    }

    proptest! {
        #[test]
        fn positions_come_back(id: u128, set: u16, lane: u8, at: u64) {
            let stream = StreamId {
                indexer: IndexerId(uuid::Uuid::from_u128(id)),
                set,
                index: IndexName::new("main").unwrap(),
                lane: Lane::from_tag(lane),
            };
            let entry = decode(&position_key(&stream), &position_value(JournalPosition(at))).unwrap();
            prop_assert_eq!(entry, Entry::Position(stream, JournalPosition(at)));
        }

        #[test]
        fn any_bytes_decode_or_are_refused(key: Vec<u8>, value: Vec<u8>) {
            let _ = decode(&key, &value);
        }

        #[test]
        fn damaged_documents_are_refused_or_differ(at in 1_usize..60, flip in 1_u8..) {
            let json = serde_json::json!({"roles": ["admin"], "hash": "0123456789abcdef"});
            let mut value = json_value(&json).unwrap();
            let at = at % value.len();
            value[at] ^= flip;
            // The database verifies blocks itself; here it is enough not to panic.
            let _ = decode(&document_key("user", "a"), &value);
        }
    }
}
