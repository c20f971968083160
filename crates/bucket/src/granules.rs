//! A set of granules of one bucket.

/// A set of granules of a bucket, as a bitmap. Granule `g` has the rows from `g * rows_per_granule`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GranuleSet {
    words: Vec<u64>,
    granules: usize,
}

impl GranuleSet {
    /// Creates an empty set for a bucket with this number of granules.
    #[must_use]
    pub fn none(granules: usize) -> Self {
        Self { words: vec![0; granules.div_ceil(64)], granules }
    }

    /// Creates a set of all granules of a bucket.
    #[must_use]
    pub fn all(granules: usize) -> Self {
        let mut words = vec![u64::MAX; granules.div_ceil(64)];
        let used = granules % 64;
        if let Some(last) = words.last_mut().filter(|_| used != 0) {
            *last = (1 << used) - 1;
        }
        Self { words, granules }
    }

    /// Returns the number of granules of the bucket.
    #[must_use]
    pub fn granules(&self) -> usize {
        self.granules
    }

    /// Returns the number of granules in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Whether every granule is in the set.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.len() == self.granules
    }

    /// Whether a granule is in the set.
    #[must_use]
    pub fn contains(&self, granule: usize) -> bool {
        granule < self.granules && self.words[granule / 64] >> (granule % 64) & 1 == 1
    }

    /// Adds a granule; a granule that the bucket does not have is ignored.
    pub fn insert(&mut self, granule: usize) {
        if granule < self.granules {
            self.words[granule / 64] |= 1 << (granule % 64);
        }
    }

    /// Removes a granule.
    pub fn remove(&mut self, granule: usize) {
        if granule < self.granules {
            self.words[granule / 64] &= !(1 << (granule % 64));
        }
    }

    /// Keeps the granules that are in both sets, which must be of the same bucket.
    pub fn intersect(&mut self, other: &Self) {
        debug_assert_eq!(self.granules, other.granules);
        for (word, theirs) in self.words.iter_mut().zip(&other.words) {
            *word &= theirs;
        }
    }

    /// Adds the granules of the other set, which must be of the same bucket.
    pub fn union(&mut self, other: &Self) {
        debug_assert_eq!(self.granules, other.granules);
        for (word, theirs) in self.words.iter_mut().zip(&other.words) {
            *word |= theirs;
        }
    }

    /// Iterates over the granules in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..self.granules).filter(|granule| self.contains(*granule))
    }
}
