//! Collects the distinct words of each granule, then sorts and encodes them all.

use super::block::{BlockEncoder, Layout, Occurrence};
use super::vocabulary::VocabularyBuilder;
use crate::segment::{Segmenter, TermHash, Word, stem, windows};

/// A finished term index.
#[derive(Debug)]
pub(crate) struct BuiltIndex {
    pub(crate) layout: Layout,
    /// The concatenated blocks.
    pub(crate) bytes: Vec<u8>,
    /// Length of each block in bytes.
    pub(crate) lengths: Vec<usize>,
    /// The vocabulary, empty if there were too many words.
    pub(crate) vocabulary: Vec<u8>,
    /// Number of (term, granule) pairs.
    pub(crate) pairs: usize,
}

/// Number of hash bits that select the partition of an occurrence: each partition is sorted within the cache
/// of a CPU core, and the occurrences are never all copied at once.
const PARTITION_BITS: u32 = 8;

/// A builder of the index, which receives words row by row and granule by granule.
#[derive(Debug)]
pub(crate) struct IndexBuilder {
    segmenter: Segmenter,
    terms: GranuleTerms,
    vocabulary: VocabularyBuilder,
    /// The occurrences, by the first [`PARTITION_BITS`] of the hash.
    occurrences: Vec<Vec<Occurrence>>,
    stems: Stems,
    granules: usize,
    granule: u32,
}

impl IndexBuilder {
    /// Creates a builder for a bucket with this number of granules.
    pub(crate) fn new(max_vocabulary: usize, granules: usize) -> Self {
        Self {
            granules,
            segmenter: Segmenter::default(),
            terms: GranuleTerms::new(),
            vocabulary: VocabularyBuilder::new(max_vocabulary),
            occurrences: vec![Vec::new(); 1 << PARTITION_BITS],
            stems: Stems::new(),
            granule: 0,
        }
    }

    /// Adds the `_raw` of a row; `row` is the number within the granule.
    pub(crate) fn raw(&mut self, row: u32, text: &str) {
        windows(text).for_each(|window| self.raw_window(row, window));
    }

    fn raw_window(&mut self, row: u32, text: &str) {
        let Self { segmenter, terms, vocabulary, stems, .. } = self;
        let Some(words) = segmenter.split(text) else {
            return segmenter.any_words(text, |word| {
                if terms.count(word.hash, row) {
                    first_seen(terms, vocabulary, stems, word);
                }
            });
        };
        // Touching all slots first lets the CPU fetch them in parallel.
        std::hint::black_box(terms.look(words.hashes));
        for word in words.iter() {
            if terms.count(word.hash, row) {
                first_seen(terms, vocabulary, stems, word);
            }
        }
    }

    /// Adds text of another column of a row of the current granule: it is found by searches, but not counted.
    pub(crate) fn other(&mut self, text: &str) {
        let Self { segmenter, terms, vocabulary, stems, .. } = self;
        segmenter.words(text, |word| {
            if terms.add(word.hash) {
                first_seen(terms, vocabulary, stems, word);
            }
        });
    }

    /// Closes the current granule.
    pub(crate) fn end_granule(&mut self) {
        self.terms.drain(self.granule, &mut self.occurrences);
        self.stems.clear();
        if self.granule == 0 {
            self.reserve();
        }
        self.granule += 1;
    }

    /// Reserves memory, assuming that the other granules have about as many words as the first one.
    fn reserve(&mut self) {
        let pairs: usize = self.occurrences.iter().map(Vec::len).sum();
        let each = pairs * self.granules / self.occurrences.len();
        for partition in &mut self.occurrences {
            partition.reserve_exact(each + each / 8);
        }
    }

    /// Encodes the index.
    pub(crate) fn finish(self) -> BuiltIndex {
        let pairs = self.occurrences.iter().map(Vec::len).sum();
        let layout = Layout::for_pairs(pairs, self.granule as usize);
        let mut built = Blocks {
            layout,
            encoder: BlockEncoder::default(),
            bytes: Vec::with_capacity(pairs * 2 + layout.blocks() * 16),
            lengths: Vec::with_capacity(layout.blocks()),
        };
        let mut sorter = Sorter::default();
        // Either a block has several partitions, or a partition has several blocks.
        let together = 1 << PARTITION_BITS.saturating_sub(layout.block_bits);
        let mut partitions = self.occurrences.into_iter();
        let mut block = 0;
        while block < layout.blocks() {
            sorter.sorted.clear();
            for partition in partitions.by_ref().take(together) {
                sorter.sort(&partition);
            }
            let end = layout.blocks().min(block + layout.blocks().div_ceil(1 << PARTITION_BITS));
            built.put(block..end, &sorter.sorted);
            block = end;
        }
        let Blocks { bytes, lengths, .. } = built;
        BuiltIndex { layout, bytes, lengths, vocabulary: self.vocabulary.finish(), pairs }
    }
}

/// The blocks that are being encoded.
struct Blocks {
    layout: Layout,
    encoder: BlockEncoder,
    bytes: Vec<u8>,
    lengths: Vec<usize>,
}

impl Blocks {
    /// Encodes consecutive blocks from their sorted occurrences.
    fn put(&mut self, blocks: std::ops::Range<usize>, mut sorted: &[Occurrence]) {
        for block in blocks {
            let end = sorted.partition_point(|one| self.layout.block_of(one.hash) <= block);
            let (part, rest) = sorted.split_at(end);
            let before = self.bytes.len();
            self.encoder.encode(&self.layout, part, &mut self.bytes);
            self.lengths.push(self.bytes.len() - before);
            sorted = rest;
        }
    }
}

/// Adds a word to the vocabulary, or the stem of a word with digits, when it is first seen in a granule.
#[inline(never)]
fn first_seen(
    terms: &mut GranuleTerms,
    vocabulary: &mut VocabularyBuilder,
    stems: &mut Stems,
    word: Word<'_>,
) {
    if !word.has_digits() {
        return vocabulary.add(word.hash, word.bytes);
    }
    let stem = stem(word.bytes);
    if stems.insert(stem) {
        let hash = TermHash::of_stem(stem).0;
        if terms.add(hash) {
            vocabulary.add_stem(hash, stem);
        }
    }
}

/// A cache of recent stems of the granule: most words with digits have one of very few stems.
#[derive(Debug)]
struct Stems {
    known: Vec<u32>,
}

impl Stems {
    const PLACES: usize = 1 << 10;

    fn new() -> Self {
        Self { known: vec![0; Self::PLACES] }
    }

    fn clear(&mut self) {
        self.known.fill(0);
    }

    /// Inserts a stem. Returns whether it may be new.
    fn insert(&mut self, stem: &[u8]) -> bool {
        let bytes = stem.iter().fold(0, |key, byte| key << 8 | u32::from(*byte));
        // The length distinguishes stems that begin with zero bytes, and prevents a key of zero.
        let key = bytes | (stem.len() as u32 + 1) << 24;
        let place = key.wrapping_mul(0x9e37_79b1) as usize >> 22;
        std::mem::replace(&mut self.known[place], key) != key
    }
}

/// A sorter of the occurrences of a partition by hash, which keeps the granules of a term in order.
#[derive(Debug, Default)]
struct Sorter {
    sorted: Vec<Occurrence>,
    places: Vec<u32>,
}

impl Sorter {
    /// Appends the occurrences to `sorted`. Hashes are uniformly distributed, so the bits after those of the
    /// partition nearly sort them.
    fn sort(&mut self, partition: &[Occurrence]) {
        let bits = partition.len().max(2).ilog2().min(15);
        let part = |hash: u64| (hash << PARTITION_BITS >> (64 - bits)) as usize;
        self.places.clear();
        self.places.resize(1 << bits, 0);
        for occurrence in partition {
            self.places[part(occurrence.hash)] += 1;
        }
        let mut start = 0;
        for place in &mut self.places {
            start += std::mem::replace(place, start);
        }
        let before = self.sorted.len();
        self.sorted.resize(before + partition.len(), Occurrence::default());
        let sorted = &mut self.sorted[before..];
        for occurrence in partition {
            let place = &mut self.places[part(occurrence.hash)];
            sorted[*place as usize] = *occurrence;
            *place += 1;
        }
        let mut start = 0;
        for end in &self.places {
            let end = *end as usize;
            // A stable sort that is fast for few elements and for long runs of one term.
            if end - start > 1 {
                sorted[start..end].sort_by_key(|occurrence| occurrence.hash);
            }
            start = end;
        }
    }
}

/// A term of the current granule, if `state` has its generation. `state` has, from the top, the generation of
/// the granule (28 bits), the number of rows that have the term (18), and the last such row plus one (18).
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    hash: u64,
    state: u64,
}

const ROW_BITS: u32 = 18;
const ROW_MASK: u64 = (1 << ROW_BITS) - 1;
const GENERATION_SHIFT: u32 = 2 * ROW_BITS;

/// The distinct terms of one granule: a hash table with open addressing, which is cleared by incrementing the
/// generation.
#[derive(Debug)]
pub(crate) struct GranuleTerms {
    slots: Vec<Slot>,
    used: Vec<u32>,
    generation: u64,
}

impl GranuleTerms {
    pub(crate) fn new() -> Self {
        Self { slots: vec![Slot::default(); 1 << 14], used: Vec::new(), generation: 1 }
    }

    /// Reads the slots of the terms, to load them into the CPU cache.
    #[inline]
    fn look(&self, hashes: &[u64]) -> u64 {
        let mask = self.slots.len() - 1;
        hashes.iter().fold(0, |all, hash| all ^ self.slots[*hash as usize & mask].state)
    }

    /// Counts the row (below 65,536) once for the term. Returns true if the term is new in the granule.
    #[inline(always)]
    fn count(&mut self, hash: u64, row: u32) -> bool {
        let (at, new) = self.place(hash);
        let slot = &mut self.slots[at];
        let row = u64::from(row) + 1;
        let last = slot.state & ROW_MASK;
        let counted = slot.state - last + row + (1 << ROW_BITS);
        slot.state = std::hint::select_unpredictable(last == row, slot.state, counted);
        new
    }

    /// Adds the term without counting. Returns true if it is new in the granule.
    #[inline]
    pub(crate) fn add(&mut self, hash: u64) -> bool {
        self.place(hash).1
    }

    #[inline(always)]
    fn place(&mut self, hash: u64) -> (usize, bool) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.state >> GENERATION_SHIFT != self.generation {
                return (self.insert(at, hash), true);
            }
            if slot.hash == hash {
                return (at, false);
            }
            at = (at + 1) & mask;
        }
    }

    #[inline(never)]
    fn insert(&mut self, at: usize, hash: u64) -> usize {
        self.slots[at] = Slot { hash, state: self.generation << GENERATION_SHIFT };
        self.used.push(at as u32);
        if self.used.len() * 2 > self.slots.len() {
            self.grow();
            return self.place(hash).0;
        }
        at
    }

    #[cold]
    fn grow(&mut self) {
        let larger = vec![Slot::default(); self.slots.len() * 2];
        let smaller = std::mem::replace(&mut self.slots, larger);
        let used = std::mem::take(&mut self.used);
        let mask = self.slots.len() - 1;
        for old in used {
            let slot = smaller[old as usize];
            let mut at = slot.hash as usize & mask;
            while self.slots[at].state != 0 {
                at = (at + 1) & mask;
            }
            self.slots[at] = slot;
            self.used.push(at as u32);
        }
    }

    fn drain(&mut self, granule: u32, into: &mut [Vec<Occurrence>]) {
        for at in self.used.drain(..) {
            let Slot { hash, state } = self.slots[at as usize];
            let rows = (state >> ROW_BITS & ROW_MASK) as u32;
            into[(hash >> (64 - PARTITION_BITS)) as usize].push(Occurrence { hash, granule, rows });
        }
        self.begin_next();
    }

    /// Returns the number of terms.
    pub(crate) fn len(&self) -> usize {
        self.used.len()
    }

    /// Calls `found` for each term, and clears the table for the next granule.
    pub(crate) fn take(&mut self, mut found: impl FnMut(u64)) {
        for at in self.used.drain(..) {
            found(self.slots[at as usize].hash);
        }
        self.begin_next();
    }

    fn begin_next(&mut self) {
        self.generation += 1;
        if self.generation >> (64 - GENERATION_SHIFT) != 0 {
            self.slots.fill(Slot::default());
            self.generation = 1;
        }
    }
}
