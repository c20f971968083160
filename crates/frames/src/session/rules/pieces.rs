//! Few rows at a time below operators that make many rows of one.
//!
//! `mvexpand` makes as many rows of a batch as its lists have values, all at once: a list of 100,000 values
//! in a row of 300 fields are 30 million cells. Below such an operator batches are cut, and lists in pieces,
//! so that what it makes of one is bounded.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, RecordBatch};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::unnest::UnnestExec;
use exprs::pass_through::PassThrough;
use futures::{StreamExt, stream};

use super::rewrites::{Rewritten, with_below};

/// Cells that are made of a batch at most, about.
const CELLS: usize = 1 << 20;
/// Rows that are made of a batch at most.
const ROWS: usize = 8192;

/// Puts [`Pieces`] below operators that make rows of lists.
pub(super) fn below_unnest(node: &Arc<dyn ExecutionPlan>) -> Rewritten {
    let Some(unnest) = node.downcast_ref::<UnnestExec>() else { return Ok(None) };
    let of = unnest.list_column_indices();
    // Lists of lists are taken apart as a whole.
    let is_flat = of.iter().all(|list| list.depth == 1);
    if !is_flat || of.is_empty() {
        return Ok(None);
    }
    let lists = of.iter().map(|list| list.index_in_input_schema).collect();
    let columns = unnest.input().schema().fields().len().max(1);
    with_below(node, Pieces { lists, rows: (CELLS / columns).clamp(1, ROWS) })
}

#[derive(Debug)]
struct Pieces {
    /// The columns with lists.
    lists: Vec<usize>,
    /// Rows that may be made of a piece.
    rows: usize,
}

impl PassThrough for Pieces {
    const NAME: &'static str = "PiecesExec";

    fn parameters(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ": lists={:?}, rows={}", self.lists, self.rows)
    }

    fn run(
        self: &Arc<Self>,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = input.execute(partition, context)?;
        let schema = input.schema();
        let pieces = Arc::clone(self);
        let batches = input.flat_map(move |batch| {
            let cut: Box<dyn Iterator<Item = Result<RecordBatch>> + Send> = match batch {
                Ok(batch) => Box::new(Cut::new(Arc::clone(&pieces), batch)),
                Err(error) => Box::new(std::iter::once(Err(error))),
            };
            stream::iter(cut)
        });
        // A billion rows may be made of one that is at hand: without turns of others between the pieces, a
        // cancelled search would run to its end.
        Ok(make_cooperative(Box::pin(RecordBatchStreamAdapter::new(schema, batches))))
    }
}

/// The pieces of a batch, each made when it is asked for.
struct Cut {
    pieces: Arc<Pieces>,
    batch: RecordBatch,
    /// The next row, and the next value of its lists.
    row: usize,
    value: usize,
}

impl Cut {
    fn new(pieces: Arc<Pieces>, batch: RecordBatch) -> Self {
        Self { pieces, batch, row: 0, value: 0 }
    }

    /// How many rows are made of a row.
    fn made(&self, row: usize) -> usize {
        let length = |column: &usize| match self.batch.column(*column).as_list_opt::<i32>() {
            Some(lists) if lists.is_valid(row) => lists.value_length(row),
            _ => 1,
        };
        let longest = self.pieces.lists.iter().map(length).max().unwrap_or(1);
        usize::try_from(longest).unwrap_or(1).max(1)
    }

    /// A row with the values of its lists from one place on.
    fn part(&self, row: usize, from: usize, most: usize) -> Result<RecordBatch> {
        let one = self.batch.slice(row, 1);
        let mut columns = one.columns().to_vec();
        for column in &self.pieces.lists {
            if let Some(lists) = columns[*column].as_list_opt::<i32>() {
                columns[*column] = shortened(lists, from, most)?;
            }
        }
        Ok(RecordBatch::try_new(one.schema(), columns)?)
    }
}

/// Some values of a list that is the only one of its column.
fn shortened(lists: &ListArray, from: usize, most: usize) -> Result<ArrayRef> {
    let (field, offsets, values, nulls) = lists.clone().into_parts();
    let bounds = |at: usize| usize::try_from(offsets[at]).unwrap_or_default();
    let start = (bounds(0) + from).min(bounds(1));
    let length = most.min(bounds(1) - start);
    let ends = vec![0, i32::try_from(length).unwrap_or(i32::MAX)];
    let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
    Ok(Arc::new(ListArray::try_new(field, offsets, values.slice(start, length), nulls)?))
}

impl Iterator for Cut {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let (rows, most) = (self.batch.num_rows(), self.pieces.rows);
        if self.row >= rows {
            return None;
        }
        let first = self.made(self.row);
        if first > most {
            let part = self.part(self.row, self.value, most);
            self.value += most;
            if self.value >= first {
                (self.row, self.value) = (self.row + 1, 0);
            }
            return Some(part);
        }
        let start = self.row;
        let mut made = 0;
        while self.row < rows && made + self.made(self.row) <= most {
            made += self.made(self.row);
            self.row += 1;
        }
        Some(Ok(self.batch.slice(start, self.row - start)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::{Int64Array, ListBuilder, StringBuilder};

    use super::*;

    /// Rows with lists of so many values, counted through; a negative number is a missing list.
    fn batch(lengths: &[i32]) -> RecordBatch {
        let mut lists = ListBuilder::new(StringBuilder::new());
        let mut next = 0;
        for length in lengths {
            for _ in 0..*length {
                lists.values().append_value(next.to_string());
                next += 1;
            }
            lists.append(*length >= 0);
        }
        let rows: ArrayRef = Arc::new(Int64Array::from_iter_values(0..lengths.len() as i64));
        RecordBatch::try_from_iter_with_nullable([
            ("row", rows, false),
            ("list", Arc::new(lists.finish()) as ArrayRef, true),
        ])
        .unwrap()
    }

    /// What the pieces have: the numbers of the rows, and the values of the lists.
    fn pieces(lengths: &[i32], rows: usize) -> Vec<(Vec<i64>, Vec<String>)> {
        let pieces = Arc::new(Pieces { lists: vec![1], rows });
        let shown = |piece: Result<RecordBatch>| {
            let piece = piece.unwrap();
            let numbers = piece.column(0).as_primitive::<arrow::datatypes::Int64Type>();
            let lists = piece.column(1).as_list::<i32>();
            let values = lists.iter().flatten().flat_map(|list| {
                let texts = list.as_string::<i32>().iter().flatten();
                texts.map(str::to_owned).collect::<Vec<_>>()
            });
            (numbers.values().to_vec(), values.collect())
        };
        Cut::new(pieces, batch(lengths)).map(shown).collect()
    }

    fn texts(range: std::ops::Range<i32>) -> Vec<String> {
        range.map(|number| number.to_string()).collect()
    }

    #[test]
    fn rows_go_together_as_long_as_they_make_few() {
        assert_eq!(pieces(&[2, 1, 3], 10), [(vec![0, 1, 2], texts(0..6))]);
        let found = pieces(&[2, -1, 0, 3], 4);
        assert_eq!(found, [(vec![0, 1, 2], texts(0..2)), (vec![3], texts(2..5))]);
    }

    #[test]
    fn a_long_list_is_cut_into_pieces_that_hold_all_of_its_values() {
        let found = pieces(&[1, 7, 2], 3);
        let wanted = [
            (vec![0], texts(0..1)),
            (vec![1], texts(1..4)),
            (vec![1], texts(4..7)),
            (vec![1], texts(7..8)),
            (vec![2], texts(8..10)),
        ];
        assert_eq!(found, wanted);
    }
}
