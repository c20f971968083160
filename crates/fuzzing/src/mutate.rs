//! Bytes made of other bytes: seeds with some of them flipped, cut, repeated, exchanged.

/// Longest input thrown.
const LONGEST: usize = 64 << 10;

/// Numbers that follow from a seed (xorshift).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The same seed gives the same numbers.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `bound`, which is at least 1.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.number() % bound.max(1) as u64).unwrap_or(0)
    }
}

/// Makes inputs of seeds and of words that mean something to the decoder.
#[derive(Debug)]
pub struct Mutator {
    random: Random,
    seeds: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
}

impl Mutator {
    /// A mutator of at least one seed.
    #[must_use]
    pub fn new(seed: u64, seeds: Vec<Vec<u8>>, words: &[&str]) -> Self {
        let words = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        Self { random: Random::new(seed), seeds, words }
    }

    /// The next input.
    pub fn input(&mut self) -> Vec<u8> {
        let place = self.random.below(self.seeds.len());
        let mut bytes = self.seeds.get(place).cloned().unwrap_or_default();
        // Mostly few changes: much that is broken is refused at the first of them.
        let changes = 1 + self.random.below(3) * self.random.below(6);
        for _ in 0..changes {
            self.change(&mut bytes);
        }
        bytes.truncate(LONGEST);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        let at = self.random.below(bytes.len() + 1);
        let end = (at + self.random.below(32)).min(bytes.len());
        match self.random.below(11) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let again = bytes[at..end].to_vec();
                let times = 1 + self.random.below(4);
                bytes.splice(at..at, again.repeat(times));
            }
            3 => {
                let noise: Vec<u8> = (at..end).map(|_| self.random.number() as u8).collect();
                bytes.splice(at..end, noise);
            }
            4 => {
                let word = self.random.below(self.words.len());
                let word = self.words.get(word).cloned().unwrap_or_default();
                bytes.splice(at..at, word);
            }
            5 => {
                let other = self.random.below(self.seeds.len());
                let other = self.seeds.get(other).cloned().unwrap_or_default();
                let from = self.random.below(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            // A number of one to eight bytes that is hard: 0, the greatest, a power of two, one less.
            6 | 7 => self.put_number(bytes, at),
            8 => {
                // Much of the same: depth and length.
                let word = self.random.below(self.words.len());
                let word = self.words.get(word).cloned().unwrap_or_default();
                let times = 1 << self.random.below(12);
                let room = LONGEST / word.len().max(1);
                bytes.splice(at..at, word.repeat(times.min(room)));
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << self.random.below(8);
                }
            }
        }
    }

    fn put_number(&mut self, bytes: &mut [u8], at: usize) {
        let power = 1u64.checked_shl(self.random.below(64) as u32).unwrap_or(0);
        let value = [0, u64::MAX, power, power.wrapping_sub(1)][self.random.below(4)];
        let width = [1, 2, 4, 8][self.random.below(4)];
        let value =
            if self.random.below(2) == 0 { value.to_le_bytes() } else { value.to_be_bytes() };
        let room = bytes.len().saturating_sub(at).min(width);
        bytes[at..at + room].copy_from_slice(&value[..room]);
    }
}
