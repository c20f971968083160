//! The buckets of an index in search order, stored in columns: a bucket takes about 60 bytes, and its header
//! is built when it is read. Snapshots share chunks: a commit copies only the chunk that it changes, not the
//! whole list.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use model::{BucketHeader, BucketId, BucketShape, BucketState, EventTime, IndexName, TimeRange};

mod by_id;
mod columns;
mod numbers;
mod shapes;
mod times;

pub(crate) use by_id::{ById, Place};
use numbers::Numbers;
use shapes::Shapes;

/// Maximum number of buckets in a chunk. A commit copies one chunk and one pointer per chunk, so both stay
/// small up to millions of buckets.
const CHUNK: usize = 1024;

const FIELDS_COMPLETE: u8 = 1;
const SUMMARY_ROWS: u8 = 1 << 1;
const THAWED: u8 = 1 << 2;
const FROZEN: u8 = 1 << 3;

/// Adjacent buckets in the order of an index, oldest first, because new buckets mostly go to the end. Each
/// column has one value per bucket.
#[derive(Debug, Clone)]
pub(crate) struct Chunk {
    index: IndexName,
    /// Lower bound of the event times of its buckets.
    earliest: EventTime,
    ids: Vec<BucketId>,
    last_times: Vec<EventTime>,
    /// Microseconds from the first event to the last one, from the first event to the first arrival, and from
    /// that to the last arrival.
    spans: Numbers,
    delays: Numbers,
    index_spans: Numbers,
    fingerprints: Vec<u64>,
    sizes: Numbers,
    rows: Numbers,
    raw_bytes: Numbers,
    versions: Numbers,
    shapes: Shapes,
    flags: Vec<u8>,
    /// Paths of buckets whose path does not follow from their ID.
    other_paths: BTreeMap<BucketId, Box<str>>,
    /// The pack of the database that has exactly these buckets, if there is one ([`crate::packs`]). Every
    /// change removes it.
    pack: OnceLock<u64>,
}

/// Applies the same operation to every column of a chunk that has one value per bucket.
macro_rules! for_each_column {
    ($chunk:expr, $column:ident => $do:expr) => {{
        let Chunk {
            index: _,
            earliest: _,
            ids,
            last_times,
            spans,
            delays,
            index_spans,
            fingerprints,
            sizes,
            rows,
            raw_bytes,
            versions,
            shapes,
            flags,
            other_paths: _,
            pack: _,
        } = $chunk;
        for_each_column!(@ $column => $do; ids last_times spans delays index_spans
            fingerprints sizes rows raw_bytes versions shapes flags);
    }};
    (@ $column:ident => $do:expr; $($name:ident)*) => { $({ let $column = $name; $do; })* };
}

/// The sort key of a bucket: its newest event time; among equal ones the greater ID is first.
type Key = (EventTime, Reverse<BucketId>);

impl Chunk {
    fn new(index: IndexName) -> Self {
        Self {
            index,
            earliest: EventTime::MAX,
            ids: Vec::new(),
            last_times: Vec::new(),
            spans: Numbers::default(),
            delays: Numbers::default(),
            index_spans: Numbers::default(),
            fingerprints: Vec::new(),
            sizes: Numbers::default(),
            rows: Numbers::default(),
            raw_bytes: Numbers::default(),
            versions: Numbers::default(),
            shapes: Shapes::default(),
            flags: Vec::new(),
            other_paths: BTreeMap::new(),
            pack: OnceLock::new(),
        }
    }

    /// Returns the index of its buckets.
    pub(crate) fn index(&self) -> &IndexName {
        &self.index
    }

    /// Iterates over the IDs of its buckets, with their newest event times.
    pub(crate) fn ids(&self) -> impl Iterator<Item = (BucketId, EventTime)> {
        self.ids.iter().copied().zip(self.last_times.iter().copied())
    }

    /// Adds its buckets to their number and to the exclusive or of their IDs.
    pub(crate) fn counted(&self, (buckets, ids): (u64, u128)) -> (u64, u128) {
        let ids = self.ids.iter().fold(ids, |ids, id| ids ^ id.0.as_u128());
        (buckets + self.len() as u64, ids)
    }

    /// Returns the pack that has exactly these buckets.
    pub(crate) fn pack(&self) -> Option<u64> {
        self.pack.get().copied()
    }

    /// Sets the pack that has exactly these buckets. The chunk may be shared with newer snapshots, which have
    /// not changed it either.
    pub(crate) fn set_pack(&self, pack: u64) {
        // A chunk is packed once, until it is changed.
        let _ = self.pack.set(pack);
    }

    /// A copy that has no pack.
    fn unpacked(&self) -> Self {
        Self { pack: OnceLock::new(), ..self.clone() }
    }

    fn len(&self) -> usize {
        self.ids.len()
    }

    fn key(&self, at: usize) -> Key {
        (self.last_times[at], Reverse(self.ids[at]))
    }

    /// Returns the index of the first bucket that is not before a key.
    fn position(&self, key: &Key) -> usize {
        let (earlier, same) = times::find(&self.last_times, key.0);
        earlier + self.ids[earlier..earlier + same].partition_point(|id| Reverse(*id) < key.1)
    }

    /// Returns the index of the bucket with this key.
    fn find(&self, key: &Key) -> Option<usize> {
        let at = self.position(key);
        (at < self.len() && self.key(at) == *key).then_some(at)
    }

    fn first_time(&self, at: usize) -> EventTime {
        EventTime(self.last_times[at].0.wrapping_sub_unsigned(self.spans.get(at)))
    }

    fn first_index_time(&self, at: usize) -> EventTime {
        EventTime(self.first_time(at).0.wrapping_add_unsigned(self.delays.get(at)))
    }

    fn last_index_time(&self, at: usize) -> EventTime {
        EventTime(self.first_index_time(at).0.wrapping_add_unsigned(self.index_spans.get(at)))
    }

    fn header(&self, at: usize) -> BucketHeader {
        let (id, flags) = (self.ids[at], self.flags[at]);
        BucketHeader {
            id,
            index: self.index.clone(),
            other_path: self.other_paths.get(&id).cloned(),
            size: self.sizes.get(at),
            rows: self.rows.get(at),
            raw_bytes: self.raw_bytes.get(at),
            first_time: self.first_time(at),
            last_time: self.last_times[at],
            first_index_time: self.first_index_time(at),
            last_index_time: self.last_index_time(at),
            version: self.versions.get(at),
            fingerprint: self.fingerprints[at],
            shape: self.shapes.get(at).clone(),
            state: state(flags),
            fields_complete: flags & FIELDS_COMPLETE != 0,
            summary_rows: flags & SUMMARY_ROWS != 0,
        }
    }

    fn insert(&mut self, at: usize, header: BucketHeader) {
        self.pack = OnceLock::new();
        let flags = flags(&header);
        self.earliest = self.earliest.min(header.first_time);
        self.ids.insert(at, header.id);
        self.last_times.insert(at, header.last_time);
        self.spans.insert(at, between(header.first_time, header.last_time));
        self.delays.insert(at, between(header.first_time, header.first_index_time));
        self.index_spans.insert(at, between(header.first_index_time, header.last_index_time));
        self.fingerprints.insert(at, header.fingerprint);
        self.sizes.insert(at, header.size);
        self.rows.insert(at, header.rows);
        self.raw_bytes.insert(at, header.raw_bytes);
        self.versions.insert(at, header.version);
        self.shapes.insert(at, header.shape);
        self.flags.insert(at, flags);
        if let Some(path) = header.other_path {
            self.other_paths.insert(header.id, path);
        }
    }

    fn remove(&mut self, at: usize) -> BucketHeader {
        self.pack = OnceLock::new();
        let removed = self.header(at);
        self.other_paths.remove(&removed.id);
        for_each_column!(self, column => { column.remove(at); });
        removed
    }

    /// Keeps the older half, and returns the newer one.
    fn split(&mut self) -> Self {
        self.pack = OnceLock::new();
        let (half, mut newer) = (self.len() / 2, Self::new(self.index.clone()));
        for at in half..self.len() {
            newer.insert(at - half, self.header(at));
        }
        self.other_paths.retain(|id, _| !newer.other_paths.contains_key(id));
        for_each_column!(self, column => { column.truncate(half); });
        self.shrink_to_fit();
        newer
    }

    fn shrink_to_fit(&mut self) {
        for_each_column!(self, column => { column.shrink_to_fit(); });
    }
}

/// Returns the microseconds between two times. They wrap if the second one is earlier: whoever adds them gets
/// it back.
fn between(from: EventTime, upto: EventTime) -> u64 {
    upto.0.wrapping_sub(from.0).cast_unsigned()
}

fn flags(header: &BucketHeader) -> u8 {
    let complete = if header.fields_complete { FIELDS_COMPLETE } else { 0 };
    let summary_rows = if header.summary_rows { SUMMARY_ROWS } else { 0 };
    let state = match header.state {
        BucketState::Warm => 0,
        BucketState::Thawed => THAWED,
        BucketState::Frozen => FROZEN,
    };
    complete | summary_rows | state
}

fn state(flags: u8) -> BucketState {
    match flags & (THAWED | FROZEN) {
        0 => BucketState::Warm,
        THAWED => BucketState::Thawed,
        _ => BucketState::Frozen,
    }
}

/// The buckets of one index, newest event first, then by ID.
#[derive(Debug, Clone, Default)]
pub struct Buckets {
    /// The oldest chunks first. None of them is empty.
    chunks: Vec<Arc<Chunk>>,
    /// The newest event time of the first bucket of each chunk, so that a key is found without access to the
    /// chunks, which are scattered in memory.
    starts: Vec<EventTime>,
    len: usize,
    searchable: usize,
    totals: Totals,
}

/// The buckets that a search reads.
#[derive(Debug, Default)]
pub struct Selected {
    /// The selected buckets, newest event first.
    pub left: Vec<BucketHeader>,
    /// Number of buckets that were not wanted.
    pub excluded: u64,
}

/// Sums over buckets in all states.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Sum of the sizes of their objects, in bytes.
    pub size: u64,
    /// Number of their events.
    pub rows: u64,
    /// Bytes of `_raw` before compression.
    pub raw_bytes: u64,
}

impl Totals {
    const NONE: Self = Self { size: 0, rows: 0, raw_bytes: 0 };

    /// Adds or subtracts a header. The arithmetic wraps, because damaged headers may have any numbers and an
    /// addition must be reversible.
    fn change(&mut self, header: &BucketHeader, change: fn(u64, u64) -> u64) {
        self.size = change(self.size, header.size);
        self.rows = change(self.rows, header.rows);
        self.raw_bytes = change(self.raw_bytes, header.raw_bytes);
    }
}

impl Buckets {
    /// An empty list of buckets.
    pub(crate) const EMPTY: Self = Self {
        chunks: Vec::new(),
        starts: Vec::new(),
        len: 0,
        searchable: 0,
        totals: Totals::NONE,
    };

    /// Returns the number of buckets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of searchable buckets.
    #[must_use]
    pub fn searchable(&self) -> usize {
        self.searchable
    }

    /// Returns the sums over the buckets.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Whether there are no buckets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the bucket with the newest event.
    #[must_use]
    pub fn first(&self) -> Option<BucketHeader> {
        self.iter().next()
    }

    /// Returns the newest arrival time of their events, without making headers.
    #[must_use]
    pub fn last_index_time(&self) -> Option<EventTime> {
        let of = |chunk: &Chunk| (0..chunk.len()).map(|at| chunk.last_index_time(at)).max();
        self.chunks.iter().filter_map(|chunk| of(chunk)).max()
    }

    /// Iterates over all buckets.
    pub fn iter(&self) -> impl Iterator<Item = BucketHeader> + Clone {
        self.iter_from(0)
    }

    /// Iterates over all buckets after the first `offset`, which are skipped cheaply.
    pub fn iter_from(&self, offset: usize) -> impl Iterator<Item = BucketHeader> + Clone {
        let (mut chunks, mut left) = (self.chunks.as_slice(), offset);
        while let Some((newest, others)) = chunks.split_last().filter(|(it, _)| it.len() <= left) {
            left -= newest.len();
            chunks = others;
        }
        let chunks = chunks.iter().rev().enumerate();
        chunks.flat_map(move |(number, chunk)| {
            let passed_over = if number == 0 { left } else { 0 };
            (0..chunk.len() - passed_over).rev().map(move |at| chunk.header(at))
        })
    }

    /// Iterates over all buckets, oldest event first.
    pub fn oldest_first(&self) -> impl Iterator<Item = BucketHeader> + Clone {
        self.chunks.iter().flat_map(|chunk| (0..chunk.len()).map(move |at| chunk.header(at)))
    }

    /// Iterates over all buckets; the iterator keeps the list alive.
    pub(crate) fn all(self: Arc<Self>) -> impl Iterator<Item = BucketHeader> + Send + use<> {
        let chunks = self.chunks.clone().into_iter().rev();
        chunks.flat_map(|chunk| (0..chunk.len()).rev().map(move |at| chunk.header(at)))
    }

    /// Iterates over the buckets that may have events in the range. Most chunks outside the range are skipped
    /// without reading them.
    pub fn overlapping(&self, range: &TimeRange) -> impl Iterator<Item = BucketHeader> {
        self.places(range).map(|(chunk, at)| chunk.header(at))
    }

    /// Returns the searchable buckets that may have events in the range. `wanted` decides by index, shape,
    /// `fields_complete` and `summary_rows`, and is called once for all buckets that share these: iterating
    /// over millions of buckets takes a few nanoseconds each.
    pub fn searchable_in(
        &self,
        range: &TimeRange,
        mut wanted: impl FnMut(&BucketHeader) -> bool,
    ) -> Selected {
        let mut selected = Selected::default();
        let mut known: HashMap<(*const BucketShape, u8), bool> = HashMap::new();
        // Adjacent buckets mostly have the same shape.
        let mut last = None;
        for (chunk, at) in self.places(range) {
            if !state(chunk.flags[at]).is_searchable() {
                continue;
            }
            let is_wanted = match chunk.shapes.get(at) {
                None => wanted(&chunk.header(at)),
                Some(shape) => {
                    let shared = (Arc::as_ptr(shape), chunk.flags[at]);
                    let decision = match last {
                        Some((same, decision)) if same == shared => decision,
                        _ => *known.entry(shared).or_insert_with(|| wanted(&chunk.header(at))),
                    };
                    last = Some((shared, decision));
                    decision
                }
            };
            if is_wanted {
                selected.left.push(chunk.header(at));
            } else {
                selected.excluded += 1;
            }
        }
        selected
    }

    /// Iterates over the places of the buckets that may have events in the range.
    fn places(&self, range: &TimeRange) -> impl Iterator<Item = (&Chunk, usize)> {
        let range = *range;
        let chunks = self.chunks.iter().rev().map(Arc::as_ref);
        let begun = chunks.take_while(move |chunk: &&Chunk| {
            chunk.last_times.last().is_some_and(|last| *last >= range.earliest)
        });
        let inside = begun.filter(move |chunk| chunk.earliest < range.latest);
        inside.flat_map(move |chunk| {
            let overlaps =
                move |at: &usize| range.overlaps(chunk.first_time(*at), chunk.last_times[*at]);
            (0..chunk.len()).rev().filter(overlaps).map(move |at| (chunk, at))
        })
    }

    /// Returns the bucket with this ID and this newest event time.
    pub(crate) fn find(&self, id: BucketId, last_time: EventTime) -> Option<BucketHeader> {
        let key = (last_time, Reverse(id));
        let chunk = &self.chunks[self.chunk_of(&key)?];
        chunk.find(&key).map(|at| chunk.header(at))
    }

    /// Returns the chunk whose range includes the key, if there is one.
    fn chunk_of(&self, key: &Key) -> Option<usize> {
        let (earlier, same) = times::find(&self.starts, key.0);
        let same = &self.chunks[earlier..earlier + same];
        (earlier + same.partition_point(|chunk| chunk.key(0) <= *key)).checked_sub(1)
    }

    /// Inserts a bucket that must not be present.
    pub(crate) fn insert(&mut self, header: BucketHeader) {
        self.len += 1;
        self.searchable += usize::from(header.state.is_searchable());
        self.totals.change(&header, u64::wrapping_add);
        let key = (header.last_time, Reverse(header.id));
        // Keys before all chunks go into the first one.
        let mut at = self.chunk_of(&key).unwrap_or(0);
        let is_newest = || self.chunks[at].key(self.chunks[at].len() - 1) < key;
        match self.chunks.get(at).map(|chunk| chunk.len() >= CHUNK) {
            Some(false) => {}
            // Full chunks are not split if buckets arrive in the order of their times.
            Some(true) if at + 1 < self.chunks.len() || !is_newest() => {
                let newer = Arc::make_mut(&mut self.chunks[at]).split();
                let is_newer = newer.key(0) < key;
                self.starts.insert(at + 1, newer.last_times[0]);
                self.chunks.insert(at + 1, Arc::new(newer));
                at += usize::from(is_newer);
            }
            _ => {
                at = self.chunks.len();
                self.starts.push(header.last_time);
                self.chunks.push(Arc::new(Chunk::new(header.index.clone())));
            }
        }
        let chunk = Arc::make_mut(&mut self.chunks[at]);
        chunk.insert(chunk.position(&key), header);
        if chunk.len() == CHUNK {
            // The copy of a shared column has no room, and gets twice as much as it needs for one more value.
            chunk.shrink_to_fit();
        }
        self.starts[at] = chunk.last_times[0];
    }

    /// A copy whose chunks have no packs, as those of a follower.
    pub(crate) fn unpacked(&self) -> Self {
        let chunks = self.chunks.iter().map(|chunk| Arc::new(chunk.unpacked())).collect();
        Self { chunks, ..self.clone() }
    }

    /// Returns the chunks, oldest buckets first.
    pub(crate) fn chunks(&self) -> &[Arc<Chunk>] {
        &self.chunks
    }

    /// Appends the buckets of a chunk, which is not empty. Returns false, without a change, if they are not
    /// all after those that are present. Small chunks, which removals leave, are joined.
    pub(crate) fn append(&mut self, chunk: Arc<Chunk>) -> bool {
        let last = self.chunks.last();
        if last.is_some_and(|last| last.key(last.len() - 1) >= chunk.key(0)) {
            return false;
        }
        let fits = last.is_some_and(|last| last.len() + chunk.len() <= CHUNK);
        self.len += chunk.len();
        for at in 0..chunk.len() {
            self.searchable += usize::from(state(chunk.flags[at]).is_searchable());
            self.totals.size = self.totals.size.wrapping_add(chunk.sizes.get(at));
            self.totals.rows = self.totals.rows.wrapping_add(chunk.rows.get(at));
            self.totals.raw_bytes = self.totals.raw_bytes.wrapping_add(chunk.raw_bytes.get(at));
        }
        match self.chunks.last_mut() {
            Some(last) if fits => {
                let last = Arc::make_mut(last);
                (0..chunk.len()).for_each(|at| last.insert(last.len(), chunk.header(at)));
            }
            _ => {
                self.starts.push(chunk.last_times[0]);
                self.chunks.push(chunk);
            }
        }
        true
    }

    /// Removes the bucket with this ID and this newest event time.
    pub(crate) fn remove(&mut self, id: BucketId, last_time: EventTime) {
        let key = (last_time, Reverse(id));
        let Some(at) = self.chunk_of(&key) else { return };
        // Looked up first, because `make_mut` would copy the chunk even if the bucket is missing.
        let Some(position) = self.chunks[at].find(&key) else { return };
        let chunk = Arc::make_mut(&mut self.chunks[at]);
        let removed = chunk.remove(position);
        self.searchable -= usize::from(removed.state.is_searchable());
        self.totals.change(&removed, u64::wrapping_sub);
        match chunk.last_times.first() {
            Some(start) => self.starts[at] = *start,
            None => {
                self.chunks.remove(at);
                self.starts.remove(at);
            }
        }
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests;
