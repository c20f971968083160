//! Reads a whole bucket back as hot rows, so that several buckets can be merged.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringBuilder};
use arrow::datatypes::{DataType, Int64Type};
use arrow::error::ArrowError;
use futures::{StreamExt, TryStreamExt};
use model::columns;

use super::{BucketReader, EventStream};
use crate::hot::{FIELDS, hot_schema};
use crate::{Error, GranuleSet};

/// The fixed columns, in the order of hot rows.
const FIXED: [&str; 6] = [
    columns::TIME,
    columns::INDEX_TIME,
    columns::RAW,
    columns::HOST,
    columns::SOURCE,
    columns::SOURCETYPE,
];

impl BucketReader {
    /// Returns the columns of indexed fields.
    #[must_use]
    pub fn sent_columns(&self) -> Vec<String> {
        let sent = self.summary().fields.iter().filter(|field| field.indexed);
        sent.map(|field| field.name.clone()).collect()
    }

    /// Streams all rows in the form in which they were passed to [`write_bucket`](crate::write_bucket):
    /// batches of [`hot_schema`] with at most `batch_rows` rows, in the order of the bucket, and indexed
    /// fields as JSON in [`FIELDS`]. Extracted fields are left out: writing extracts them again, by the
    /// current rules. One compressed row group is in memory at a time, in addition to the batches that the
    /// caller keeps.
    ///
    /// Writing the batches of several buckets gives one bucket with the events of all.
    ///
    /// # Errors
    /// [`Error::Corrupt`] or [`Error::Store`], here or in the stream.
    pub async fn read_rows(&self, batch_rows: usize) -> Result<EventStream, Error> {
        let names = self.sent_columns();
        let wanted: Vec<&str> = FIXED.into_iter().chain(names.iter().map(String::as_str)).collect();
        let all = GranuleSet::all(self.granules());
        let stored = self.read(&wanted, &all, batch_rows).await?;
        let object = self.object().clone();
        let rows = stored.and_then(move |batch| {
            let rows = hot_rows(&batch, &names)
                .map_err(|error| object.corrupt("pages", error.to_string()));
            std::future::ready(rows)
        });
        Ok(rows.boxed())
    }
}

/// Returns, per row, the compact JSON object of these indexed fields, as in [`FIELDS`] of hot rows, or null.
/// Columns that `rows` lacks are left out.
///
/// # Errors
/// A column has a type that fields do not have.
pub fn sent_fields(rows: &RecordBatch, names: &[String]) -> Result<ArrayRef, ArrowError> {
    let there = names.iter().filter_map(|name| Some((name, rows.column_by_name(name)?)));
    let (names, columns): (Vec<String>, Vec<ArrayRef>) =
        there.map(|(name, column)| (name.clone(), Arc::clone(column))).unzip();
    fields(&columns, &names, rows.num_rows())
}

/// Returns the fixed columns unchanged, and the others combined into one.
fn hot_rows(batch: &RecordBatch, names: &[String]) -> Result<RecordBatch, ArrowError> {
    let (fixed, indexed) = batch.columns().split_at(FIXED.len());
    let mut columns = fixed.to_vec();
    columns.push(fields(indexed, names, batch.num_rows())?);
    RecordBatch::try_new(hot_schema(), columns)
}

/// Returns, per row, the compact JSON object of its indexed fields, or null.
fn fields(indexed: &[ArrayRef], names: &[String], rows: usize) -> Result<ArrayRef, ArrowError> {
    let mut objects = StringBuilder::new();
    let keys: Vec<String> = names.iter().map(|name| json(sent_name(name))).collect();
    let readers: Vec<Values<'_>> = indexed.iter().map(Values::of).collect::<Result<_, _>>()?;
    let mut object = String::new();
    for row in 0..rows {
        object.clear();
        for (key, values) in keys.iter().zip(&readers) {
            if let Some(value) = values.json(row) {
                object.push(if object.is_empty() { '{' } else { ',' });
                object.push_str(key);
                object.push(':');
                object.push_str(&value);
            }
        }
        if object.is_empty() {
            objects.append_null();
        } else {
            object.push('}');
            objects.append_value(&object);
        }
    }
    Ok(Arc::new(objects.finish()))
}

/// Returns the original name of an indexed field: the schema renames fields whose names are reserved.
fn sent_name(name: &str) -> &str {
    let taken = name.strip_prefix(FIELDS).and_then(|rest| rest.strip_prefix('.'));
    taken.filter(|name| crate::hot::is_reserved(name)).unwrap_or(name)
}

fn json(text: &str) -> String {
    serde_json::to_string(text).expect("text is JSON")
}

/// A column of one of the three types that fields have.
enum Values<'a> {
    Text(&'a arrow::array::StringViewArray),
    Integer(&'a arrow::array::Int64Array),
    Multivalue(&'a arrow::array::ListArray),
}

impl<'a> Values<'a> {
    fn of(column: &'a ArrayRef) -> Result<Self, ArrowError> {
        let other = || ArrowError::SchemaError(format!("a field of type {}", column.data_type()));
        Ok(match column.data_type() {
            DataType::Utf8View => Self::Text(column.as_string_view()),
            DataType::Int64 => Self::Integer(column.as_primitive::<Int64Type>()),
            DataType::List(item) if *item.data_type() == DataType::Utf8View => {
                Self::Multivalue(column.as_list())
            }
            _ => return Err(other()),
        })
    }

    fn json(&self, row: usize) -> Option<String> {
        match self {
            Self::Text(texts) => texts.is_valid(row).then(|| json(texts.value(row))),
            // Indexed fields are texts, whatever the type of the column.
            Self::Integer(values) => {
                values.is_valid(row).then(|| format!("\"{}\"", values.value(row)))
            }
            Self::Multivalue(lists) => lists.is_valid(row).then(|| {
                let values = lists.value(row);
                let texts: Vec<String> =
                    values.as_string_view().iter().flatten().map(json).collect();
                format!("[{}]", texts.join(","))
            }),
        }
    }
}
