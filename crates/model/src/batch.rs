//! Events on their way in, as columns: one byte buffer, offsets, times, and what they have in common.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{EventTime, IndexName};

/// What all events of a batch share.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// Where the events are kept.
    pub index: IndexName,
    /// The machine they came from.
    pub host: Arc<str>,
    /// The file, stream or input they came from.
    pub source: Arc<str>,
    /// Their format.
    pub sourcetype: Arc<str>,
}

/// A field the sender attached to one event (HEC `fields`); a repeated name is a multivalue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexedField {
    /// The event's row in its batch.
    pub row: u32,
    /// Field name.
    pub name: Arc<str>,
    /// Exact text of the value.
    pub value: Box<str>,
}

/// Parsed events of one origin. Row `i` is `raw[offsets[i]..offsets[i + 1]]`, valid UTF-8.
///
/// Invariants: `offsets` has `time.len() + 1` entries that never decrease; `fields` is sorted by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventBatch {
    /// What the events share.
    pub origin: Arc<Origin>,
    /// The text of all events, back to back.
    pub raw: Bytes,
    /// Row borders in `raw`.
    pub offsets: Vec<u32>,
    /// Event times.
    pub time: Vec<EventTime>,
    /// Fields sent along, usually none.
    pub fields: Vec<IndexedField>,
}

impl EventBatch {
    /// How many events.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.time.len()
    }

    /// Whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.time.is_empty()
    }

    /// The bytes of one event.
    #[must_use]
    pub fn row(&self, row: usize) -> &[u8] {
        &self.raw[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}

/// Fills an [`EventBatch`] event by event, one copy of the text and no allocation per event.
#[derive(Debug)]
pub struct EventBatchBuilder {
    origin: Arc<Origin>,
    raw: Vec<u8>,
    offsets: Vec<u32>,
    time: Vec<EventTime>,
    fields: Vec<IndexedField>,
}

impl EventBatchBuilder {
    /// An empty batch with room for `raw_bytes` of text.
    #[must_use]
    pub fn new(origin: Arc<Origin>, raw_bytes: usize) -> Self {
        Self {
            origin,
            raw: Vec::with_capacity(raw_bytes),
            offsets: vec![0],
            time: Vec::new(),
            fields: Vec::new(),
        }
    }

    /// Appends an event.
    ///
    /// # Panics
    /// If the batch's text passes 4 GiB; callers cut batches at a few MiB.
    pub fn push(&mut self, time: EventTime, raw: &str) {
        self.raw.extend_from_slice(raw.as_bytes());
        let end = u32::try_from(self.raw.len()).expect("a batch stays under 4 GiB of text");
        self.offsets.push(end);
        self.time.push(time);
    }

    /// Attaches a field to the event pushed last.
    pub fn push_field(&mut self, name: Arc<str>, value: &str) {
        let row = u32::try_from(self.time.len().saturating_sub(1)).unwrap_or(u32::MAX);
        self.fields.push(IndexedField { row, name, value: value.into() });
    }

    /// How many events so far.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.time.len()
    }

    /// How many bytes of text so far.
    #[must_use]
    pub fn raw_bytes(&self) -> usize {
        self.raw.len()
    }

    /// The finished batch.
    #[must_use]
    pub fn finish(self) -> EventBatch {
        EventBatch {
            origin: self.origin,
            raw: self.raw.into(),
            offsets: self.offsets,
            time: self.time,
            fields: self.fields,
        }
    }
}
