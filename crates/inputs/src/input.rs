//! The data that inputs pass to sinks.

use std::sync::Arc;

use bytes::Bytes;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use model::{EventTime, IndexName, IndexedField, OriginRun};
use runtime::Share;

mod parts;

pub use parts::Parts;

/// The metadata of the bytes that an input passes on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InputMeta {
    /// The index of the events.
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

/// The number that a sender gives a batch, so that a repetition is recognized.
///
/// Invariants kept by the sender: a number always identifies the same bytes; no batch below `settled` is sent
/// again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BatchId {
    /// The sender's sequence of numbers.
    pub channel: uuid::Uuid,
    /// The input's number.
    pub sequence: u64,
    /// The sender has an acknowledgement for everything below, from whomever.
    pub settled: u64,
}

/// Something to take in.
#[derive(Debug)]
pub enum Input {
    /// Bytes that need line breaking.
    Raw {
        /// The metadata of the bytes.
        origin: Arc<InputMeta>,
        /// The stream they continue.
        stream: StreamKey,
        /// The bytes.
        bytes: Bytes,
        /// When the source was last written, the time of events that show none.
        modified: Option<EventTime>,
        /// Whether the stream ends here, so that an unfinished event is complete.
        end: bool,
    },
    /// Events that the sender has cut.
    Events {
        /// Keeps the order between inputs of the same sender.
        stream: StreamKey,
        /// The events, in the sender's order.
        events: CutEvents,
    },
}

impl Input {
    /// The stream it belongs to.
    #[must_use]
    pub fn stream(&self) -> &StreamKey {
        match self {
            Self::Raw { stream, .. } | Self::Events { stream, .. } => stream,
        }
    }

    /// Hands the memory over that a request was given for its events. Bytes have theirs already.
    #[must_use]
    pub fn holding(mut self, memory: Share) -> Self {
        if let Self::Events { events, .. } = &mut self {
            events.hold(memory);
        }
        self
    }

    /// Memory the input holds, as the queues count it.
    #[must_use]
    pub fn size(&self) -> u64 {
        let bytes = match self {
            Self::Raw { bytes, .. } => bytes.len(),
            Self::Events { events, .. } => events.memory(),
        };
        bytes as u64 + 64
    }
}

/// Estimated bytes of an event besides its text: its end, its time, the counters of queues.
const ROW_BYTES: usize = 28;
/// Estimated bytes of an origin besides its names: allocations, counters, entries in tables.
const ORIGIN_BYTES: usize = 240;
/// Estimated bytes of a field besides its value.
const FIELD_BYTES: usize = 64;

/// The source of the times of events that the sender sent without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingTime {
    /// The time of arrival.
    Now,
    /// The event's text, by the rules of its sourcetype.
    FromText,
}

/// The metadata of an event, as borrowed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OriginRef<'a> {
    /// The index of the event.
    pub index: &'a IndexName,
    /// The machine it came from.
    pub host: &'a str,
    /// The file, stream or input it came from.
    pub source: &'a str,
    /// Its format, or `None` to recognise it.
    pub sourcetype: Option<&'a str>,
}

impl InputMeta {
    /// The same, borrowed.
    #[must_use]
    pub fn by_ref(&self) -> OriginRef<'_> {
        let sourcetype = self.sourcetype.as_deref();
        OriginRef { index: &self.index, host: &self.host, source: &self.source, sourcetype }
    }
}

impl From<OriginRef<'_>> for InputMeta {
    fn from(origin: OriginRef<'_>) -> Self {
        Self {
            index: origin.index.clone(),
            host: origin.host.into(),
            source: origin.source.into(),
            sourcetype: origin.sourcetype.map(Into::into),
        }
    }
}

/// Events that the sender has cut, of any origins, in the sender's order.
///
/// Invariants: `ends` never decrease; `runs` cover all events; `fields` are sorted by row.
#[derive(Debug)]
pub struct CutEvents {
    /// The distinct origins.
    pub origins: Vec<Arc<InputMeta>>,
    /// The origins, as runs of events.
    pub runs: Vec<OriginRun>,
    /// The text of all events, back to back; need not be UTF-8.
    pub text: Vec<u8>,
    /// The end of each event in `text`.
    pub ends: Vec<u32>,
    /// The times the sender gave.
    pub times: Vec<Option<EventTime>>,
    /// The fields the sender attached.
    pub fields: Vec<IndexedField>,
    /// The source of missing times.
    pub missing_time: MissingTime,
    places: HashTable<u32>,
    /// Memory of origins and fields.
    metadata: usize,
    /// The share of the memory budget that the request holds for them.
    held: Option<Share>,
}

impl CutEvents {
    /// Creates an empty batch.
    #[must_use]
    pub fn new(missing_time: MissingTime) -> Self {
        Self {
            origins: Vec::new(),
            runs: Vec::new(),
            text: Vec::new(),
            ends: Vec::new(),
            times: Vec::new(),
            fields: Vec::new(),
            missing_time,
            places: HashTable::new(),
            metadata: 0,
            held: None,
        }
    }

    /// Adds an event; its bytes need not be UTF-8. An event that would take the batch past 4 GiB
    /// is refused with `false`; inputs bound their requests far below.
    #[must_use]
    pub fn push(&mut self, origin: OriginRef<'_>, time: Option<EventTime>, text: &[u8]) -> bool {
        self.text.extend_from_slice(text);
        self.push_written(origin, time)
    }

    /// Adds the event that everything appended to `text` since the last one is; see [`Self::push`].
    #[must_use]
    pub fn push_written(&mut self, origin: OriginRef<'_>, time: Option<EventTime>) -> bool {
        let Ok(end) = u32::try_from(self.text.len()) else {
            self.text.truncate(self.ends.last().map_or(0, |end| *end as usize));
            return false;
        };
        let place = self.place(origin);
        match self.runs.last_mut() {
            Some(last) if last.origin == place => last.rows += 1,
            _ => self.runs.push(OriginRun { origin: place, rows: 1 }),
        }
        self.ends.push(end);
        self.times.push(time);
        true
    }

    /// The origin's number; a new one costs an allocation, a known one a look.
    fn place(&mut self, origin: OriginRef<'_>) -> u32 {
        if let Some(last) = self.runs.last()
            && self.origins[last.origin as usize].by_ref() == origin
        {
            return last.origin;
        }
        // The slot of a name has no effect outside this request, so the hash needs no secret key.
        let hash = |origin: &OriginRef<'_>| {
            use std::hash::BuildHasher;
            FixedState::with_seed(7).hash_one(origin)
        };
        let origins = &mut self.origins;
        let same = |place: &u32| origins[*place as usize].by_ref() == origin;
        if let Some(place) = self.places.find(hash(&origin), same) {
            return *place;
        }
        let place = u32::try_from(origins.len()).expect("fewer origins than bytes of text");
        let names = origin.host.len() + origin.source.len() + origin.sourcetype.map_or(0, str::len);
        self.metadata += names + ORIGIN_BYTES;
        origins.push(Arc::new(origin.into()));
        let origins = &self.origins;
        let rehash = |place: &u32| hash(&origins[*place as usize].by_ref());
        self.places.insert_unique(hash(&origin), place, rehash);
        place
    }

    /// Attaches a field to the event added last.
    pub fn push_field(&mut self, name: Arc<str>, value: &str) {
        let row = u32::try_from(self.times.len().saturating_sub(1)).unwrap_or(u32::MAX);
        self.metadata += FIELD_BYTES + value.len();
        self.fields.push(IndexedField { row, name, value: value.into() });
    }

    /// Returns the number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The bytes of an event's text.
    #[must_use]
    pub fn text(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        &self.text[start..self.ends[row] as usize]
    }

    /// The origin of every event in order.
    pub fn each_origin(&self) -> impl Iterator<Item = &Arc<InputMeta>> {
        self.runs.iter().flat_map(|run| {
            std::iter::repeat_n(&self.origins[run.origin as usize], run.rows as usize)
        })
    }

    /// The first event of each origin.
    #[must_use]
    pub fn first_rows(&self) -> Vec<usize> {
        let mut first = vec![usize::MAX; self.origins.len()];
        let mut row = 0;
        for run in &self.runs {
            let known = &mut first[run.origin as usize];
            *known = (*known).min(row);
            row += run.rows as usize;
        }
        first
    }

    /// About the memory that the events take.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.text.len() + self.times.len() * ROW_BYTES + self.runs.len() * 8 + self.metadata
    }

    /// Divides the events into batches of approximately this number of bytes.
    #[must_use]
    pub fn divide(self, bytes: usize) -> Parts {
        Parts::new(self, bytes)
    }

    /// Keeps the memory that a request was given for its events for as long as they are there.
    pub fn hold(&mut self, memory: Share) {
        self.held = Some(memory);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn events_keep_their_order_and_equal_origins_are_one() {
        let index = IndexName::new("main").unwrap();
        let mut events = CutEvents::new(MissingTime::Now);
        for (host, text) in [("a", "1"), ("b", "2"), ("a", "3"), ("a", "4")] {
            let origin = OriginRef { index: &index, host, source: "s", sourcetype: None };
            assert!(events.push(origin, None, text.as_bytes()));
        }
        assert_eq!(events.origins.len(), 2);
        let hosts: Vec<_> = events.each_origin().map(|origin| &*origin.host).collect();
        assert_eq!(hosts, ["a", "b", "a", "a"]);
        assert_eq!((events.text(1), events.text(3)), (&b"2"[..], &b"4"[..]));
        assert_eq!(events.first_rows(), [0, 1]);
    }
}
