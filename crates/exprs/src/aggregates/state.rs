//! Conversions between states of summaries and Arrow values.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Int64Array, ListArray, ListBuilder, StringViewArray,
    StringViewBuilder,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type};
use datafusion::common::ScalarValue;

use crate::types::{ArrowType, ValueType};

/// Returns a list of texts.
pub(crate) fn texts(values: impl IntoIterator<Item = impl AsRef<str>>) -> ScalarValue {
    list(Arc::new(StringViewArray::from_iter_values(values)))
}

/// Returns a single list of all values.
fn list(values: ArrayRef) -> ScalarValue {
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths([values.len()]);
    ScalarValue::List(Arc::new(ListArray::new(field, offsets, values, None)))
}

/// Returns a result with several texts; null if there are none.
pub(crate) fn multivalue(values: Vec<String>) -> ScalarValue {
    if values.is_empty() {
        return ScalarValue::try_from(&ValueType::Multi.data_type()).unwrap_or(ScalarValue::Null);
    }
    texts(values)
}

/// Returns lists of texts; null for missing groups.
pub(crate) fn lists_of_texts<I>(groups: impl Iterator<Item = Option<I>>) -> ArrayRef
where
    I: IntoIterator<Item: AsRef<str>>,
{
    let mut lists = ListBuilder::new(StringViewBuilder::new());
    for group in groups {
        let mut is_there = false;
        for text in group.into_iter().flatten() {
            is_there = true;
            lists.values().append_value(text);
        }
        lists.append(is_there);
    }
    Arc::new(lists.finish())
}

/// Calls `visit` with each text of a list.
pub(crate) fn each_text(states: &ArrayRef, row: usize, mut visit: impl FnMut(&str)) {
    let lists = states.as_list::<i32>();
    if lists.is_null(row) {
        return;
    }
    let values = lists.value(row);
    values.as_string_view().iter().flatten().for_each(&mut visit);
}

/// Returns a list of numbers.
pub(crate) fn numbers(values: Vec<f64>) -> ScalarValue {
    list(Arc::new(Float64Array::from(values)))
}

/// Returns a list of integers.
pub(crate) fn integers(values: Vec<i64>) -> ScalarValue {
    list(Arc::new(Int64Array::from(values)))
}

/// Returns a list type.
pub(crate) fn list_of(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(item, true)))
}

/// Returns the numbers of a list.
pub(crate) fn read_numbers(states: &ArrayRef, row: usize) -> Vec<f64> {
    let lists = states.as_list::<i32>();
    if lists.is_null(row) {
        return Vec::new();
    }
    let values = lists.value(row);
    let numbers = values.as_primitive::<Float64Type>();
    match numbers.null_count() {
        0 => numbers.values().to_vec(),
        _ => numbers.iter().flatten().collect(),
    }
}

/// Calls `visit` with each whole number of a list.
pub(crate) fn each_integer(states: &ArrayRef, row: usize, visit: impl FnMut(i64)) {
    let lists = states.as_list::<i32>();
    if lists.is_valid(row) {
        lists.value(row).as_primitive::<Int64Type>().iter().flatten().for_each(visit);
    }
}

/// Returns a number of a column.
pub(crate) fn number(states: &ArrayRef, row: usize) -> Option<f64> {
    let column = states.as_primitive::<Float64Type>();
    column.is_valid(row).then(|| column.value(row))
}

/// Returns an integer of a column; `None` if it is null.
pub(crate) fn integer(states: &ArrayRef, row: usize) -> Option<i64> {
    let column = states.as_primitive::<Int64Type>();
    column.is_valid(row).then(|| column.value(row))
}

/// Returns a text of a column.
pub(crate) fn text(states: &ArrayRef, row: usize) -> Option<&str> {
    let column = states.as_string_view();
    column.is_valid(row).then(|| column.value(row))
}

/// Returns the bytes of a value in a column; `None` if it is null.
pub(crate) fn bytes(states: &ArrayRef, row: usize) -> Option<&[u8]> {
    let column = states.as_binary::<i32>();
    column.is_valid(row).then(|| column.value(row))
}

/// Returns the bytes of a value in a column of large binaries; `None` if it is null.
pub(crate) fn large_bytes(states: &ArrayRef, row: usize) -> Option<&[u8]> {
    let column = states.as_binary::<i64>();
    column.is_valid(row).then(|| column.value(row))
}
