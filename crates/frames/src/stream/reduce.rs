//! Drops rows that an operator over ordered rows cannot use, below the sort.
//!
//! ```text
//! StreamExec (dedup, head with a condition)
//!     |
//! SortExec: reads all rows before it returns one
//!     |
//! ReduceExec: drops most of them          ---- _time >= ... ----.
//!     |                                                         v
//! scan, newest first ...................................... reads no older rows
//! ```
//!
//! Guarantees: the result of the operator above is the same as over all rows. A row is dropped if enough rows
//! that precede it in the order are known: of its combination of values for `dedup`, of all rows for a later
//! `head N`; or if it follows a row that ends the result. If the result has an end, the scan learns the time
//! before which no row is used. The memory for this is bounded: if it is full, fewer rows are dropped.
//!
//! The end of `dedup consecutive=t` is in `runs`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use arrow::row::{OwnedRow, Row, RowConverter, Rows, SortField};
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, DynamicFilterPhysicalExpr, lit};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use exprs::compact::{Slack, compact_batch};
use exprs::pass_through::{PassThrough, PassThroughExec};
use futures::{StreamExt, stream};
use hashbrown::HashMap;
use parking_lot::Mutex;

use self::runs::{ROW, Runs};

mod runs;

/// Maximum number of remembered rows in a partition.
pub(super) const MOST: usize = 1 << 16;
/// Maximum memory of a partition in bytes.
const BYTES: usize = 16 << 20;
/// Maximum number of bytes of dropped rows that a column of the remaining rows may keep alive.
const SLACK: Slack = Slack::Passing(1 << 12);

/// The part of the ordered rows that an operator uses.
#[derive(Debug, Clone, Copy)]
pub enum Reduction {
    /// The first rows of each combination of argument values.
    Each {
        /// Number of rows per combination.
        count: usize,
        /// Whether rows that lack one of the values are used.
        keep_empty: bool,
        /// Number of these rows that are used in total; `None` for all.
        first: Option<usize>,
    },
    /// The first rows of each run of rows with the same argument values.
    Runs {
        /// Number of rows per run.
        count: usize,
        /// Whether rows that lack one of the values are used; they do not end a run.
        keep_empty: bool,
        /// Number of these rows that are used in total.
        first: usize,
    },
    /// Rows before the first one for which the condition (argument 0) is not true.
    While {
        /// Whether a null condition counts as true.
        null: bool,
        /// Number of these rows that are used in total; `None` for all.
        first: Option<usize>,
    },
}

impl Reduction {
    fn first(self) -> Option<usize> {
        let first = match self {
            Self::Each { first, .. } | Self::While { first, .. } => first,
            Self::Runs { first, .. } => Some(first),
        };
        first.filter(|first| *first <= MOST)
    }

    /// Whether there may be a row after which no row is used.
    fn ends(self) -> bool {
        self.first().is_some() || matches!(self, Self::While { .. })
    }
}

/// Whether a field is missing in a row.
pub(super) fn missing(argument: &ArrayRef, row: usize) -> bool {
    argument.is_null(row)
        || argument.as_list_opt::<i32>().is_some_and(|lists| lists.value_length(row) == 0)
}

/// Returns the input of an operator, with unused rows dropped below the input's sort; `None` if the input is
/// not sorted.
pub(super) fn below_sort(
    node: &Arc<dyn ExecutionPlan>,
    reduction: Reduction,
    arguments: Vec<Arc<dyn PhysicalExpr>>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let below = if let Some(sort) = node.downcast_ref::<SortExec>() {
        let schema = sort.input().schema();
        // Sort keys of rows are remembered, so their size must be bounded; texts may have any length.
        let is_short = |key: &PhysicalSortExpr| {
            key.expr.data_type(&schema).is_ok_and(|data_type| data_type.is_primitive())
        };
        let is_reduced = sort.input().name() == Reduce::NAME;
        if sort.fetch().is_some() || is_reduced || !sort.expr().iter().all(is_short) {
            return Ok(None);
        }
        Reduce::above(sort.input(), reduction, arguments, sort.expr())?
    } else if let Some(projection) = node.downcast_ref::<ProjectionExec>() {
        // The engine places sorts below projections that compute nothing.
        let Some(arguments) = through(projection, arguments)? else { return Ok(None) };
        below_sort(projection.input(), reduction, arguments)?
    } else if let Some(merge) = node.downcast_ref::<SortPreservingMergeExec>() {
        match merge.fetch() {
            Some(_) => None,
            None => below_sort(merge.input(), reduction, arguments)?,
        }
    } else {
        None
    };
    let Some(below) = below else { return Ok(None) };
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    Arc::clone(node).replace_children(vec![below], options).map(Some)
}

/// Rewrites expressions over the columns of a projection to its input, if the projection computes nothing.
fn through(
    projection: &ProjectionExec,
    exprs: Vec<Arc<dyn PhysicalExpr>>,
) -> Result<Option<Vec<Arc<dyn PhysicalExpr>>>> {
    let columns = projection.expr();
    if columns.iter().any(|column| !column.expr.is::<Column>()) {
        return Ok(None);
    }
    let below = |expr: Arc<dyn PhysicalExpr>| {
        let replaced = expr.transform_up(|node| {
            let at = node.downcast_ref::<Column>().map(Column::index);
            Ok(match at.and_then(|at| columns.get(at)) {
                Some(column) => Transformed::yes(Arc::clone(&column.expr)),
                None => Transformed::no(node),
            })
        });
        replaced.data()
    };
    exprs.into_iter().map(below).collect::<Result<Vec<_>>>().map(Some)
}

/// Returns the row encoding of sort keys, whose byte order equals the order of the rows.
fn sort_fields(order: &LexOrdering, schema: &SchemaRef) -> Result<Vec<SortField>> {
    let field = |key: &PhysicalSortExpr| {
        Ok(SortField::new_with_options(key.expr.data_type(schema)?, key.options))
    };
    order.iter().map(field).collect()
}

/// The operator that drops unused rows.
#[derive(Debug)]
struct Reduce {
    reduction: Reduction,
    arguments: Vec<Arc<dyn PhysicalExpr>>,
    order: LexOrdering,
    /// A filter that rejects rows after the last used one.
    learned: Option<Arc<DynamicFilterPhysicalExpr>>,
    /// The last row that the filter accepts, over all partitions.
    until: Mutex<Option<OwnedRow>>,
}

impl Reduce {
    fn above(
        input: &Arc<dyn ExecutionPlan>,
        reduction: Reduction,
        arguments: Vec<Arc<dyn PhysicalExpr>>,
        order: &LexOrdering,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        if !RowConverter::supports_fields(&sort_fields(order, &input.schema())?) {
            return Ok(None);
        }
        let learned = reduction.ends().then(|| learning(order));
        let until = Mutex::default();
        let reduce = Self { reduction, arguments, order: order.clone(), learned, until };
        Ok(Some(PassThroughExec::above(Arc::clone(input), reduce)))
    }

    /// Tells the scan that rows after `until` are not used.
    fn tell(&self, orders: &RowConverter, until: &OwnedRow) -> Result<()> {
        let PhysicalSortExpr { expr, options } = self.order.first();
        // Nulls come first, so such rows are always used, which the filter could not express.
        let Some(filter) = self.learned.as_ref().filter(|_| !options.nulls_first) else {
            return Ok(());
        };
        let mut known = self.until.lock();
        if known.as_ref().is_some_and(|known| known <= until) {
            return Ok(());
        }
        let keys = orders.convert_rows([until.row()])?;
        let value = ScalarValue::try_from_array(&keys[0], 0)?;
        if !value.is_null() {
            let operator = if options.descending { Operator::GtEq } else { Operator::LtEq };
            let is_used = BinaryExpr::new(Arc::clone(expr), operator, lit(value));
            filter.update(Arc::new(is_used))?;
        }
        *known = Some(until.clone());
        Ok(())
    }
}

/// Returns a filter on the first sort key that initially accepts all rows.
fn learning(order: &LexOrdering) -> Arc<DynamicFilterPhysicalExpr> {
    let key = Arc::clone(&order.first().expr);
    Arc::new(DynamicFilterPhysicalExpr::new(vec![key], lit(true)))
}

impl PassThrough for Reduce {
    const NAME: &'static str = "ReduceExec";

    fn parameters(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ": {:?}", self.reduction)
    }

    fn learns(&self) -> Option<Arc<DynamicFilterPhysicalExpr>> {
        self.learned.clone()
    }

    fn afresh(&self) -> Option<Self> {
        Some(Self {
            reduction: self.reduction,
            arguments: self.arguments.clone(),
            order: self.order.clone(),
            learned: self.learned.as_ref().map(|_| learning(&self.order)),
            until: Mutex::default(),
        })
    }

    fn run(
        self: &Arc<Self>,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let schema = input.schema();
        let consumer = MemoryConsumer::new(format!("ReduceExec[{partition}]"));
        let run = Run {
            state: State::new(self.reduction, sort_fields(&self.order, &schema)?)?,
            reservation: consumer.register(context.memory_pool()),
            reduce: Arc::clone(self),
            input: input.execute(partition, context)?,
        };
        let rows = stream::try_unfold(run, Run::next);
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

/// The state of a running partition.
struct Run {
    reduce: Arc<Reduce>,
    input: SendableRecordBatchStream,
    state: State,
    reservation: MemoryReservation,
}

impl Run {
    async fn next(mut self) -> Result<Option<(RecordBatch, Self)>> {
        while let Some(batch) = self.input.next().await.transpose()? {
            if batch.num_rows() == 0 {
                continue;
            }
            let batch = self.push(&batch)?;
            if batch.num_rows() > 0 {
                return Ok(Some((batch, self)));
            }
        }
        Ok(None)
    }

    fn push(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let value = |expr: &Arc<dyn PhysicalExpr>| expr.evaluate(batch)?.into_array(rows);
        let orders = self.reduce.order.iter().map(|key| value(&key.expr));
        let orders = orders.collect::<Result<Vec<_>>>()?;
        let arguments = self.reduce.arguments.iter().map(value).collect::<Result<Vec<_>>>()?;
        let keep = self.state.keep(&orders, &arguments)?;
        if let Some(until) = &self.state.until {
            self.reduce.tell(&self.state.orders, until)?;
        }
        // Refused memory is not an error: no further rows are remembered.
        let held = self.state.bytes + self.state.first.as_ref().map_or(0, First::bytes);
        self.state.is_full |= self.reservation.try_resize(held).is_err();
        if keep.count_set_bits() == rows {
            return Ok(batch.clone());
        }
        let left = filter_record_batch(batch, &BooleanArray::new(keep, None))?;
        // Otherwise, a few texts would keep the buffers of all dropped rows alive.
        Ok(compact_batch(&left, SLACK)?)
    }
}

/// The state about previous rows, independent of their order of arrival.
struct State {
    reduction: Reduction,
    orders: RowConverter,
    values: Option<RowConverter>,
    /// The first rows of each combination of values, sorted.
    seen: HashMap<Box<[u8]>, Vec<OwnedRow>>,
    bytes: usize,
    /// Whether no further rows are remembered.
    is_full: bool,
    first: Option<First>,
    runs: Option<Runs>,
    /// Rows after this one are not used.
    until: Option<OwnedRow>,
}

impl State {
    fn new(reduction: Reduction, order: Vec<SortField>) -> Result<Self> {
        let most = reduction.first();
        let (first, runs) = match reduction {
            Reduction::Runs { count, .. } => (None, most.map(|most| Runs::new(most, count))),
            _ => (most.map(|most| First { most, rows: BTreeMap::new(), len: 0 }), None),
        };
        Ok(Self {
            reduction,
            orders: RowConverter::new(order)?,
            values: None,
            seen: HashMap::new(),
            bytes: 0,
            is_full: false,
            first,
            runs,
            until: None,
        })
    }

    /// Returns a mask of the rows to keep.
    fn keep(&mut self, orders: &[ArrayRef], arguments: &[ArrayRef]) -> Result<BooleanBuffer> {
        let orders = self.orders.convert_columns(orders)?;
        let keep = match self.reduction {
            Reduction::Each { count, keep_empty, .. } => {
                self.each(count, keep_empty, &orders, arguments)?
            }
            Reduction::Runs { count, keep_empty, .. } => {
                self.runs(count, keep_empty, &orders, arguments)?
            }
            Reduction::While { null, .. } => self.until_it_fails(null, &orders, arguments),
        };
        if let Some(last) = self.first.as_ref().and_then(First::last).cloned() {
            self.end_at(last.row());
        }
        Ok(keep)
    }

    fn each(
        &mut self,
        count: usize,
        keep_empty: bool,
        orders: &Rows,
        arguments: &[ArrayRef],
    ) -> Result<BooleanBuffer> {
        let values = self.values(arguments)?;
        let keep = (0..orders.num_rows()).map(|row| {
            let order = orders.row(row);
            if self.is_after_all(order) {
                return false;
            }
            if arguments.iter().any(|argument| missing(argument, row)) {
                if keep_empty {
                    self.count(order);
                }
                return keep_empty;
            }
            self.admit(values.row(row).as_ref(), order, count)
        });
        Ok(keep.collect())
    }

    fn values(&mut self, arguments: &[ArrayRef]) -> Result<Rows> {
        let converter = match &mut self.values {
            Some(converter) => converter,
            empty => {
                let types = arguments.iter().map(|a| SortField::new(a.data_type().clone()));
                empty.insert(RowConverter::new(types.collect())?)
            }
        };
        Ok(converter.convert_columns(arguments)?)
    }

    fn runs(
        &mut self,
        count: usize,
        keep_empty: bool,
        orders: &Rows,
        arguments: &[ArrayRef],
    ) -> Result<BooleanBuffer> {
        let values = self.values(arguments)?;
        // The last row with values in the order of arrival, and the length of its run.
        let (mut last, mut length) = (None, 0_usize);
        let keep = (0..orders.num_rows()).map(|row| {
            let order = orders.row(row);
            if self.is_after_all(order) {
                return false;
            }
            let lacks = arguments.iter().any(|argument| missing(argument, row));
            if lacks && !keep_empty {
                return false;
            }
            let value = (!lacks).then(|| values.row(row));
            if value.is_some() {
                length = if value == last { length + 1 } else { 1 };
                last = value;
            }
            // Most rows of a long run are not used, so they need not be remembered.
            let is_new = lacks || length <= count;
            let room = |runs: &&mut Runs| !self.is_full && runs.bytes() <= BYTES;
            if let Some(runs) = self.runs.as_mut().filter(room).filter(|_| is_new) {
                runs.add(order, value.as_ref().map(AsRef::as_ref));
            }
            true
        });
        let keep = keep.collect();
        if let Some(runs) = &mut self.runs {
            let end = runs.settle(BYTES);
            self.bytes = runs.bytes();
            self.is_full |= self.bytes > BYTES;
            if let Some(end) = end {
                self.end_at(end.row());
            }
        }
        Ok(keep)
    }

    /// Whether a row is among the first rows of its combination so far.
    fn admit(&mut self, values: &[u8], order: Row<'_>, count: usize) -> bool {
        self.is_full |= self.bytes > BYTES || self.bytes / ROW > MOST;
        if let Some(known) = self.seen.get_mut(values) {
            // After rows with an equal sort key: the earlier arrival wins.
            let at = known.partition_point(|other| other.row() <= order);
            if at >= count {
                return false;
            }
            if known.len() >= count {
                if let (Some(gone), Some(first)) = (known.pop(), &mut self.first) {
                    first.remove(&gone);
                }
            } else if self.is_full {
                return true;
            } else {
                self.bytes += ROW;
            }
            known.insert(at, order.owned());
        } else if self.is_full {
            return true;
        } else {
            self.bytes += ROW + values.len();
            self.seen.insert(values.into(), vec![order.owned()]);
        }
        self.count(order);
        true
    }

    fn until_it_fails(
        &mut self,
        null: bool,
        orders: &Rows,
        arguments: &[ArrayRef],
    ) -> BooleanBuffer {
        let condition = arguments.first().and_then(|condition| condition.as_boolean_opt());
        let keep = (0..orders.num_rows()).map(|row| {
            let order = orders.row(row);
            if self.is_after_all(order) {
                return false;
            }
            let fails = condition.is_some_and(|condition| match condition.is_null(row) {
                true => !null,
                false => !condition.value(row),
            });
            if fails {
                self.end_at(order);
            }
            self.count(order);
            true
        });
        keep.collect()
    }

    fn is_after_all(&self, order: Row<'_>) -> bool {
        self.until.as_ref().is_some_and(|until| order > until.row())
    }

    fn end_at(&mut self, order: Row<'_>) {
        if self.until.as_ref().is_none_or(|until| order < until.row()) {
            self.until = Some(order.owned());
        }
    }

    fn count(&mut self, order: Row<'_>) {
        if let Some(first) = &mut self.first {
            first.add(order);
        }
    }
}

/// The first rows in order among those that are used so far, up to a maximum number.
struct First {
    most: usize,
    /// Their sort keys, with the number of rows that have each.
    rows: BTreeMap<OwnedRow, usize>,
    len: usize,
}

impl First {
    fn bytes(&self) -> usize {
        self.rows.len() * ROW
    }

    /// Returns the last of them once the maximum is reached: later rows are not used.
    fn last(&self) -> Option<&OwnedRow> {
        let last = self.rows.last_key_value().filter(|_| self.len >= self.most);
        last.map(|(row, _)| row)
    }

    fn add(&mut self, row: Row<'_>) {
        if self.last().is_some_and(|last| row >= last.row()) {
            return;
        }
        *self.rows.entry(row.owned()).or_insert(0) += 1;
        self.len += 1;
        if self.len > self.most
            && let Some(last) = self.last().cloned()
        {
            self.remove(&last);
        }
    }

    /// Removes a row, because an earlier row of its combination of values has arrived.
    fn remove(&mut self, row: &OwnedRow) {
        let Some(count) = self.rows.get_mut(row) else { return };
        *count -= 1;
        if *count == 0 {
            self.rows.remove(row);
        }
        self.len -= 1;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::{Int64Array, StringArray};
    use arrow::compute::SortOptions;
    use arrow::datatypes::DataType;
    use proptest::prelude::*;

    use super::*;

    /// Newest first.
    fn state(reduction: Reduction) -> State {
        let options = SortOptions { descending: true, nulls_first: false };
        let order = vec![SortField::new_with_options(DataType::Int64, options)];
        State::new(reduction, order).unwrap()
    }

    fn times(times: &[i64]) -> Vec<ArrayRef> {
        vec![Arc::new(Int64Array::from(times.to_vec()))]
    }

    fn texts(values: &[Option<&str>]) -> Vec<ArrayRef> {
        vec![Arc::new(StringArray::from(values.to_vec()))]
    }

    fn kept(state: &mut State, orders: &[i64], arguments: &[ArrayRef]) -> Vec<bool> {
        state.keep(&times(orders), arguments).unwrap().iter().collect()
    }

    /// Returns the time from which on rows are used.
    fn until(state: &State) -> Option<i64> {
        let rows = state.until.as_ref().map(|until| until.row());
        let column = state.orders.convert_rows(rows).unwrap();
        column[0].as_primitive::<arrow::datatypes::Int64Type>().iter().flatten().next()
    }

    #[test]
    fn later_rows_of_a_combination_are_dropped_in_any_order_of_arrival() {
        let reduction = Reduction::Each { count: 2, keep_empty: false, first: None };
        let mut state = state(reduction);
        let a = texts(&[Some("a"), Some("a"), Some("a"), Some("b"), None]);
        assert_eq!(kept(&mut state, &[7, 9, 8, 1, 9], &a), [true, true, true, true, false]);
        // 9 and 8 are known by now; of two rows with equal times, the first one is kept.
        assert_eq!(kept(&mut state, &[8, 7, 10, 9, 0], &a), [false, false, true, true, false]);
        assert_eq!(until(&state), None);
    }

    #[test]
    fn the_end_is_known_once_there_are_enough_combinations() {
        let reduction = Reduction::Each { count: 1, keep_empty: true, first: Some(2) };
        let mut state = state(reduction);
        kept(&mut state, &[5, 4], &texts(&[Some("a"), Some("a")]));
        assert_eq!(until(&state), None);
        kept(&mut state, &[3], &texts(&[Some("b")]));
        assert_eq!(until(&state), Some(3));
        let more = texts(&[Some("c"), Some("b"), None]);
        assert_eq!(kept(&mut state, &[2, 4, 1], &more), [false, true, false]);
        assert_eq!(until(&state), Some(4));
        assert_eq!(kept(&mut state, &[5], &texts(&[None])), [true]);
        assert_eq!(until(&state), Some(5));
    }

    #[test]
    fn the_end_is_known_once_there_are_enough_runs() {
        let mut state = state(Reduction::Runs { count: 1, keep_empty: true, first: 3 });
        // Of rows with equal times only one counts.
        let a = texts(&[Some("a"), Some("a"), Some("b"), Some("a")]);
        assert_eq!(kept(&mut state, &[9, 8, 7, 7], &a), [true; 4]);
        assert_eq!(until(&state), None);
        kept(&mut state, &[5], &texts(&[None]));
        assert_eq!(until(&state), Some(5));
        // The first run is split.
        let more = texts(&[Some("c"), Some("a"), Some("a")]);
        assert_eq!(kept(&mut state, &[10, 4, 6], &more), [true, false, true]);
        assert_eq!(until(&state), Some(7));
        assert_eq!(state.runs.as_ref().map(Runs::len), Some(3));
    }

    #[test]
    fn a_long_run_leaves_room_for_the_next() {
        let mut state = state(Reduction::Runs { count: 2, keep_empty: false, first: 4 });
        // More than may be remembered, if each row were.
        let long = "a".repeat(1_000);
        let mut values = vec![Some(long.as_str()); BYTES / 1_000];
        values.extend([Some("b"), None, Some("b"), Some("b")]);
        let times: Vec<i64> = (0..i64::try_from(values.len()).unwrap()).rev().collect();
        assert!(kept(&mut state, &times, &texts(&values))[..values.len() - 3].iter().all(|k| *k));
        assert_eq!(until(&state), Some(1));
    }

    #[test]
    fn rows_that_lack_a_value_neither_count_nor_end_a_run() {
        let mut state = state(Reduction::Runs { count: 1, keep_empty: false, first: 2 });
        let a = texts(&[Some("a"), None, Some("a"), Some("b")]);
        assert_eq!(kept(&mut state, &[9, 8, 7, 6], &a), [true, false, true, true]);
        assert_eq!(until(&state), Some(6));
    }

    #[test]
    fn rows_after_one_that_fails_are_dropped() {
        let condition = |values: &[Option<bool>]| -> Vec<ArrayRef> {
            vec![Arc::new(BooleanArray::from(values.to_vec()))]
        };
        let mut open = state(Reduction::While { null: true, first: None });
        let values = condition(&[Some(true), None, Some(false), Some(true)]);
        assert_eq!(kept(&mut open, &[5, 6, 3, 2], &values), [true, true, true, false]);
        assert_eq!(until(&open), Some(3));
        let mut limited = state(Reduction::While { null: false, first: Some(1) });
        kept(&mut limited, &[1, 9], &condition(&[Some(true), Some(true)]));
        assert_eq!(until(&limited), Some(9));
        kept(&mut limited, &[11, 10], &condition(&[None, Some(true)]));
        assert_eq!(until(&limited), Some(11));
    }

    #[test]
    fn nothing_is_remembered_beyond_the_limit() {
        let reduction = Reduction::Each { count: 1, keep_empty: false, first: None };
        let mut state = state(reduction);
        state.is_full = true;
        let a = texts(&[Some("a"), Some("a")]);
        assert_eq!(kept(&mut state, &[1, 2], &a), [true, true]);
        assert_eq!((state.seen.len(), state.bytes), (0, 0));
    }

    /// Returns the indexes of the rows that `dedup` and `head` keep.
    fn used(rows: &[(i64, u8)], count: usize, first: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(rows[*at].0));
        let mut seen = [0; 256];
        order.retain(|at| {
            let of_value = &mut seen[usize::from(rows[*at].1)];
            *of_value += 1;
            *of_value <= count
        });
        order.truncate(first);
        order
    }

    /// Returns the indexes of the rows that `dedup consecutive=t` and `head` keep; value 0 is a missing one.
    /// Rows with equal times are in their order, or the reverse.
    fn used_of_runs(
        rows: &[(i64, u8)],
        (count, keep_empty, first): (usize, bool, usize),
        reversed: bool,
    ) -> Vec<usize> {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        if reversed {
            order.reverse();
        }
        order.sort_by_key(|at| std::cmp::Reverse(rows[*at].0));
        let mut run = (0, 0);
        order.retain(|at| match rows[*at].1 {
            0 => keep_empty,
            value => {
                run = if run.0 == value { (value, run.1 + 1) } else { (value, 1) };
                run.1 <= count
            }
        });
        order.truncate(first);
        order
    }

    proptest! {
        #[test]
        fn every_row_of_the_result_is_left(
            rows in prop::collection::vec((0_i64..1_000_000, 0_u8..6), 0..80),
            count in 1_usize..4,
            first in 1_usize..20,
            batch in 1_usize..20,
        ) {
            let reduction = Reduction::Each { count, keep_empty: false, first: Some(first) };
            let mut state = state(reduction);
            let mut left = Vec::new();
            for part in rows.chunks(batch) {
                let (orders, values): (Vec<i64>, Vec<String>) =
                    part.iter().map(|(time, value)| (*time, value.to_string())).unzip();
                let values: Vec<Option<&str>> = values.iter().map(|v| Some(v.as_str())).collect();
                left.extend(kept(&mut state, &orders, &texts(&values)));
            }
            let mut sorted: Vec<i64> = rows.iter().map(|row| row.0).collect();
            sorted.sort_unstable();
            sorted.dedup();
            // Rows with equal times have no defined order.
            prop_assume!(sorted.len() == rows.len());
            for at in used(&rows, count, first) {
                prop_assert!(left[at], "row {at} of {rows:?}");
            }
        }

        #[test]
        fn every_used_row_of_a_run_is_left(
            // Many rows have equal times.
            rows in prop::collection::vec((0_i64..40, 0_u8..4), 0..80),
            count in 1_usize..4,
            keep_empty: bool,
            first in 1_usize..20,
            batch in 1_usize..20,
        ) {
            let mut state = state(Reduction::Runs { count, keep_empty, first });
            let mut left = Vec::new();
            for part in rows.chunks(batch) {
                let orders: Vec<i64> = part.iter().map(|(time, _)| *time).collect();
                let values: Vec<String> = part.iter().map(|(_, value)| value.to_string()).collect();
                let values: Vec<Option<&str>> =
                    values.iter().map(|v| Some(v.as_str()).filter(|v| *v != "0")).collect();
                left.extend(kept(&mut state, &orders, &texts(&values)));
            }
            for reversed in [false, true] {
                for at in used_of_runs(&rows, (count, keep_empty, first), reversed) {
                    prop_assert!(left[at], "row {at} of {rows:?}");
                }
            }
        }
    }
}
