//! The hot rows of one indexer that are in the memory of this process.
//!
//! Pure: no connection, no clock of its own.

use std::collections::HashMap;

use arrow::array::RecordBatch;
use arrow::error::{ArrowError, Result};
use model::BucketId;
use tokio::time::Instant;

use crate::rows;

/// Number of neighbours of similar size that are merged into one batch: each row is copied a few times, and a
/// bucket that is searched every second has few batches.
const JOIN: usize = 8;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Held {
    buckets: HashMap<BucketId, Bucket>,
    bytes: usize,
}

#[derive(Debug)]
struct Bucket {
    rows: u64,
    batches: Vec<RecordBatch>,
    bytes: usize,
    used: Instant,
}

impl Held {
    /// Returns the buckets, with the number of their rows in memory.
    pub(crate) fn known(&self) -> Vec<(BucketId, u64)> {
        self.buckets.iter().map(|(id, bucket)| (*id, bucket.rows)).collect()
    }

    /// Bytes in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of a bucket.
    pub(crate) fn bytes_of(&self, id: BucketId) -> usize {
        self.buckets.get(&id).map_or(0, |bucket| bucket.bytes)
    }

    /// Adds rows of a bucket that follow the `first` ones. Rows that are already in memory, because another
    /// search asked at the same time, are skipped.
    ///
    /// # Errors
    /// If rows between those in memory and these are missing.
    pub(crate) fn add(
        &mut self,
        id: BucketId,
        first: u64,
        batch: &RecordBatch,
        now: Instant,
    ) -> Result<()> {
        let new = || Bucket { rows: 0, batches: Vec::new(), bytes: 0, used: now };
        let bucket = self.buckets.entry(id).or_insert_with(new);
        if bucket.rows < first {
            let reason = format!("rows {} to {first} of bucket {id} are lacking", bucket.rows);
            return Err(ArrowError::InvalidArgumentError(reason));
        }
        let behind = rows::parts(std::slice::from_ref(batch), bucket.rows - first);
        bucket.rows += behind.iter().map(|(_, part)| part.num_rows() as u64).sum::<u64>();
        bucket.batches.extend(behind.into_iter().map(|(_, part)| part));
        join_small(&mut bucket.batches)?;
        let bytes = bucket.batches.iter().map(RecordBatch::get_array_memory_size).sum();
        self.bytes = self.bytes - bucket.bytes + bytes;
        bucket.bytes = bytes;
        Ok(())
    }

    /// Returns the first rows of a bucket; `None` if fewer are in memory.
    pub(crate) fn first(
        &mut self,
        id: BucketId,
        rows: u64,
        now: Instant,
    ) -> Option<Vec<RecordBatch>> {
        if rows == 0 {
            return Some(Vec::new());
        }
        let bucket = self.buckets.get_mut(&id).filter(|bucket| bucket.rows >= rows)?;
        bucket.used = now;
        let mut left = usize::try_from(rows).ok()?;
        let mut batches = Vec::with_capacity(bucket.batches.len());
        for batch in &bucket.batches {
            let length = batch.num_rows().min(left);
            if length == batch.num_rows() {
                // The same columns each time: searches know batches by them, for their word filters.
                batches.push(batch.clone());
            } else if length > 0 {
                batches.push(batch.slice(0, length));
            }
            left -= length;
        }
        Some(batches)
    }

    /// Forgets a bucket.
    pub(crate) fn remove(&mut self, id: BucketId) {
        if let Some(bucket) = self.buckets.remove(&id) {
            self.bytes -= bucket.bytes;
        }
    }

    /// The bucket that was not used for the longest time, and since when.
    pub(crate) fn oldest(&self) -> Option<(Instant, BucketId)> {
        self.buckets.iter().map(|(id, bucket)| (bucket.used, *id)).min()
    }
}

fn join_small(batches: &mut Vec<RecordBatch>) -> Result<()> {
    let class = |batch: &RecordBatch| batch.num_rows().max(1).ilog2() / JOIN.ilog2();
    while let Some(last) = batches.last().map(class) {
        let similar = batches.iter().rev().take_while(|batch| class(batch) == last).count();
        if similar < JOIN {
            break;
        }
        let joined = rows::join(&batches[batches.len() - similar..])?;
        batches.truncate(batches.len() - similar);
        batches.push(joined);
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::AsArray;
    use bucket::hot_schema;

    use super::*;
    use crate::rows::tests::batch;

    fn id(number: u128) -> BucketId {
        BucketId(uuid::Uuid::from_u128(number))
    }

    fn texts(batches: &[RecordBatch]) -> Vec<String> {
        let all = arrow::compute::concat_batches(&hot_schema(), batches).unwrap();
        all.column(2).as_string_view().iter().flatten().map(str::to_owned).collect()
    }

    fn numbers(range: std::ops::Range<u64>) -> impl Iterator<Item = String> {
        range.map(|number| number.to_string())
    }

    #[tokio::test]
    async fn rows_are_there_once_in_order_however_they_came() {
        let (mut held, now) = (Held::default(), Instant::now());
        let mut rows = 0;
        for number in 0..500 {
            let more = number % 7;
            // Every third time somebody else was faster.
            let first = if number % 3 == 0 { rows / 2 } else { rows };
            held.add(id(1), first, &batch(numbers(first..rows + more)), now).unwrap();
            rows += more;
        }
        assert_eq!(held.known(), [(id(1), rows)]);
        let batches = held.first(id(1), rows, now).unwrap();
        assert_eq!(texts(&batches), numbers(0..rows).collect::<Vec<_>>());
        assert!(batches.len() < 40, "{}", batches.len());
        let again = held.first(id(1), rows, now).unwrap();
        let same = |(one, other): (&RecordBatch, &RecordBatch)| {
            std::sync::Arc::ptr_eq(one.column(0), other.column(0))
        };
        assert!(batches.iter().zip(&again).all(same), "searches know batches by their columns");
        let some = held.first(id(1), 10, now).unwrap();
        assert_eq!(texts(&some), numbers(0..10).collect::<Vec<_>>());
        assert!(held.first(id(1), rows + 1, now).is_none());
        assert!(held.first(id(2), 1, now).is_none() && held.first(id(2), 0, now).is_some());
    }

    #[tokio::test]
    async fn rows_with_a_gap_before_them_are_refused() {
        let (mut held, now) = (Held::default(), Instant::now());
        held.add(id(1), 0, &batch(numbers(0..3)), now).unwrap();
        let error = held.add(id(1), 4, &batch(numbers(4..5)), now).unwrap_err();
        assert!(error.to_string().contains("rows 3 to 4"), "{error}");
    }

    #[tokio::test]
    async fn bytes_count_what_is_held_and_the_oldest_is_the_least_recently_used() {
        let (mut held, now) = (Held::default(), Instant::now());
        let later = now + std::time::Duration::from_secs(1);
        held.add(id(1), 0, &batch(numbers(0..3)), now).unwrap();
        held.add(id(2), 0, &batch(numbers(0..900)), now).unwrap();
        assert_eq!(held.bytes(), held.bytes_of(id(1)) + held.bytes_of(id(2)));
        held.first(id(1), 3, later).unwrap();
        assert_eq!(held.oldest(), Some((now, id(2))));
        held.remove(id(2));
        assert_eq!((held.bytes(), held.oldest()), (held.bytes_of(id(1)), Some((later, id(1)))));
        held.remove(id(1));
        held.remove(id(1));
        assert_eq!((held.bytes(), held.oldest()), (0, None));
    }
}
