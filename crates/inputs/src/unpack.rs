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

/// Whether data is binary, by its first bytes: they contain NULs, more than 2 % of them are control
/// characters, and they do not begin as UTF-16 does. A run of NULs counts as one: holes of files and blocks
/// that were lost in a crash do not make text binary.
#[must_use]
pub fn is_binary(head: &[u8]) -> bool {
    let marked = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    if marked || memchr::memchr(0, head).is_none() {
        return false;
    }
    // Mostly text with runs of NULs: tar archives and databases.
    let is_tar = head.get(257..262).is_some_and(|magic| magic == b"ustar");
    if is_tar || head.starts_with(b"SQLite format 3\0") {
        return true;
    }
    let mut bytes = head.to_vec();
    bytes.dedup_by(|byte, before| *byte == 0 && *before == 0);
    let controls = bytes.iter().filter(|byte| is_control(**byte)).count();
    controls * 50 > bytes.len()
}

/// Whether a byte does not occur in text. White space, backspace, escape and the separators of fields do: FS,
/// GS, RS, US, and SOH in FIX messages.
const fn is_control(byte: u8) -> bool {
    matches!(byte, 0 | 2..=7 | 14..=26 | 0x7F)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_with_some_nuls_is_not_binary() {
        let line = b"2024-03-05 10:11:12 INFO a line of a log, as long as most of them are\n";
        let (torn, hole) = ([0; 10], vec![0; 8000]);
        let torn = [&line[..], &torn[..], &line[..]].concat();
        let with_hole = [line.repeat(30), hole, line.repeat(30)].concat();
        let ended_by_nuls = [&line[..], &b"\0"[..]].concat().repeat(20);
        let fix = b"8=FIX.4.2\x019=178\x0135=8\x01".repeat(20);
        let utf16 = b"\xff\xfea\0b\0".to_vec();
        for text in [line.to_vec(), torn, with_hole, ended_by_nuls, fix, utf16] {
            assert!(!is_binary(&text), "{:?}", text.escape_ascii().to_string());
        }
    }

    #[test]
    fn data_with_many_control_characters_is_binary() {
        let numbers: Vec<u8> = (0..1000_u32).flat_map(u32::to_le_bytes).collect();
        let mut tar = vec![0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        tar.extend_from_slice(&b"a line of a log\n".repeat(100));
        let header: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x06\x40";
        let unmarked: Vec<u8> = "two bytes".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let nuls = vec![0; 100];
        for data in [numbers, tar, header.to_vec(), unmarked, nuls, b"ab\0cd\n".to_vec()] {
            assert!(is_binary(&data), "{:?}", data.escape_ascii().to_string());
        }
    }
}
