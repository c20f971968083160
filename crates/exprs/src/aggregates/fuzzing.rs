//! States of aggregates for a fuzzer: such states may come from another process.
//!
//! An input consists of the number of a function, the number of rows, and the rows of its state. The types of
//! states are those of the plan, so only values can be invalid.

use std::hint::black_box;
use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, Int64Array, StringViewArray, TimestampMicrosecondArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue, config::ConfigOptions};
use datafusion::execution::context::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{EmitTo, Expr, SortExpr, col};
use datafusion::physical_expr::create_physical_expr;
use jiff::tz::TimeZone;
use model::EventTime;
use spl::STATS_FUNCTIONS;
use spl::ast::{FieldPattern, Span, Spanned, StatsArgument, StatsCall, StatsFunction, StatsKind};

use super::summary::SummaryFunction;
use super::{AggregateOptions, SERIES, SparklineAxis, aggregate_with};
use crate::Scope;
use crate::types::ValueType;

/// The fields that functions aggregate, one of each type that they treat differently.
const VALUES: [(&str, ValueType); 3] =
    [("text", ValueType::Text), ("multi", ValueType::Multi), ("number", ValueType::Integer)];
const TIME: (&str, ValueType) = (model::columns::TIME, ValueType::Time);
/// Numbers of rows from which seeds are created: few, and enough for sketches to replace values.
const ROWS: [usize; 2] = [5, 1_200];

/// All functions with a state of their own, each with its arguments.
static FUNCTIONS: LazyLock<Vec<(SummaryFunction, Vec<Expr>)>> = LazyLock::new(functions);

/// Merges states into an aggregate and into groups, and reads the results.
///
/// # Panics
/// If the result has another type than planned, or the remaining state cannot be merged again.
pub fn states(bytes: &[u8]) {
    let mut input = Input(bytes);
    let (function, _) = &FUNCTIONS[usize::from(input.byte()) % FUNCTIONS.len()];
    let rows = 1 + usize::from(input.byte() % 4);
    let parts = function.empty();
    let Ok(columns) = columns(&parts.state_types, || input.row(&parts.state_types), rows) else {
        return;
    };
    let mut one = parts.one;
    if one.merge_batch(&columns).is_ok() {
        let again = one.state().and_then(|row| columns_of_row(&row));
        let mut two = function.empty().one;
        two.merge_batch(&again.expect("there is a state")).expect("its own state merges");
        let result = two.evaluate().expect("there is a result");
        assert_eq!(result.data_type(), parts.result, "the type of {function:?}");
    }
    let mut groups = parts.groups;
    let of_row: Vec<usize> = (0..rows).map(|row| row % 2).collect();
    if groups.merge_batch(&columns, &of_row, 2).is_ok() {
        let _ = black_box(groups.evaluate(EmitTo::First(1)));
        let _ = black_box(groups.state(EmitTo::All));
    }
}

/// Returns the states of each function after some events.
#[must_use]
pub fn state_seeds() -> Vec<Vec<u8>> {
    let seeds = (0_u8..).zip(FUNCTIONS.iter());
    let each = |(number, (function, arguments)): (u8, &(SummaryFunction, Vec<Expr>))| {
        ROWS.map(|rows| {
            let arrays = evaluated(arguments, &events(rows)).expect("arguments can be evaluated");
            let mut one = function.empty().one;
            one.update_batch(&arrays).expect("events can be aggregated");
            let mut bytes = vec![number, 0];
            let state = one.state().expect("there is a state");
            state.iter().for_each(|value| write(value, &mut bytes));
            bytes
        })
    };
    seeds.flat_map(each).collect()
}

fn functions() -> Vec<(SummaryFunction, Vec<Expr>)> {
    let order: [SortExpr; 1] = [col(TIME.0).sort(false, false)];
    let axis = SparklineAxis { zone: TimeZone::UTC, range: (0, 10_000_000) };
    let options = AggregateOptions {
        list_limit: 3,
        span_seconds: Some(10.0),
        sparklines: Some(axis),
        ..AggregateOptions::default()
    };
    let mut found: Vec<(SummaryFunction, Vec<Expr>)> = Vec::new();
    for call in calls() {
        let typed = aggregate_with(&call, &Fields, &order, &options);
        let expr = typed.expect("every function takes a field of every type").expr;
        let seen = expr.apply(|node| {
            if let Expr::AggregateFunction(call) = node
                && let Some(function) = call.func.inner().downcast_ref::<SummaryFunction>()
                && !found.iter().any(|(known, _)| known == function)
            {
                found.push((function.clone(), call.params.args.clone()));
            }
            Ok(TreeNodeRecursion::Continue)
        });
        seen.expect("an expression can be walked");
    }
    found
}

/// Returns calls of every function over every field, and the supported sparklines.
fn calls() -> Vec<StatsCall> {
    let call = |kind, argument| {
        let span = Span::default();
        let name = Spanned::new("x".to_owned(), span);
        let function = StatsFunction { kind, parameter: Some("95".to_owned()), name };
        StatsCall { function, argument, alias: None, text: String::new(), span }
    };
    let mut calls = Vec::new();
    for (name, _) in VALUES {
        let field = || StatsArgument::Field(FieldPattern::new(name, Span::default()));
        let kinds = STATS_FUNCTIONS.iter().map(|function| function.kind);
        let plain = kinds.filter(|kind| *kind != StatsKind::Sparkline);
        calls.extend(plain.map(|kind| call(kind, field())));
        for kind in [StatsKind::Count, StatsKind::DistinctCount, StatsKind::Average] {
            let drawn = Some(Box::new(call(kind, field())));
            let argument = StatsArgument::Sparkline { call: drawn, step: None };
            calls.push(call(StatsKind::Sparkline, argument));
        }
    }
    calls
}

/// The scope of the functions.
struct Fields;

impl Scope for Fields {
    fn field(&self, name: &str) -> Option<ValueType> {
        let known = VALUES.iter().chain([&TIME, &(SERIES, ValueType::Text)]);
        known.into_iter().find(|(field, _)| *field == name).map(|(_, kind)| *kind)
    }

    fn now(&self) -> EventTime {
        EventTime::MIN
    }

    fn timezone(&self) -> &TimeZone {
        static UTC: TimeZone = TimeZone::UTC;
        &UTC
    }
}

/// Returns events with numbers, other texts, and missing values.
fn events(rows: usize) -> RecordBatch {
    let numbers = || (0_i64..).take(rows);
    let text = |n: i64| match n % 5 {
        0 => None,
        1 => Some(format!("v{n}")),
        2 => Some(format!("{n}.5")),
        _ => Some(n.to_string()),
    };
    let texts: StringViewArray = numbers().map(text).collect();
    let lists =
        numbers().map(|n| (n % 3 > 0).then(|| vec![Some(n.to_string()), Some("x".to_owned())]));
    let mut multi = arrow::array::ListBuilder::new(arrow::array::StringViewBuilder::new());
    lists.for_each(|list| multi.append_option(list));
    let times = TimestampMicrosecondArray::from_iter_values(numbers().map(|n| n * 1_000_000));
    let series: StringViewArray =
        numbers().map(|n| Some(["a", "b"][usize::from(n % 2 > 0)])).collect();
    let arrays: [(&str, ArrayRef); 5] = [
        ("text", Arc::new(texts)),
        ("multi", Arc::new(multi.finish())),
        (
            "number",
            Arc::new(numbers().map(|n| (n % 7 > 0).then_some(n * n)).collect::<Int64Array>()),
        ),
        (TIME.0, Arc::new(times.with_timezone("UTC"))),
        (SERIES, Arc::new(series)),
    ];
    let field =
        |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), true);
    let schema = Schema::new(arrays.iter().map(field).collect::<Vec<_>>());
    let arrays = arrays.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(schema), arrays).expect("the columns are as long as each other")
}

fn evaluated(arguments: &[Expr], events: &RecordBatch) -> Result<Vec<ArrayRef>> {
    let schema = DFSchema::try_from(events.schema())?;
    let context = PhysicalPlanningContext::default();
    let mut props = ExecutionProps::new();
    props.config_options = Some(Arc::new(ConfigOptions::new()));
    let each = |argument: &Expr| {
        let argument = create_physical_expr(argument, &schema, &props, &context)?;
        argument.evaluate(events)?.into_array(events.num_rows())
    };
    arguments.iter().map(each).collect()
}

/// Returns rows of a state as columns.
fn columns(
    types: &[DataType],
    mut row: impl FnMut() -> Vec<ScalarValue>,
    rows: usize,
) -> Result<Vec<ArrayRef>> {
    let rows: Vec<Vec<ScalarValue>> = (0..rows).map(|_| row()).collect();
    let column = |(at, data_type): (usize, &DataType)| {
        let array = ScalarValue::iter_to_array(rows.iter().map(|row| row[at].clone()))?;
        Ok(cast(&array, data_type)?)
    };
    types.iter().enumerate().map(column).collect()
}

fn columns_of_row(row: &[ScalarValue]) -> Result<Vec<ArrayRef>> {
    row.iter().map(ScalarValue::to_array).collect()
}

/// Appends a value in the encoding of [`Input::value`].
fn write(value: &ScalarValue, bytes: &mut Vec<u8>) {
    let mut put = |value: &[u8]| {
        let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
        bytes.push(1);
        bytes.extend(length.to_le_bytes());
        bytes.extend(&value[..usize::from(length)]);
    };
    match value {
        ScalarValue::Utf8View(Some(text)) => put(text.as_bytes()),
        ScalarValue::Binary(Some(value)) | ScalarValue::LargeBinary(Some(value)) => put(value),
        ScalarValue::Int64(Some(number)) => {
            bytes.push(1);
            bytes.extend(number.to_le_bytes());
        }
        ScalarValue::Float64(Some(number)) => {
            bytes.push(1);
            bytes.extend(number.to_le_bytes());
        }
        ScalarValue::Boolean(Some(truth)) => bytes.extend([1, u8::from(*truth)]),
        ScalarValue::List(list) if list.is_valid(0) => {
            let values = list.value(0);
            let length = u16::try_from(values.len()).unwrap_or(u16::MAX);
            bytes.push(1);
            bytes.extend(length.to_le_bytes());
            for at in 0..usize::from(length) {
                let value =
                    ScalarValue::try_from_array(&values, at).expect("it is within the list");
                write(&value, bytes);
            }
        }
        _ => bytes.push(0),
    }
}

/// Bytes that are decoded as values; beyond their end, all bytes are zero, which is null.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.byte())
    }

    fn length(&mut self) -> usize {
        usize::from(u16::from_le_bytes(self.bytes())).min(self.0.len())
    }

    fn row(&mut self, types: &[DataType]) -> Vec<ScalarValue> {
        types.iter().map(|data_type| self.value(data_type)).collect()
    }

    fn value(&mut self, data_type: &DataType) -> ScalarValue {
        if self.byte() == 0 {
            return ScalarValue::try_from(data_type).expect("every type of a state has a null");
        }
        match data_type {
            DataType::Int64 => ScalarValue::Int64(Some(i64::from_le_bytes(self.bytes()))),
            DataType::Float64 => ScalarValue::Float64(Some(f64::from_le_bytes(self.bytes()))),
            DataType::Boolean => ScalarValue::Boolean(Some(self.byte() > 0)),
            DataType::Utf8View => {
                ScalarValue::Utf8View(Some(String::from_utf8_lossy(self.text()).into_owned()))
            }
            DataType::Binary => ScalarValue::Binary(Some(self.text().to_vec())),
            DataType::LargeBinary => ScalarValue::LargeBinary(Some(self.text().to_vec())),
            DataType::List(item) => {
                let items = (0..self.length()).map(|_| self.value(item.data_type()));
                let items: Vec<ScalarValue> = items.collect();
                ScalarValue::List(ScalarValue::new_list(&items, item.data_type(), true))
            }
            other => unreachable!("no state is a {other}"),
        }
    }

    fn text(&mut self) -> &[u8] {
        let (text, rest) = self.0.split_at(self.length());
        self.0 = rest;
        text
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::UInt32Array;
    use arrow::compute::take;

    use super::*;

    /// Number of groups, of which the last ones have no rows.
    const GROUPS: usize = 609;

    /// Returns the group of each row: one with half of the rows, some with many, many with few. Seed: 1.
    fn groups_of(rows: usize) -> Vec<usize> {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state =
                state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
            usize::try_from((state >> 33) % below).unwrap()
        };
        let group = |_| match random(4) {
            0 | 1 => 0,
            2 => 1 + random(5),
            _ => 6 + random(600),
        };
        (0..rows).map(group).collect()
    }

    fn rows_at(arrays: &[ArrayRef], rows: &[u32]) -> Vec<ArrayRef> {
        let rows = UInt32Array::from(rows.to_vec());
        arrays.iter().map(|array| take(array, &rows, None).unwrap()).collect()
    }

    fn row_of(columns: &[ArrayRef], row: usize) -> Vec<ArrayRef> {
        columns.iter().map(|column| column.slice(row, 1)).collect()
    }

    /// Returns a state as text, its lists sorted: the order of values in a state has no meaning, and a list
    /// without values is as good as none.
    fn shown(state: &[ArrayRef]) -> Vec<Vec<String>> {
        let texts = |array: &ArrayRef| -> Vec<String> {
            let value = |at| ScalarValue::try_from_array(array, at).unwrap();
            (0..array.len()).map(|at| value(at).to_string()).collect()
        };
        let each = |column: &ArrayRef| match ScalarValue::try_from_array(column, 0).unwrap() {
            ScalarValue::List(list) if list.is_valid(0) => {
                let mut texts = texts(&list.value(0));
                texts.sort();
                texts
            }
            ScalarValue::List(_) => Vec::new(),
            _ => texts(column),
        };
        state.iter().map(each).collect()
    }

    fn merged(function: &SummaryFunction, state: &[ArrayRef]) -> ScalarValue {
        let mut one = function.empty().one;
        one.merge_batch(state).unwrap();
        one.evaluate().unwrap()
    }

    #[test]
    fn columns_of_groups_have_what_each_group_has_alone() {
        let (events, of_row) = (events(4_000), groups_of(4_000));
        let mut rows_of = vec![Vec::new(); GROUPS];
        (0_u32..).zip(&of_row).for_each(|(row, group)| rows_of[*group].push(row));
        for (function, arguments) in FUNCTIONS.iter() {
            let arrays = evaluated(arguments, &events).unwrap();
            let groups = || {
                let mut groups = function.empty().groups;
                groups.update_batch(&arrays, &of_row, None, GROUPS).unwrap();
                groups
            };
            let (results, mut states) = (groups().evaluate(EmitTo::All).unwrap(), groups());
            let first = states.state(EmitTo::First(3)).unwrap();
            let rest = states.state(EmitTo::All).unwrap();
            let types: Vec<_> = rest.iter().map(|column| column.data_type().clone()).collect();
            assert_eq!(types, function.empty().state_types, "{function:?}");
            assert_eq!((results.len(), rest[0].len()), (GROUPS, GROUPS - 3), "{function:?}");
            for (group, rows) in rows_of.iter().enumerate() {
                let mut one = function.empty().one;
                one.update_batch(&rows_at(&arrays, rows)).unwrap();
                let found = ScalarValue::try_from_array(&results, group).unwrap();
                assert_eq!(found, one.evaluate().unwrap(), "group {group} of {function:?}");
                let state =
                    if group < 3 { row_of(&first, group) } else { row_of(&rest, group - 3) };
                let alone = columns_of_row(&one.state().unwrap()).unwrap();
                assert_eq!(shown(&state), shown(&alone), "group {group} of {function:?}");
                assert_eq!(merged(function, &state), merged(function, &alone), "{function:?}");
            }
        }
    }

    #[test]
    fn rows_that_are_not_grouped_have_the_states_of_one_row() {
        let events = events(60);
        for (function, arguments) in FUNCTIONS.iter() {
            let arrays = evaluated(arguments, &events).unwrap();
            let states = function.empty().groups.convert_to_state(&arrays, None).unwrap();
            for row in 0..events.num_rows() {
                let mut one = function.empty().one;
                one.update_batch(&row_of(&arrays, row)).unwrap();
                let alone = columns_of_row(&one.state().unwrap()).unwrap();
                assert_eq!(shown(&row_of(&states, row)), shown(&alone), "{row} of {function:?}");
            }
        }
    }

    #[test]
    fn the_size_of_groups_includes_the_columns_that_they_will_take() {
        let events = events(2_000);
        for (function, arguments) in FUNCTIONS.iter() {
            let arrays = evaluated(arguments, &events).unwrap();
            let mut groups = function.empty().groups;
            let few: Vec<usize> = (0..2_000).map(|row| row % 10).collect();
            groups.update_batch(&arrays, &few, None, 10).unwrap();
            let small = groups.size();
            let many: Vec<usize> = (0..2_000).collect();
            groups.update_batch(&arrays, &many, None, 2_000).unwrap();
            let large = groups.size();
            let states = groups.state(EmitTo::All).unwrap();
            let bytes = states.iter().map(|column| column.to_data().get_slice_memory_size());
            let bytes: usize = bytes.map(std::result::Result::unwrap).sum();
            assert!(large > small && large > bytes, "{function:?}: {small} {large} {bytes}");
            assert_eq!(groups.size(), 0, "{function:?}");
        }
    }

    #[test]
    fn states_of_every_function_merge_with_any_numbers_in_them() {
        for seed in state_seeds() {
            states(&seed);
            // Several rows of extreme numbers, such as counts whose sum overflows.
            for hard in [0xff, 0x7f, 0x80] {
                let mut bytes = seed.clone();
                bytes[1] = 1;
                let more = bytes[2..].to_vec();
                bytes.extend(more);
                for eight in bytes[2..].chunks_exact_mut(9).take(200) {
                    eight[1..].fill(0xff);
                    eight[8] = hard;
                }
                states(&bytes);
            }
        }
    }
}
