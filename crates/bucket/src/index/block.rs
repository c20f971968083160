//! One block of the term index: the terms of an equal part of the hash space, as fingerprints with their
//! granules and row counts. It is the unit of reading in a lookup.

use super::bits::{BitWriter, Bits, put_varint, take, take_varint, width_below};
use crate::GranuleSet;

/// An occurrence of a term in a granule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Occurrence {
    pub(crate) hash: u64,
    pub(crate) granule: u32,
    /// Rows whose `_raw` has the term; 0 if only other columns have it.
    pub(crate) rows: u32,
}

/// Parameters that are the same for all blocks of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Number of leading hash bits that select the block.
    pub(crate) block_bits: u32,
    /// Number of leading hash bits that are stored, including `block_bits`.
    pub(crate) fingerprint_bits: u32,
    /// Number of granules of the bucket.
    pub(crate) granules: usize,
}

/// The result of looking up a hash in a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// Pairs of a granule and the number of its rows with the term.
    pub(crate) rows: Vec<(u32, u32)>,
    /// Whether the 64-bit hash was compared.
    pub(crate) exact: bool,
}

/// Terms in at least this many granules store their whole hash: they are few, and their counts become exact.
const EXACT_FROM: usize = 4;

// A list's header: payload bytes << 5 | exact << 4 | counts << 2 | granules.
const GAPS: u64 = 0;
const BITMAP: u64 = 1;
const EVERY: u64 = 2;
const COUNTS_ONE: u64 = 0;
const COUNTS_SAME: u64 = 1;
const COUNTS_PACKED: u64 = 2;

impl Layout {
    /// Returns a layout for this number of (term, granule) pairs, with blocks of about 5 KB.
    pub(crate) fn for_pairs(pairs: usize, granules: usize) -> Self {
        const PAIRS_PER_BLOCK: usize = 2800;
        let block_bits = width_below(pairs.div_ceil(PAIRS_PER_BLOCK) as u64);
        let fingerprint_bits = (width_below(pairs as u64) + 8).min(64);
        Self { block_bits, fingerprint_bits, granules }
    }

    pub(crate) fn blocks(&self) -> usize {
        1 << self.block_bits
    }

    pub(crate) fn block_of(&self, hash: u64) -> usize {
        hash.checked_shr(64 - self.block_bits).unwrap_or(0) as usize
    }

    /// Returns the part of the hash that a block stores.
    fn fingerprint(&self, hash: u64) -> u64 {
        let kept = hash >> (64 - self.fingerprint_bits);
        let width = self.width();
        if width == 64 { kept } else { kept & ((1 << width) - 1) }
    }

    fn width(&self) -> u32 {
        self.fingerprint_bits - self.block_bits
    }

    /// Returns the number of low bits of a fingerprint that are stored without compression.
    fn low_width(&self, terms: usize) -> u32 {
        self.width().saturating_sub(width_below(terms as u64))
    }

    fn granule_width(&self) -> u32 {
        width_below(self.granules as u64)
    }

    fn exact_bytes(&self) -> usize {
        (64 - self.fingerprint_bits).div_ceil(8) as usize
    }

    /// Returns the hash bits that are not in the fingerprint.
    fn remainder(&self, hash: u64) -> u64 {
        let width = 64 - self.fingerprint_bits;
        hash & 1u64.checked_shl(width).map_or(u64::MAX, |bit| bit - 1)
    }
}

/// An encoder of blocks, which reuses its memory.
#[derive(Debug, Default)]
pub(crate) struct BlockEncoder {
    /// The start of each term among the occurrences, and the end of the last one.
    starts: Vec<u32>,
    bits: Vec<u8>,
    payload: Vec<u8>,
    gaps: Vec<u8>,
}

impl BlockEncoder {
    /// Appends the block of occurrences, which are sorted by (hash, granule).
    pub(crate) fn encode(&mut self, layout: &Layout, sorted: &[Occurrence], into: &mut Vec<u8>) {
        if sorted.is_empty() {
            return;
        }
        let start = into.len();
        self.find_terms(sorted);
        self.put_bits(layout, sorted);
        put_varint(into, self.starts.len() as u64 - 1);
        put_varint(into, self.bits.len() as u64);
        into.extend_from_slice(&self.bits);
        for single in singles(&self.starts, sorted).filter(|single| single.rows != 1) {
            put_varint(into, u64::from(single.rows));
        }
        for border in self.starts.windows(2).filter(|border| border[1] - border[0] > 1) {
            let list = &sorted[border[0] as usize..border[1] as usize];
            put_list(into, &mut self.payload, &mut self.gaps, layout, list);
        }
        let checksum = crc32fast::hash(&into[start..]);
        into.extend_from_slice(&checksum.to_le_bytes());
    }

    fn find_terms(&mut self, sorted: &[Occurrence]) {
        self.starts.clear();
        self.starts.push(0);
        for (at, pair) in sorted.windows(2).enumerate() {
            if pair[0].hash != pair[1].hash {
                self.starts.push(at as u32 + 1);
            }
        }
        self.starts.push(sorted.len() as u32);
    }

    fn put_bits(&mut self, layout: &Layout, sorted: &[Occurrence]) {
        let Self { starts, bits, .. } = self;
        let terms = &starts[..starts.len() - 1];
        let low_width = layout.low_width(terms.len());
        let fingerprint = |term: &u32| layout.fingerprint(sorted[*term as usize].hash);
        bits.clear();
        let mut bits = BitWriter::new(bits);
        for term in terms {
            bits.put(fingerprint(term), low_width);
        }
        // High parts in unary: for each possible high part, a one per term, then a zero.
        let mut part = 0;
        for term in terms {
            let high = fingerprint(term) >> low_width;
            put_zeros(&mut bits, high - part);
            bits.put(1, 1);
            part = high;
        }
        put_zeros(&mut bits, (1u64 << (layout.width() - low_width)) - part);
        for border in starts.windows(2) {
            bits.put(u64::from(border[1] - border[0] > 1), 1);
        }
        let width = layout.granule_width();
        for single in singles(starts, sorted) {
            bits.put(u64::from(single.granule), width);
        }
        for single in singles(starts, sorted) {
            bits.put(u64::from(single.rows != 1), 1);
        }
        bits.finish();
    }
}

/// Returns the occurrences of terms that occur in a single granule.
fn singles<'a>(starts: &'a [u32], sorted: &'a [Occurrence]) -> impl Iterator<Item = Occurrence> {
    let single = |border: &&[u32]| border[1] - border[0] == 1;
    starts.windows(2).filter(single).map(|border| sorted[border[0] as usize])
}

fn put_zeros(bits: &mut BitWriter<'_>, mut count: u64) {
    while count > 0 {
        let some = count.min(64);
        bits.put(0, some as u32);
        count -= some;
    }
}

fn put_list(
    block: &mut Vec<u8>,
    payload: &mut Vec<u8>,
    gaps: &mut Vec<u8>,
    layout: &Layout,
    list: &[Occurrence],
) {
    payload.clear();
    let exact = list.len() >= EXACT_FROM;
    if exact {
        let rest = layout.remainder(list[0].hash).to_le_bytes();
        payload.extend_from_slice(&rest[..layout.exact_bytes()]);
    }
    let granules = put_granules(payload, gaps, layout, list);
    let counts = put_counts(payload, list);
    let header = u64::from(exact) << 4 | counts << 2 | granules;
    put_varint(block, (payload.len() as u64) << 5 | header);
    block.extend_from_slice(payload);
}

fn put_granules(
    payload: &mut Vec<u8>,
    gaps: &mut Vec<u8>,
    layout: &Layout,
    list: &[Occurrence],
) -> u64 {
    if list.len() == layout.granules {
        return EVERY;
    }
    gaps.clear();
    put_varint(gaps, list.len() as u64);
    let mut next = 0;
    for occurrence in list {
        put_varint(gaps, u64::from(occurrence.granule - next));
        next = occurrence.granule + 1;
    }
    let bitmap_bytes = layout.granules.div_ceil(8);
    if gaps.len() <= bitmap_bytes {
        payload.extend_from_slice(gaps);
        return GAPS;
    }
    let start = payload.len();
    payload.resize(start + bitmap_bytes, 0);
    for occurrence in list {
        payload[start + occurrence.granule as usize / 8] |= 1 << (occurrence.granule % 8);
    }
    BITMAP
}

fn put_counts(payload: &mut Vec<u8>, list: &[Occurrence]) -> u64 {
    let first = list[0].rows;
    if list.iter().all(|occurrence| occurrence.rows == first) {
        if first == 1 {
            return COUNTS_ONE;
        }
        put_varint(payload, u64::from(first));
        return COUNTS_SAME;
    }
    let most = list.iter().map(|occurrence| occurrence.rows).max().unwrap_or(0);
    let width = width_below(u64::from(most) + 1);
    payload.push(width as u8);
    let mut bits = BitWriter::new(payload);
    for occurrence in list {
        bits.put(u64::from(occurrence.rows), width);
    }
    bits.finish();
    COUNTS_PACKED
}

/// A block with a valid checksum.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    layout: Layout,
    terms: usize,
    bits: Bits<'a>,
    rest: &'a [u8],
}

impl<'a> Block<'a> {
    /// Checks checksum and header of the block; returns `None` if it is damaged.
    pub(crate) fn open(layout: Layout, bytes: &'a [u8]) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self { layout, terms: 0, bits: Bits(&[]), rest: &[] });
        }
        let (mut body, checksum) = bytes.split_last_chunk::<4>()?;
        if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
            return None;
        }
        let terms = usize::try_from(take_varint(&mut body)?).ok()?;
        let length = usize::try_from(take_varint(&mut body)?).ok()?;
        let bits = Bits(take(&mut body, length)?);
        // Each term has at least two bits, so this also bounds the arithmetic below.
        (terms <= length * 8).then_some(Self { layout, terms, bits, rest: body })
    }

    /// Looks up a hash; returns `None` if the block is damaged.
    pub(crate) fn find(&self, hash: u64) -> Option<Found> {
        let mut found = Found { rows: Vec::new(), exact: true };
        if self.terms == 0 {
            return Some(found);
        }
        let fingerprint = self.layout.fingerprint(hash);
        let low_width = self.layout.low_width(self.terms);
        let high = usize::try_from(fingerprint >> low_width).ok()?;
        let unary = self.terms * low_width as usize;
        let mut at = self.bits.after_zeros(unary, high)?;
        let mut term = at - unary - high;
        let low = if low_width == 0 { 0 } else { fingerprint & ((1 << low_width) - 1) };
        let mut matches = 0;
        while self.bits.get(at, 1)? == 1 {
            let stored = self.bits.get(term * low_width as usize, low_width)?;
            if stored == low && self.read_term(term, low_width, hash, &mut found)? {
                matches += 1;
            }
            term += 1;
            at += 1;
        }
        if matches > 1 {
            merge(&mut found);
        }
        Some(found)
    }

    /// Adds the occurrences of the term, unless its stored hash is a different one.
    fn read_term(&self, term: usize, low: u32, hash: u64, found: &mut Found) -> Option<bool> {
        let parts = 1usize << (self.layout.width() - low);
        let kinds = self.terms * low as usize + self.terms + parts;
        let lists_before = self.bits.ones(kinds, kinds + term)?;
        let lists = lists_before + self.bits.ones(kinds + term, kinds + self.terms)?;
        let singles = self.terms - lists;
        let granules = kinds + self.terms;
        let width = self.layout.granule_width();
        let more = granules + singles * width as usize;
        if self.bits.get(kinds + term, 1)? == 0 {
            let single = term - lists_before;
            let granule = self.bits.get(granules + single * width as usize, width)?;
            let rows = if self.bits.get(more + single, 1)? == 0 {
                1
            } else {
                self.single_rows(self.bits.ones(more, more + single)?)?
            };
            found.rows.push((u32::try_from(granule).ok()?, rows));
            found.exact = false;
            return Some(true);
        }
        let exceptions = self.bits.ones(more, more + singles)?;
        self.read_list(exceptions, lists_before, hash, found)
    }

    fn single_rows(&self, exception: usize) -> Option<u32> {
        let mut rest = self.rest;
        for _ in 0..exception {
            take_varint(&mut rest)?;
        }
        u32::try_from(take_varint(&mut rest)?).ok()
    }

    fn read_list(
        &self,
        exceptions: usize,
        list: usize,
        hash: u64,
        found: &mut Found,
    ) -> Option<bool> {
        let mut rest = self.rest;
        for _ in 0..exceptions {
            take_varint(&mut rest)?;
        }
        for _ in 0..list {
            let header = take_varint(&mut rest)?;
            take(&mut rest, usize::try_from(header >> 5).ok()?)?;
        }
        let header = take_varint(&mut rest)?;
        let mut payload = take(&mut rest, usize::try_from(header >> 5).ok()?)?;
        if header >> 4 & 1 == 1 {
            let mut stored = [0; 8];
            let bytes = self.layout.exact_bytes();
            stored[..bytes].copy_from_slice(take(&mut payload, bytes)?);
            if u64::from_le_bytes(stored) != self.layout.remainder(hash) {
                return Some(false);
            }
        } else {
            found.exact = false;
        }
        let granules = self.take_granules(header & 3, &mut payload)?;
        take_counts(header >> 2 & 3, payload, &granules, &mut found.rows)?;
        Some(true)
    }

    fn take_granules(&self, kind: u64, payload: &mut &[u8]) -> Option<Vec<u32>> {
        let all = u32::try_from(self.layout.granules).ok()?;
        match kind {
            EVERY => Some((0..all).collect()),
            BITMAP => {
                let bitmap = take(payload, self.layout.granules.div_ceil(8))?;
                let set = |granule: &u32| bitmap[*granule as usize / 8] >> (granule % 8) & 1 == 1;
                Some((0..all).filter(set).collect())
            }
            GAPS => {
                let count = usize::try_from(take_varint(payload)?).ok()?;
                let mut granules = Vec::with_capacity(count.min(self.layout.granules));
                let mut next = 0u32;
                for _ in 0..count {
                    let gap = u32::try_from(take_varint(payload)?).ok()?;
                    let granule = next.checked_add(gap).filter(|granule| *granule < all)?;
                    granules.push(granule);
                    next = granule + 1;
                }
                Some(granules)
            }
            _ => None,
        }
    }
}

fn take_counts(
    kind: u64,
    mut payload: &[u8],
    granules: &[u32],
    rows: &mut Vec<(u32, u32)>,
) -> Option<()> {
    match kind {
        COUNTS_ONE => rows.extend(granules.iter().map(|granule| (*granule, 1))),
        COUNTS_SAME => {
            let count = u32::try_from(take_varint(&mut payload)?).ok()?;
            rows.extend(granules.iter().map(|granule| (*granule, count)));
        }
        COUNTS_PACKED => {
            let (width, packed) = payload.split_first()?;
            let width = u32::from(*width);
            if width > 32 {
                return None;
            }
            for (at, granule) in granules.iter().enumerate() {
                let count = Bits(packed).get(at * width as usize, width)?;
                rows.push((*granule, u32::try_from(count).ok()?));
            }
        }
        _ => return None,
    }
    Some(())
}

/// Merges the granules of several terms that share the fingerprint; the result is not exact.
fn merge(found: &mut Found) {
    found.exact = false;
    found.rows.sort_unstable();
    let mut merged: Vec<(u32, u32)> = Vec::with_capacity(found.rows.len());
    for (granule, rows) in found.rows.drain(..) {
        match merged.last_mut() {
            Some(last) if last.0 == granule => last.1 = last.1.saturating_add(rows),
            _ => merged.push((granule, rows)),
        }
    }
    found.rows = merged;
}

impl Found {
    /// Converts the result into a set and counts; granules that the bucket does not have are dropped.
    pub(crate) fn into_parts(self, granules: usize) -> (GranuleSet, Vec<u32>, bool) {
        let mut set = GranuleSet::none(granules);
        let mut counts = Vec::with_capacity(self.rows.len());
        for (granule, rows) in self.rows {
            if (granule as usize) < granules {
                set.insert(granule as usize);
                counts.push(rows);
            }
        }
        (set, counts, self.exact)
    }
}
