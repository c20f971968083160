//! Collects the distinct words of each granule, then sorts and encodes them all.

use super::block::{Layout, Occurrence, encode};
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
    granule: u32,
}

impl IndexBuilder {
    pub(crate) fn new(max_vocabulary: usize) -> Self {
        Self {
            segmenter: Segmenter::default(),
            terms: GranuleTerms::new(),
            vocabulary: VocabularyBuilder::new(max_vocabulary),
            occurrences: Vec::new(),
            granule: 0,
        }
    }

    /// The `_raw` of a row; `row` counts within the granule.
    pub(crate) fn raw(&mut self, row: u32, text: &str) {
        let Self { segmenter, terms, vocabulary, .. } = self;
        segmenter.words(text, |word| {
            if terms.count(word.hash, row) {
                first_seen(terms, vocabulary, word);
            }
        });
    }

    /// Text of another column of a row of the current granule: it is found, but not counted.
    pub(crate) fn other(&mut self, text: &str) {
        let Self { segmenter, terms, vocabulary, .. } = self;
        segmenter.words(text, |word| {
            if terms.add(word.hash) {
                first_seen(terms, vocabulary, word);
            }
        });
    }

    /// Closes the current granule.
    pub(crate) fn end_granule(&mut self) {
        self.terms.drain(self.granule, &mut self.occurrences);
        self.granule += 1;
    }

    /// Encodes everything.
    pub(crate) fn finish(self) -> BuiltIndex {
        let pairs = self.occurrences.len();
        let layout = Layout::for_pairs(pairs, self.granule as usize);
        let (mut sorted, ends) = scatter(&layout, &self.occurrences);
        drop(self.occurrences);
        let mut bytes = Vec::with_capacity(pairs * 2);
        let mut lengths = Vec::with_capacity(layout.blocks());
        let mut start = 0;
        for end in ends {
            let part = &mut sorted[start..end];
            part.sort_unstable_by_key(|occurrence| (occurrence.hash, occurrence.granule));
            let block = encode(&layout, part);
            lengths.push(block.len());
            bytes.extend_from_slice(&block);
            start = end;
        }
        BuiltIndex { layout, bytes, lengths, vocabulary: self.vocabulary.finish(), pairs }
    }
}

/// What a word leaves behind the first time it is met in a granule, besides itself.
fn first_seen(terms: &mut GranuleTerms, vocabulary: &mut VocabularyBuilder, word: Word<'_>) {
    if word.digits {
        let stem = stem(word.bytes);
        let hash = TermHash::of_stem(stem).0;
        if terms.add(hash) {
            vocabulary.add_stem(hash, stem);
        }
    } else {
        vocabulary.add(word.hash, word.bytes);
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

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    hash: u64,
    generation: u32,
    rows: u32,
    last_row: u32,
}

/// The distinct terms of one granule: open addressing, emptied by counting the generation up.
#[derive(Debug)]
struct GranuleTerms {
    slots: Vec<Slot>,
    used: Vec<u32>,
    generation: u32,
}

/// No row of a granule has this number.
const NO_ROW: u32 = u32::MAX;

impl GranuleTerms {
    fn new() -> Self {
        Self { slots: vec![Slot::default(); 1 << 14], used: Vec::new(), generation: 1 }
    }

    /// Counts the row for the term, once; true if the term is new in the granule.
    #[inline]
    fn count(&mut self, hash: u64, row: u32) -> bool {
        let (at, new) = self.place(hash);
        let slot = &mut self.slots[at];
        slot.rows += u32::from(slot.last_row != row);
        slot.last_row = row;
        new
    }

    /// Adds the term without counting; true if it is new in the granule.
    #[inline]
    fn add(&mut self, hash: u64) -> bool {
        self.place(hash).1
    }

    #[inline]
    fn place(&mut self, hash: u64) -> (usize, bool) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = &mut self.slots[at];
            if slot.generation != self.generation {
                *slot = Slot { hash, generation: self.generation, rows: 0, last_row: NO_ROW };
                self.used.push(at as u32);
                if self.used.len() * 2 > self.slots.len() {
                    self.grow();
                    return (self.place(hash).0, true);
                }
                return (at, true);
            }
            if slot.hash == hash {
                return (at, false);
            }
            at = (at + 1) & mask;
        }
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
            while self.slots[at].generation == self.generation {
                at = (at + 1) & mask;
            }
            self.slots[at] = slot;
            self.used.push(at as u32);
        }
    }

    fn drain(&mut self, granule: u32, into: &mut Vec<Occurrence>) {
        for at in self.used.drain(..) {
            let Slot { hash, rows, .. } = self.slots[at as usize];
            into.push(Occurrence { hash, granule, rows });
        }
        self.generation = self.generation.checked_add(1).unwrap_or_else(|| {
            self.slots.fill(Slot::default());
            1
        });
    }
}
