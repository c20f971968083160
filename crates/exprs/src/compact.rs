//! Compacts columns of a few rows, so that they do not keep the memory of the rows from which they were
//! selected.
//!
//! Texts are views: a column whose rows were selected from other rows keeps alive the buffers of all texts
//! around them. Operators that keep rows account for these buffers, and rightly so; messages and objects
//! would contain all of their bytes. Copying the referenced texts costs one pass over them.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, ListArray, RecordBatch, RecordBatchOptions, StringViewArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{ArrowNativeType, DataType};
use arrow::error::Result;

/// Number of foreign bytes that may be written, because copying has a cost too.
const WRITTEN: usize = 4 << 10;

/// The maximum number of bytes of other rows' texts that a column may keep alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slack {
    /// As many bytes as its own texts have, plus this number: for transient rows.
    Passing(usize),
    /// None: for rows that are kept while their memory is accounted.
    Kept,
    /// 4 KiB: for rows of a message or object. Unused allocated memory is not written.
    Written,
}

impl Slack {
    fn is_exceeded(self, texts: &StringViewArray) -> bool {
        let buffers = texts.data_buffers();
        let own = || texts.total_buffer_bytes_used();
        match self {
            Self::Passing(slack) => {
                let held: usize = buffers.iter().map(|buffer| buffer.capacity()).sum();
                // Views are not examined if there is nothing to gain.
                held > slack && held > own() * 2 + slack
            }
            Self::Kept => buffers.iter().map(|buffer| buffer.capacity()).sum::<usize>() > own(),
            Self::Written => {
                buffers.iter().map(|buffer| buffer.len()).sum::<usize>() > own() + WRITTEN
            }
        }
    }
}

/// Compacts each column of a batch with [`compact_column`].
///
/// # Errors
/// None: the columns have the types and the length that they had.
pub fn compact_batch(batch: &RecordBatch, slack: Slack) -> Result<RecordBatch> {
    let columns = batch.columns().iter().map(|column| compact_column(column, slack)).collect();
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &rows)
}

/// Copies the column into new buffers if it keeps more bytes alive than `slack` allows.
pub fn compact_column(column: &ArrayRef, slack: Slack) -> ArrayRef {
    compacted(column, slack).unwrap_or_else(|| Arc::clone(column))
}

fn compacted(column: &ArrayRef, slack: Slack) -> Option<ArrayRef> {
    match column.data_type() {
        DataType::Utf8View => {
            let texts = column.as_string_view();
            if !slack.is_exceeded(texts) {
                return None;
            }
            Some(Arc::new(texts.gc()))
        }
        DataType::List(item) => {
            let lists = column.as_list::<i32>();
            // A slice of lists has the values of all lists.
            let (first, last) = (*lists.offsets().first()?, *lists.offsets().last()?);
            let own = lists.values().slice(first.as_usize(), (last - first).as_usize());
            let values = compacted(&own, slack)?;
            let offsets = OffsetBuffer::from_lengths(lists.offsets().lengths());
            let nulls = lists.nulls().cloned();
            let lists = ListArray::try_new(Arc::clone(item), offsets, values, nulls).ok()?;
            Some(Arc::new(lists))
        }
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::datatypes::Field;

    use super::*;

    const SLACK: Slack = Slack::Passing(1 << 12);

    fn text(row: usize) -> String {
        format!("a text that is longer than a view: {row}")
    }

    #[test]
    fn texts_of_a_few_rows_let_go_of_the_others() {
        let texts = StringViewArray::from_iter_values((0..10_000).map(text));
        let few: ArrayRef = Arc::new(texts.slice(5_000, 3));
        let compacted = compact_column(&few, SLACK);
        assert_eq!(compacted.as_ref(), few.as_ref());
        assert!(compacted.get_array_memory_size() < few.get_array_memory_size() / 100);
        let all: ArrayRef = Arc::new(texts);
        assert!(Arc::ptr_eq(&compact_column(&all, SLACK), &all), "nothing to gain");
    }

    #[test]
    fn slices_of_lists_let_go_of_the_texts_of_the_other_lists() {
        let texts = Arc::new(StringViewArray::from_iter_values((0..10_000).map(text)));
        let item = Arc::new(Field::new_list_field(DataType::Utf8View, true));
        let offsets = OffsetBuffer::from_lengths([2; 5_000]);
        let all = ListArray::try_new(item, offsets, texts, None).unwrap();
        let few: ArrayRef = Arc::new(all.slice(2_500, 3));
        for slack in [SLACK, Slack::Kept, Slack::Written] {
            let compacted = compact_column(&few, slack);
            assert_eq!(compacted.as_ref(), few.as_ref());
            assert!(compacted.get_array_memory_size() < few.get_array_memory_size() / 100);
        }
    }

    #[test]
    fn kept_and_written_rows_hold_less_of_others_than_rows_that_pass() {
        let texts = StringViewArray::from_iter_values((0..10_000).map(text)).gc();
        let most: ArrayRef = Arc::new(texts.slice(1_000, 9_000));
        let batch = RecordBatch::try_from_iter([("text", Arc::clone(&most))]).unwrap();
        assert!(Arc::ptr_eq(&compact_column(&most, SLACK), &most), "half of it is its own");
        for slack in [Slack::Kept, Slack::Written] {
            let compacted = compact_batch(&batch, slack).unwrap();
            assert_eq!(compacted, batch);
            let bytes = compacted.get_array_memory_size();
            assert!(bytes < batch.get_array_memory_size(), "{slack:?}: {bytes}");
        }
        // 3 KB of others.
        let texts = StringViewArray::from_iter_values((0..80).map(text)).gc();
        let one: ArrayRef = Arc::new(texts.slice(7, 1));
        assert!(Arc::ptr_eq(&compact_column(&one, Slack::Written), &one));
        let kept = compact_column(&one, Slack::Kept);
        assert!(kept.get_array_memory_size() < one.get_array_memory_size());
    }

    #[test]
    fn a_batch_without_columns_keeps_its_rows() {
        let texts: ArrayRef = Arc::new(StringViewArray::from_iter_values((0..3).map(text)));
        let batch = RecordBatch::try_from_iter([("text", texts)]).unwrap().project(&[]).unwrap();
        assert_eq!(compact_batch(&batch, Slack::Kept).unwrap().num_rows(), 3);
    }

    #[test]
    fn lists_of_a_few_rows_let_go_of_the_texts_of_the_others() {
        let texts = StringViewArray::from_iter_values((0..10_000).map(text));
        let item = Arc::new(Field::new_list_field(DataType::Utf8View, true));
        let offsets = OffsetBuffer::from_lengths([2; 10]);
        let values = Arc::new(texts.slice(5_000, 20));
        let few: ArrayRef = Arc::new(ListArray::try_new(item, offsets, values, None).unwrap());
        let compacted = compact_column(&few, SLACK);
        assert_eq!(compacted.as_ref(), few.as_ref());
        assert!(compacted.get_array_memory_size() < few.get_array_memory_size() / 100);
    }
}
