//! The memory size of rows, and limits on it.

use arrow::array::{Array, AsArray};
use arrow::datatypes::DataType;

use super::Rows;
use crate::error::Error;

impl Rows {
    /// Returns the minimum size of the values in bytes, as counted by [`array_bytes`].
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(|column| array_bytes(&column.array)).sum()
    }

    /// Fails if the rows need more than `most` bytes, the memory of a search.
    ///
    /// # Errors
    /// [`Error::Exhausted`].
    pub fn check_bytes(&self, most: usize) -> Result<(), Error> {
        let bytes = self.bytes();
        if bytes <= most {
            return Ok(());
        }
        let message = format!(
            "the search holds rows of {bytes} bytes, more than {} MB: narrow it, or raise max_mem_usage_mb \
             in limits.conf [search]",
            most >> 20
        );
        Err(Error::Exhausted { message })
    }
}

/// Returns the minimum size of an array in bytes: the values of its rows, without unused parts of its
/// buffers.
#[must_use]
pub fn array_bytes(array: &dyn Array) -> usize {
    match array.data_type() {
        DataType::Utf8View => {
            let array = array.as_string_view();
            // Texts of up to 12 bytes are stored within their views.
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

/// Fails if a table with this many rows and columns would need more memory than a search may use, before the
/// table is created.
///
/// # Errors
/// [`Error::Exhausted`] if it would need more than `most` bytes.
pub fn check_cells(rows: usize, columns: usize, most: usize) -> Result<(), Error> {
    /// Minimum size of a cell in bytes: a view, and its share of the data from which it is created.
    const CELL: usize = 20;
    if rows.saturating_mul(columns).saturating_mul(CELL) <= most {
        return Ok(());
    }
    let message = format!(
        "a table of {rows} rows and {columns} columns takes more than the {} MB that a search may hold: \
         narrow it, or raise max_mem_usage_mb in limits.conf [search]",
        most >> 20
    );
    Err(Error::Exhausted { message })
}

/// Fails if there are more rows than a stage may have.
///
/// # Errors
/// [`Error::Exhausted`] if there are more than `limit`.
pub fn check_count(count: usize, limit: usize) -> Result<(), Error> {
    if count <= limit {
        return Ok(());
    }
    let message = format!(
        "the search holds more than {limit} rows at once (a fixed limit); \
         narrow it or aggregate before this command"
    );
    Err(Error::Exhausted { message })
}
