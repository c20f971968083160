//! What inputs hand to the pipeline.

use std::sync::Arc;

use bytes::Bytes;
use foldhash::HashMap;
use model::{EventTime, IndexName, IndexedField};

/// What an input knows of the bytes it hands over.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InputMeta {
    /// Where the events are to be kept.
    pub index: IndexName,
    /// The machine they came from.
    pub host: Arc<str>,
    /// The file, stream or input they came from.
    pub source: Arc<str>,
    /// Their format, or `None` to recognise it from the source's name and the first lines.
    pub sourcetype: Option<Arc<str>>,
}

/// Names one sequence of bytes: a connection, a file, a request. Bytes with the same key go through
/// the same pipeline set in the order in which they were submitted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StreamKey(pub Arc<str>);

/// Something to take in.
#[derive(Debug)]
pub enum Input {
    /// Bytes that need line breaking.
    Raw {
        /// What is known of them.
        origin: Arc<InputMeta>,
        /// The stream they continue.
        stream: StreamKey,
        /// The bytes.
        bytes: Bytes,
        /// When the source was last written, the time of events that show none.
        modified: Option<EventTime>,
        /// Whether the stream ends here: an unfinished event is complete.
        end: bool,
    },
    /// Events that the sender has cut.
    Events {
        /// Keeps the order between inputs of the same sender.
        stream: StreamKey,
        /// The events, by origin.
        events: Vec<CutEvents>,
    },
}

impl Input {
    pub(crate) fn stream(&self) -> &StreamKey {
        match self {
            Self::Raw { stream, .. } | Self::Events { stream, .. } => stream,
        }
    }

    /// Memory the input holds, as the queues count it.
    pub(crate) fn size(&self) -> u64 {
        let bytes = match self {
            Self::Raw { bytes, .. } => bytes.len(),
            Self::Events { events, .. } => events.iter().map(CutEvents::size).sum(),
        };
        bytes as u64 + 64
    }
}

/// Where the times of cut events come from when the sender gave none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingTime {
    /// The time of arrival.
    Now,
    /// The event's text, by the rules of its sourcetype.
    FromText,
}

/// Cut events of one origin.
#[derive(Debug)]
pub struct CutEvents {
    pub(crate) meta: Arc<InputMeta>,
    pub(crate) text: Vec<u8>,
    pub(crate) ends: Vec<u32>,
    pub(crate) times: Vec<Option<EventTime>>,
    pub(crate) fields: Vec<IndexedField>,
    pub(crate) missing_time: MissingTime,
}

impl CutEvents {
    /// No events yet.
    #[must_use]
    pub fn new(meta: Arc<InputMeta>, missing_time: MissingTime) -> Self {
        Self {
            meta,
            text: Vec::new(),
            ends: Vec::new(),
            times: Vec::new(),
            fields: Vec::new(),
            missing_time,
        }
    }

    /// Adds an event; its bytes need not be UTF-8. An event that would take the batch past 4 GiB
    /// is refused with `false`; inputs bound their requests far below.
    pub fn push(&mut self, time: Option<EventTime>, text: &[u8]) -> bool {
        let Ok(end) = u32::try_from(self.text.len() + text.len()) else { return false };
        self.text.extend_from_slice(text);
        self.ends.push(end);
        self.times.push(time);
        true
    }

    /// Attaches a field to the event added last.
    pub fn push_field(&mut self, name: Arc<str>, value: &str) {
        let row = u32::try_from(self.times.len().saturating_sub(1)).unwrap_or(u32::MAX);
        self.fields.push(IndexedField { row, name, value: value.into() });
    }

    /// How many events there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The events' origin.
    #[must_use]
    pub fn meta(&self) -> &InputMeta {
        &self.meta
    }

    /// The text of an event.
    #[must_use]
    pub fn text(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        &self.text[start..self.ends[row] as usize]
    }

    /// The time the sender gave an event.
    #[must_use]
    pub fn time(&self, row: usize) -> Option<EventTime> {
        self.times[row]
    }

    /// The fields the sender attached.
    #[must_use]
    pub fn fields(&self) -> &[IndexedField] {
        &self.fields
    }

    fn size(&self) -> usize {
        let fields = self.fields.iter().map(|field| field.value.len() + 40).sum::<usize>();
        self.text.len() + self.times.len() * 20 + fields
    }
}

/// Sorts events by origin as they come, so that each origin gives one batch.
#[derive(Debug)]
pub(crate) struct ByOrigin {
    missing_time: MissingTime,
    groups: Vec<CutEvents>,
    places: HashMap<Arc<InputMeta>, usize>,
    last: usize,
}

impl ByOrigin {
    pub(crate) fn new(missing_time: MissingTime) -> Self {
        Self { missing_time, groups: Vec::new(), places: HashMap::default(), last: 0 }
    }

    /// The group of an origin; `same` tells whether it is the one described.
    pub(crate) fn group(
        &mut self,
        same: impl Fn(&InputMeta) -> bool,
        make: impl FnOnce() -> InputMeta,
    ) -> &mut CutEvents {
        let is_last = self.groups.get(self.last).is_some_and(|group| same(&group.meta));
        if !is_last {
            let meta = Arc::new(make());
            self.last = *self.places.entry(Arc::clone(&meta)).or_insert_with(|| {
                self.groups.push(CutEvents::new(meta, self.missing_time));
                self.groups.len() - 1
            });
        }
        &mut self.groups[self.last]
    }

    pub(crate) fn finish(self) -> Vec<CutEvents> {
        self.groups
    }
}
