//! The end of the rows that `dedup consecutive=t` and a later `head N` use.
//!
//! Guarantees: at or before the returned row, there are at least N used rows among all rows, whichever arrive
//! later. A row that arrives between known rows joins a run, splits it, or is a run of its own: no fewer rows
//! are used than before. So the end among some of the rows is never before that among all rows, and rows may
//! be left out. The work for a row does not depend on N, apart from finding its place.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use arrow::row::{OwnedRow, Row};

/// Approximate size in bytes of a remembered row without its values.
pub(super) const ROW: usize = 160;
/// Divisor of the number of rows: so many new ones are worth a visit of all.
const SHARE: usize = 8;

/// The rows that `dedup consecutive=t` uses among some of the rows: one of each sort key, since rows with
/// equal keys may be in any order. Rows that are not used are among them until [`Runs::settle`] removes them.
pub(super) struct Runs {
    most: usize,
    count: usize,
    /// Sort keys and values; no values if a row lacks one.
    rows: BTreeMap<OwnedRow, Option<Box<[u8]>>>,
    bytes: usize,
    /// Number of rows that were added since unused ones were last removed.
    added: usize,
}

impl Runs {
    pub(super) fn new(most: usize, count: usize) -> Self {
        Self { most, count, rows: BTreeMap::new(), bytes: 0, added: 0 }
    }

    /// Returns the size of the rows in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Adds a row, unless one with this sort key is there.
    pub(super) fn add(&mut self, order: Row<'_>, value: Option<&[u8]>) {
        if let Entry::Vacant(vacant) = self.rows.entry(order.owned()) {
            self.bytes += size(value);
            self.added += 1;
            vacant.insert(value.map(Box::from));
        }
    }

    /// Removes rows that are not used among these, and those after the maximum number; returns the last one
    /// if there are so many. Does nothing until a share of the rows is new, or the rows have more bytes than
    /// there is room for.
    pub(super) fn settle(&mut self, room: usize) -> Option<OwnedRow> {
        // All rows are visited, which after each of many small batches would take quadratic time.
        let is_worth_it = self.added >= self.rows.len() / SHARE || self.bytes > room;
        if self.added == 0 || !is_worth_it {
            return None;
        }
        self.added = 0;
        let mut used: Vec<(OwnedRow, Option<Box<[u8]>>)> = Vec::new();
        // The last used row with values, and the length of its run.
        let (mut last, mut length) = (None, 0);
        for (order, value) in std::mem::take(&mut self.rows) {
            if value.is_some() {
                let repeats = last.is_some_and(|last: usize| used[last].1 == value);
                length = if repeats { length + 1 } else { 1 };
                if length > self.count {
                    continue;
                }
                last = Some(used.len());
            }
            used.push((order, value));
            if used.len() >= self.most {
                break;
            }
        }
        let end = used.last().filter(|_| used.len() >= self.most).map(|(order, _)| order.clone());
        self.bytes = used.iter().map(|(_, value)| size(value.as_deref())).sum();
        self.rows = used.into_iter().collect();
        end
    }
}

/// Returns the approximate size in bytes of a remembered row.
fn size(value: Option<&[u8]>) -> usize {
    ROW + value.map_or(0, <[u8]>::len)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array};
    use arrow::datatypes::DataType;
    use arrow::row::{RowConverter, SortField};

    use super::*;

    #[test]
    fn the_work_for_a_row_does_not_grow_with_the_rows() {
        let count = 4_096;
        let keys = RowConverter::new(vec![SortField::new(DataType::Int64)]).unwrap();
        let times: ArrayRef = Arc::new(Int64Array::from_iter_values(0..count));
        let keys = keys.convert_columns(&[times]).unwrap();
        let mut runs = Runs::new(1 << 16, 1);
        let mut visited = 0;
        for key in &keys {
            runs.add(key, Some(key.as_ref()));
            assert!(runs.settle(usize::MAX).is_none());
            if runs.added == 0 {
                visited += runs.len();
            }
        }
        assert_eq!(runs.len(), keys.num_rows());
        assert!(visited <= 10 * keys.num_rows(), "{visited} visits");
    }

    #[test]
    fn rows_count_before_they_are_visited() {
        let keys = RowConverter::new(vec![SortField::new(DataType::Int64)]).unwrap();
        let times: ArrayRef = Arc::new(Int64Array::from_iter_values(0..3));
        let keys = keys.convert_columns(&[times]).unwrap();
        let mut runs = Runs::new(9, 1);
        for key in &keys {
            runs.add(key, Some(&[0; 40]));
        }
        assert_eq!(runs.bytes(), 3 * (ROW + 40));
        runs.settle(usize::MAX);
        assert_eq!(runs.bytes(), ROW + 40);
    }

    #[test]
    fn few_unused_rows_are_removed_if_they_leave_no_room() {
        let keys = RowConverter::new(vec![SortField::new(DataType::Int64)]).unwrap();
        let times: ArrayRef = Arc::new(Int64Array::from_iter_values(0..170));
        let keys = keys.convert_columns(&[times]).unwrap();
        let mut runs = Runs::new(1_000, 1);
        for key in keys.iter().take(160) {
            runs.add(key, Some(key.as_ref()));
        }
        runs.settle(usize::MAX);
        let room = runs.bytes() + 2 * ROW;
        for key in keys.iter().skip(160) {
            runs.add(key, Some(&[0; 40]));
        }
        runs.settle(usize::MAX);
        assert_eq!(runs.len(), 170);
        runs.settle(room);
        assert_eq!(runs.len(), 161);
        assert!(runs.bytes() <= room);
    }
}
