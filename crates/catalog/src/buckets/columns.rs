//! The encoding of a chunk for a pack ([`crate::packs`]): one column after the other, so that opening reads a
//! chunk without inserting its buckets one by one.

use std::collections::HashMap;
use std::sync::Arc;

use model::{BucketId, BucketShape, EventTime};

use super::numbers::Numbers;
use super::shapes::Shapes;
use super::{Chunk, FIELDS_COMPLETE, FROZEN, SUMMARY_ROWS, THAWED, between};
use crate::codec::fields::{Fields, put_bytes, put_number, put_signed, put_text};
use crate::codec::{Damage, Shared, content, encode_shape};

const FLAGS: u8 = FIELDS_COMPLETE | SUMMARY_ROWS | THAWED | FROZEN;

impl Chunk {
    pub(crate) fn encoded(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len() * 80);
        put_text(&mut bytes, self.index.as_str());
        put_number(&mut bytes, self.len() as u64);
        let ids: Vec<u8> = self.ids.iter().flat_map(|id| id.0.into_bytes()).collect();
        put_bytes(&mut bytes, &ids);
        // They are random, so variable-length integers would take more bytes.
        let fingerprints = self.fingerprints.iter().flat_map(|number| number.to_be_bytes());
        put_bytes(&mut bytes, &fingerprints.collect::<Vec<u8>>());
        put_bytes(&mut bytes, &self.flags);
        let mut before = EventTime(0);
        for last in &self.last_times {
            put_time(&mut bytes, *last, before);
            before = *last;
        }
        for at in 0..self.len() {
            put_time(&mut bytes, self.first_time(at), self.last_times[at]);
        }
        for at in 0..self.len() {
            put_time(&mut bytes, self.first_index_time(at), self.first_time(at));
        }
        for at in 0..self.len() {
            put_time(&mut bytes, self.last_index_time(at), self.first_index_time(at));
        }
        for column in [&self.sizes, &self.rows, &self.raw_bytes, &self.versions] {
            (0..self.len()).for_each(|at| put_number(&mut bytes, column.get(at)));
        }
        self.put_shapes(&mut bytes);
        put_number(&mut bytes, self.other_paths.len() as u64);
        for (id, path) in &self.other_paths {
            put_bytes(&mut bytes, id.0.as_bytes());
            put_text(&mut bytes, path);
        }
        bytes
    }

    /// Appends every shape once, and for each bucket the number of its shape from 1, or 0 if it has none.
    fn put_shapes(&self, bytes: &mut Vec<u8>) {
        let mut shapes = Vec::new();
        let mut known: HashMap<*const BucketShape, u64> = HashMap::new();
        let mut numbers = Vec::with_capacity(self.len());
        for shape in self.shapes.iter() {
            let number = shape.as_ref().map(|shape| {
                *known.entry(Arc::as_ptr(shape)).or_insert_with(|| match encode_shape(shape) {
                    Some(encoded) => {
                        shapes.push(encoded);
                        shapes.len() as u64
                    }
                    None => 0,
                })
            });
            numbers.push(number.unwrap_or(0));
        }
        put_number(bytes, shapes.len() as u64);
        shapes.iter().for_each(|encoded| put_bytes(bytes, encoded));
        numbers.iter().for_each(|number| put_number(bytes, *number));
    }

    /// Decodes a chunk, which has buckets, in their order.
    pub(crate) fn decode(columns: &[u8], shared: &mut Shared) -> Result<Self, Damage> {
        let mut fields = Fields::of(columns);
        let mut chunk = Self::new(shared.index(fields.text()?.as_bytes())?);
        let len = fields.count()?;
        let (ids, rest) = fields.bytes()?.as_chunks::<16>();
        chunk.ids = ids.iter().map(|id| BucketId(uuid::Uuid::from_bytes(*id))).collect();
        let (fingerprints, other_rest) = fields.bytes()?.as_chunks::<8>();
        chunk.fingerprints = fingerprints.iter().map(|one| u64::from_be_bytes(*one)).collect();
        chunk.flags = fields.bytes()?.to_vec();
        let lengths = [chunk.ids.len(), chunk.fingerprints.len(), chunk.flags.len()];
        if len == 0 || lengths != [len; 3] || !rest.is_empty() || !other_rest.is_empty() {
            return Err(content("the columns of a pack have different lengths"));
        }
        if chunk.flags.iter().any(|flags| flags & !FLAGS != 0) {
            return Err(content("a header of a pack has unknown flags"));
        }
        chunk.last_times.reserve_exact(len);
        let mut before = EventTime(0);
        for _ in 0..len {
            before = time(&mut fields, before)?;
            chunk.last_times.push(before);
        }
        let first_times = times(&mut fields, &chunk.last_times)?;
        let first_index_times = times(&mut fields, &first_times)?;
        let last_index_times = times(&mut fields, &first_index_times)?;
        chunk.spans = all_between(&first_times, &chunk.last_times);
        chunk.delays = all_between(&first_times, &first_index_times);
        chunk.index_spans = all_between(&first_index_times, &last_index_times);
        chunk.sizes = numbers(&mut fields, len)?;
        chunk.rows = numbers(&mut fields, len)?;
        chunk.raw_bytes = numbers(&mut fields, len)?;
        chunk.versions = numbers(&mut fields, len)?;
        chunk.shapes = shapes(&mut fields, len, shared)?;
        for _ in 0..fields.count()? {
            let id: [u8; 16] = fields.bytes()?.try_into().map_err(content)?;
            let id = BucketId(uuid::Uuid::from_bytes(id));
            chunk.other_paths.insert(id, fields.text()?.into());
        }
        fields.end()?;
        if (1..len).any(|at| chunk.key(at - 1) >= chunk.key(at)) {
            return Err(content("the buckets of a pack are not in order"));
        }
        chunk.earliest = first_times.into_iter().fold(chunk.earliest, EventTime::min);
        Ok(chunk)
    }
}

/// Appends a time as its difference from another one.
fn put_time(bytes: &mut Vec<u8>, time: EventTime, base: EventTime) {
    put_signed(bytes, time.0.wrapping_sub(base.0));
}

fn time(fields: &mut Fields<'_>, base: EventTime) -> Result<EventTime, Damage> {
    Ok(EventTime(base.0.wrapping_add(fields.signed()?)))
}

fn times(fields: &mut Fields<'_>, bases: &[EventTime]) -> Result<Vec<EventTime>, Damage> {
    let mut times = Vec::with_capacity(bases.len());
    for base in bases {
        times.push(time(fields, *base)?);
    }
    Ok(times)
}

fn all_between(from: &[EventTime], upto: &[EventTime]) -> Numbers {
    from.iter().zip(upto).map(|(from, upto)| between(*from, *upto)).collect()
}

fn numbers(fields: &mut Fields<'_>, len: usize) -> Result<Numbers, Damage> {
    (0..len).map(|_| fields.number()).collect()
}

fn shapes(fields: &mut Fields<'_>, len: usize, shared: &mut Shared) -> Result<Shapes, Damage> {
    // Number 0 is that of buckets without a shape. Equal shapes of the table become one.
    let (mut known, mut table) = (vec![None], vec![0]);
    let mut numbers: HashMap<*const BucketShape, u64> = HashMap::new();
    for _ in 0..fields.count()? {
        let (shape, next) = (shared.shape(fields.bytes()?)?, known.len() as u64);
        let number = *numbers.entry(Arc::as_ptr(&shape)).or_insert(next);
        table.push(number);
        if number == next {
            known.push(Some(shape));
        }
    }
    let number = |_: usize| -> Result<u64, Damage> {
        let number = usize::try_from(fields.number()?).map_err(content)?;
        table.get(number).copied().ok_or_else(|| content("a shape is missing"))
    };
    let which = (0..len).map(number).collect::<Result<Numbers, Damage>>()?;
    Ok(Shapes::of(known, which))
}
