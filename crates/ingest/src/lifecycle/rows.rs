//! The rows of a stored bucket as hot rows, from which a bucket can be written again.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringBuilder};
use arrow::datatypes::{DataType, Int64Type};
use bucket::BucketReader;
use futures::TryStreamExt;
use model::{BucketEntry, TimeRange, columns};
use object_store::path::Path;
use serde_json::{Map, Value};

use super::Lifecycle;
use crate::Error;

/// Rows of one batch.
const BATCH_ROWS: usize = 16_384;

impl Lifecycle {
    /// All rows of a bucket, with the fields that were sent along with them.
    pub(super) async fn rows(&self, entry: &BucketEntry) -> Result<Vec<RecordBatch>, Error> {
        let failed = |error: bucket::Error| Error::Bucket(Arc::new(error));
        let path = Path::from(entry.path.as_str());
        let reader = BucketReader::open(Arc::clone(&self.store), &path, entry.size).await;
        let reader = reader.map_err(failed)?;
        let sent = reader.summary().fields.iter().filter(|field| field.indexed);
        let names: Vec<String> = sent.map(|field| field.name.clone()).collect();
        let fixed = [
            columns::TIME,
            columns::INDEX_TIME,
            columns::RAW,
            columns::HOST,
            columns::SOURCE,
            columns::SOURCETYPE,
        ];
        let wanted: Vec<&str> = fixed.into_iter().chain(names.iter().map(String::as_str)).collect();
        let all = reader.granules_in(&TimeRange::ALL);
        let stream = reader.read(&wanted, &all, BATCH_ROWS).await.map_err(failed)?;
        let stored: Vec<RecordBatch> = stream.try_collect().await.map_err(failed)?;
        stored.iter().map(|batch| hot_rows(batch, &names)).collect()
    }
}

fn hot_rows(stored: &RecordBatch, names: &[String]) -> Result<RecordBatch, Error> {
    let mut columns: Vec<ArrayRef> =
        stored.columns()[..stored.num_columns() - names.len()].to_vec();
    let sent = &stored.columns()[columns.len()..];
    let mut texts = StringBuilder::new();
    for row in 0..stored.num_rows() {
        let mut object = Map::new();
        for (name, column) in names.iter().zip(sent).filter(|(_, column)| column.is_valid(row)) {
            object.insert(name.clone(), value(column, row)?);
        }
        if object.is_empty() {
            texts.append_null();
        } else {
            texts.append_value(Value::Object(object).to_string());
        }
    }
    columns.push(Arc::new(texts.finish()));
    RecordBatch::try_new(bucket::hot_schema(), columns).map_err(unreadable)
}

fn unreadable(error: arrow::error::ArrowError) -> Error {
    Error::Columns(Arc::new(error))
}

/// A sent value: its exact text, or a list of texts.
fn value(column: &ArrayRef, row: usize) -> Result<Value, Error> {
    match column.data_type() {
        DataType::Utf8 => Ok(column.as_string::<i32>().value(row).into()),
        DataType::Utf8View => Ok(column.as_string_view().value(row).into()),
        DataType::Int64 => Ok(column.as_primitive::<Int64Type>().value(row).to_string().into()),
        DataType::List(_) => {
            let list = column.as_list::<i32>().value(row);
            let items = (0..list.len()).filter(|at| list.is_valid(*at));
            items.map(|at| value(&list, at)).collect::<Result<Vec<_>, _>>().map(Value::Array)
        }
        DataType::Dictionary(..) => {
            let plain = arrow::compute::cast(&column.slice(row, 1), &DataType::Utf8);
            Ok(plain.map_err(unreadable)?.as_string::<i32>().value(0).into())
        }
        other => Err(unreadable(arrow::error::ArrowError::NotYetImplemented(format!(
            "a field's column of type {other}"
        )))),
    }
}
