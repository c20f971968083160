//! Encoding and decoding of journal records.
//!
//! Integers are little-endian. The header of a record has its own checksum, so that after damage a reader
//! finds the next record, and can skip a record whose payload is damaged.

use std::sync::Arc;

use bytes::Bytes;
use inputs::BatchId;
use model::{
    BucketId, EventBatch, EventTime, IndexName, IndexedField, JournalPosition, Lane, Origin,
    OriginRun,
};

use super::pack::{Codec, Packer, unpack};
use super::writer::StreamRef;

/// The first bytes of every record.
pub(crate) const MAGIC: [u8; 4] = *b"kJrn";
/// Length of a record before the index name, in bytes.
pub(crate) const HEADER: usize = 36;

const KIND_BATCH: u8 = 1;
const KIND_ROLL: u8 = 2;
const KIND_DELIVERED: u8 = 3;
/// Offset of the flag that the record counts only if a note of its input follows.
const PART: usize = 32;

/// A batch of one stream, as it is in the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BatchRecord {
    pub(crate) position: JournalPosition,
    pub(crate) lane: Lane,
    pub(crate) batch: EventBatch,
    /// Arrival time of the first event; each further event counts as one microsecond later.
    pub(crate) first_index_time: i64,
    /// Whether it is a part of a numbered input, which counts only if a [`Delivered`] names it.
    pub(crate) part: bool,
}

/// The note that all parts of a numbered input are in the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Delivered {
    pub(crate) id: BatchId,
    pub(crate) parts: Vec<JournalPosition>,
}

/// The note that a bucket with the records of a stream up to a position is about to be uploaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RollStarted {
    pub(crate) index: IndexName,
    pub(crate) lane: Lane,
    pub(crate) upto: JournalPosition,
    pub(crate) bucket: BucketId,
    pub(crate) path: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record {
    Batch(BatchRecord),
    Roll(RollStarted),
    Delivered(Delivered),
}

/// The fixed part of a record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    pub(crate) payload_len: u32,
    pub(crate) plain_len: u32,
    pub(crate) payload_crc: u32,
    pub(crate) position: u64,
    pub(crate) kind: u8,
    pub(crate) codec: u8,
    pub(crate) lane: Lane,
    pub(crate) index_len: u8,
    pub(crate) part: bool,
}

impl Header {
    /// Returns the length of the whole record in bytes.
    pub(crate) fn record_len(&self) -> u64 {
        HEADER as u64 + u64::from(self.index_len) + u64::from(self.payload_len)
    }

    fn write(&self, index: &str, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.payload_len.to_le_bytes());
        out.extend_from_slice(&self.plain_len.to_le_bytes());
        out.extend_from_slice(&self.payload_crc.to_le_bytes());
        out.extend_from_slice(&self.position.to_le_bytes());
        out.extend_from_slice(&[self.kind, self.codec, self.lane.tag(), self.index_len]);
        out.extend_from_slice(&[u8::from(self.part), 0, 0, 0]);
        out.extend_from_slice(index.as_bytes());
        let crc = crc32fast::hash(&out[start + 8..]);
        out[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
    }

    /// Reads the header and the index name at the start of `bytes`; returns `None` if they are incomplete or
    /// damaged.
    pub(crate) fn read(bytes: &[u8]) -> Option<(Self, &str)> {
        let fixed = bytes.get(..HEADER)?;
        if fixed[..4] != MAGIC {
            return None;
        }
        let u32_at = |at: usize| {
            u32::from_le_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]])
        };
        let header = Self {
            payload_len: u32_at(8),
            plain_len: u32_at(12),
            payload_crc: u32_at(16),
            position: u64::from(u32_at(20)) | u64::from(u32_at(24)) << 32,
            kind: fixed[28],
            codec: fixed[29],
            lane: Lane::from_tag(fixed[30]),
            index_len: fixed[31],
            part: fixed[PART] != 0,
        };
        let end = HEADER + usize::from(header.index_len);
        let covered = bytes.get(8..end)?;
        if crc32fast::hash(covered) != u32_at(4) {
            return None;
        }
        Some((header, std::str::from_utf8(&bytes[HEADER..end]).ok()?))
    }
}

/// An encoder of records, which reuses its buffers.
pub(crate) struct Encoder {
    plain: Vec<u8>,
    packer: Packer,
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder").finish_non_exhaustive()
    }
}

impl Encoder {
    /// Creates an encoder that compresses payloads with this codec.
    pub(crate) fn new(codec: Codec) -> Self {
        Self { plain: Vec::new(), packer: Packer::new(codec) }
    }

    /// Encodes the record of a batch.
    pub(crate) fn batch(
        &mut self,
        batch: &EventBatch,
        first_index_time: i64,
        lane: Lane,
        position: JournalPosition,
    ) -> Vec<u8> {
        self.plain.clear();
        write_batch(batch, first_index_time, &mut self.plain);
        let packed = self.packer.pack(&self.plain);
        finish(KIND_BATCH, &batch.index, lane, position, packed, self.plain.len())
    }
}

/// Moves a record to another lane of its index.
pub(crate) fn set_lane(record: &mut [u8], lane: Lane) {
    let end = HEADER + usize::from(record[31]);
    record[30] = lane.tag();
    let crc = crc32fast::hash(&record[8..end]);
    record[4..8].copy_from_slice(&crc.to_le_bytes());
}

/// Encodes the record that notes a roll.
pub(crate) fn encode_roll(roll: &RollStarted) -> Vec<u8> {
    let mut plain = Vec::with_capacity(64 + roll.path.len());
    plain.extend_from_slice(roll.bucket.0.as_bytes());
    plain.extend_from_slice(roll.path.as_bytes());
    finish(KIND_ROLL, &roll.index, roll.lane, roll.upto, (0, &plain), plain.len())
}

/// Marks an encoded batch as a part of a numbered input.
pub(crate) fn mark_part(record: &mut [u8]) {
    let Some(index_len) = record.get(31).copied() else { return };
    let end = HEADER + usize::from(index_len);
    if record.len() < end {
        return;
    }
    record[PART] = 1;
    let crc = crc32fast::hash(&record[8..end]);
    record[4..8].copy_from_slice(&crc.to_le_bytes());
}

/// Encodes the note of a numbered input, which follows its parts; the last part is of `stream`.
pub(crate) fn encode_delivered(delivered: &Delivered, (index, lane): &StreamRef) -> Vec<u8> {
    let mut plain = delivered.id.channel.as_bytes().to_vec();
    put(&mut plain, delivered.id.sequence);
    put(&mut plain, delivered.id.settled);
    put(&mut plain, delivered.parts.len() as u64);
    let mut before = 0;
    for part in &delivered.parts {
        put(&mut plain, part.0.wrapping_sub(before));
        before = part.0;
    }
    finish(KIND_DELIVERED, index, *lane, JournalPosition(before), (0, &plain), plain.len())
}

fn finish(
    kind: u8,
    index: &IndexName,
    lane: Lane,
    position: JournalPosition,
    (codec, payload): (u8, &[u8]),
    plain_len: usize,
) -> Vec<u8> {
    let length = |length: usize| u32::try_from(length).expect("batches stay under 4 GiB");
    let header = Header {
        payload_len: length(payload.len()),
        plain_len: length(plain_len),
        payload_crc: crc32fast::hash(payload),
        position: position.0,
        kind,
        codec,
        lane,
        index_len: u8::try_from(index.as_str().len()).expect("an index name has at most 80 bytes"),
        part: false,
    };
    let mut out = Vec::with_capacity(HEADER + index.as_str().len() + payload.len());
    header.write(index.as_str(), &mut out);
    out.extend_from_slice(payload);
    out
}

/// Decodes a record whose header has been read. Fails with a reason if it is damaged.
pub(crate) fn decode(header: &Header, index: &str, payload: &[u8]) -> Result<Record, &'static str> {
    if crc32fast::hash(payload) != header.payload_crc {
        return Err("the payload's checksum does not match");
    }
    let index = IndexName::new(index).map_err(|_| "the index name is invalid")?;
    let plain = unpack(header.codec, payload, header.plain_len as usize)?;
    let position = JournalPosition(header.position);
    match header.kind {
        KIND_BATCH => {
            let (batch, first_index_time) =
                read_batch(index, &plain).ok_or("the payload is malformed")?;
            let lane = header.lane;
            let part = header.part;
            Ok(Record::Batch(BatchRecord { position, lane, batch, first_index_time, part }))
        }
        KIND_ROLL => {
            let id = plain.get(..16).and_then(|id| id.try_into().ok());
            let path = plain.get(16..).and_then(|path| std::str::from_utf8(path).ok());
            let (Some(id), Some(path)) = (id, path) else { return Err("the payload is malformed") };
            Ok(Record::Roll(RollStarted {
                index,
                lane: header.lane,
                upto: position,
                bucket: BucketId(uuid::Uuid::from_bytes(id)),
                path: path.to_owned(),
            }))
        }
        KIND_DELIVERED => {
            read_delivered(&plain).map(Record::Delivered).ok_or("the payload is malformed")
        }
        _ => Err("the record kind is unknown; the file is of a newer version"),
    }
}

fn read_delivered(plain: &[u8]) -> Option<Delivered> {
    let (channel, _) = plain.split_first_chunk::<16>()?;
    let mut cursor = Cursor { bytes: plain, at: 16 };
    let (sequence, settled) = (cursor.number()?, cursor.number()?);
    let id = BatchId { channel: uuid::Uuid::from_bytes(*channel), sequence, settled };
    let mut parts = Vec::new();
    let mut last = 0u64;
    for _ in 0..cursor.number()? {
        last = last.wrapping_add(cursor.number()?);
        parts.push(JournalPosition(last));
    }
    (cursor.at == plain.len()).then_some(Delivered { id, parts })
}

/// Encodes the payload of a batch.
pub(crate) fn write_batch(batch: &EventBatch, first_index_time: i64, out: &mut Vec<u8>) {
    out.reserve(batch.raw.len() + batch.rows() * 4 + 64);
    put(out, batch.rows() as u64);
    put_signed(out, first_index_time);
    put(out, batch.origins.len() as u64);
    for origin in &batch.origins {
        for text in [&origin.host, &origin.source, &origin.sourcetype] {
            put_text(out, text);
        }
    }
    put(out, batch.runs.len() as u64);
    for run in &batch.runs {
        put(out, u64::from(run.origin));
        put(out, u64::from(run.rows));
    }
    for border in batch.offsets.windows(2) {
        put(out, u64::from(border[1] - border[0]));
    }
    let mut last = first_index_time;
    for time in &batch.time {
        put_signed(out, time.0.wrapping_sub(last));
        last = time.0;
    }
    put(out, batch.fields.len() as u64);
    for field in &batch.fields {
        put(out, u64::from(field.row));
        put_text(out, &field.name);
        put_text(out, &field.value);
    }
    put(out, batch.raw.len() as u64);
    out.extend_from_slice(&batch.raw);
}

/// Decodes a batch from a payload, with the arrival time of its first event.
pub(crate) fn read_batch(index: IndexName, plain: &Bytes) -> Option<(EventBatch, i64)> {
    let mut cursor = Cursor { bytes: plain, at: 0 };
    let rows = usize::try_from(cursor.number()?).ok()?;
    if rows > plain.len() {
        return None;
    }
    let first_index_time = cursor.signed()?;
    let (origins, runs) = read_origins(&index, rows, &mut cursor)?;
    let mut offsets = Vec::with_capacity(rows + 1);
    offsets.push(0u32);
    let mut end = 0u32;
    for _ in 0..rows {
        end = end.checked_add(u32::try_from(cursor.number()?).ok()?)?;
        offsets.push(end);
    }
    let mut time = Vec::with_capacity(rows);
    let mut last = first_index_time;
    for _ in 0..rows {
        last = last.wrapping_add(cursor.signed()?);
        time.push(EventTime(last));
    }
    let count = usize::try_from(cursor.number()?).ok()?;
    let mut fields = Vec::with_capacity(count.min(plain.len()));
    for _ in 0..count {
        let row = u32::try_from(cursor.number()?).ok()?;
        let (name, value) = (cursor.text()?.into(), cursor.text()?.into());
        fields.push(IndexedField { row, name, value });
    }
    let raw_len = usize::try_from(cursor.number()?).ok()?;
    if raw_len != end as usize || plain.len() - cursor.at != raw_len {
        return None;
    }
    let raw = plain.slice(cursor.at..);
    std::str::from_utf8(&raw).ok()?;
    Some((EventBatch { index, origins, runs, raw, offsets, time, fields }, first_index_time))
}

/// Decodes the origins and runs of a batch; returns `None` if they are inconsistent.
fn read_origins(
    index: &IndexName,
    rows: usize,
    cursor: &mut Cursor<'_>,
) -> Option<(Vec<Arc<Origin>>, Vec<OriginRun>)> {
    let count = usize::try_from(cursor.number()?).ok().filter(|count| *count <= rows)?;
    let mut origins = Vec::with_capacity(count);
    for _ in 0..count {
        origins.push(Arc::new(Origin {
            index: index.clone(),
            host: cursor.text()?.into(),
            source: cursor.text()?.into(),
            sourcetype: cursor.text()?.into(),
        }));
    }
    let count = usize::try_from(cursor.number()?).ok().filter(|count| *count <= rows)?;
    let mut runs = Vec::with_capacity(count);
    let mut covered = 0u64;
    for _ in 0..count {
        let origin = u32::try_from(cursor.number()?).ok()?;
        let length = u32::try_from(cursor.number()?).ok()?;
        origins.get(origin as usize)?;
        covered += u64::from(length);
        runs.push(OriginRun { origin, rows: length });
    }
    (covered == rows as u64).then_some((origins, runs))
}

fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, ((value << 1) ^ (value >> 63)) as u64);
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn number(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let value = self.number()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.number()?).ok()?;
        let end = self.at.checked_add(length)?;
        let text = std::str::from_utf8(self.bytes.get(self.at..end)?).ok()?;
        self.at = end;
        Some(text)
    }
}
