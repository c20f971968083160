//! The end of the rows that `dedup consecutive=t` and a later `head N` use.
//!
//! Guarantees: at or before the returned row, there are at least N used rows among all rows, whichever arrive
//! later. A row that arrives between known rows joins a run, splits it, or is a run of its own: no fewer rows
//! are used than before. So the end among some of the rows is never before that among all rows.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use arrow::row::{OwnedRow, Row};

/// Approximate size in bytes of a remembered row without its values.
pub(super) const ROW: usize = 160;

/// The rows that `dedup consecutive=t` uses among some of the rows: one of each sort key, since rows with
/// equal keys may be in any order.
pub(super) struct Runs {
    most: usize,
    count: usize,
    /// Sort keys and values; no values if a row lacks one.
    rows: BTreeMap<OwnedRow, Option<Box<[u8]>>>,
    bytes: usize,
    /// Whether rows were added since the last call of [`Runs::settle`].
    is_open: bool,
}

impl Runs {
    pub(super) fn new(most: usize, count: usize) -> Self {
        Self { most, count, rows: BTreeMap::new(), bytes: 0, is_open: false }
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
            vacant.insert(value.map(Box::from));
            self.is_open = true;
        }
    }

    /// Removes rows that are not used among these, and those after the maximum number; returns the last one
    /// if there are so many.
    pub(super) fn settle(&mut self) -> Option<OwnedRow> {
        if !std::mem::take(&mut self.is_open) {
            return None;
        }
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
        let size = |value: &Option<Box<[u8]>>| ROW + value.as_ref().map_or(0, |value| value.len());
        self.bytes = used.iter().map(|(_, value)| size(value)).sum();
        self.rows = used.into_iter().collect();
        end
    }
}
