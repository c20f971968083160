//! `streamstats`: running aggregates of each row, per group or over a sliding window.

mod floats;
mod windowed;

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

use self::windowed::{Aggregate, Columns, Past, Sliding, any_is_computed, evaluate};
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
    Time {
        span: i64,
        /// Maximum number of rows, including the current row; `None`: more than [`Streamstats::window_rows`]
        /// are an error.
        rows: Option<usize>,
    },
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
            // Rows leave a window of time as the time of another row demands it, not in their order.
            aggregates: Aggregate::of_all(aggregates, matches!(self.window, Window::Rows(_))),
            converter: None,
            groups: HashMap::new(),
            shared: Held::default(),
            last_key: None,
            memory: Charge::default(),
            steps: Steps::default(),
        }))
    }
}

/// The work that a result counts for, in steps: `values(x)` over all rows before it may be 100,000 texts.
const RESULT: usize = 64;

type Accumulators = Vec<Box<dyn Accumulator>>;

/// The rows of a window, the oldest first.
#[derive(Default)]
struct Held {
    rows: VecDeque<Past>,
    /// The aggregates that follow the window, of each group with rows in it.
    sliding: HashMap<Option<OwnedRow>, Sliding>,
}

struct Group {
    running: Accumulators,
    window: Held,
}

struct Run {
    op: Streamstats,
    aggregates: Vec<Aggregate>,
    converter: Option<RowConverter>,
    groups: HashMap<Option<OwnedRow>, Group>,
    shared: Held,
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
        let times = take(matches!(self.op.window, Window::Time { .. }));
        let before = take(self.op.reset_before);
        let after = take(self.op.reset_after);
        let read = self.op.reset_after_result.as_ref().map_or(0, ResultCondition::inputs);
        let (inputs, rest) = rest.split_at(read);
        let columns: Columns = rest.into();
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
            let past = Past { key, time, columns: Arc::clone(&columns), row };
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
                return Ok(arrow::array::new_empty_array(aggregate.function.field().data_type()));
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
        self.shared = Held::default();
    }

    fn row(&mut self, past: Past, missing: bool, results: &mut [Vec<ScalarValue>]) -> Result<()> {
        if missing {
            for (result, aggregate) in results.iter_mut().zip(&self.aggregates) {
                result.push(ScalarValue::try_from(aggregate.function.field().data_type())?);
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
    fn running(&mut self, mut past: Past, results: &mut [Vec<ScalarValue>]) -> Result<()> {
        let Self { op, aggregates, groups, .. } = self;
        let accumulators = &mut group(op, aggregates, groups, past.key.take())?.running;
        if op.current {
            add(aggregates, accumulators, &past)?;
        }
        for (accumulator, result) in accumulators.iter_mut().zip(results) {
            result.push(accumulator.evaluate()?);
        }
        if !op.current {
            add(aggregates, accumulators, &past)?;
        }
        Ok(())
    }

    /// The window contains rows of all groups; only those of the current row's group are aggregated.
    fn global_window(&mut self, past: Past, results: &mut [Vec<ScalarValue>]) -> Result<()> {
        let Self { op, aggregates, shared, steps, .. } = self;
        shared.row(op, aggregates, past, steps, results)
    }

    fn group_window(&mut self, mut past: Past, results: &mut [Vec<ScalarValue>]) -> Result<()> {
        let Self { op, aggregates, groups, steps, .. } = self;
        let group = group(op, aggregates, groups, past.key.take())?;
        group.window.row(op, aggregates, past, steps, results)
    }
}

fn group<'g>(
    op: &Streamstats,
    aggregates: &[Aggregate],
    groups: &'g mut HashMap<Option<OwnedRow>, Group>,
    key: Option<OwnedRow>,
) -> Result<&'g mut Group> {
    let limit = op.groups;
    if groups.len() >= limit && !groups.contains_key(&key) {
        let message = format!("streamstats met more than {limit} groups (a fixed limit)");
        return Err(Error::Exhausted { message }.into());
    }
    Ok(match groups.entry(key) {
        hashbrown::hash_map::Entry::Occupied(entry) => entry.into_mut(),
        hashbrown::hash_map::Entry::Vacant(entry) => {
            let running = match op.window {
                Window::All => {
                    let functions = aggregates.iter().map(|aggregate| &aggregate.function);
                    let made = functions.map(|function| function.create_accumulator());
                    made.collect::<Result<Accumulators>>()?
                }
                Window::Rows(_) | Window::Time { .. } => Vec::new(),
            };
            entry.insert(Group { running, window: Held::default() })
        }
    })
}

fn add(aggregates: &[Aggregate], accumulators: &mut Accumulators, row: &Past) -> Result<()> {
    let mut each = aggregates.iter().zip(accumulators);
    each.try_for_each(|(aggregate, accumulator)| aggregate.add(row, accumulator.as_mut()))
}

impl Held {
    /// Adds a row and appends its results, those of the rows of its group in the window.
    fn row(
        &mut self,
        op: &Streamstats,
        aggregates: &[Aggregate],
        past: Past,
        steps: &mut Steps,
        results: &mut [Vec<ScalarValue>],
    ) -> Result<()> {
        let (key, now) = (past.key.clone(), past.time);
        let mut later = Some(past);
        if op.current
            && let Some(past) = later.take()
        {
            self.enter(aggregates, past)?;
        }
        self.slide(op, aggregates, now, usize::from(later.is_some()))?;
        let sliding = self.sliding.get_mut(&key);
        if any_is_computed(aggregates, sliding.as_deref()) {
            // Skipping rows of other groups takes time, too.
            steps.take(self.rows.len()).map_err(stopped)?;
        }
        // If rows are not in the order of time, some after the first one may be outside of the span.
        let span = match op.window {
            Window::Time { span, .. } => span,
            Window::All | Window::Rows(_) => i64::MAX,
        };
        let rows = self.rows.iter();
        let rows = rows.filter(|row| (row.time - now).abs() < span && row.key == key);
        evaluate(aggregates, sliding, rows, steps, results)?;
        match later {
            Some(past) => self.enter(aggregates, past),
            None => Ok(()),
        }
    }

    fn enter(&mut self, aggregates: &[Aggregate], past: Past) -> Result<()> {
        if aggregates.iter().any(|aggregate| aggregate.slides) {
            match self.sliding.get_mut(&past.key) {
                Some(sliding) => sliding.enter(aggregates, &past)?,
                None => {
                    let mut sliding = Sliding::new(aggregates)?;
                    sliding.enter(aggregates, &past)?;
                    self.sliding.insert(past.key.clone(), sliding);
                }
            }
        }
        self.rows.push_back(past);
        Ok(())
    }

    /// Drops the rows that are no longer in the window; `more` rows will enter it.
    fn slide(
        &mut self,
        op: &Streamstats,
        aggregates: &[Aggregate],
        now: i64,
        more: usize,
    ) -> Result<()> {
        match op.window {
            Window::All => {}
            Window::Rows(rows) => self.keep(aggregates, rows)?,
            Window::Time { span, rows } => {
                while self.rows.front().is_some_and(|row| (row.time - now).abs() >= span) {
                    self.leave(aggregates)?;
                }
                if let Some(rows) = rows {
                    self.keep(aggregates, rows)?;
                } else if self.rows.len() + more > op.window_rows {
                    let limit = op.window_rows;
                    let message = format!(
                        "a time window holds more than {limit} rows (max_stream_window in limits.conf [streamstats])"
                    );
                    return Err(Error::Exhausted { message }.into());
                }
            }
        }
        Ok(())
    }

    /// Drops all rows but the last ones.
    fn keep(&mut self, aggregates: &[Aggregate], rows: usize) -> Result<()> {
        while self.rows.len() > rows {
            self.leave(aggregates)?;
        }
        Ok(())
    }

    fn leave(&mut self, aggregates: &[Aggregate]) -> Result<()> {
        let Some(past) = self.rows.pop_front() else { return Ok(()) };
        let Some(sliding) = self.sliding.get_mut(&past.key) else { return Ok(()) };
        if sliding.rows > 1 {
            return sliding.leave(aggregates, &past);
        }
        self.sliding.remove(&past.key);
        Ok(())
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use arrow::array::{BooleanArray, Float64Array, StringArray, TimestampMicrosecondArray};
    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::functions_aggregate::average::avg_udaf;
    use datafusion::functions_aggregate::count::count_udaf;
    use datafusion::functions_aggregate::median::median_udaf;
    use datafusion::functions_aggregate::min_max::{max_udaf, min_udaf};
    use datafusion::functions_aggregate::sum::sum_udaf;
    use datafusion::logical_expr::AggregateUDF;
    use datafusion::physical_expr::aggregate::AggregateExprBuilder;
    use datafusion::physical_expr::expressions::col;

    use super::*;

    /// Returns an aggregate of numbers.
    fn aggregate(udaf: Arc<AggregateUDF>) -> Arc<AggregateFunctionExpr> {
        let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Float64, true)]));
        let argument = col("x", &schema).unwrap();
        let builder = AggregateExprBuilder::new(udaf, vec![argument]);
        Arc::new(builder.schema(schema).alias("aggregate").build().unwrap())
    }

    fn op(window: Window) -> Streamstats {
        Streamstats {
            keys: 0,
            window,
            current: true,
            global: true,
            reset_on_change: false,
            reset_before: false,
            reset_after: false,
            reset_after_result: None,
            groups: 10,
            window_rows: 1_000,
        }
    }

    /// Returns a run that sums over the last rows, and the counter of its cancellation checks.
    fn windows(rows: usize, global: bool) -> (Box<dyn StreamRun>, Arc<AtomicUsize>) {
        let op = Streamstats { global, ..op(Window::Rows(rows)) };
        let mut run = op.start(&[aggregate(sum_udaf())]).unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        run.until(Stop::when(move || count.fetch_add(1, Relaxed) == 3));
        (run, asked)
    }

    /// The rows of a test, with a number, a whole number, and a number that most rows do not have.
    struct Table {
        keys: Vec<Option<&'static str>>,
        times: Vec<i64>,
        before: Vec<bool>,
        after: Vec<bool>,
        numbers: Vec<Option<f64>>,
        whole: Vec<Option<f64>>,
        rare: Vec<Option<f64>>,
    }

    /// Returns random rows in descending order of time. Seed: 1.
    fn table(rows: usize) -> Table {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            let factor = 6_364_136_223_846_793_005;
            state = state.wrapping_mul(factor).wrapping_add(1_442_695_040_888_963);
            u32::try_from((state >> 33) % below).unwrap()
        };
        let mut time = 1_000_000;
        let mut table = Table {
            keys: Vec::new(),
            times: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
            numbers: Vec::new(),
            whole: Vec::new(),
            rare: Vec::new(),
        };
        for _ in 0..rows {
            time -= i64::from(random(3));
            let number = f64::from(random(1_000)) / 7.0;
            table.keys.push([Some("a"), Some("b"), Some("c"), None][random(4) as usize]);
            table.times.push(time);
            table.before.push(random(40) == 0);
            table.after.push(random(40) == 0);
            table.numbers.push(match random(40) {
                0..=3 => None,
                4..=7 => Some(number * 1e15),
                8 => Some([f64::NAN, f64::INFINITY, f64::NEG_INFINITY][random(3) as usize]),
                _ => Some(number),
            });
            table.whole.push((random(10) > 0).then(|| f64::from(random(1_000)) - 500.0));
            table.rare.push(match random(30) {
                0 => Some(-0.0),
                1 => Some(0.0),
                2 => Some(number),
                _ => None,
            });
        }
        table
    }

    impl Table {
        fn columns(&self, op: &Streamstats, aggregates: usize) -> Vec<ArrayRef> {
            let mut columns: Vec<ArrayRef> = Vec::new();
            if op.keys > 0 {
                columns.push(Arc::new(StringArray::from(self.keys.clone())));
            }
            if matches!(op.window, Window::Time { .. }) {
                columns.push(Arc::new(TimestampMicrosecondArray::from(self.times.clone())));
            }
            if op.reset_before {
                columns.push(Arc::new(BooleanArray::from(self.before.clone())));
            }
            if op.reset_after {
                columns.push(Arc::new(BooleanArray::from(self.after.clone())));
            }
            let numbers: ArrayRef = Arc::new(Float64Array::from(self.numbers.clone()));
            let whole: ArrayRef = Arc::new(Float64Array::from(self.whole.clone()));
            let rare: ArrayRef = Arc::new(Float64Array::from(self.rare.clone()));
            let values = [&numbers, &whole, &rare];
            columns.extend((0..aggregates).map(|at| Arc::clone(values[at % values.len()])));
            columns
        }

        /// Returns the rows that are aggregated for each row; `None` for a row without a group.
        fn windows(&self, op: &Streamstats) -> Vec<Option<Vec<usize>>> {
            let key = |row: usize| if op.keys > 0 { self.keys[row] } else { Some("") };
            let mut live: Vec<usize> = Vec::new();
            let (mut last, mut windows) = (None, Vec::new());
            for row in 0..self.keys.len() {
                if op.reset_before && self.before[row] {
                    live.clear();
                }
                if key(row).is_some() {
                    if op.reset_on_change && last != key(row) {
                        live.clear();
                        last = key(row);
                    }
                    let mut rows = live.clone();
                    rows.extend(op.current.then_some(row));
                    if !op.global || op.window == Window::All {
                        rows.retain(|other| key(*other) == key(row));
                    }
                    match op.window {
                        Window::All => {}
                        Window::Rows(most) => drop(rows.drain(..rows.len().saturating_sub(most))),
                        Window::Time { span, rows: most } => {
                            rows.retain(|other| self.times[*other] - self.times[row] < span);
                            let most = most.unwrap_or(usize::MAX);
                            rows.drain(..rows.len().saturating_sub(most));
                        }
                    }
                    rows.retain(|other| key(*other) == key(row));
                    windows.push(Some(rows));
                    live.push(row);
                } else {
                    windows.push(None);
                }
                if op.reset_after && self.after[row] {
                    live.clear();
                }
            }
            windows
        }
    }

    /// Returns the result of adding rows one by one; null for a row without a group.
    fn one_by_one(
        aggregate: &AggregateFunctionExpr,
        values: &ArrayRef,
        rows: Option<&Vec<usize>>,
    ) -> ScalarValue {
        let Some(rows) = rows else {
            return ScalarValue::try_from(aggregate.field().data_type()).unwrap();
        };
        let mut accumulator = aggregate.create_accumulator().unwrap();
        for row in rows {
            accumulator.update_batch(&[values.slice(*row, 1)]).unwrap();
        }
        accumulator.evaluate().unwrap()
    }

    /// Whether results are the same. The sign of NaN depends on the order of operands.
    fn same(one: &ScalarValue, other: &ScalarValue) -> bool {
        match (one, other) {
            (ScalarValue::Float64(Some(one)), ScalarValue::Float64(Some(other)))
                if one.is_nan() =>
            {
                other.is_nan()
            }
            _ => one == other,
        }
    }

    /// Returns operators with all options.
    fn ops() -> Vec<Streamstats> {
        let windows = [
            Window::All,
            Window::Rows(1),
            Window::Rows(3),
            Window::Rows(40),
            Window::Time { span: 25, rows: None },
            Window::Time { span: 25, rows: Some(4) },
        ];
        let mut ops = Vec::new();
        for (window, options) in windows.iter().flat_map(|of| (0..64).map(move |at| (*of, at))) {
            let option = |bit: u32| options & (1 << bit) > 0;
            ops.push(Streamstats {
                keys: usize::from(option(0)),
                current: option(1),
                global: option(2),
                reset_on_change: option(3),
                reset_before: option(4),
                reset_after: option(5),
                ..op(window)
            });
        }
        ops
    }

    #[test]
    fn results_are_those_of_adding_the_rows_of_each_window_one_by_one() {
        const ROWS: usize = 120;
        let functions = [sum_udaf, avg_udaf, count_udaf, min_udaf, max_udaf, median_udaf];
        // Each over numbers, over whole numbers, and over numbers that most rows do not have.
        let aggregates: Vec<_> =
            functions.iter().flat_map(|of| [(); 3].map(|()| aggregate(of()))).collect();
        let table = table(ROWS);
        for op in ops() {
            let columns = table.columns(&op, aggregates.len());
            let values = &columns[columns.len() - aggregates.len()..];
            let windows = table.windows(&op);
            let mut run = op.start(&aggregates).unwrap();
            let mut first = 0;
            // Windows reach over several batches.
            for length in [1, 50, 20, 2, 47] {
                let batch: Vec<_> =
                    columns.iter().map(|column| column.slice(first, length)).collect();
                let added = run.push(&batch, length).unwrap().added;
                for (at, (found, aggregate)) in added.iter().zip(&aggregates).enumerate() {
                    for row in 0..length {
                        let rows = windows[first + row].as_ref();
                        let expected = one_by_one(aggregate, &values[at], rows);
                        let found = ScalarValue::try_from_array(found, row).unwrap();
                        let row = first + row;
                        let place = format!("row {row} of aggregate {at}: {op:?}");
                        assert!(same(&found, &expected), "{found} for {expected}: {place}");
                    }
                }
                first += length;
            }
            assert_eq!(first, ROWS);
        }
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
    fn rows_without_a_value_are_not_read_again() {
        let aggregates = [aggregate(max_udaf()), aggregate(median_udaf())];
        let mut run = op(Window::Rows(1_000)).start(&aggregates).unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        run.until(Stop::when(move || {
            count.fetch_add(1, Relaxed);
            false
        }));
        let numbers: ArrayRef = Arc::new(Float64Array::from(vec![1.0; 8192]));
        let none = arrow::array::new_null_array(&DataType::Float64, 8192);
        let added = run.push(&[numbers, none], 8192).unwrap().added;
        assert_eq!((added[0].null_count(), added[1].null_count()), (0, 8192));
        // RESULT steps for each row; reading the rows of each window takes 1,000 more.
        assert!(asked.load(Relaxed) < 200, "{asked:?}");
    }

    #[test]
    fn few_rows_are_not_worth_a_question() {
        let (mut run, asked) = windows(3, false);
        let values: ArrayRef = Arc::new(Float64Array::from(vec![1.0; 50]));
        assert_eq!(run.push(&[values], 50).unwrap().added[0].len(), 50);
        assert_eq!(asked.load(Relaxed), 0);
    }
}
