//! Parquet's encodings of integers and levels, each appending to a page (`Encodings.md` of the Parquet
//! format).

use crate::index::bits::{BitWriter, put_varint};

/// Number of values per block of DELTA_BINARY_PACKED, and per miniblock: the minimum of the format.
const BLOCK: usize = 128;
const MINIBLOCK: usize = 32;

/// Appends values in DELTA_BINARY_PACKED: block size, miniblocks per block, number of values, first value,
/// then blocks of differences, which wrap around as the format requires.
pub(super) fn put_deltas(values: &[i64], into: &mut Vec<u8>) {
    for number in [BLOCK, BLOCK / MINIBLOCK, values.len()] {
        put_varint(into, number as u64);
    }
    put_varint(into, zigzag(values.first().copied().unwrap_or(0)));
    let mut deltas = [0i64; BLOCK];
    // The first value is in the header, so that differences start at the second one.
    let mut start = 1;
    while start < values.len() {
        let count = (values.len() - start).min(BLOCK);
        let pairs = values[start - 1..start + count].windows(2);
        for (delta, pair) in deltas.iter_mut().zip(pairs) {
            *delta = pair[1].wrapping_sub(pair[0]);
        }
        put_block(&mut deltas, count, into);
        start += count;
    }
}

fn put_block(deltas: &mut [i64; BLOCK], count: usize, into: &mut Vec<u8>) {
    // The differences minus their minimum are not negative, and need fewer bits.
    let least = deltas[..count].iter().copied().min().unwrap_or(0);
    put_varint(into, zigzag(least));
    for delta in &mut deltas[..count] {
        *delta = delta.wrapping_sub(least);
    }
    // Miniblocks are stored whole. Those that the last block does not need are left out, except their widths.
    deltas[count..].fill(0);
    let widths = into.len();
    into.extend_from_slice(&[0; BLOCK / MINIBLOCK]);
    for (at, miniblock) in deltas.chunks(MINIBLOCK).enumerate().take(count.div_ceil(MINIBLOCK)) {
        let all = miniblock.iter().fold(0, |all, delta| all | *delta) as u64;
        let width = 64 - all.leading_zeros();
        into[widths + at] = width as u8;
        pack(miniblock.iter().map(|delta| *delta as u64), width, into);
    }
}

/// Packs values of `width` bits.
#[inline]
fn pack(values: impl Iterator<Item = u64>, width: u32, into: &mut Vec<u8>) {
    let mut bits = BitWriter::new(into);
    for value in values {
        bits.put(value, width);
    }
    bits.finish();
}

/// Minimum number of equal consecutive values for a run; fewer are bit-packed with their neighbours, which
/// zstd compresses better.
const RUN: usize = 64;

/// Appends values in the hybrid of run lengths and bit-packed groups of eight.
pub(super) fn put_hybrid(values: &[u32], width: u32, into: &mut Vec<u8>) {
    let mut packed = 0;
    let mut at = 0;
    while at < values.len() {
        let run = values[at..].iter().take_while(|value| **value == values[at]).count();
        // The rest of a page is one run, however short, if no values before it wait to be packed.
        if run >= RUN || run == values.len() - at && packed == at {
            put_packed(&values[packed..at], width, into);
            put_run(values[at], run, width, into);
            at += run;
            packed = at;
        } else {
            // Advances by whole groups: padding in a group before a run would be read as values.
            at = (at + run.next_multiple_of(8)).min(values.len());
        }
    }
    put_packed(&values[packed..], width, into);
}

/// Appends a run of one value.
pub(super) fn put_run(value: u32, count: usize, width: u32, into: &mut Vec<u8>) {
    // The lowest bit tells runs (0) from bit-packed groups (1).
    put_varint(into, (count as u64) << 1);
    into.extend_from_slice(&value.to_le_bytes()[..width.div_ceil(8) as usize]);
}

fn put_packed(values: &[u32], width: u32, into: &mut Vec<u8>) {
    if values.is_empty() {
        return;
    }
    let groups = values.len().div_ceil(8);
    put_varint(into, (groups as u64) << 1 | 1);
    // A frequent width, because `keyed` tries whole bytes.
    if width == 8 {
        into.extend(values.iter().map(|value| *value as u8));
        into.resize(into.len() + groups * 8 - values.len(), 0);
        return;
    }
    let padding = std::iter::repeat_n(0, groups * 8 - values.len());
    pack(values.iter().map(|value| u64::from(*value)).chain(padding), width, into);
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}
