//! The memory that columns take.

use arrow::array::{Array, AsArray};
use arrow::datatypes::DataType;
use arrow::record_batch::RecordBatch;

/// What a batch takes at least: the values of its rows, without what its buffers hold beside them.
#[must_use]
pub fn batch_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(|column| array_bytes(column)).sum()
}

/// The same of one column.
pub(crate) fn array_bytes(array: &dyn Array) -> usize {
    match array.data_type() {
        DataType::Utf8View => {
            let array = array.as_string_view();
            // Texts of 12 bytes and fewer are in their views.
            let long = array.views().iter().map(|view| *view as u32).filter(|bytes| *bytes > 12);
            array.len() * 16 + long.map(|bytes| bytes as usize).sum::<usize>()
        }
        DataType::List(_) => {
            let array = array.as_list::<i32>();
            let (first, last) = (array.value_offsets().first(), array.value_offsets().last());
            let at =
                |offset: Option<&i32>| offset.map_or(0, |at| usize::try_from(*at).unwrap_or(0));
            let values = array.values().slice(at(first), at(last) - at(first));
            array.len() * 4 + array_bytes(&values)
        }
        DataType::Utf8 => {
            let offsets = array.as_string::<i32>().value_offsets();
            let bytes = offsets.last().unwrap_or(&0) - offsets.first().unwrap_or(&0);
            array.len() * 4 + usize::try_from(bytes).unwrap_or(0)
        }
        other => match other.primitive_width() {
            Some(bytes) => array.len() * bytes,
            None => array.to_data().get_slice_memory_size().unwrap_or(array.len() * 16),
        },
    }
}
