//! Collects the distinct words of each granule, then sorts and encodes them all.

use super::block::{BlockEncoder, Layout, Occurrence};
use super::vocabulary::VocabularyBuilder;
use crate::segment::{Segmenter, TermHash, Word, stem};

/// A finished term index.
#[derive(Debug)]
pub(crate) struct BuiltIndex {
    pub(crate) layout: Layout,
    /// Blocks back to back.
    pub(crate) bytes: Vec<u8>,
    /// Length of each block.
    pub(crate) lengths: Vec<usize>,
    /// The vocabulary, empty if there were too many words.
    pub(crate) vocabulary: Vec<u8>,
    /// (term, granule) pairs.
    pub(crate) pairs: usize,
}

/// Words go in row by row, granule by granule.
#[derive(Debug)]
pub(crate) struct IndexBuilder {
    segmenter: Segmenter,
    terms: GranuleTerms,
    vocabulary: VocabularyBuilder,
    occurrences: Vec<Occurrence>,
    stems: Stems,
    granule: u32,
}

impl IndexBuilder {
    pub(crate) fn new(max_vocabulary: usize) -> Self {
        Self {
            segmenter: Segmenter::default(),
            terms: GranuleTerms::new(),
            vocabulary: VocabularyBuilder::new(max_vocabulary),
            occurrences: Vec::new(),
            stems: Stems::new(),
            granule: 0,
        }
    }

    /// The `_raw` of a row; `row` counts within the granule.
    pub(crate) fn raw(&mut self, row: u32, text: &str) {
        let Self { segmenter, terms, vocabulary, stems, .. } = self;
        segmenter.words(text, |word| {
            if terms.count(word.hash, row) {
                first_seen(terms, vocabulary, stems, word);
            }
        });
    }

    /// Text of another column of a row of the current granule: it is found, but not counted.
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
        self.granule += 1;
    }

    /// Encodes everything.
    pub(crate) fn finish(self) -> BuiltIndex {
        let pairs = self.occurrences.len();
        let layout = Layout::for_pairs(pairs, self.granule as usize);
        let (sorted, ends) = scatter(&layout, &self.occurrences);
        drop(self.occurrences);
        let mut bytes = Vec::with_capacity(pairs * 2 + layout.blocks() * 16);
        let mut lengths = Vec::with_capacity(layout.blocks());
        let (mut sorter, mut encoder) = (Sorter::default(), BlockEncoder::default());
        let mut start = 0;
        for end in ends {
            let part = sorter.sort(layout.block_bits, &sorted[start..end]);
            let before = bytes.len();
            encoder.encode(&layout, part, &mut bytes);
            lengths.push(bytes.len() - before);
            start = end;
        }
        BuiltIndex { layout, bytes, lengths, vocabulary: self.vocabulary.finish(), pairs }
    }
}

/// What a word leaves behind the first time it is met in a granule, besides itself.
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

/// Stems met lately in the granule: most words with digits have one of very few.
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

    /// Whether the stem may be new.
    fn insert(&mut self, stem: &[u8]) -> bool {
        let bytes = stem.iter().fold(0, |key, byte| key << 8 | u32::from(*byte));
        // The length tells stems apart that begin with zero bytes; it makes no key zero.
        let key = bytes | (stem.len() as u32 + 1) << 24;
        let place = key.wrapping_mul(0x9e37_79b1) as usize >> 22;
        std::mem::replace(&mut self.known[place], key) != key
    }
}

/// Sorts the occurrences of a block by hash, keeping those of a term in order of their granules.
#[derive(Debug, Default)]
struct Sorter {
    sorted: Vec<Occurrence>,
    places: Vec<u32>,
}

impl Sorter {
    /// Parts of a block: small ones hold one or two terms.
    const PART_BITS: u32 = 11;

    /// Hashes are spread evenly, so the bits behind the block's nearly sort them.
    fn sort(&mut self, skip: u32, block: &[Occurrence]) -> &[Occurrence] {
        let part = |hash: u64| (hash << skip >> (64 - Self::PART_BITS)) as usize;
        self.places.clear();
        self.places.resize(1 << Self::PART_BITS, 0);
        for occurrence in block {
            self.places[part(occurrence.hash)] += 1;
        }
        let mut start = 0;
        for place in &mut self.places {
            start += std::mem::replace(place, start);
        }
        self.sorted.clear();
        self.sorted.resize(block.len(), Occurrence::default());
        for occurrence in block {
            let place = &mut self.places[part(occurrence.hash)];
            self.sorted[*place as usize] = *occurrence;
            *place += 1;
        }
        let mut start = 0;
        for end in &self.places {
            let end = *end as usize;
            // Stable, and made for the few occurrences or the long runs of a term that are here.
            if end - start > 1 {
                self.sorted[start..end].sort_by_key(|occurrence| occurrence.hash);
            }
            start = end;
        }
        &self.sorted
    }
}

/// Moves the occurrences into the order of their blocks; also the end of each block.
fn scatter(layout: &Layout, occurrences: &[Occurrence]) -> (Vec<Occurrence>, Vec<usize>) {
    let mut places = vec![0usize; layout.blocks()];
    for occurrence in occurrences {
        places[layout.block_of(occurrence.hash)] += 1;
    }
    let mut start = 0;
    for place in &mut places {
        start += std::mem::replace(place, start);
    }
    let mut sorted = vec![Occurrence::default(); occurrences.len()];
    for occurrence in occurrences {
        let place = &mut places[layout.block_of(occurrence.hash)];
        sorted[*place] = *occurrence;
        *place += 1;
    }
    (sorted, places)
}

/// A term of the current granule, if `state` says so: from the top, the granule's generation (28
/// bits), rows that have the term (18), the last such row plus one (18).
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    hash: u64,
    state: u64,
}

const ROW_BITS: u32 = 18;
const ROW_MASK: u64 = (1 << ROW_BITS) - 1;
const GENERATION_SHIFT: u32 = 2 * ROW_BITS;

/// The distinct terms of one granule: open addressing, emptied by counting the generation up.
#[derive(Debug)]
struct GranuleTerms {
    slots: Vec<Slot>,
    used: Vec<u32>,
    generation: u64,
}

impl GranuleTerms {
    fn new() -> Self {
        Self { slots: vec![Slot::default(); 1 << 14], used: Vec::new(), generation: 1 }
    }

    /// Counts the row (below 65,536) for the term, once; true if the term is new in the granule.
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

    /// Adds the term without counting; true if it is new in the granule.
    #[inline]
    fn add(&mut self, hash: u64) -> bool {
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

    fn drain(&mut self, granule: u32, into: &mut Vec<Occurrence>) {
        for at in self.used.drain(..) {
            let Slot { hash, state } = self.slots[at as usize];
            let rows = (state >> ROW_BITS & ROW_MASK) as u32;
            into.push(Occurrence { hash, granule, rows });
        }
        self.generation += 1;
        if self.generation >> (64 - GENERATION_SHIFT) != 0 {
            self.slots.fill(Slot::default());
            self.generation = 1;
        }
    }
}
