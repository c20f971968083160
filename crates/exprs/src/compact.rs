//! Columns of a few rows without the memory of the rows that they came from.
//!
//! Texts are views: a column whose rows were filtered or taken from others holds on to the buffers of all
//! texts around them. Operators that keep rows account for these buffers, as they have to. Copying the texts
//! that are seen costs one pass over them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray};
use arrow::datatypes::DataType;

/// The column with buffers of its own, if those that it holds are larger than twice its texts and `slack`
/// bytes; else the column as it is.
pub fn compact_column(column: &ArrayRef, slack: usize) -> ArrayRef {
    compacted(column, slack).unwrap_or_else(|| Arc::clone(column))
}

fn compacted(column: &ArrayRef, slack: usize) -> Option<ArrayRef> {
    match column.data_type() {
        DataType::Utf8View => {
            let texts = column.as_string_view();
            let held: usize = texts.data_buffers().iter().map(|buffer| buffer.capacity()).sum();
            // Views are not looked at where there is nothing to gain.
            if held <= slack || held <= texts.total_buffer_bytes_used() * 2 + slack {
                return None;
            }
            Some(Arc::new(texts.gc()))
        }
        DataType::List(item) => {
            let lists = column.as_list::<i32>();
            let values = compacted(lists.values(), slack)?;
            let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
            let lists = ListArray::try_new(Arc::clone(item), offsets, values, nulls).ok()?;
            Some(Arc::new(lists))
        }
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::StringViewArray;
    use arrow::buffer::OffsetBuffer;
    use arrow::datatypes::Field;

    use super::*;

    const SLACK: usize = 1 << 12;

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
