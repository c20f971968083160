//! Makes inputs from seeds by flipping, cutting, repeating and exchanging bytes.

/// Maximum length of an input.
const LONGEST: usize = 64 << 10;

/// A pseudorandom number generator (xorshift).
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

    /// A number from 0 up to, not including, `bound`, which must be at least 1.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.number() % bound.max(1) as u64).unwrap_or(0)
    }
}

/// Makes inputs from seeds and from words that have a meaning in the format.
#[derive(Debug)]
pub struct Mutator {
    random: Random,
    seeds: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
}

impl Mutator {
    /// Creates a mutator; `seeds` must not be empty.
    #[must_use]
    pub fn new(seed: u64, seeds: Vec<Vec<u8>>, words: &[&str]) -> Self {
        let words = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        Self { random: Random::new(seed), seeds, words }
    }

    /// The next input.
    pub fn input(&mut self) -> Vec<u8> {
        let place = self.random.below(self.seeds.len());
        let mut bytes = self.seeds.get(place).cloned().unwrap_or_default();
        // Mostly few changes, because a decoder rejects an input at its first error.
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
            // An edge value of one to eight bytes: 0, the maximum, a power of two, or one less.
            6 | 7 => self.put_number(bytes, at),
            8 => {
                // Many repetitions of a word, for depth and length.
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
