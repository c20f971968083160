//! Decompresses data whose format is recognized by its first bytes: gzip (several members) and zstd.

use std::io::{self, BufReader, Read};

use bytes::Bytes;
use tokio::sync::mpsc;

/// A compression format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    Gzip,
    Zstd,
    /// A format that is not supported.
    Other(&'static str),
}

impl Packing {
    /// Returns the format that the first bytes identify; `None` if the data is not compressed.
    pub(crate) fn of(head: &[u8]) -> Option<Self> {
        const OTHERS: [(&[u8], &str); 5] = [
            (b"BZh", "bzip2"),
            (b"\xfd7zXZ\0", "xz"),
            (b"PK\x03\x04", "zip"),
            (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
            (b"\x04\x22\x4d\x18", "lz4"),
        ];
        match head {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            _ => OTHERS
                .iter()
                .find(|(magic, _)| head.starts_with(magic))
                .map(|(_, name)| Self::Other(name)),
        }
    }
}

/// Whether data is binary, by its first bytes: they contain zeros, and do not begin as UTF-16 does.
#[must_use]
pub fn is_binary(head: &[u8]) -> bool {
    let marked = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    !marked && memchr::memchr(0, head).is_some()
}

/// Returns a reader of the decompressed text of data that may be compressed.
///
/// # Errors
/// Those of the reader, and `InvalidData` if it is packed in a way that cannot be read.
pub fn unpack<'a>(mut reader: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut magic = [0; 8];
    let mut length = 0;
    while length < magic.len() {
        match reader.read(&mut magic[length..])? {
            0 => break,
            read => length += read,
        }
    }
    let packing = Packing::of(&magic[..length]);
    let start = io::Cursor::new(magic).take(length as u64);
    let whole = BufReader::with_capacity(256 << 10, start.chain(reader));
    Ok(match packing {
        None => Box::new(whole),
        Some(Packing::Gzip) => Box::new(flate2::bufread::MultiGzDecoder::new(whole)),
        Some(Packing::Zstd) => Box::new(zstd::stream::read::Decoder::with_buffer(whole)?),
        Some(Packing::Other(name)) => {
            let reason =
                format!("compressed with {name}, which is not supported; decompress it first");
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
    })
}

/// Hands the text of a reader over in chunks, up to its end, its first failure, or until nobody
/// wants any more. Blocks the thread.
pub(crate) fn send_chunks(
    reader: io::Result<impl Read>,
    size: usize,
    chunks: &mpsc::Sender<io::Result<Bytes>>,
) {
    let send = |chunk| chunks.blocking_send(chunk).is_ok();
    let mut reader = match reader {
        Ok(reader) => reader,
        Err(error) => {
            send(Err(error));
            return;
        }
    };
    loop {
        let mut chunk = Vec::with_capacity(size);
        let result = reader.by_ref().take(size as u64).read_to_end(&mut chunk);
        let empty = chunk.is_empty();
        if !empty && !send(Ok(chunk.into())) {
            return;
        }
        match result {
            Ok(_) if empty => return,
            Ok(_) => {}
            Err(error) => {
                send(Err(error));
                return;
            }
        }
    }
}
