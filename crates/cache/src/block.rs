//! A block of an object, and how it is written to NVMe.
//!
//! Each block carries its object's size, time and etag, so that a restarted process can answer from
//! NVMe alone. The NVMe tier adds a checksum over key and value and drops blocks with a wrong one.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use foyer::{Code, Error, ErrorKind};
use object_store::ObjectMeta;
use object_store::path::Path;

/// The kind of data in a block; each kind has its own pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Footers, directories, term indexes.
    Index,
    /// Rows.
    Data,
}

/// Maximum length of a text and maximum size of a block when read back; larger values mean damage.
const MAX_TEXT: usize = 64 << 10;
const MAX_DATA: usize = 64 << 20;

/// The key of a block: the path of its object and its number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct BlockKey {
    pub(crate) path: Arc<str>,
    pub(crate) number: u64,
}

/// A block, with the metadata of its object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Block {
    /// Size of the whole object.
    pub(crate) size: u64,
    /// When the object was written, in microseconds.
    pub(crate) modified: i64,
    pub(crate) e_tag: Option<Arc<str>>,
    pub(crate) data: Bytes,
}

impl Block {
    pub(crate) fn new(meta: &ObjectMeta, data: Bytes) -> Self {
        let e_tag = meta.e_tag.as_deref().map(Arc::from);
        Self { size: meta.size, modified: meta.last_modified.timestamp_micros(), e_tag, data }
    }

    pub(crate) fn meta(&self, location: &Path) -> ObjectMeta {
        let since = Duration::from_micros(self.modified.unsigned_abs());
        let modified = if self.modified < 0 {
            SystemTime::UNIX_EPOCH.checked_sub(since)
        } else {
            SystemTime::UNIX_EPOCH.checked_add(since)
        };
        ObjectMeta {
            location: location.clone(),
            last_modified: modified.unwrap_or(SystemTime::UNIX_EPOCH).into(),
            size: self.size,
            e_tag: self.e_tag.as_deref().map(str::to_owned),
            version: None,
        }
    }

    /// Approximate memory use in bytes.
    pub(crate) fn weight(&self) -> usize {
        self.data.len() + 160
    }
}

fn put(writer: &mut impl Write, bytes: &[u8]) -> Result<(), Error> {
    writer.write_all(bytes).map_err(Error::io_error)
}

fn put_text(writer: &mut impl Write, text: &[u8]) -> Result<(), Error> {
    put(writer, &(text.len() as u64).to_le_bytes())?;
    put(writer, text)
}

fn get<const N: usize>(reader: &mut impl Read) -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    reader.read_exact(&mut bytes).map_err(Error::io_error)?;
    Ok(bytes)
}

fn get_text(reader: &mut impl Read, limit: usize) -> Result<Vec<u8>, Error> {
    let length = usize::try_from(u64::from_le_bytes(get(reader)?)).unwrap_or(usize::MAX);
    if length > limit {
        return Err(damaged("a length is beyond its limit"));
    }
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes).map_err(Error::io_error)?;
    Ok(bytes)
}

fn get_string(reader: &mut impl Read) -> Result<Arc<str>, Error> {
    let text = String::from_utf8(get_text(reader, MAX_TEXT)?);
    text.map(Arc::from).map_err(|_| damaged("a text is not UTF-8"))
}

/// The error of a damaged block. The tier handles it like a wrong checksum: it drops the block.
fn damaged(reason: &'static str) -> Error {
    Error::new(ErrorKind::ChecksumMismatch, reason)
}

impl Code for BlockKey {
    fn encode(&self, writer: &mut impl Write) -> Result<(), Error> {
        put(writer, &self.number.to_le_bytes())?;
        put_text(writer, self.path.as_bytes())
    }

    fn decode(reader: &mut impl Read) -> Result<Self, Error> {
        let number = u64::from_le_bytes(get(reader)?);
        Ok(Self { number, path: get_string(reader)? })
    }

    fn estimated_size(&self) -> usize {
        16 + self.path.len()
    }
}

impl Code for Block {
    fn encode(&self, writer: &mut impl Write) -> Result<(), Error> {
        put(writer, &self.size.to_le_bytes())?;
        put(writer, &self.modified.to_le_bytes())?;
        put(writer, &[u8::from(self.e_tag.is_some())])?;
        put_text(writer, self.e_tag.as_deref().unwrap_or_default().as_bytes())?;
        put_text(writer, &self.data)
    }

    fn decode(reader: &mut impl Read) -> Result<Self, Error> {
        let size = u64::from_le_bytes(get(reader)?);
        let modified = i64::from_le_bytes(get(reader)?);
        let [has_e_tag] = get(reader)?;
        let e_tag = get_string(reader)?;
        let data = get_text(reader, MAX_DATA)?.into();
        Ok(Self { size, modified, e_tag: (has_e_tag == 1).then_some(e_tag), data })
    }

    fn estimated_size(&self) -> usize {
        33 + self.e_tag.as_deref().map_or(0, str::len) + self.data.len()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_block_and_its_key_come_back_from_their_bytes() {
        for e_tag in [None, Some(Arc::from("\"abc\""))] {
            let data = Bytes::from_static(b"hello");
            let block = Block { size: 9, modified: -5, e_tag, data };
            let mut bytes = Vec::new();
            block.encode(&mut bytes).unwrap();
            assert_eq!(bytes.len(), block.estimated_size());
            assert_eq!(Block::decode(&mut bytes.as_slice()).unwrap(), block);
            assert!(Block::decode(&mut &bytes[..bytes.len() - 1]).is_err());
        }
        let key = BlockKey { path: Arc::from("buckets/a"), number: 3 };
        let mut bytes = Vec::new();
        key.encode(&mut bytes).unwrap();
        assert_eq!(BlockKey::decode(&mut bytes.as_slice()).unwrap(), key);
    }
}
