//! What searches remember of the granules of stored buckets: which rows pass costly filters, and those before
//! computed fields, and the values of these fields.
//!
//! Guarantees: an entry is the result of a computation for all rows of a granule, or for those that it names,
//! and the computation is known by what it computes, so that a search that finds the entry would compute the
//! same. Buckets do not change. The memory is limited: what was not used for longest is dropped first. What
//! is remembered is left to `work`.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use arrow::buffer::BooleanBuffer;
use bucket::GranuleSet;
use exprs::identity::Identity;
use metrics::{counter, gauge};
use model::BucketId;
use parking_lot::Mutex;
use runtime::metrics as names;

use super::known::KnownValues;

/// Size of an entry of a map besides its value, about.
const ENTRY: usize = 64;

/// Size of a bucket besides its entries, about: the least that a map takes.
const BUCKET: usize = 4 * ENTRY;

/// Divisor of a number of rows of which at least as many must pass for the values of computed fields to be
/// remembered: the share of rows from which on a filter is not sparse (`selectivity`).
pub(super) const FEW: usize = 32;

/// The rows that pass filters, one bit per row.
pub(crate) type PassedRows = Remembered<Arc<[Arc<Identity>]>, BooleanBuffer>;

/// The values of computed fields, by their descriptions.
pub(crate) type ComputedValues = Remembered<Arc<str>, KnownValues>;

/// What is known of granules.
pub(super) type OfGranules<V> = Vec<(usize, V)>;

/// The memory of all searches; see the module documentation.
#[derive(Debug)]
pub(crate) struct Remembered<K, V> {
    /// Maximum size in bytes.
    most: usize,
    /// Metrics: the size, and the granules that are known or new ones.
    names: [&'static str; 2],
    /// The label of granules of which something new is remembered.
    new: &'static str,
    kept: Mutex<Kept<K, V>>,
}

#[derive(Debug)]
struct Kept<K, V> {
    tick: u64,
    bytes: usize,
    all: HashMap<K, Of<V>>,
    /// The computations by their last use.
    order: BTreeMap<u64, K>,
}

/// What is remembered of a computation.
#[derive(Debug)]
struct Of<V> {
    used: u64,
    bytes: usize,
    buckets: HashMap<BucketId, OfBucket<V>>,
}

/// What is remembered of a computation for the granules of a bucket.
#[derive(Debug)]
struct OfBucket<V> {
    bytes: usize,
    granules: HashMap<usize, V>,
    /// The size of a row of values that were too large to be remembered.
    large_row: Option<usize>,
}

/// What is known of the granules of a bucket.
#[derive(Debug)]
pub(super) struct Found<V> {
    /// What is known, in the ascending order of granules.
    pub(super) known: OfGranules<V>,
    /// The other granules.
    pub(super) missing: GranuleSet,
}

impl PassedRows {
    /// Creates an empty memory of this maximum size in bytes.
    pub(crate) fn of_filters(most: usize) -> Self {
        Self::new(most, [names::FILTER_BYTES, names::FILTER_GRANULES], "tested")
    }

    /// Remembers the passing rows of granules that were tested. If the filter is not costly, only those of
    /// granules of which not few rows pass are remembered: no values are computed for the others, and a
    /// single search for a rare value would take the place of costly filters.
    pub(super) fn keep_rows(
        &self,
        filter: &Arc<[Arc<Identity>]>,
        bucket: BucketId,
        tested: &OfGranules<BooleanBuffer>,
        is_costly: bool,
    ) {
        self.count_new(tested.len());
        let are_many = |rows: &BooleanBuffer| rows.count_set_bits() * FEW >= rows.len();
        let kept = tested.iter().filter(|(_, rows)| is_costly || are_many(rows));
        let kept: OfGranules<BooleanBuffer> = kept.cloned().collect();
        let key_bytes = filter.iter().map(|one| one.bytes()).sum();
        let bytes = |rows: &BooleanBuffer| rows.len().div_ceil(8);
        // Other searches find the same.
        self.keep(filter, key_bytes, bucket, &kept, bytes, |_, _| false);
    }
}

impl ComputedValues {
    /// Creates an empty memory of this maximum size in bytes.
    pub(crate) fn of_fields(most: usize) -> Self {
        Self::new(most, [names::COMPUTED_BYTES, names::COMPUTED_GRANULES], "computed")
    }

    /// Remembers values of granules, if not more of them are known by now.
    pub(super) fn keep_values(
        &self,
        field: &Arc<str>,
        bucket: BucketId,
        values: &OfGranules<KnownValues>,
    ) {
        self.count_new(values.len());
        let (bytes, replaces) = (KnownValues::bytes, KnownValues::replaces);
        self.keep(field, field.len(), bucket, values, bytes, replaces);
    }

    /// Remembers the size in bytes per row of values of a bucket that were too large to be remembered, alone
    /// or together with those of other fields.
    pub(super) fn keep_large(&self, field: &Arc<str>, bucket: BucketId, row_bytes: usize) {
        self.change(field, field.len(), bucket, |of_bucket| of_bucket.large_row = Some(row_bytes));
    }

    /// Returns the size in bytes per row of values of a bucket, if some were too large to be remembered.
    pub(super) fn large_row(&self, field: &Arc<str>, bucket: BucketId) -> Option<usize> {
        let mut kept = self.kept.lock();
        kept.used(field)?.buckets.get(&bucket)?.large_row
    }
}

impl<K: Clone + Eq + Hash, V: Clone> Remembered<K, V> {
    fn new(most: usize, names: [&'static str; 2], new: &'static str) -> Self {
        let kept = Kept { tick: 0, bytes: 0, all: HashMap::new(), order: BTreeMap::new() };
        Self { most, names, new, kept: Mutex::new(kept) }
    }

    /// Whether anything can be remembered.
    pub(super) fn is_on(&self) -> bool {
        self.most > 0
    }

    /// Returns what is known of some granules of a bucket, and counts these.
    pub(super) fn get(&self, key: &K, bucket: BucketId, granules: &GranuleSet) -> Found<V> {
        let found = self.find(key, bucket, granules);
        self.count_known(found.known.len());
        found
    }

    /// Whether something is known of each of some granules of a bucket.
    pub(super) fn has_all(&self, key: &K, bucket: BucketId, granules: &GranuleSet) -> bool {
        let kept = self.kept.lock();
        let of_bucket = kept.all.get(key).and_then(|of| of.buckets.get(&bucket));
        of_bucket.is_some_and(|of_bucket| {
            granules.iter().all(|granule| of_bucket.granules.contains_key(&granule))
        })
    }

    /// Counts granules of which all that is wanted is known.
    pub(super) fn count_known(&self, known: usize) {
        let [_, granules] = self.names;
        counter!(granules, "kind" => "known").increment(known as u64);
    }

    /// Counts granules of which something new is known.
    fn count_new(&self, new: usize) {
        let [_, granules] = self.names;
        counter!(granules, "kind" => self.new).increment(new as u64);
    }

    /// Returns what is known of some granules of a bucket.
    pub(super) fn find(&self, key: &K, bucket: BucketId, granules: &GranuleSet) -> Found<V> {
        let mut known = Vec::new();
        let mut missing = granules.clone();
        let mut kept = self.kept.lock();
        if let Some(of) = kept.used(key)
            && let Some(of_bucket) = of.buckets.get(&bucket)
        {
            for granule in granules.iter() {
                if let Some(found) = of_bucket.granules.get(&granule) {
                    known.push((granule, found.clone()));
                    missing.remove(granule);
                }
            }
        }
        Found { known, missing }
    }

    /// Remembers what is known of granules. `replaces` returns whether something, the first argument, is
    /// kept in place of what another search has left meanwhile.
    fn keep(
        &self,
        key: &K,
        key_bytes: usize,
        bucket: BucketId,
        found: &OfGranules<V>,
        bytes: impl Fn(&V) -> usize,
        replaces: impl Fn(&V, &V) -> bool,
    ) {
        if found.is_empty() {
            return;
        }
        self.change(key, key_bytes, bucket, |of_bucket| {
            for (granule, value) in found {
                let before = match of_bucket.granules.get(granule) {
                    Some(before) if !replaces(value, before) => continue,
                    Some(before) => ENTRY + bytes(before),
                    None => 0,
                };
                of_bucket.granules.insert(*granule, value.clone());
                let size = ENTRY + bytes(value);
                of_bucket.bytes = (of_bucket.bytes + size).saturating_sub(before);
            }
        });
    }

    /// Changes what is remembered of a bucket, and its size with it.
    fn change(
        &self,
        key: &K,
        key_bytes: usize,
        bucket: BucketId,
        change: impl FnOnce(&mut OfBucket<V>),
    ) {
        let mut kept = self.kept.lock();
        let mut more = 0;
        kept.all.entry(key.clone()).or_insert_with(|| {
            more += ENTRY + key_bytes;
            Of { used: 0, bytes: 0, buckets: HashMap::new() }
        });
        let Some(of) = kept.used(key) else { return };
        let of_bucket = of.buckets.entry(bucket).or_insert_with(|| {
            more += BUCKET;
            OfBucket { bytes: BUCKET, granules: HashMap::new(), large_row: None }
        });
        let before = of_bucket.bytes;
        change(of_bucket);
        let after = of_bucket.bytes;
        of.bytes = (of.bytes + more + after).saturating_sub(before);
        kept.bytes = (kept.bytes + more + after).saturating_sub(before);
        kept.shrink(self.most, bucket);
        let [size, _] = self.names;
        gauge!(size).set(kept.bytes as f64);
    }
}

impl<K: Clone + Eq + Hash, V> Kept<K, V> {
    /// Returns what is remembered of a computation, which is used now.
    fn used(&mut self, key: &K) -> Option<&mut Of<V>> {
        let of = self.all.get_mut(key)?;
        self.tick += 1;
        let key = self.order.remove(&of.used).unwrap_or_else(|| key.clone());
        of.used = self.tick;
        self.order.insert(self.tick, key);
        Some(of)
    }

    /// Drops what was not used for longest until the rest fits. If the last computation does not fit by
    /// itself, it loses buckets other than the last one in no certain order: a search that goes through more
    /// buckets than fit, again and again, would not find any of them if the oldest one were dropped.
    fn shrink(&mut self, most: usize, last: BucketId) {
        while self.bytes > most {
            let Some((used, oldest)) = self.order.pop_first() else { break };
            let dropped = match self.all.get_mut(&oldest) {
                Some(of) if self.order.is_empty() && of.buckets.len() > 1 => {
                    self.order.insert(used, oldest);
                    of.drop_other(last)
                }
                _ => self.all.remove(&oldest).map_or(0, |of| of.bytes),
            };
            self.bytes = self.bytes.saturating_sub(dropped);
        }
    }
}

impl<V> Of<V> {
    /// Drops a bucket that is not this one, and returns its size.
    fn drop_other(&mut self, bucket: BucketId) -> usize {
        let other = self.buckets.keys().find(|other| **other != bucket).copied();
        let dropped = other.and_then(|other| self.buckets.remove(&other));
        let bytes = dropped.map_or(0, |of_bucket| of_bucket.bytes);
        self.bytes = self.bytes.saturating_sub(bytes);
        bytes
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::{Array, ArrayRef, Int64Array, StringViewArray};
    use arrow::datatypes::DataType;

    use super::*;

    const GRANULES: usize = 10;

    fn filter(name: &str) -> Arc<[Arc<Identity>]> {
        Arc::from([Arc::new(Identity::stored(name, &DataType::Utf8View))])
    }

    fn bucket(number: u128) -> BucketId {
        BucketId(uuid::Uuid::from_u128(number))
    }

    fn rows(granule: usize) -> BooleanBuffer {
        BooleanBuffer::collect_bool(1024, |row| row % (granule + 2) == 0)
    }

    fn of(granules: &[usize]) -> OfGranules<BooleanBuffer> {
        granules.iter().map(|granule| (*granule, rows(*granule))).collect()
    }

    fn known(passed: &PassedRows, name: &str, bucket: BucketId) -> Vec<usize> {
        let all = GranuleSet::all(GRANULES);
        let Found { known, missing } = passed.get(&filter(name), bucket, &all);
        for (granule, found) in &known {
            assert_eq!(*found, rows(*granule));
            assert!(!missing.contains(*granule));
        }
        assert_eq!(known.len() + missing.len(), GRANULES);
        known.into_iter().map(|(granule, _)| granule).collect()
    }

    #[test]
    fn rows_are_known_for_the_filter_and_the_bucket_only() {
        let passed = PassedRows::of_filters(1 << 20);
        let (one, other) = (bucket(1), bucket(2));
        passed.keep_rows(&filter("a"), one, &of(&[7, 1, 3]), true);
        passed.keep_rows(&filter("a"), other, &of(&[2]), true);
        assert_eq!(known(&passed, "a", one), [1, 3, 7]);
        assert_eq!(known(&passed, "a", other), [2]);
        assert!(known(&passed, "b", one).is_empty());
        passed.keep_rows(&filter("a"), one, &of(&[3, 4]), true);
        assert_eq!(known(&passed, "a", one), [1, 3, 4, 7]);
    }

    #[test]
    fn all_granules_are_known_only_together() {
        let passed = PassedRows::of_filters(1 << 20);
        let (one, other) = (bucket(1), bucket(2));
        passed.keep_rows(&filter("a"), one, &of(&[1, 3, 7]), true);
        let mut granules = GranuleSet::none(GRANULES);
        assert!(!passed.has_all(&filter("b"), one, &granules));
        for granule in [1, 7] {
            granules.insert(granule);
        }
        assert!(passed.has_all(&filter("a"), one, &granules));
        assert!(!passed.has_all(&filter("a"), other, &granules));
        assert!(!passed.has_all(&filter("b"), one, &granules));
        granules.insert(2);
        assert!(!passed.has_all(&filter("a"), one, &granules));
    }

    #[test]
    fn of_filters_that_are_not_costly_only_granules_of_which_many_rows_pass_are_kept() {
        let passed = PassedRows::of_filters(1 << 20);
        let bucket = bucket(1);
        let first = |count: usize| BooleanBuffer::collect_bool(1024, |row| row < count);
        let few = vec![(4, first(1024 / FEW - 1)), (7, first(0))];
        passed.keep_rows(&filter("a"), bucket, &few, false);
        assert!(passed.kept.lock().all.is_empty());
        assert_eq!(passed.kept.lock().bytes, 0);
        let mut all = few;
        all.extend([(2, first(1024)), (3, first(1024 / FEW))]);
        passed.keep_rows(&filter("a"), bucket, &all, false);
        passed.keep_rows(&filter("costly"), bucket, &all, true);
        for (name, granules) in [("a", vec![2, 3]), ("costly", vec![2, 3, 4, 7])] {
            let Found { known, .. } =
                passed.find(&filter(name), bucket, &GranuleSet::all(GRANULES));
            let known: Vec<usize> = known.into_iter().map(|(granule, _)| granule).collect();
            assert_eq!(known, granules, "{name}");
        }
    }

    #[test]
    fn values_of_more_rows_take_the_place_of_others() {
        let values = ComputedValues::of_fields(1 << 20);
        let (field, bucket) = (Arc::from("a"), bucket(1));
        let known = |values: ArrayRef| {
            let (rows, bytes) = (values.len(), values.len() * 16);
            let bits = BooleanBuffer::collect_bool(1024, |row| row < rows);
            vec![(4, KnownValues::new(bits, values, bytes))]
        };
        let texts = |rows: usize| Arc::new(StringViewArray::from(vec!["value"; rows])) as ArrayRef;
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![7; 20]));
        let searches = [(texts(10), 10), (texts(1_000), 1_000), (texts(500), 1_000), (numbers, 20)];
        for (found, left) in searches {
            values.keep_values(&field, bucket, &known(found));
            let kept = values.kept.lock();
            let of = kept.all.values().next().unwrap();
            let size = BUCKET + ENTRY + left * 16 + 1024 / 8;
            assert_eq!(of.buckets[&bucket].bytes, size);
            assert_eq!((kept.bytes, of.bytes), (size + ENTRY + 1, size + ENTRY + 1));
        }
    }

    #[test]
    fn the_filter_that_was_not_used_for_longest_is_dropped() {
        let size = BUCKET + GRANULES * (ENTRY + 1024 / 8);
        let passed = PassedRows::of_filters(3 * size);
        let bucket = bucket(1);
        let all: Vec<usize> = (0..GRANULES).collect();
        for name in ["a", "b"] {
            passed.keep_rows(&filter(name), bucket, &of(&all), true);
        }
        assert_eq!(known(&passed, "a", bucket).len(), GRANULES);
        passed.keep_rows(&filter("c"), bucket, &of(&all), true);
        assert!(known(&passed, "b", bucket).is_empty());
        for name in ["a", "c"] {
            assert_eq!(known(&passed, name, bucket).len(), GRANULES, "{name}");
        }
        assert!(passed.kept.lock().bytes <= 3 * size);
    }

    #[test]
    fn a_filter_that_does_not_fit_loses_buckets() {
        let size = BUCKET + GRANULES * (ENTRY + 1024 / 8);
        let passed = PassedRows::of_filters(4 * size);
        let all: Vec<usize> = (0..GRANULES).collect();
        for number in 0..20 {
            passed.keep_rows(&filter("a"), bucket(number), &of(&all), true);
            assert_eq!(known(&passed, "a", bucket(number)).len(), GRANULES);
        }
        let left = (0..20).filter(|number| !known(&passed, "a", bucket(*number)).is_empty());
        assert_eq!(left.count(), 3);
        let kept = passed.kept.lock();
        let of = kept.all.values().next().unwrap();
        let buckets = of.buckets.values().map(|of_bucket| of_bucket.bytes).sum::<usize>();
        assert_eq!(kept.bytes, of.bytes);
        assert_eq!(of.bytes, buckets + ENTRY + filter("a")[0].bytes());
    }

    #[test]
    fn the_size_of_large_values_is_known_for_the_field_and_the_bucket_only() {
        let values = ComputedValues::of_fields(2 * (ENTRY + BUCKET) + 100);
        let (one, other): (Arc<str>, Arc<str>) = (Arc::from("one"), Arc::from("other"));
        values.keep_large(&one, bucket(1), 3_000);
        assert_eq!(values.large_row(&one, bucket(1)), Some(3_000));
        assert_eq!(values.large_row(&one, bucket(2)), None);
        assert_eq!(values.large_row(&other, bucket(1)), None);
        // It is dropped as values are.
        values.keep_large(&other, bucket(1), 1);
        values.keep_large(&Arc::from("last"), bucket(1), 1);
        assert_eq!(values.large_row(&one, bucket(1)), None);
        assert_eq!(values.large_row(&other, bucket(1)), Some(1));
    }

    #[test]
    fn rows_that_do_not_fit_are_not_kept() {
        let passed = PassedRows::of_filters(100);
        let bucket = bucket(1);
        passed.keep_rows(&filter("a"), bucket, &of(&[1, 2]), true);
        assert!(known(&passed, "a", bucket).is_empty());
        assert_eq!(passed.kept.lock().bytes, 0);
        assert!(!PassedRows::of_filters(0).is_on());
    }
}
