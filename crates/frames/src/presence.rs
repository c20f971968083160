//! Determines which columns of a result have values: the fields of a wildcard are only known once the rows
//! have been read.
//!
//! A search reads every field that its events may have. Columns that have no value in any row are omitted, so
//! that the result does not depend on the other events that are stored in the same buckets. For the same
//! reason, report rows that consist only of such columns are dropped.

use arrow::array::Array;
use arrow::record_batch::RecordBatch;

use crate::{OutputColumn, ResultKind};

/// State about the values of a result while its rows arrive.
#[derive(Debug)]
pub struct Presence {
    /// For each column, whether some row has a value.
    seen: Vec<bool>,
    /// The first rows of a report that have no fields yet, buffered until a row has one.
    held: Vec<RecordBatch>,
    holds: bool,
}

impl Presence {
    /// Creates the state before the first row.
    pub fn new(columns: &[OutputColumn], kind: ResultKind) -> Self {
        let unknown = columns.iter().all(|column| column.possible);
        let holds = kind == ResultKind::Report && unknown;
        Self { seen: vec![false; columns.len()], held: Vec::new(), holds }
    }

    /// Processes rows and returns those that can be passed on.
    pub fn pass(&mut self, batch: RecordBatch) -> Vec<RecordBatch> {
        for (seen, array) in self.seen.iter_mut().zip(batch.columns()) {
            *seen = *seen || array.logical_null_count() < array.len();
        }
        if self.holds && !self.seen.contains(&true) {
            self.held.push(batch);
            return Vec::new();
        }
        self.holds = false;
        let mut ready = std::mem::take(&mut self.held);
        ready.push(batch);
        ready
    }

    /// Whether rows have been dropped because they are not part of the result.
    pub fn has_dropped(&self) -> bool {
        !self.held.is_empty()
    }

    /// Marks the columns that are omitted from the result.
    pub fn settle(&self, columns: &mut [OutputColumn]) {
        for (column, seen) in columns.iter_mut().zip(&self.seen) {
            column.absent = column.possible && !column.named && !seen;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, StringViewArray};

    use super::*;
    use exprs::types::ValueType;

    fn column(name: &str, possible: bool, named: bool) -> OutputColumn {
        let (name, value_type) = (name.to_owned(), ValueType::Text);
        OutputColumn { name, value_type, shown: true, possible, named, absent: false }
    }

    fn batch(a: Option<&str>, b: Option<&str>) -> RecordBatch {
        let cell = |value: Option<&str>| Arc::new(StringViewArray::from(vec![value])) as ArrayRef;
        RecordBatch::try_from_iter_with_nullable([("a", cell(a), true), ("b", cell(b), true)])
            .unwrap()
    }

    #[test]
    fn a_column_that_may_be_missing_is_absent_if_no_row_has_a_value() {
        let mut columns = vec![column("a", true, false), column("b", true, false)];
        let mut presence = Presence::new(&columns, ResultKind::Report);
        assert_eq!(presence.pass(batch(Some("1"), None)).len(), 1);
        assert_eq!(presence.pass(batch(None, None)).len(), 1);
        presence.settle(&mut columns);
        assert_eq!(columns.iter().map(|c| c.absent).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn a_column_that_was_named_stays() {
        let mut columns = vec![column("a", true, false), column("b", true, true)];
        let mut presence = Presence::new(&columns, ResultKind::Report);
        presence.pass(batch(Some("1"), None));
        presence.settle(&mut columns);
        assert!(!columns[1].absent);
    }

    #[test]
    fn rows_of_a_report_of_unknown_fields_wait_for_one() {
        let columns = vec![column("a", true, true), column("b", true, true)];
        let mut presence = Presence::new(&columns, ResultKind::Report);
        assert!(presence.pass(batch(None, None)).is_empty() && presence.has_dropped());
        assert_eq!(presence.pass(batch(None, Some("x"))).len(), 2);
        assert_eq!(presence.pass(batch(None, None)).len(), 1);
    }
}
