//! Events being indexed, as columns: one byte buffer, offsets, times, and shared origins.

use std::sync::Arc;

use bytes::Bytes;
use foldhash::HashMap;
use serde::{Deserialize, Serialize};

use crate::{EventTime, IndexName};

/// The origin and the destination of events.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// The index that stores the events.
    pub index: IndexName,
    /// The machine that the events came from.
    pub host: Arc<str>,
    /// The file, stream or input that the events came from.
    pub source: Arc<str>,
    /// Their format.
    pub sourcetype: Arc<str>,
}

/// A field that the sender attached to an event (HEC `fields`); a repeated name makes a multivalue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexedField {
    /// The event's row in its batch.
    pub row: u32,
    /// Field name.
    pub name: Arc<str>,
    /// Exact text of the value.
    pub value: Box<str>,
}

/// A number of consecutive events with the same origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OriginRun {
    /// The position of the origin in the batch's list.
    pub origin: u32,
    /// Number of events.
    pub rows: u32,
}

/// Parsed events of one index. Row `i` is `raw[offsets[i]..offsets[i + 1]]`, valid UTF-8.
///
/// Invariants: `offsets` has `time.len() + 1` entries that never decrease; `runs` cover all rows;
/// every origin has this index; `fields` is sorted by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventBatch {
    /// The index that stores the events.
    pub index: IndexName,
    /// The distinct origins of the events.
    pub origins: Vec<Arc<Origin>>,
    /// The origins of all rows, in order.
    pub runs: Vec<OriginRun>,
    /// The text of all events, concatenated.
    pub raw: Bytes,
    /// Boundaries of the rows in `raw`.
    pub offsets: Vec<u32>,
    /// Event times.
    pub time: Vec<EventTime>,
    /// Attached fields; mostly empty.
    pub fields: Vec<IndexedField>,
}

impl EventBatch {
    /// Number of events.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.time.len()
    }

    /// Whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.time.is_empty()
    }

    /// The origin of every event in order.
    pub fn each_origin(&self) -> impl Iterator<Item = &Arc<Origin>> {
        self.runs.iter().flat_map(|run| {
            std::iter::repeat_n(&self.origins[run.origin as usize], run.rows as usize)
        })
    }

    /// The bytes of one event.
    #[must_use]
    pub fn row(&self, row: usize) -> &[u8] {
        &self.raw[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}

/// Builds an [`EventBatch`] event by event, with one copy of the text and no allocation per event.
#[derive(Debug)]
pub struct EventBatchBuilder {
    index: IndexName,
    origins: Origins,
    raw: Vec<u8>,
    offsets: Vec<u32>,
    time: Vec<EventTime>,
    fields: Vec<IndexedField>,
}

impl EventBatchBuilder {
    /// An empty batch with room for `raw_bytes` of text.
    #[must_use]
    pub fn new(index: IndexName, raw_bytes: usize) -> Self {
        Self {
            index,
            origins: Origins::default(),
            raw: Vec::with_capacity(raw_bytes),
            offsets: vec![0],
            time: Vec::new(),
            fields: Vec::new(),
        }
    }

    /// Appends an event; its origin must have the index of the batch.
    ///
    /// # Panics
    /// If the text of the batch exceeds 4 GiB; callers cut batches at a few MiB.
    pub fn push(&mut self, origin: &Arc<Origin>, time: EventTime, raw: &str) {
        self.raw.extend_from_slice(raw.as_bytes());
        let end = u32::try_from(self.raw.len()).expect("a batch stays under 4 GiB of text");
        self.origins.push(origin, 1);
        self.offsets.push(end);
        self.time.push(time);
    }

    /// Attaches a field to the last event.
    pub fn push_field(&mut self, name: Arc<str>, value: &str) {
        let row = u32::try_from(self.time.len().saturating_sub(1)).unwrap_or(u32::MAX);
        self.fields.push(IndexedField { row, name, value: value.into() });
    }

    /// Number of events so far.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.time.len()
    }

    /// Bytes of text so far.
    #[must_use]
    pub fn raw_bytes(&self) -> usize {
        self.raw.len()
    }

    /// The finished batch.
    #[must_use]
    pub fn finish(self) -> EventBatch {
        let (origins, runs) = self.origins.finish();
        EventBatch {
            index: self.index,
            origins,
            runs,
            raw: self.raw.into(),
            offsets: self.offsets,
            time: self.time,
            fields: self.fields,
        }
    }
}

/// Distinct origins and runs of them, collected event by event.
#[derive(Debug, Default)]
pub struct Origins {
    origins: Vec<Arc<Origin>>,
    runs: Vec<OriginRun>,
    /// Positions by address: equal origins mostly are the same allocation.
    places: HashMap<usize, u32>,
    /// Positions by value, for origins in other allocations.
    values: HashMap<Arc<Origin>, u32>,
}

impl Origins {
    /// Adds `rows` events with this origin.
    pub fn push(&mut self, origin: &Arc<Origin>, rows: u32) {
        if let Some(last) = self.runs.last_mut()
            && Arc::ptr_eq(&self.origins[last.origin as usize], origin)
        {
            last.rows += rows;
            return;
        }
        let place = self.place(origin);
        match self.runs.last_mut() {
            Some(last) if last.origin == place => last.rows += rows,
            _ => self.runs.push(OriginRun { origin: place, rows }),
        }
    }

    fn place(&mut self, origin: &Arc<Origin>) -> u32 {
        let address = Arc::as_ptr(origin) as usize;
        if let Some(place) = self.places.get(&address) {
            return *place;
        }
        let next = u32::try_from(self.origins.len()).expect("fewer origins than rows");
        let place = *self.values.entry(Arc::clone(origin)).or_insert(next);
        if place == next {
            self.origins.push(Arc::clone(origin));
            // Only for origins that are kept here: another allocation may be freed and its address reused.
            self.places.insert(address, place);
        }
        place
    }

    /// The origins and their runs.
    #[must_use]
    pub fn finish(self) -> (Vec<Arc<Origin>>, Vec<OriginRun>) {
        (self.origins, self.runs)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn origin(host: &str) -> Arc<Origin> {
        let (source, sourcetype) = ("s".into(), "t".into());
        Arc::new(Origin {
            index: IndexName::new("main").unwrap(),
            host: host.into(),
            source,
            sourcetype,
        })
    }

    #[test]
    fn equal_origins_are_one_and_neighbours_are_one_run() {
        let mut builder = EventBatchBuilder::new(IndexName::new("main").unwrap(), 0);
        for origin in [&origin("a"), &origin("a"), &origin("b"), &origin("a")] {
            builder.push(origin, EventTime(1), "x");
        }
        let batch = builder.finish();
        assert_eq!(batch.origins.len(), 2);
        let runs: Vec<_> = batch.runs.iter().map(|run| (run.origin, run.rows)).collect();
        assert_eq!(runs, [(0, 2), (1, 1), (0, 1)]);
    }
}
