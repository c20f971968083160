//! Limits the number of rows that operators such as `mvexpand` create at a time.
//!
//! `mvexpand` (the engine's unnest operator) expands the lists of a whole batch at once: a list of 100,000
//! values in a row of 300 fields becomes 30 million cells. A second list in the row is copied to every new
//! row: two lists of 10,000 values become 100 million values. So the batches below such an operator are
//! sliced, and long lists are split, so that the output for one batch is limited in rows, cells and bytes.
//! Above it, [`Copies`] charges the copied lists to the computed values of the search, so that operators that
//! collect them are limited, too.

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
use exprs::ledger::Charge;
use exprs::pass_through::{PassThrough, PassThroughExec};
use futures::{StreamExt, stream};

use super::rewrites::{Rewritten, with_below};

/// Approximate maximum number of cells that are created from a batch.
const CELLS: usize = 1 << 20;
/// Maximum number of bytes that are created from a batch, unless a single row exceeds it.
const BYTES: usize = 4 * CELLS;
/// Size in bytes of a cell or a list value, without the bytes of a text that is not a view.
const CELL: usize = 16;
/// Maximum number of rows that are created from a batch.
const ROWS: usize = 8192;

/// Inserts [`Pieces`] below operators that expand lists, and [`Copies`] above them.
pub(super) fn below_unnest(node: &Arc<dyn ExecutionPlan>) -> Rewritten {
    let Some(unnest) = node.downcast_ref::<UnnestExec>() else { return Ok(None) };
    let of = unnest.list_column_indices();
    // Nested lists are not split.
    let is_flat = of.iter().all(|list| list.depth == 1);
    if !is_flat || of.is_empty() {
        return Ok(None);
    }
    let lists = of.iter().map(|list| list.index_in_input_schema).collect();
    let columns = unnest.input().schema().fields().len().max(1);
    let below = with_below(node, Pieces { lists, rows: (CELLS / columns).clamp(1, ROWS) })?;
    Ok(below.map(|unnest| PassThroughExec::above(unnest, Copies)))
}

/// An operator that charges lists copied with their rows, as long as they are referenced.
#[derive(Debug)]
struct Copies;

impl PassThrough for Copies {
    const NAME: &'static str = "CopiesExec";

    fn run(
        self: &Arc<Self>,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let charge = Charge::of(context.session_config().options());
        let input = input.execute(partition, context)?;
        let schema = input.schema();
        let batches = input.map(move |batch| counted(&batch?, &charge));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}

fn counted(batch: &RecordBatch, charge: &Charge) -> Result<RecordBatch> {
    let counted = |column: &ArrayRef| charge.copied_lists(column);
    let columns: Vec<ArrayRef> = batch.columns().iter().map(counted).collect::<Result<_>>()?;
    Ok(RecordBatch::try_new(batch.schema(), columns)?)
}

#[derive(Debug)]
struct Pieces {
    /// The indexes of the columns that are expanded.
    lists: Vec<usize>,
    /// Maximum number of rows that may be created from a piece.
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
        // A single row may expand to a billion rows: without yielding between the pieces, a cancelled search
        // would run to its end.
        Ok(make_cooperative(Box::pin(RecordBatchStreamAdapter::new(schema, batches))))
    }
}

/// The pieces of a batch, created lazily.
struct Cut {
    pieces: Arc<Pieces>,
    batch: RecordBatch,
    /// For each row, the bytes outside its expanded lists, which are copied to every row that is created from
    /// it.
    bytes: Vec<usize>,
    /// The next row, and the next value of its lists.
    row: usize,
    value: usize,
}

impl Cut {
    fn new(pieces: Arc<Pieces>, batch: RecordBatch) -> Self {
        let bytes = copied_bytes(&batch, &pieces.lists);
        Self { pieces, batch, bytes, row: 0, value: 0 }
    }

    /// Returns the maximum number of rows to create if each has up to this many bytes.
    fn most(&self, bytes: usize) -> usize {
        (BYTES / bytes.max(1)).clamp(1, self.pieces.rows.max(1))
    }

    /// Returns the number of rows that are created from a row.
    fn made(&self, row: usize) -> usize {
        let length = |column: &usize| match self.batch.column(*column).as_list_opt::<i32>() {
            Some(lists) if lists.is_valid(row) => lists.value_length(row),
            _ => 1,
        };
        let longest = self.pieces.lists.iter().map(length).max().unwrap_or(1);
        usize::try_from(longest).unwrap_or(1).max(1)
    }

    /// Returns a row with up to `most` values of its lists, starting at an index.
    fn part(&self, row: usize, from: usize, most: usize) -> Result<RecordBatch> {
        let one = with_own_values(&self.batch.slice(row, 1))?;
        let mut columns = one.columns().to_vec();
        for column in &self.pieces.lists {
            if let Some(lists) = columns[*column].as_list_opt::<i32>() {
                columns[*column] = shortened(lists, from, most)?;
            }
        }
        Ok(RecordBatch::try_new(one.schema(), columns)?)
    }
}

/// Returns the bytes of each row in the columns that are not expanded.
fn copied_bytes(batch: &RecordBatch, lists: &[usize]) -> Vec<usize> {
    let mut bytes = vec![0; batch.num_rows()];
    for (at, column) in batch.columns().iter().enumerate() {
        if !lists.contains(&at) {
            add_bytes(column, &mut bytes);
        }
    }
    bytes
}

/// Adds the bytes of each row of a column. Copies of a row share the bytes of text views: only the views
/// count.
fn add_bytes(column: &ArrayRef, bytes: &mut [usize]) {
    bytes.iter_mut().for_each(|of_row| *of_row += CELL);
    if let Some(texts) = column.as_string_opt::<i32>() {
        for (row, of_row) in bytes.iter_mut().enumerate() {
            *of_row += usize::try_from(texts.value_length(row)).unwrap_or_default();
        }
    } else if let Some(lists) = column.as_list_opt::<i32>() {
        for (row, of_row) in bytes.iter_mut().enumerate() {
            let values = usize::try_from(lists.value_length(row)).unwrap_or_default();
            *of_row += values * CELL;
        }
    }
}

/// Drops list values that belong to rows outside the batch. The engine allocates memory for copies by the
/// average of all values in the value arrays, including those of rows that were sliced off.
fn with_own_values(batch: &RecordBatch) -> Result<RecordBatch> {
    let own = |column: &ArrayRef| match column.as_list_opt::<i32>() {
        Some(lists) => own_values(lists),
        None => Ok(Arc::clone(column)),
    };
    let columns: Vec<ArrayRef> = batch.columns().iter().map(own).collect::<Result<_>>()?;
    Ok(RecordBatch::try_new(batch.schema(), columns)?)
}

fn own_values(lists: &ListArray) -> Result<ArrayRef> {
    let (field, offsets, values, nulls) = lists.clone().into_parts();
    let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
    let start = usize::try_from(first).unwrap_or_default();
    let length = usize::try_from(last - first).unwrap_or_default();
    if length == values.len() {
        // Not rebuilt: the offsets buffer carries the memory charge of the values, which a new one would
        // release.
        return Ok(Arc::new(lists.clone()));
    }
    let places: Vec<i32> = offsets.iter().map(|place| place - first).collect();
    let offsets = OffsetBuffer::new(ScalarBuffer::from(places));
    Ok(Arc::new(ListArray::try_new(field, offsets, values.slice(start, length), nulls)?))
}

/// Returns some values of the only list of a column.
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
        let rows = self.batch.num_rows();
        if self.row >= rows {
            return None;
        }
        let (first, most) = (self.made(self.row), self.most(self.bytes[self.row]));
        if first > most {
            let part = self.part(self.row, self.value, most);
            self.value += most;
            if self.value >= first {
                (self.row, self.value) = (self.row + 1, 0);
            }
            return Some(part);
        }
        let start = self.row;
        let (mut made, mut widest) = (0, 0);
        while self.row < rows {
            let (more, bytes) = (self.made(self.row), self.bytes[self.row].max(widest));
            if made + more > self.most(bytes) {
                break;
            }
            (made, widest) = (made + more, bytes);
            self.row += 1;
        }
        Some(with_own_values(&self.batch.slice(start, self.row - start)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::{
        Int64Array, Int64Builder, ListBuilder, StringArray, StringBuilder, StringViewArray,
    };
    use datafusion::common::config::ConfigOptions;
    use exprs::ledger::Ledger;

    use super::*;

    /// Returns rows whose lists have these lengths, with consecutive values; a negative length is a null
    /// list.
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

    /// Returns the contents of the pieces: the numbers of the rows, and the values of the lists.
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

    /// Returns lists of numbers with these lengths.
    fn numbers(lengths: &[usize]) -> ArrayRef {
        let mut lists = ListBuilder::new(Int64Builder::new());
        for length in lengths {
            (0..*length).for_each(|number| lists.values().append_value(number as i64));
            lists.append(true);
        }
        Arc::new(lists.finish())
    }

    #[test]
    fn a_list_is_cut_by_the_bytes_of_the_list_beside_it() {
        let lists = [("list", numbers(&[3, 10_000, 2])), ("beside", numbers(&[1, 10_000, 1]))];
        let batch = RecordBatch::try_from_iter(lists).unwrap();
        let pieces = Arc::new(Pieces { lists: vec![0], rows: ROWS });
        let most = BYTES / (10_000 * CELL + CELL);
        let found: Vec<RecordBatch> = Cut::new(pieces, batch).map(Result::unwrap).collect();
        let values = |piece: &RecordBatch, column: usize| {
            piece.column(column).as_list::<i32>().values().len()
        };
        let made: Vec<usize> = found.iter().map(|piece| values(piece, 0)).collect();
        assert_eq!(made.iter().sum::<usize>(), 10_005);
        assert_eq!((made[0], made[1], made.last()), (3, most, Some(&2)));
        assert!(made.iter().all(|made| *made <= most), "{made:?}");
        let beside: Vec<usize> = found.iter().map(|piece| values(piece, 1)).collect();
        assert!(beside[1..beside.len() - 1].iter().all(|values| *values == 10_000), "{beside:?}");
        assert_eq!((beside[0], beside.last()), (1, Some(&1)), "values of other rows are cut off");
    }

    #[test]
    fn a_text_that_the_rows_share_does_not_make_pieces_small() {
        let beside = |text: ArrayRef| {
            let columns = [("list", numbers(&[8000])), ("text", text)];
            let batch = RecordBatch::try_from_iter(columns).unwrap();
            Cut::new(Arc::new(Pieces { lists: vec![0], rows: ROWS }), batch).count()
        };
        let text = "x".repeat(40_000);
        assert_eq!(beside(Arc::new(StringViewArray::from_iter_values([&text]))), 1);
        assert!(beside(Arc::new(StringArray::from_iter_values([&text]))) > 1, "it is copied");
    }

    #[test]
    fn copied_lists_count_as_computed_values_as_long_as_they_are_held() {
        let ledger = Arc::new(Ledger::of_one(8 << 20, Arc::new(Ledger::of_all(64 << 20))));
        let mut config = ConfigOptions::new();
        ledger.put(&mut config);
        let batch = RecordBatch::try_from_iter([("list", numbers(&[400_000]))]).unwrap();
        let charge = Charge::of(&config);
        let held: Vec<_> = (0..2).map(|_| counted(&batch, &charge).unwrap()).collect();
        assert_eq!(held[1], batch);
        let refused = counted(&batch, &charge).unwrap_err().to_string();
        assert!(refused.contains("max_mem_usage_mb = 8"), "{refused}");
        drop(held);
        counted(&batch, &charge).unwrap();
    }
}
