//! Selects rows by index, with rows of nulls in between.

use arrow::array::UInt32Array;
use arrow::compute::take;

use super::{Column, Rows};
use crate::error::Error;

impl Rows {
    /// Returns the rows at these indexes, in this order; `None` gives a row of nulls.
    ///
    /// # Errors
    /// None in practice: the indexes must be valid.
    pub fn take_or_null(&self, places: &[Option<usize>]) -> Result<Self, Error> {
        let place = |place: &Option<usize>| place.and_then(|place| u32::try_from(place).ok());
        let indices: UInt32Array = places.iter().map(place).collect();
        let columns = self.columns.iter().map(|column| {
            let array = take(&column.array, &indices, None)?;
            Ok(Column { array, ..column.clone() })
        });
        Ok(Self { columns: columns.collect::<Result<_, Error>>()?, count: places.len() })
    }
}
