//! `streamstats`: running aggregates of each row, per group or over a sliding window.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::TimestampMicrosecondType;
use arrow::row::{OwnedRow, RowConverter, SortField};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::Accumulator;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use exprs::ledger::Charge;
use exprs::stopping::stopped;
use hashbrown::HashMap;
use tables::{Steps, Stop};

use super::{Output, ResultCondition, StreamOp, StreamRun};
use crate::Error;

/// The previous rows that are aggregated for a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// All previous rows.
    All,
    /// The last rows up to this number, including the current row.
    Rows(usize),
    /// Rows whose time (the argument after the group keys) differs by less than this number of microseconds
    /// from the row's.
    Time(i64),
}

/// Running aggregates. Arguments: the group keys, the time if the window needs it, `reset_before` and
/// `reset_after` if present, the columns that `reset_after_result` reads, then the arguments of the
/// aggregates.
#[derive(Debug, Clone)]
pub struct Streamstats {
    /// Number of arguments that are group keys.
    pub keys: usize,
    /// The previous rows that are aggregated for a row.
    pub window: Window,
    /// Whether the current row is included.
    pub current: bool,
    /// Whether there is one window over the rows of all groups instead of one per group.
    pub global: bool,
    /// Whether the aggregates are reset when the group changes.
    pub reset_on_change: bool,
    /// Whether an argument resets the aggregates before a row.
    pub reset_before: bool,
    /// Whether an argument resets the aggregates after a row.
    pub reset_after: bool,
    /// The condition on the results of a row that resets the aggregates after it.
    pub reset_after_result: Option<ResultCondition>,
    /// Maximum number of remembered groups.
    pub groups: usize,
    /// Maximum number of rows in a window.
    pub window_rows: usize,
}

impl StreamOp for Streamstats {
    fn name(&self) -> &'static str {
        "Streamstats"
    }

    fn start(&self, aggregates: &[Arc<AggregateFunctionExpr>]) -> Result<Box<dyn StreamRun>> {
        Ok(Box::new(Run {
            op: self.clone(),
            aggregates: aggregates.to_vec(),
            converter: None,
            groups: HashMap::new(),
            shared: VecDeque::new(),
            last_key: None,
            memory: Charge::default(),
            steps: Steps::default(),
        }))
    }
}

/// The work that a result counts for, in steps: `values(x)` over all rows before it may be 100,000 texts.
const RESULT: usize = 64;

type Accumulators = Vec<Box<dyn Accumulator>>;

/// A row in a window: its group, its time, and the arguments of the aggregates.
#[derive(Debug, Clone)]
struct Past {
    key: Option<OwnedRow>,
    time: i64,
    values: Vec<ArrayRef>,
}

struct Group {
    running: Accumulators,
    window: VecDeque<Past>,
}

struct Run {
    op: Streamstats,
    aggregates: Vec<Arc<AggregateFunctionExpr>>,
    converter: Option<RowConverter>,
    groups: HashMap<Option<OwnedRow>, Group>,
    shared: VecDeque<Past>,
    last_key: Option<OwnedRow>,
    memory: Charge,
    steps: Steps,
}

impl StreamRun for Run {
    fn counts(&mut self, memory: Charge) {
        self.memory = memory;
    }

    fn until(&mut self, stop: Stop) {
        self.steps = Steps::new(stop);
    }

    fn push(&mut self, arguments: &[ArrayRef], rows: usize) -> Result<Output> {
        let (keys, mut rest) = arguments.split_at(self.op.keys);
        let mut take = |wanted: bool| {
            let (found, left) = rest.split_at(usize::from(wanted));
            rest = left;
            found.first().cloned()
        };
        let times = take(matches!(self.op.window, Window::Time(_)));
        let before = take(self.op.reset_before);
        let after = take(self.op.reset_after);
        let read = self.op.reset_after_result.as_ref().map_or(0, ResultCondition::inputs);
        let (inputs, rest) = rest.split_at(read);
        let key_rows = self.convert(keys)?;
        let mut results: Vec<Vec<ScalarValue>> =
            self.aggregates.iter().map(|_| Vec::with_capacity(rows)).collect();
        // The memory of each row's lists is charged: they contain values of previous rows, and those of all
        // rows exist at the same time.
        let mut lists = self.memory.beside();
        for row in 0..rows {
            self.steps.take(RESULT).map_err(stopped)?;
            if truth(before.as_ref(), row) {
                self.reset();
            }
            let key = key_rows.as_ref().map(|keys| keys.row(row).owned());
            let time = times
                .as_ref()
                .map_or(0, |times| times.as_primitive::<TimestampMicrosecondType>().value(row));
            let missing = keys.iter().any(|key| key.is_null(row));
            let past = Past { key, time, values: rest.iter().map(|a| a.slice(row, 1)).collect() };
            self.row(past, missing, &mut results)?;
            let made = results.iter().filter_map(|values| values.last());
            lists.grow(made.map(list_bytes).sum())?;
            let is_met = match &self.op.reset_after_result {
                Some(condition) => condition.holds(inputs, row, &results)?,
                None => truth(after.as_ref(), row),
            };
            if is_met {
                self.reset();
            }
        }
        let added = results.into_iter().zip(&self.aggregates).map(|(values, aggregate)| {
            if values.is_empty() {
                return Ok(arrow::array::new_empty_array(aggregate.field().data_type()));
            }
            ScalarValue::iter_to_array(values)
        });
        Ok(Output { added: added.collect::<Result<_>>()?, ..Output::default() })
    }
}

impl Run {
    fn convert(&mut self, keys: &[ArrayRef]) -> Result<Option<arrow::row::Rows>> {
        if keys.is_empty() {
            return Ok(None);
        }
        let converter = match &mut self.converter {
            Some(converter) => converter,
            empty => {
                let types = keys.iter().map(|key| SortField::new(key.data_type().clone()));
                empty.insert(RowConverter::new(types.collect())?)
            }
        };
        Ok(Some(converter.convert_columns(keys)?))
    }

    fn reset(&mut self) {
        self.groups.clear();
        self.shared.clear();
    }

    fn row(&mut self, past: Past, missing: bool, results: &mut [Vec<ScalarValue>]) -> Result<()> {
        if missing {
            for (result, aggregate) in results.iter_mut().zip(&self.aggregates) {
                result.push(ScalarValue::try_from(aggregate.field().data_type())?);
            }
            return Ok(());
        }
        if self.op.reset_on_change && self.last_key != past.key {
            self.reset();
            self.last_key.clone_from(&past.key);
        }
        match self.op.window {
            Window::All => self.running(past, results),
            _ if self.op.global => self.global_window(past, results),
            _ => self.group_window(past, results),
        }
    }

    /// Without a window: values are only added to the accumulators.
    fn running(&mut self, past: Past, results: &mut [Vec<ScalarValue>]) -> Result<()> {
        let current = self.op.current;
        let (aggregates, group) = self.group(past.key)?;
        if current {
            update(aggregates, &mut group.running, &past.values)?;
        }
        evaluate(&mut group.running, results)?;
        if !current {
            update(aggregates, &mut group.running, &past.values)?;
        }
        Ok(())
    }

    /// The window contains rows of all groups; only those of the current row's group are aggregated.
    fn global_window(&mut self, past: Past, results: &mut [Vec<ScalarValue>]) -> Result<()> {
        let key = past.key.clone();
        slide(&self.op, &mut self.shared, past)?;
        // Skipping rows of other groups takes time, too.
        self.steps.take(self.shared.len()).map_err(stopped)?;
        let rows = counted(&self.op, &self.shared).filter(|row| row.key == key);
        recompute(&self.aggregates, rows, &mut self.steps, results)
    }

    fn group_window(&mut self, past: Past, results: &mut [Vec<ScalarValue>]) -> Result<()> {
        let op = self.op.clone();
        let mut steps = std::mem::take(&mut self.steps);
        let (aggregates, group) = self.group(past.key.clone())?;
        slide(&op, &mut group.window, past)?;
        let done = recompute(aggregates, counted(&op, &group.window), &mut steps, results);
        self.steps = steps;
        done
    }

    fn group(
        &mut self,
        key: Option<OwnedRow>,
    ) -> Result<(&[Arc<AggregateFunctionExpr>], &mut Group)> {
        let limit = self.op.groups;
        if self.groups.len() >= limit && !self.groups.contains_key(&key) {
            let message = format!("streamstats met more than {limit} groups (limit groups)");
            return Err(Error::Exhausted { message }.into());
        }
        let group = match self.groups.entry(key) {
            hashbrown::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            hashbrown::hash_map::Entry::Vacant(entry) => {
                let running = accumulators(&self.aggregates)?;
                entry.insert(Group { running, window: VecDeque::new() })
            }
        };
        Ok((&self.aggregates, group))
    }
}

/// Returns the size of a list value, doubled: it exists by itself and in the result column.
fn list_bytes(value: &ScalarValue) -> usize {
    match value {
        ScalarValue::List(list) => 2 * list.get_buffer_memory_size(),
        _ => 0,
    }
}

fn truth(condition: Option<&ArrayRef>, row: usize) -> bool {
    condition.is_some_and(|array| {
        let array = array.as_boolean();
        array.is_valid(row) && array.value(row)
    })
}

fn accumulators(aggregates: &[Arc<AggregateFunctionExpr>]) -> Result<Accumulators> {
    aggregates.iter().map(|aggregate| aggregate.create_accumulator()).collect()
}

/// Adds a row, and drops those that are no longer in the window.
fn slide(op: &Streamstats, window: &mut VecDeque<Past>, past: Past) -> Result<()> {
    let now = past.time;
    window.push_back(past);
    match op.window {
        Window::All => {}
        Window::Rows(rows) => {
            let held = rows + usize::from(!op.current);
            while window.len() > held {
                window.pop_front();
            }
        }
        Window::Time(span) => {
            while window.front().is_some_and(|row| (row.time - now).abs() >= span) {
                window.pop_front();
            }
            if window.len() > op.window_rows {
                let limit = op.window_rows;
                let message =
                    format!("a time window holds more than {limit} rows (limit stream_window)");
                return Err(Error::Exhausted { message }.into());
            }
        }
    }
    Ok(())
}

/// Returns the rows that are aggregated for the last one of a window.
fn counted<'w>(
    op: &Streamstats,
    window: &'w VecDeque<Past>,
) -> impl Iterator<Item = &'w Past> + use<'w> {
    let rows = if op.current { window.len() } else { window.len().saturating_sub(1) };
    // If rows are not in the order of time, some after the first one may be outside of the span.
    let span = match op.window {
        Window::Time(span) => span,
        Window::All | Window::Rows(_) => i64::MAX,
    };
    let now = window.back().map_or(0, |row| row.time);
    window.iter().take(rows).filter(move |row| (row.time - now).abs() < span)
}

fn recompute<'w>(
    aggregates: &[Arc<AggregateFunctionExpr>],
    rows: impl Iterator<Item = &'w Past>,
    steps: &mut Steps,
    results: &mut [Vec<ScalarValue>],
) -> Result<()> {
    let mut fresh = accumulators(aggregates)?;
    for row in rows {
        steps.take(aggregates.len()).map_err(stopped)?;
        update(aggregates, &mut fresh, &row.values)?;
    }
    evaluate(&mut fresh, results)
}

fn update(
    aggregates: &[Arc<AggregateFunctionExpr>],
    accumulators: &mut Accumulators,
    values: &[ArrayRef],
) -> Result<()> {
    let mut rest = values;
    for (aggregate, accumulator) in aggregates.iter().zip(accumulators) {
        let (own, left) = rest.split_at(aggregate.expressions().len());
        accumulator.update_batch(own)?;
        rest = left;
    }
    Ok(())
}

fn evaluate(accumulators: &mut Accumulators, results: &mut [Vec<ScalarValue>]) -> Result<()> {
    for (accumulator, result) in accumulators.iter_mut().zip(results) {
        result.push(accumulator.evaluate()?);
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use arrow::array::Float64Array;
    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::functions_aggregate::sum::sum_udaf;
    use datafusion::physical_expr::aggregate::AggregateExprBuilder;
    use datafusion::physical_expr::expressions::col;

    use super::*;

    /// Returns a run that sums over the last rows, and the counter of its cancellation checks.
    fn windows(rows: usize, global: bool) -> (Box<dyn StreamRun>, Arc<AtomicUsize>) {
        let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Float64, true)]));
        let sum = AggregateExprBuilder::new(sum_udaf(), vec![col("x", &schema).unwrap()])
            .schema(schema)
            .alias("sum")
            .build()
            .unwrap();
        let op = Streamstats {
            keys: 0,
            window: Window::Rows(rows),
            current: true,
            global,
            reset_on_change: false,
            reset_before: false,
            reset_after: false,
            reset_after_result: None,
            groups: 10,
            window_rows: rows,
        };
        let mut run = op.start(&[Arc::new(sum)]).unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        run.until(Stop::when(move || count.fetch_add(1, Relaxed) == 3));
        (run, asked)
    }

    #[test]
    fn a_window_of_many_rows_ends_within_a_batch_when_nobody_waits() {
        for global in [true, false] {
            let (mut run, asked) = windows(1_000, global);
            let values: ArrayRef = Arc::new(Float64Array::from(vec![1.0; 8192]));
            let error = run.push(&[values], 8192).unwrap_err();
            assert!(matches!(Error::from(error), Error::Cancelled));
            assert_eq!(asked.load(Relaxed), 4);
        }
    }

    #[test]
    fn few_rows_are_not_worth_a_question() {
        let (mut run, asked) = windows(3, false);
        let values: ArrayRef = Arc::new(Float64Array::from(vec![1.0; 50]));
        assert_eq!(run.push(&[values], 50).unwrap().added[0].len(), 50);
        assert_eq!(asked.load(Relaxed), 0);
    }
}
