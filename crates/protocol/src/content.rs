//! Packs and unpacks the contents of batches.

use bytes::Bytes;
use prost::Message;

use crate::{Batch, Compression, Content};

/// Minimum size in bytes for compression.
const PACKED_FROM: usize = 256;

/// An error of unpacking a batch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The content is larger than allowed.
    #[error("the batch has {length} bytes, at most {limit} are allowed")]
    TooLarge {
        /// The stated length.
        length: u64,
        /// The limit of the reader.
        limit: usize,
    },
    /// An unknown compression.
    #[error("the batch is compressed in an unknown way ({0}); update the indexer")]
    Compression(i32),
    /// Damaged bytes.
    #[error("the batch does not unpack: {0}")]
    Malformed(String),
}

/// Packs a content; with a `level`, compresses it with zstd if that makes it smaller.
#[must_use]
pub fn pack(content: &Content, level: Option<i32>) -> (Compression, u64, Bytes) {
    let plain = content.encode_to_vec();
    let length = plain.len() as u64;
    if let Some(level) = level.filter(|_| plain.len() >= PACKED_FROM)
        && let Ok(packed) = zstd::bulk::compress(&plain, level)
        && packed.len() < plain.len()
    {
        return (Compression::Zstd, length, packed.into());
    }
    (Compression::None, length, plain.into())
}

/// Unpacks the content of a batch, up to `limit` bytes.
///
/// # Errors
/// If it is larger than the limit, compressed in an unknown way, or damaged.
pub fn unpack(batch: &Batch, limit: usize) -> Result<Content, Error> {
    let length = usize::try_from(batch.plain_len).ok().filter(|length| *length <= limit);
    let Some(length) = length else {
        return Err(Error::TooLarge { length: batch.plain_len, limit });
    };
    let plain = match Compression::try_from(batch.compression) {
        Ok(Compression::None) if batch.content.len() > limit => {
            return Err(Error::TooLarge { length: batch.content.len() as u64, limit });
        }
        Ok(Compression::None) => batch.content.clone(),
        Ok(Compression::Zstd) => zstd::bulk::decompress(&batch.content, length)
            .map_err(|error| Error::Malformed(error.to_string()))?
            .into(),
        Err(_) => return Err(Error::Compression(batch.compression)),
    };
    Content::decode(plain).map_err(|error| Error::Malformed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Text, content_body::Body};

    fn content(text: &str) -> Content {
        let text = Text { bytes: Bytes::copy_from_slice(text.as_bytes()), ..Text::default() };
        Content { stream: "s".to_owned(), body: Some(Body::Text(text)) }
    }

    fn batch(packed: (Compression, u64, Bytes)) -> Batch {
        let (compression, plain_len, content) = packed;
        Batch { compression: compression.into(), plain_len, content, ..Batch::default() }
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        for text in ["", "short", &"long ".repeat(1000)] {
            for level in [None, Some(1)] {
                let packed = pack(&content(text), level);
                assert_eq!(unpack(&batch(packed), 1 << 20), Ok(content(text)));
            }
        }
        assert_eq!(pack(&content(&"a".repeat(1000)), Some(1)).0, Compression::Zstd);
    }

    #[test]
    fn too_large_and_damaged_contents_are_refused() {
        let whole = batch(pack(&content(&"a".repeat(1000)), Some(1)));
        assert!(matches!(unpack(&whole, 10), Err(Error::TooLarge { .. })));
        let lies = Batch { plain_len: 20, ..whole.clone() };
        assert!(matches!(unpack(&lies, 1 << 20), Err(Error::Malformed(_))));
        let torn = Batch { content: whole.content.slice(..9), ..whole.clone() };
        assert!(matches!(unpack(&torn, 1 << 20), Err(Error::Malformed(_))));
        let strange = Batch { compression: 9, ..whole };
        assert_eq!(unpack(&strange, 1 << 20), Err(Error::Compression(9)));
    }
}
