//! Slices of rows: large results are written slice by slice, so that a response is never in memory as a
//! whole, whatever the number and size of its rows.

use std::collections::VecDeque;

use arrow::array::RecordBatch;

/// Maximum number of rows of a slice.
const ROWS: usize = 1_000;
/// Maximum size of a slice in bytes, unless a single row is larger.
const BYTES: usize = 1 << 20;
/// Number of slices below which one text takes less memory than slicing would.
const FEW: usize = 5;

/// Whether rows should be written in slices.
pub(crate) fn are_many(batches: &[RecordBatch]) -> bool {
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    rows > FEW * ROWS || batches.iter().map(bytes).sum::<usize>() > FEW * BYTES
}

/// An iterator over the slices of rows. Batches are freed after their last row.
#[derive(Debug, Clone)]
pub(crate) struct Slices {
    left: VecDeque<RecordBatch>,
}

impl Slices {
    pub(crate) fn of(batches: Vec<RecordBatch>) -> Self {
        Self { left: batches.into() }
    }
}

impl Iterator for Slices {
    type Item = Vec<RecordBatch>;

    fn next(&mut self) -> Option<Vec<RecordBatch>> {
        let mut slice = Vec::new();
        let (mut rows, mut room) = (ROWS, BYTES);
        while let Some(batch) = self.left.pop_front() {
            let least = usize::from(slice.is_empty());
            let fitting = fitting(&batch, rows, room).max(least).min(batch.num_rows());
            let rest = batch.num_rows() - fitting;
            if rest > 0 {
                self.left.push_front(batch.slice(fitting, rest));
            }
            if fitting > 0 {
                let part = batch.slice(0, fitting);
                rows -= fitting;
                room = room.saturating_sub(bytes(&part));
                slice.push(part);
            }
            if rest > 0 || rows == 0 {
                break;
            }
        }
        (!slice.is_empty()).then_some(slice)
    }
}

/// Returns how many of the first rows fit into this number of bytes, estimated by the mean row size and then
/// by halving.
fn fitting(batch: &RecordBatch, rows: usize, room: usize) -> usize {
    let mut fitting = rows.min(batch.num_rows());
    let first = bytes(&batch.slice(0, fitting));
    if first <= room {
        return fitting;
    }
    fitting = fitting.saturating_mul(room) / first;
    while fitting > 0 && bytes(&batch.slice(0, fitting)) > room {
        fitting /= 2;
    }
    fitting
}

/// Returns the size of the rows in bytes, without the parts that every slice would share (a dictionary).
fn bytes(batch: &RecordBatch) -> usize {
    plan::batch_bytes(batch).saturating_sub(plan::batch_bytes(&batch.slice(0, 0)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, DictionaryArray, StringViewArray};
    use arrow::datatypes::Int32Type;

    use super::*;

    fn batch(rows: usize, length: usize) -> RecordBatch {
        let texts = (0..rows).map(|row| format!("{row}{}", "x".repeat(length)));
        let column: ArrayRef = Arc::new(StringViewArray::from_iter_values(texts));
        RecordBatch::try_from_iter([("x", column)]).unwrap()
    }

    fn sizes(batches: Vec<RecordBatch>) -> Vec<usize> {
        let rows = |slice: Vec<RecordBatch>| slice.iter().map(RecordBatch::num_rows).sum();
        Slices::of(batches).map(rows).collect()
    }

    #[test]
    fn slices_have_a_thousand_rows_whatever_the_batches_are() {
        assert_eq!(sizes(vec![batch(2_500, 1)]), [1_000, 1_000, 500]);
        assert_eq!(sizes(vec![batch(64, 1); 20]), [1_000, 280]);
        assert_eq!(sizes(vec![batch(0, 1), batch(3, 1), batch(0, 1)]), [3]);
        assert!(sizes(Vec::new()).is_empty());
    }

    #[test]
    fn large_rows_make_slices_of_few_and_of_one() {
        assert_eq!(sizes(vec![batch(10, 400 << 10)])[0], 2);
        assert_eq!(sizes(vec![batch(3, 2 << 20)]), [1, 1, 1]);
    }

    #[test]
    fn a_dictionary_is_no_part_of_its_rows() {
        let values: Vec<String> = (0..3_000).map(|n| format!("{n:0>1000}")).collect();
        let column: DictionaryArray<Int32Type> = values.iter().map(String::as_str).collect();
        let batch = RecordBatch::try_from_iter([("x", Arc::new(column) as ArrayRef)]).unwrap();
        assert!(!are_many(std::slice::from_ref(&batch)));
        assert_eq!(sizes(vec![batch]), [1_000, 1_000, 1_000]);
    }

    #[test]
    fn many_rows_and_large_ones_are_many() {
        assert!(are_many(&[batch(5_001, 1)]) && are_many(&[batch(6, 1 << 20)]));
        assert!(!are_many(&[batch(5_000, 1)]));
    }
}
