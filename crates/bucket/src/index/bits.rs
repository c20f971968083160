//! Bit strings, least significant bit first, and LEB128 varints, both with bounds checks.

/// A writer of a bit string that is appended to bytes.
#[derive(Debug)]
pub(crate) struct BitWriter<'a> {
    bytes: &'a mut Vec<u8>,
    pending: u64,
    used: u32,
}

impl<'a> BitWriter<'a> {
    pub(crate) fn new(bytes: &'a mut Vec<u8>) -> Self {
        Self { bytes, pending: 0, used: 0 }
    }

    /// Appends the low `width` bits of `value`, at most 64.
    #[inline]
    pub(crate) fn put(&mut self, value: u64, width: u32) {
        if width == 0 {
            return;
        }
        let value = value & (u64::MAX >> (64 - width));
        self.pending |= value << self.used;
        let free = 64 - self.used;
        if width < free {
            self.used += width;
            return;
        }
        self.bytes.extend_from_slice(&self.pending.to_le_bytes());
        self.pending = value.checked_shr(free).unwrap_or(0);
        self.used = width - free;
    }

    /// Fills the last byte with zeros.
    pub(crate) fn finish(self) {
        let bytes = self.used.div_ceil(8) as usize;
        self.bytes.extend_from_slice(&self.pending.to_le_bytes()[..bytes]);
    }
}

/// A bit string with random access; reads beyond its end return `None`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bits<'a>(pub(crate) &'a [u8]);

impl Bits<'_> {
    /// Returns `width` bits from bit `at` on, at most 64.
    pub(crate) fn get(&self, at: usize, width: u32) -> Option<u64> {
        if width > 32 {
            let low = self.get(at, 32)?;
            return Some(low | self.get(at + 32, width - 32)? << 32);
        }
        let end = at.checked_add(width as usize)?;
        if end > self.0.len() * 8 {
            return None;
        }
        let first = at / 8;
        let part = &self.0[first..self.0.len().min(first + 8)];
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        Some(u64::from_le_bytes(word) >> (at % 8) & ((1u64 << width) - 1))
    }

    /// Returns the number of ones in `[from, to)`.
    pub(crate) fn ones(&self, from: usize, to: usize) -> Option<usize> {
        let mut count = 0;
        let mut at = from;
        while at < to {
            let width = (to - at).min(32);
            count += self.get(at, width as u32)?.count_ones() as usize;
            at += width;
        }
        Some(count)
    }

    /// Returns the place after the `n`-th zero from bit `from` on (`from` itself for no zeros).
    pub(crate) fn after_zeros(&self, from: usize, n: usize) -> Option<usize> {
        let mut left = n;
        let mut at = from;
        while left > 0 {
            let width = (self.0.len() * 8).checked_sub(at)?.min(32) as u32;
            if width == 0 {
                return None;
            }
            let word = self.get(at, width)?;
            let zeros = width as usize - word.count_ones() as usize;
            if zeros < left {
                left -= zeros;
                at += width as usize;
                continue;
            }
            for bit in 0..width {
                left -= usize::from(word >> bit & 1 == 0);
                if left == 0 {
                    return Some(at + bit as usize + 1);
                }
            }
        }
        Some(at)
    }
}

/// Appends an LEB128 varint.
pub(crate) fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Removes an LEB128 varint from the front.
pub(crate) fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Removes a number of bytes from the front.
pub(crate) fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (head, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(head)
}

/// Returns the number of bits that a number below `limit` needs.
pub(crate) fn width_below(limit: u64) -> u32 {
    64 - limit.saturating_sub(1).leading_zeros()
}
