//! The values of a computed field for some rows of a granule: those that searches have computed so far.
//!
//! Guarantees: a value is that of its row, whichever rows are added or asked for. Which rows are computed is
//! left to `exec`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{filter, interleave};
use arrow::datatypes::DataType;
use arrow::error::{ArrowError, Result};
use exprs::compact::{Slack, compact_column};

/// Known values of a granule; see the module documentation.
#[derive(Debug, Clone)]
pub(crate) struct KnownValues {
    /// The rows whose values are known.
    rows: BooleanBuffer,
    /// These values, in the order of the rows.
    values: ArrayRef,
    /// The memory that they take in bytes.
    bytes: usize,
}

impl KnownValues {
    /// Creates the values of rows, as many as there are rows, which take this number of bytes.
    pub(super) fn new(rows: BooleanBuffer, values: ArrayRef, bytes: usize) -> Self {
        debug_assert_eq!(rows.count_set_bits(), values.len(), "each row has one value");
        Self { rows, values, bytes }
    }

    /// Returns the memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.rows.len().div_ceil(8)
    }

    /// Returns those of the rows whose values are not known.
    pub(super) fn unknown(&self, rows: &BooleanBuffer) -> BooleanBuffer {
        rows & &!&self.rows
    }

    /// Whether the values are of this type.
    pub(super) fn are_of(&self, data_type: &DataType) -> bool {
        self.values.data_type() == data_type
    }

    /// Whether they are kept in place of those that another search has left meanwhile: if they are of more
    /// rows. So some values never replace those of the same rows and others.
    pub(super) fn replaces(&self, before: &Self) -> bool {
        !before.are_of(self.values.data_type()) || self.values.len() > before.values.len()
    }

    /// Returns the values of some of the rows.
    ///
    /// # Errors
    /// If some values are not known.
    pub(super) fn of(&self, rows: &BooleanBuffer) -> Result<ArrayRef> {
        if *rows == self.rows {
            return Ok(Arc::clone(&self.values));
        }
        let (some, all) = (BooleanArray::from(rows.clone()), BooleanArray::from(self.rows.clone()));
        let chosen = filter(&some, &all)?;
        let values = filter(&self.values, chosen.as_boolean())?;
        if values.len() != rows.count_set_bits() {
            return Err(ArrowError::ComputeError("computed values are missing".to_owned()));
        }
        Ok(values)
    }

    /// Returns these values and those of more rows, which replace what was known of these rows.
    ///
    /// # Errors
    /// If their types differ.
    pub(super) fn and(&self, more: &Self) -> Result<Self> {
        let rows = &self.rows | &more.rows;
        let mut places = Vec::with_capacity(rows.count_set_bits());
        let (mut own, mut others) = (0, 0);
        for row in rows.set_indices() {
            let is_new = more.rows.value(row);
            places.push(if is_new { (1, others) } else { (0, own) });
            own += usize::from(self.rows.value(row));
            others += usize::from(is_new);
        }
        let values = interleave(&[self.values.as_ref(), more.values.as_ref()], &places)?;
        let values = compact_column(&values, Slack::Kept);
        let bytes = values.get_array_memory_size();
        Ok(Self { rows, values, bytes })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::{ListBuilder, StringViewArray, StringViewBuilder};

    use super::*;

    const ROWS: usize = 100;

    fn bits(is_set: impl Fn(usize) -> bool) -> BooleanBuffer {
        BooleanBuffer::collect_bool(ROWS, is_set)
    }

    /// Short texts, long ones and nulls.
    fn text(row: usize) -> Option<String> {
        match row % 3 {
            0 => None,
            1 => Some(format!("t{row}")),
            _ => Some(format!("the text of the row with the number {row}")),
        }
    }

    fn texts(rows: &BooleanBuffer) -> ArrayRef {
        Arc::new(rows.set_indices().map(text).collect::<StringViewArray>())
    }

    /// Values of no, one and several texts.
    fn lists(rows: &BooleanBuffer) -> ArrayRef {
        let mut built = ListBuilder::new(StringViewBuilder::new());
        for row in rows.set_indices() {
            (0..row % 3).for_each(|at| built.values().append_value(format!("value {at} of {row}")));
            built.append(row % 3 > 0);
        }
        Arc::new(built.finish())
    }

    fn known(rows: &BooleanBuffer, values: fn(&BooleanBuffer) -> ArrayRef) -> KnownValues {
        let values = values(rows);
        let bytes = values.get_array_memory_size();
        KnownValues::new(rows.clone(), values, bytes)
    }

    #[test]
    fn values_of_some_rows_are_found_among_those_that_are_known() {
        for values in [texts, lists] {
            let known = known(&bits(|row| row % 2 == 0), values);
            for asked in [bits(|row| row % 2 == 0), bits(|row| row % 6 == 0), bits(|_| false)] {
                assert_eq!(known.unknown(&asked).count_set_bits(), 0);
                assert_eq!(&known.of(&asked).unwrap(), &values(&asked));
            }
            assert_eq!(known.unknown(&bits(|_| true)), bits(|row| row % 2 == 1));
            assert_eq!(known.unknown(&bits(|row| row < 3)), bits(|row| row == 1));
        }
    }

    #[test]
    fn values_of_more_rows_are_added() {
        for values in [texts, lists] {
            let mut all = known(&bits(|row| row % 5 == 0), values);
            // Some of the rows are known already.
            for more in [bits(|row| row % 2 == 0), bits(|row| row < 40), bits(|row| row > 38)] {
                all = all.and(&known(&more, values)).unwrap();
                assert_eq!(&all.of(&more).unwrap(), &values(&more));
                let before = bits(|row| row % 10 == 0);
                assert_eq!(&all.of(&before).unwrap(), &values(&before));
            }
            assert_eq!(all.rows, bits(|_| true));
            assert!(all.bytes() >= all.values.get_array_memory_size());
        }
    }

    #[test]
    fn values_of_more_rows_replace_others() {
        let of = |is_set: fn(usize) -> bool| known(&bits(is_set), texts);
        let (half, all) = (of(|row| row < 50), of(|_| true));
        assert!(all.replaces(&half));
        assert!(!half.replaces(&all), "all of its rows are among the others");
        assert!(!half.replaces(&half));
        // Neither has all rows of the other.
        let others = of(|row| row >= 40);
        assert!(others.replaces(&half));
        assert!(!half.replaces(&others));
        // Those of another type are of no use.
        let few_lists = known(&bits(|row| row < 3), lists);
        assert!(few_lists.replaces(&all));
    }

    #[test]
    fn values_that_are_not_known_are_not_made_up() {
        let some = known(&bits(|row| row < 50), texts);
        assert!(some.are_of(&DataType::Utf8View));
        assert!(some.of(&bits(|row| row < 51)).is_err());
        let lists = known(&bits(|row| row < 60), lists);
        assert!(!lists.are_of(&DataType::Utf8View));
        assert!(some.and(&lists).is_err());
    }
}
