//! A set of integers: bitmaps if the integers are close together, as ids are; a hash set otherwise; a list
//! while there are few.

use hashbrown::HashSet;

use crate::aggregates::summary::{FEW_VALUES, table_size};

/// Number of integers per bitmap chunk, which has 8 KiB.
const CHUNK: i64 = 1 << 16;
const WORDS: usize = 1 << 10;
/// Maximum number of chunks between the minimum and the maximum; beyond it, a hash set is used.
const SPAN: usize = 1 << 12;
/// Size of the hash set below which bitmaps are not considered, so that small sets stay small.
const FEW: usize = 1 << 10;
/// Bitmap bytes per integer above which a hash set is smaller.
const BYTES_PER_NUMBER: usize = 16;

type Chunk = Box<[u64; WORDS]>;

/// The set; see the module documentation.
#[derive(Debug, Clone)]
pub(crate) struct IntegerSet {
    form: Form,
    /// Number of integers at which bitmaps are considered again.
    consider_at: usize,
}

#[derive(Debug, Clone)]
enum Form {
    /// The first `len` numbers.
    Few {
        len: u8,
        numbers: [i64; FEW_VALUES],
    },
    Hashed(HashSet<i64>),
    Bits(Bits),
}

#[derive(Debug, Clone, Default)]
struct Bits {
    /// Number of the first chunk.
    first: i64,
    chunks: Vec<Option<Chunk>>,
    filled: usize,
    len: usize,
}

impl Default for IntegerSet {
    fn default() -> Self {
        Self { form: Form::Few { len: 0, numbers: [0; FEW_VALUES] }, consider_at: FEW }
    }
}

impl IntegerSet {
    pub(crate) fn len(&self) -> usize {
        match &self.form {
            Form::Few { len, .. } => usize::from(*len),
            Form::Hashed(numbers) => numbers.len(),
            Form::Bits(bits) => bits.len,
        }
    }

    #[inline]
    pub(crate) fn insert(&mut self, number: i64) {
        match &mut self.form {
            Form::Bits(bits) => {
                if !bits.insert(number) {
                    self.scatter(number);
                }
            }
            Form::Hashed(numbers) => {
                numbers.insert(number);
                if numbers.len() >= self.consider_at {
                    self.consider_bits();
                }
            }
            Form::Few { len, numbers } => {
                let held = usize::from(*len);
                if numbers[..held].contains(&number) {
                    return;
                }
                if held < FEW_VALUES {
                    numbers[held] = number;
                    *len += 1;
                    return;
                }
                let all = numbers.iter().copied().chain([number]).collect();
                self.form = Form::Hashed(all);
            }
        }
    }

    /// Returns the size in bytes outside of the value itself.
    pub(crate) fn heap_size(&self) -> usize {
        match &self.form {
            Form::Few { .. } => 0,
            Form::Hashed(numbers) => table_size::<i64>(numbers.capacity()),
            Form::Bits(bits) => {
                bits.filled * size_of::<[u64; WORDS]>()
                    + bits.chunks.capacity() * size_of::<Option<Chunk>>()
            }
        }
    }

    /// Visits all integers, in no particular order.
    pub(crate) fn each(&self, visit: impl FnMut(i64)) {
        match &self.form {
            Form::Few { len, numbers } => {
                numbers[..usize::from(*len)].iter().copied().for_each(visit);
            }
            Form::Hashed(numbers) => numbers.iter().copied().for_each(visit),
            Form::Bits(bits) => bits.numbers().for_each(visit),
        }
    }

    fn consider_bits(&mut self) {
        let Form::Hashed(numbers) = &self.form else { return };
        self.consider_at = numbers.len().saturating_mul(2);
        let mut bits = Bits::default();
        let enough = numbers.len() * BYTES_PER_NUMBER / size_of::<[u64; WORDS]>();
        let dense =
            numbers.iter().all(|number| bits.insert(*number) && bits.filled <= enough.max(2));
        if dense {
            self.form = Form::Bits(bits);
        }
    }

    /// Returns to hashing, because of an integer far from the others.
    fn scatter(&mut self, number: i64) {
        let Form::Bits(bits) = &self.form else { return };
        let numbers = bits.numbers().chain([number]).collect();
        self.form = Form::Hashed(numbers);
        self.consider_at = usize::MAX;
    }
}

impl Bits {
    /// Adds an integer. Returns false if it is too far from the others.
    #[inline]
    fn insert(&mut self, number: i64) -> bool {
        let chunk = number.div_euclid(CHUNK);
        let place = chunk.wrapping_sub(self.first);
        let known = usize::try_from(place).ok().and_then(|at| self.chunks.get_mut(at));
        let Some(Some(words)) = known else { return self.insert_elsewhere(chunk, number) };
        let bit = number.rem_euclid(CHUNK) as usize;
        let word = &mut words[bit / 64];
        self.len += usize::from(*word >> (bit % 64) & 1 == 0);
        *word |= 1 << (bit % 64);
        true
    }

    /// Adds an integer to a new chunk.
    #[cold]
    fn insert_elsewhere(&mut self, chunk: i64, number: i64) -> bool {
        if self.chunks.is_empty() {
            self.first = chunk;
        }
        let (low, high) =
            (self.first.min(chunk), (self.first + self.chunks.len() as i64 - 1).max(chunk));
        if high.saturating_sub(low) >= SPAN as i64 {
            return false;
        }
        let before = (self.first - low) as usize;
        self.chunks.splice(0..0, std::iter::repeat_n(None, before));
        self.chunks.resize((high - low) as usize + 1, None);
        self.first = low;
        self.chunks[(chunk - low) as usize] = Some(Box::new([0; WORDS]));
        self.filled += 1;
        self.insert(number)
    }

    fn numbers(&self) -> impl Iterator<Item = i64> {
        let chunks = self.chunks.iter().zip(self.first..);
        let chunks = chunks.filter_map(|(words, chunk)| Some((words.as_ref()?, chunk)));
        chunks.flat_map(|(words, chunk)| {
            let words = words.iter().zip((chunk * CHUNK..).step_by(64));
            words.flat_map(|(word, start)| {
                (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| start + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Form, IntegerSet};

    fn holds(numbers: impl Iterator<Item = i64> + Clone) -> IntegerSet {
        let mut set = IntegerSet::default();
        // Each number is added twice, but must be counted once.
        numbers.clone().chain(numbers.clone()).for_each(|number| set.insert(number));
        let expected: HashSet<i64> = numbers.collect();
        assert_eq!(set.len(), expected.len());
        let mut taken = Vec::new();
        set.each(|number| taken.push(number));
        assert_eq!(taken.len(), expected.len());
        assert_eq!(taken.into_iter().collect::<HashSet<_>>(), expected);
        set
    }

    #[test]
    fn ids_become_bits() {
        let set = holds((0..200_000_i64).map(|at| at * 7_919 % 1_000_003));
        assert!(matches!(set.form, Form::Bits(_)));
        assert!(set.heap_size() < 200_000);
        let set = holds((-100_000..100_000_i64).rev());
        assert!(matches!(set.form, Form::Bits(_)));
    }

    #[test]
    fn scattered_numbers_are_hashed() {
        let set =
            holds((0..20_000_i64).map(|at| at.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64)));
        assert!(matches!(set.form, Form::Hashed(_)));
        holds([i64::MIN, i64::MAX, 0, -1].into_iter());
    }

    #[test]
    fn few_numbers_take_no_memory_of_their_own() {
        let set = holds([3, -1, i64::MAX, 0].into_iter());
        assert!(matches!(set.form, Form::Few { .. }) && set.heap_size() == 0);
        let set = holds([3, -1, i64::MAX, 0, 7].into_iter());
        assert!(matches!(set.form, Form::Hashed(_)));
        // The eighth place of the table, which stays free, does not count.
        assert_eq!(set.heap_size(), 7 * 9);
    }

    #[test]
    fn a_far_number_among_ids_is_kept() {
        let set = holds((0..100_000).chain([i64::MAX, i64::MIN]));
        assert!(matches!(set.form, Form::Hashed(_)));
    }
}
