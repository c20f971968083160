//! The binary form of a header, about 60 bytes, and the parts that headers share in memory.

use std::collections::HashMap;
use std::sync::Arc;

use model::{BucketHeader, BucketId, BucketShape, BucketState, EventTime, IndexName};

use super::fields::{Fields, put_bytes, put_number, put_signed, put_text};
use super::{Damage, content};

const FIELDS_COMPLETE: u8 = 1;
const OTHER_PATH: u8 = 1 << 1;
const SHAPE: u8 = 1 << 2;
const SUMMARY_ROWS: u8 = 1 << 3;
const FLAGS: u8 = FIELDS_COMPLETE | OTHER_PATH | SHAPE | SUMMARY_ROWS;
/// Maximum size of a shape in a header; a larger one is only in the summary.
const MAX_SHAPE: usize = 2048;
/// Number of shapes at which unused ones are first removed from the table; then again at twice the number
/// that was left.
const FEWEST_SHAPES: usize = 1024;

/// Index names and shapes, each stored once for all headers that have it.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    indexes: HashMap<Box<[u8]>, IndexName>,
    shapes: HashMap<Box<[u8]>, Arc<BucketShape>>,
    limit: usize,
}

impl Shared {
    pub(crate) fn index(&mut self, name: &[u8]) -> Result<IndexName, Damage> {
        if let Some(index) = self.indexes.get(name) {
            return Ok(index.clone());
        }
        let text = std::str::from_utf8(name).map_err(content)?;
        let index = IndexName::new(text).map_err(content)?;
        self.indexes.insert(name.into(), index.clone());
        Ok(index)
    }

    pub(crate) fn shape(&mut self, encoded: &[u8]) -> Result<Arc<BucketShape>, Damage> {
        if let Some(shape) = self.shapes.get(encoded) {
            return Ok(Arc::clone(shape));
        }
        if self.shapes.len() >= self.limit.max(FEWEST_SHAPES) {
            self.shapes.retain(|_, shape| Arc::strong_count(shape) > 1);
            self.limit = self.shapes.len() * 2;
        }
        let shape = Arc::new(decode_shape(encoded)?);
        self.shapes.insert(encoded.into(), Arc::clone(&shape));
        Ok(shape)
    }

    /// Returns the header with shared parts.
    pub(crate) fn share(&mut self, header: BucketHeader) -> Result<BucketHeader, Damage> {
        let index = self.index(header.index.as_str().as_bytes())?;
        let shape = match header.shape.as_deref().and_then(encode_shape) {
            Some(encoded) => Some(self.shape(&encoded)?),
            None => None,
        };
        Ok(BucketHeader { index, shape, ..header })
    }
}

/// Encodes a shape; returns `None` if it is too large for a header.
pub(crate) fn encode_shape(shape: &BucketShape) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    put_number(&mut bytes, shape.sourcetypes.len() as u64);
    shape.sourcetypes.iter().for_each(|name| put_text(&mut bytes, name));
    put_number(&mut bytes, shape.rules.len() as u64);
    for (sourcetype, fingerprint) in &shape.rules {
        put_text(&mut bytes, sourcetype);
        put_number(&mut bytes, *fingerprint);
    }
    put_number(&mut bytes, shape.multivalue.len() as u64);
    shape.multivalue.iter().for_each(|name| put_text(&mut bytes, name));
    (bytes.len() <= MAX_SHAPE).then_some(bytes)
}

fn decode_shape(encoded: &[u8]) -> Result<BucketShape, Damage> {
    let mut fields = Fields::of(encoded);
    let sourcetypes = names(&mut fields)?;
    let mut rules = Vec::new();
    for _ in 0..fields.count()? {
        rules.push((fields.text()?.to_owned(), fields.number()?));
    }
    let multivalue = names(&mut fields)?;
    fields.end()?;
    Ok(BucketShape { sourcetypes, rules, multivalue })
}

fn names(fields: &mut Fields<'_>) -> Result<Vec<String>, Damage> {
    let count = fields.count()?;
    (0..count).map(|_| Ok(fields.text()?.to_owned())).collect()
}

pub(super) fn encode(header: &BucketHeader) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(96);
    let shape = header.shape.as_deref().and_then(encode_shape);
    let mut flags = if header.fields_complete { FIELDS_COMPLETE } else { 0 };
    flags |= if header.other_path.is_some() { OTHER_PATH } else { 0 };
    flags |= if shape.is_some() { SHAPE } else { 0 };
    flags |= if header.summary_rows { SUMMARY_ROWS } else { 0 };
    bytes.push(flags);
    bytes.push(match header.state {
        BucketState::Warm => 0,
        BucketState::Thawed => 1,
        BucketState::Frozen => 2,
    });
    for number in [header.version, header.size, header.rows, header.raw_bytes] {
        put_number(&mut bytes, number);
    }
    put_signed(&mut bytes, header.first_time.0);
    put_signed(&mut bytes, header.last_time.0.wrapping_sub(header.first_time.0));
    put_signed(&mut bytes, header.first_index_time.0.wrapping_sub(header.first_time.0));
    put_signed(&mut bytes, header.last_index_time.0.wrapping_sub(header.first_index_time.0));
    put_number(&mut bytes, header.fingerprint);
    if let Some(path) = &header.other_path {
        put_text(&mut bytes, path);
    }
    if let Some(shape) = shape {
        put_bytes(&mut bytes, &shape);
    }
    bytes
}

/// Decodes a header from the rest of a key after its kind, and of a value after its version.
pub(super) fn decode(key: &[u8], body: &[u8], shared: &mut Shared) -> Result<BucketHeader, Damage> {
    let (key, id) = key.split_last_chunk::<16>().ok_or_else(|| content("the key is short"))?;
    let name = key.strip_suffix(b"\0").ok_or_else(|| content("the key has no index"))?;
    let index = shared.index(name)?;
    let mut fields = Fields::of(body);
    let flags = fields.byte()?;
    if flags & !FLAGS != 0 {
        return Err(content(format!("the header has the unknown flags {flags:#x}")));
    }
    let state = match fields.byte()? {
        0 => BucketState::Warm,
        1 => BucketState::Thawed,
        2 => BucketState::Frozen,
        other => return Err(content(format!("the header has the unknown state {other}"))),
    };
    let (version, size) = (fields.number()?, fields.number()?);
    let (rows, raw_bytes) = (fields.number()?, fields.number()?);
    let first_time = EventTime(fields.signed()?);
    let last_time = EventTime(first_time.0.wrapping_add(fields.signed()?));
    let first_index_time = EventTime(first_time.0.wrapping_add(fields.signed()?));
    let last_index_time = EventTime(first_index_time.0.wrapping_add(fields.signed()?));
    let fingerprint = fields.number()?;
    let other_path = match flags & OTHER_PATH {
        0 => None,
        _ => Some(fields.text()?.into()),
    };
    let shape = match flags & SHAPE {
        0 => None,
        _ => Some(shared.shape(fields.bytes()?)?),
    };
    fields.end()?;
    Ok(BucketHeader {
        id: BucketId(uuid::Uuid::from_bytes(*id)),
        index,
        other_path,
        size,
        rows,
        raw_bytes,
        first_time,
        last_time,
        first_index_time,
        last_index_time,
        version,
        fingerprint,
        shape,
        state,
        fields_complete: flags & FIELDS_COMPLETE != 0,
        summary_rows: flags & SUMMARY_ROWS != 0,
    })
}
