//! Arrow types that every client reads: views and dictionaries are converted to plain types.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;

/// The schema that clients see.
pub(crate) fn portable(schema: &Schema) -> Schema {
    let fields: Vec<Field> = schema.fields().iter().map(|field| portable_field(field)).collect();
    Schema::new(fields)
}

/// The rows in it.
pub(crate) fn portable_batch(
    batch: &RecordBatch,
    schema: &SchemaRef,
) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| {
        if column.data_type() == field.data_type() {
            Ok(Arc::clone(column))
        } else {
            cast(column, field.data_type())
        }
    });
    RecordBatch::try_new(SchemaRef::clone(schema), columns.collect::<Result<_, _>>()?)
}

fn portable_field(field: &Field) -> Field {
    Field::new(field.name(), portable_type(field.data_type()), field.is_nullable())
}

fn portable_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, values) => portable_type(values),
        DataType::List(field) | DataType::ListView(field) => {
            DataType::List(Arc::new(portable_field(field)))
        }
        DataType::LargeList(field) => DataType::LargeList(Arc::new(portable_field(field))),
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(|field| portable_field(field)).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, AsArray, DictionaryArray, StringViewArray};
    use arrow::datatypes::Int32Type;

    #[test]
    fn views_and_dictionaries_become_texts() {
        let words: ArrayRef = Arc::new(StringViewArray::from(vec![Some("a"), None]));
        let levels: DictionaryArray<Int32Type> =
            vec![Some("info"), Some("info")].into_iter().collect();
        let batch =
            RecordBatch::try_from_iter([("w", words), ("level", Arc::new(levels) as ArrayRef)])
                .unwrap();
        let schema = SchemaRef::new(portable(&batch.schema()));
        let plain = portable_batch(&batch, &schema).unwrap();
        assert!(plain.columns().iter().all(|column| column.data_type() == &DataType::Utf8));
        assert_eq!(plain.column(1).as_string::<i32>().value(1), "info");
    }
}
