//! How summaries put their parts into Arrow and take them out again.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::common::ScalarValue;

use crate::types::ValueType;

/// A list of texts.
pub(crate) fn texts(values: impl IntoIterator<Item = String>) -> ScalarValue {
    let values: Vec<_> = values.into_iter().map(|text| ScalarValue::Utf8View(Some(text))).collect();
    ScalarValue::List(ScalarValue::new_list(&values, &DataType::Utf8View, true))
}

/// A list of texts as a result: null if there is none.
pub(crate) fn multivalue(values: Vec<String>) -> ScalarValue {
    if values.is_empty() {
        return ScalarValue::try_from(&ValueType::Multi.data_type()).unwrap_or(ScalarValue::Null);
    }
    texts(values)
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

/// A list of numbers.
pub(crate) fn numbers(values: &[f64]) -> ScalarValue {
    let values: Vec<_> = values.iter().map(|number| ScalarValue::Float64(Some(*number))).collect();
    ScalarValue::List(ScalarValue::new_list(&values, &DataType::Float64, true))
}

/// The type of a list.
pub(crate) fn list_of(item: DataType) -> DataType {
    DataType::List(std::sync::Arc::new(arrow::datatypes::Field::new_list_field(item, true)))
}

/// The numbers of a list.
pub(crate) fn read_numbers(states: &ArrayRef, row: usize) -> Vec<f64> {
    let lists = states.as_list::<i32>();
    if lists.is_null(row) {
        return Vec::new();
    }
    lists.value(row).as_primitive::<Float64Type>().iter().flatten().collect()
}

/// The whole numbers of a list.
pub(crate) fn read_integers(states: &ArrayRef, row: usize) -> Vec<i64> {
    let lists = states.as_list::<i32>();
    if lists.is_null(row) {
        return Vec::new();
    }
    lists.value(row).as_primitive::<Int64Type>().iter().flatten().collect()
}

/// A number of a column.
pub(crate) fn number(states: &ArrayRef, row: usize) -> Option<f64> {
    let column = states.as_primitive::<Float64Type>();
    column.is_valid(row).then(|| column.value(row))
}

/// A text of a column.
pub(crate) fn text(states: &ArrayRef, row: usize) -> Option<&str> {
    let column = states.as_string_view();
    column.is_valid(row).then(|| column.value(row))
}

/// Bytes of a column; none if null.
pub(crate) fn bytes(states: &ArrayRef, row: usize) -> Option<&[u8]> {
    let column = states.as_binary::<i32>();
    column.is_valid(row).then(|| column.value(row))
}
