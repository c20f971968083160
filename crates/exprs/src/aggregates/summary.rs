//! Aggregation with a small state per group: the only kind of aggregate that `stats` adds to DataFusion.
//!
//! Guarantees: states can be merged in any order with the same result (values that depend on the order of
//! events carry their sort keys), so aggregates run in two phases, over groups, and as window functions. A
//! sliding window without an incremental method is recomputed from its rows. The summaries themselves are in
//! the other modules.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, FieldRef};
use arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, Expr, GroupsAccumulator, Signature,
    SortExpr, Volatility,
};

use crate::Typed;
use crate::aggregates::groups::{Groups, results_of, states_of};
use crate::column::{Argument, Row, Value, Values};
use crate::kernel::any_arguments;
use crate::types::{ArrowType, ValueType};

/// Maximum number of distinct values that a summary holds in a list: most of very many groups have no more,
/// and a table for each would be several times as large.
pub(super) const FEW_VALUES: usize = 4;

/// Returns the size in bytes of a hash table with room for this number of entries. The eighth of its places
/// that a table keeps free does not count: without BY, nothing spills, and a search over its limit ends.
pub(super) fn table_size<T>(entries: usize) -> usize {
    entries * (size_of::<T>() + 1)
}

/// The state of one group.
pub(crate) trait Summary: fmt::Debug + Clone + Send + Sync + 'static {
    /// Whether the summary processes whole events: then [`Self::add`] is called per event, otherwise
    /// [`Self::add_value`] per value, in any order.
    const WHOLE_EVENTS: bool = false;
    /// Whether events without a value of the first argument can be skipped.
    const NEEDS_VALUE: bool = false;

    /// Adds a value; null means no value.
    fn add_value(&mut self, _: Value<'_>) {}

    /// Adds an event. `key` is its sort key, smaller keys come first; empty without an order.
    fn add(&mut self, row: Row<'_>, _key: &[u8]) {
        row.values().for_each(|value| self.add_value(value));
    }

    /// Returns the Arrow types of the state.
    fn state_types(&self) -> Vec<DataType>;

    /// Returns the state and resets it.
    fn state(&mut self) -> Result<Vec<ScalarValue>>;

    /// Merges a state, given as a row of the state columns.
    fn merge(&mut self, states: &[ArrayRef], row: usize) -> Result<()>;

    /// Whether a row of the state columns differs from an empty state.
    fn has_state(_: &[ArrayRef], _: usize) -> bool {
        true
    }

    /// Returns the result.
    fn result(&mut self) -> Result<ScalarValue>;

    /// Returns an empty sliding window, if there is a method whose result is that of the rows in the window;
    /// `None`: for each result, all rows of the window are added.
    fn window(&self) -> Option<Box<dyn Window>> {
        None
    }

    /// Returns the states of groups; `None` stands for an empty state.
    fn states(&self, groups: Vec<Option<Self>>) -> Result<Vec<ArrayRef>> {
        states_of(self, groups)
    }

    /// Returns the results of groups; `None` stands for an empty state.
    fn results(&self, groups: Vec<Option<Self>>) -> Result<ArrayRef> {
        results_of(self, groups)
    }

    /// Returns the size in bytes outside of the value itself.
    fn heap_size(&self) -> usize;

    /// Returns the bytes that the state takes in columns, without the fixed part of each row: the engine
    /// converts all groups at once. It is read on every change of a group, so it may be an estimate; by
    /// default, columns are taken to be as large as the state.
    fn emitted_size(&self) -> usize {
        self.heap_size()
    }
}

/// A summary that follows a sliding window, whose events leave in the order in which they entered.
pub(crate) trait Window: fmt::Debug + Send + Sync {
    /// Adds an event with its sort key, as in [`Summary::add`].
    fn enter(&mut self, row: Row<'_>, key: &[u8]);

    /// Drops the event that entered first.
    fn leave(&mut self, row: Row<'_>);

    /// Returns the result of the events in the window.
    fn result(&self) -> Result<ScalarValue>;

    /// Returns the size in bytes, which may be an estimate.
    fn size(&self) -> usize;
}

/// Creates accumulators for one kind of summary.
trait Factory: Send + Sync {
    fn accumulator(&self, order: &Order, sliding: bool) -> Box<dyn Accumulator>;
    fn groups(&self, order: &Order) -> Box<dyn GroupsAccumulator>;
    fn state_types(&self) -> Vec<DataType>;
    /// Whether a sliding accumulator does not add all rows again for each result.
    fn follows_windows(&self) -> bool;
}

struct Make<S>(S);

impl<S: Summary> Factory for Make<S> {
    fn accumulator(&self, order: &Order, sliding: bool) -> Box<dyn Accumulator> {
        let empty = self.0.clone();
        if sliding && let Some(window) = empty.window() {
            return Box::new(Following { window, order: order.clone(), converter: None });
        }
        if sliding {
            return Box::new(Sliding { empty, order: order.clone(), rows: VecDeque::new() });
        }
        Box::new(Single { summary: empty, order: order.clone(), converter: None })
    }

    fn groups(&self, order: &Order) -> Box<dyn GroupsAccumulator> {
        let empty = self.0.clone();
        Box::new(Groups::of(empty, order.clone()))
    }

    fn state_types(&self) -> Vec<DataType> {
        self.0.state_types()
    }

    fn follows_windows(&self) -> bool {
        self.0.window().is_some()
    }
}

/// The number of value arguments, and the directions of the sort keys that follow them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) values: usize,
    pub(super) directions: Vec<SortOptions>,
}

/// The arguments and keys of a batch.
pub(super) struct Batch {
    arguments: Vec<Argument>,
    keys: Option<Rows>,
    pub(super) rows: usize,
}

impl Order {
    pub(super) fn read(&self, arrays: &[ArrayRef]) -> Result<Batch> {
        self.read_with(arrays, &mut None)
    }

    /// Reads a batch with a converter of keys that is kept for further batches: `streamstats` adds rows one
    /// by one.
    fn read_with(
        &self,
        arrays: &[ArrayRef],
        converter: &mut Option<RowConverter>,
    ) -> Result<Batch> {
        let rows = arrays.first().map_or(0, |array| array.len());
        let (values, keys) = arrays.split_at(self.values.min(arrays.len()));
        let read = |array: &ArrayRef| Argument::new(&ColumnarValue::Array(Arc::clone(array)));
        let arguments = values.iter().map(read).collect::<Result<Vec<_>>>()?;
        if keys.is_empty() {
            return Ok(Batch { arguments, keys: None, rows });
        }
        let converter = match converter {
            Some(converter) => converter,
            empty => {
                let fields = keys.iter().zip(&self.directions).map(|(array, options)| {
                    SortField::new_with_options(array.data_type().clone(), *options)
                });
                empty.insert(RowConverter::new(fields.collect())?)
            }
        };
        let keys = converter.convert_columns(keys)?;
        Ok(Batch { arguments, keys: Some(keys), rows })
    }
}

impl Batch {
    /// Adds all events.
    pub(super) fn add_all<S: Summary>(&self, place: &mut impl Place<S>) {
        if S::WHOLE_EVENTS || self.keys.is_some() {
            for row in (0..self.rows).filter(|row| self.may_matter::<S>(*row)) {
                place.change(row, |summary| self.add_to(row, summary));
            }
            return;
        }
        self.arguments.iter().for_each(|argument| add_column(&argument.values, self.rows, place));
    }

    fn may_matter<S: Summary>(&self, row: usize) -> bool {
        let mut values = self.arguments.iter().map(|argument| argument.get(row));
        match (S::WHOLE_EVENTS, S::NEEDS_VALUE) {
            (true, false) => true,
            (true, true) => values.next().is_some_and(|value| !value.is_null()),
            (false, _) => values.any(|value| !value.is_null()),
        }
    }

    fn add_to<S: Summary>(&self, row: usize, summary: &mut S) {
        match &self.keys {
            Some(keys) => summary.add(self.event(row), keys.row(row).as_ref()),
            None => summary.add(self.event(row), &[]),
        }
    }

    fn event(&self, row: usize) -> Row<'_> {
        Row { arguments: &self.arguments, row }
    }
}

/// The destination of the event in a row.
pub(super) trait Place<S> {
    fn change(&mut self, row: usize, change: impl FnOnce(&mut S));
}

/// Adds all events to one summary.
struct ToOne<'a, S>(&'a mut S);

impl<S> Place<S> for ToOne<'_, S> {
    fn change(&mut self, _: usize, change: impl FnOnce(&mut S)) {
        change(self.0);
    }
}

/// Adds the values of a column. The type is dispatched once, not per value.
fn add_column<S: Summary>(values: &Values, rows: usize, place: &mut impl Place<S>) {
    macro_rules! each {
        ($array:expr, $kind:path) => {
            if $array.null_count() == 0 {
                // By index: an iterator's `next` was a call for each row.
                (0..rows)
                    .for_each(|row| place.change(row, |to| to.add_value($kind($array.value(row)))));
            } else if $array.null_count() < rows {
                for row in (0..rows).filter(|row| $array.is_valid(*row)) {
                    place.change(row, |to| to.add_value($kind($array.value(row))));
                }
            }
        };
    }
    match values {
        Values::Null => {}
        Values::Text(array) => each!(array, Value::Text),
        Values::Integer(array) => each!(array, Value::Integer),
        Values::Float(array) => each!(array, Value::Float),
        other => {
            let values = (0..rows).map(|row| (row, other.get(row)));
            for (row, value) in values.filter(|(_, value)| !value.is_null()) {
                place.change(row, |to| to.add_value(value));
            }
        }
    }
}

/// A single group.
#[derive(Debug)]
struct Single<S> {
    summary: S,
    order: Order,
    converter: Option<RowConverter>,
}

impl<S: Summary> Accumulator for Single<S> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let batch = self.order.read_with(values, &mut self.converter)?;
        batch.add_all(&mut ToOne(&mut self.summary));
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        // A running window evaluates after each row, so the state must survive.
        self.summary.result()
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.summary.heap_size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.summary.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let rows = states.first().map_or(0, |array| array.len());
        (0..rows).try_for_each(|row| self.summary.merge(states, row))
    }
}

/// A sliding window that a summary follows.
#[derive(Debug)]
struct Following {
    window: Box<dyn Window>,
    order: Order,
    converter: Option<RowConverter>,
}

impl Accumulator for Following {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let batch = self.order.read_with(values, &mut self.converter)?;
        for row in 0..batch.rows {
            match &batch.keys {
                Some(keys) => self.window.enter(batch.event(row), keys.row(row).as_ref()),
                None => self.window.enter(batch.event(row), &[]),
            }
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        // Sort keys are not needed.
        let batch = self.order.read(&values[..self.order.values.min(values.len())])?;
        (0..batch.rows).for_each(|row| self.window.leave(batch.event(row)));
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.window.result()
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.window.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        exec_err!("a sliding window has no partial state")
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        exec_err!("sliding windows cannot be merged")
    }
}

/// A sliding window. Its rows are kept and summarized when a result is needed.
#[derive(Debug)]
struct Sliding<S> {
    empty: S,
    order: Order,
    rows: VecDeque<Vec<ArrayRef>>,
}

impl<S: Summary> Accumulator for Sliding<S> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = values.first().map_or(0, |array| array.len());
        let each = |row| values.iter().map(|array| array.slice(row, 1)).collect();
        self.rows.extend((0..rows).map(each));
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = values.first().map_or(0, |array| array.len());
        self.rows.drain(..rows.min(self.rows.len()));
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut summary = self.empty.clone();
        let mut converter = None;
        for arrays in &self.rows {
            let batch = self.order.read_with(arrays, &mut converter)?;
            batch.add_to(0, &mut summary);
        }
        summary.result()
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.rows.len() * self.order.values * size_of::<ArrayRef>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        exec_err!("a sliding window has no partial state")
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        exec_err!("sliding windows cannot be merged")
    }
}

/// An aggregate function without events, for the fuzzer.
pub(super) struct Empty {
    pub(super) one: Box<dyn Accumulator>,
    pub(super) groups: Box<dyn GroupsAccumulator>,
    pub(super) state_types: Vec<DataType>,
    /// The type of the result.
    pub(super) result: DataType,
}

/// An aggregate function of the plan.
#[derive(Clone)]
pub(crate) struct SummaryFunction {
    name: &'static str,
    parameters: String,
    order: Order,
    returns: ValueType,
    factory: Arc<dyn Factory>,
    signature: Signature,
}

impl SummaryFunction {
    /// Creates a function that summarizes its arguments with copies of an empty state. `parameters`
    /// distinguish functions with equal arguments.
    pub(crate) fn new<S: Summary>(
        name: &'static str,
        parameters: impl Into<String>,
        returns: ValueType,
        empty: S,
    ) -> Self {
        Self {
            name,
            parameters: parameters.into(),
            order: Order { values: 1, directions: Vec::new() },
            returns,
            factory: Arc::new(Make(empty)),
            signature: any_arguments(Volatility::Immutable),
        }
    }

    /// Returns the function before the first event.
    pub(super) fn empty(&self) -> Empty {
        Empty {
            one: self.factory.accumulator(&self.order, false),
            groups: self.factory.groups(&self.order),
            state_types: self.factory.state_types(),
            result: self.returns.data_type(),
        }
    }

    /// Whether a result over a sliding window takes the same time in a window of any length.
    pub(super) fn follows_windows(&self) -> bool {
        self.factory.follows_windows()
    }

    /// Returns a call over values, with an order of events.
    pub(crate) fn call(mut self, values: Vec<Expr>, order: &[SortExpr]) -> Typed {
        self.order.values = values.len();
        self.order.directions = order
            .iter()
            .map(|key| SortOptions { descending: !key.asc, nulls_first: key.nulls_first })
            .collect();
        let returns = self.returns;
        let keys = order.iter().map(|key| key.expr.clone());
        let arguments = values.into_iter().chain(keys).collect();
        let udf = Arc::new(AggregateUDF::new_from_impl(self));
        let call = AggregateFunction::new_udf(udf, arguments, false, None, Vec::new(), None);
        Typed::new(Expr::AggregateFunction(call), returns)
    }
}

impl fmt::Debug for SummaryFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SummaryFunction({}, {:?})", self.name, self.parameters)
    }
}

impl PartialEq for SummaryFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.parameters == other.parameters
            && self.order == other.order
            && self.returns == other.returns
    }
}

impl Eq for SummaryFunction {}

impl Hash for SummaryFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        self.parameters.hash(state);
        self.returns.hash(state);
    }
}

impl AggregateUDFImpl for SummaryFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.returns.data_type())
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(self.factory.accumulator(&self.order, false))
    }

    fn create_sliding_accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(self.factory.accumulator(&self.order, true))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let types = self.factory.state_types().into_iter().enumerate();
        let field = |(at, data_type): (usize, DataType)| {
            let name = format_state_name(args.name, &at.to_string());
            Arc::new(Field::new(name, data_type, true)) as FieldRef
        };
        Ok(types.map(field).collect())
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(self.factory.groups(&self.order))
    }

    fn order_sensitivity(&self) -> datafusion::logical_expr::utils::AggregateOrderSensitivity {
        datafusion::logical_expr::utils::AggregateOrderSensitivity::Insensitive
    }
}
