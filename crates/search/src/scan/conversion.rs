//! Stored columns in the types of the plan, in which every field is a text or a list of texts.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListBuilder, StringViewArray, StringViewBuilder};
use arrow::compute::cast;
use arrow::compute::kernels::zip::zip;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::error::Result;
use model::ColumnKind;
use plan::value::NumberText;

/// Converts a column to a type; `None` if that is not possible.
pub(super) fn convert(column: &ArrayRef, to: &DataType) -> Option<ArrayRef> {
    if column.data_type() == to { Some(Arc::clone(column)) } else { cast(column, to).ok() }
}

/// Converts a field's stored column to the type that the plan expects.
pub(super) fn field_column(column: &ArrayRef, kind: ColumnKind, to: &DataType) -> Option<ArrayRef> {
    let wants_list = matches!(to, DataType::List(_));
    match kind {
        ColumnKind::Multivalue if wants_list => convert(column, to),
        // The first value, as extraction gives it to a plan that takes one (`FieldBuilder::end_row`).
        ColumnKind::Multivalue => Some(first_values(column)),
        ColumnKind::Text | ColumnKind::Integer => {
            let text: ArrayRef = match column.data_type() {
                DataType::Int64 => Arc::new(integer_texts(column)),
                _ => convert(column, &DataType::Utf8View)?,
            };
            Some(if wants_list { singletons(&text) } else { text })
        }
    }
}

/// Converts integers back to the texts of events: only the canonical decimal form of a number is stored as an
/// integer.
fn integer_texts(column: &ArrayRef) -> StringViewArray {
    let numbers = column.as_primitive::<Int64Type>();
    numbers.iter().map(|number| number.map(NumberText::integer)).collect::<TextColumn>().0.finish()
}

#[derive(Default)]
struct TextColumn(StringViewBuilder);

impl FromIterator<Option<NumberText>> for TextColumn {
    fn from_iter<I: IntoIterator<Item = Option<NumberText>>>(texts: I) -> Self {
        let mut column = Self::default();
        for text in texts {
            column.0.append_option(text.as_deref());
        }
        column
    }
}

fn first_values(column: &ArrayRef) -> ArrayRef {
    let lists = column.as_list::<i32>();
    let mut builder = StringViewBuilder::with_capacity(lists.len());
    for row in 0..lists.len() {
        let items = lists.value(row);
        let first = (lists.is_valid(row) && !items.is_empty())
            .then(|| items.as_string_view_opt().map(|texts| texts.value(0).to_owned()))
            .flatten();
        builder.append_option(first);
    }
    Arc::new(builder.finish())
}

fn singletons(texts: &ArrayRef) -> ArrayRef {
    let mut builder = ListBuilder::new(StringViewBuilder::new());
    for text in texts.as_string_view() {
        if let Some(text) = text {
            builder.values().append_value(text);
        }
        builder.append(text.is_some());
    }
    Arc::new(builder.finish())
}

/// Returns the first column's values, and the second's where the first is null.
pub(super) fn prefer(first: &ArrayRef, second: &ArrayRef) -> Result<ArrayRef> {
    let has_first = arrow::compute::is_not_null(first)?;
    Ok(zip(&has_first, first, second)?)
}
