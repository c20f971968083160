//! Rows at chosen places, with rows of nulls between them.

use arrow::array::UInt32Array;
use arrow::compute::take;

use super::{Column, Rows};
use crate::error::Error;

impl Rows {
    /// The rows at these places, in this order; nulls where there is none.
    ///
    /// # Errors
    /// None in practice: the places must be those of rows.
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
