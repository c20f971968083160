//! Conversions between states of summaries and Arrow values.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryBuilder, Float64Array, Int64Array,
    ListArray, ListBuilder, PrimitiveBuilder, StringViewArray, StringViewBuilder,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{ArrowNativeType, DataType, Field, Float64Type, Int64Type};
use datafusion::common::{Result, ScalarValue, exec_err};

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

/// Returns a builder of a list of numbers per group, with room for all `values`.
///
/// # Errors
/// If a column cannot hold that many values.
pub(crate) fn lists_of<T: ArrowPrimitiveType>(
    groups: usize,
    values: usize,
) -> Result<ListBuilder<PrimitiveBuilder<T>>> {
    fits(values)?;
    Ok(ListBuilder::with_capacity(PrimitiveBuilder::with_capacity(values), groups))
}

/// Returns a builder of a binary value per group, with room for all `bytes`.
///
/// # Errors
/// If a column cannot hold that many bytes.
pub(crate) fn binaries(groups: usize, bytes: usize) -> Result<BinaryBuilder> {
    fits(bytes)?;
    Ok(BinaryBuilder::with_capacity(groups, bytes))
}

/// Checks a length against the offsets of a column, which have 32 bits.
fn fits(length: usize) -> Result<()> {
    if i32::try_from(length).is_err() {
        return exec_err!(
            "the groups have {length} values or bytes of values, more than 2^31: use fewer groups"
        );
    }
    Ok(())
}

/// Returns the places of the values of a list; empty if it is null.
fn places(lists: &ListArray, row: usize) -> Range<usize> {
    if lists.is_null(row) {
        return 0..0;
    }
    let offsets = lists.value_offsets();
    offsets[row].as_usize()..offsets[row + 1].as_usize()
}

/// Whether a list has no values.
pub(crate) fn is_empty(states: &ArrayRef, row: usize) -> bool {
    places(states.as_list::<i32>(), row).is_empty()
}

/// Calls `visit` with each text of a list.
pub(crate) fn each_text(states: &ArrayRef, row: usize, mut visit: impl FnMut(&str)) {
    let lists = states.as_list::<i32>();
    let texts = lists.values().as_string_view();
    for at in places(lists, row).filter(|at| texts.is_valid(*at)) {
        visit(texts.value(at));
    }
}

/// Iterates over the values of a list that are not null.
fn values_in<T: ArrowPrimitiveType>(
    states: &ArrayRef,
    row: usize,
) -> impl Iterator<Item = T::Native> {
    let lists = states.as_list::<i32>();
    let values = lists.values().as_primitive::<T>();
    places(lists, row).filter(move |at| values.is_valid(*at)).map(move |at| values.value(at))
}

/// Iterates over the numbers of a list.
pub(crate) fn numbers_in(states: &ArrayRef, row: usize) -> impl Iterator<Item = f64> {
    values_in::<Float64Type>(states, row)
}

/// Iterates over the integers of a list.
pub(crate) fn integers_in(states: &ArrayRef, row: usize) -> impl Iterator<Item = i64> {
    values_in::<Int64Type>(states, row)
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
    numbers_in(states, row).collect()
}

/// Calls `visit` with each whole number of a list.
pub(crate) fn each_integer(states: &ArrayRef, row: usize, visit: impl FnMut(i64)) {
    integers_in(states, row).for_each(visit);
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn more_values_than_a_column_can_hold_are_refused_with_what_helps() {
        assert!(fits((1 << 31) - 1).is_ok());
        let error = fits(1 << 31).unwrap_err().to_string();
        assert!(error.contains("2147483648 values") && error.contains("fewer groups"), "{error}");
    }
}
