//! The encoding of queue records, little-endian.

use bytes::Bytes;
use protocol::Compression;
use uuid::Uuid;

/// The start of every record.
pub(super) const MAGIC: [u8; 4] = *b"kQue";
/// Number of bytes before a record's note.
pub(super) const HEADER: usize = 40;
/// The start of every segment: magic and version; channel and first number follow.
const SEGMENT_MAGIC: [u8; 8] = *b"KARSTFQ\x01";
/// Number of bytes before the first record.
pub(super) const SEGMENT_HEADER: usize = 32;

/// A batch or a note to be queued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) compression: Compression,
    /// Length of the content before compression.
    pub(crate) plain_len: u64,
    pub(crate) content: Bytes,
    /// The position from which to continue reading the source; empty if the source cannot be read again.
    pub(crate) note: Bytes,
}

impl Entry {
    /// Its memory use in bytes.
    pub(crate) fn size(&self) -> usize {
        self.content.len() + self.note.len() + 256
    }
}

/// The fixed part of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) sequence: u64,
    pub(crate) plain_len: u64,
    pub(crate) content_len: u32,
    pub(crate) note_len: u16,
    pub(crate) compression: u8,
    crc: u32,
}

impl Header {
    /// Size of the whole record in bytes.
    pub(crate) fn record_len(&self) -> u64 {
        HEADER as u64 + u64::from(self.note_len) + u64::from(self.content_len)
    }

    /// Parses the header at the start of `bytes`; `None` if it is incomplete or damaged.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let fixed: &[u8; HEADER] = bytes.get(..HEADER)?.try_into().ok()?;
        let u32_at = |at: usize| {
            u32::from_le_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]])
        };
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        if fixed[..4] != MAGIC || crc32fast::hash(&fixed[8..]) != u32_at(4) {
            return None;
        }
        Some(Self {
            sequence: u64_at(8),
            plain_len: u64_at(16),
            content_len: u32_at(24),
            crc: u32_at(28),
            note_len: u16::from_le_bytes([fixed[32], fixed[33]]),
            compression: fixed[34],
        })
    }

    /// Whether note and content match the checksum.
    pub(crate) fn fits(&self, body: &[u8]) -> bool {
        crc32fast::hash(body) == self.crc
    }
}

/// Encodes a record up to its content.
pub(super) fn head(entry: &Entry, sequence: u64) -> Vec<u8> {
    // A note that is too long is omitted, so that the source is read again from an older position.
    let note = if entry.note.len() > usize::from(u16::MAX) { &[][..] } else { &entry.note[..] };
    let mut crc = crc32fast::Hasher::new();
    crc.update(note);
    crc.update(&entry.content);
    let content_len = u32::try_from(entry.content.len()).expect("a batch stays under 4 GiB");
    let note_len = u16::try_from(note.len()).expect("longer notes are left out");
    let mut out = Vec::with_capacity(HEADER + note.len());
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&sequence.to_le_bytes());
    out.extend_from_slice(&entry.plain_len.to_le_bytes());
    out.extend_from_slice(&content_len.to_le_bytes());
    out.extend_from_slice(&crc.finalize().to_le_bytes());
    out.extend_from_slice(&note_len.to_le_bytes());
    let compression = u8::from(entry.compression == Compression::Zstd);
    out.extend_from_slice(&[compression, 0, 0, 0, 0, 0]);
    let crc = crc32fast::hash(&out[8..HEADER]);
    out[4..8].copy_from_slice(&crc.to_le_bytes());
    out.extend_from_slice(note);
    out
}

/// Encodes the header of a segment.
pub(super) fn segment_header(channel: Uuid, first: u64) -> [u8; SEGMENT_HEADER] {
    let mut out = [0; SEGMENT_HEADER];
    out[..8].copy_from_slice(&SEGMENT_MAGIC);
    out[8..24].copy_from_slice(channel.as_bytes());
    out[24..].copy_from_slice(&first.to_le_bytes());
    out
}

/// Decodes channel and first number of a segment.
pub(super) fn read_segment_header(bytes: &[u8]) -> Option<(Uuid, u64)> {
    let header = bytes.get(..SEGMENT_HEADER)?.strip_prefix(&SEGMENT_MAGIC)?;
    let (channel, first) = header.split_first_chunk::<16>()?;
    Some((Uuid::from_bytes(*channel), u64::from_le_bytes(first.try_into().ok()?)))
}
