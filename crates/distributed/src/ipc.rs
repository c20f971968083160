//! Rows as messages: Arrow IPC streams.

use std::io::Cursor;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::{ArrowError, Result};
use arrow::ipc::CompressionType;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::{IpcWriteOptions, StreamWriter};
use bytes::Bytes;
use exprs::compact::{Slack, compact_column};

/// Encodes batches of one schema.
pub(crate) fn encode(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<Bytes> {
    let mut writer = writer(schema)?;
    for batch in batches {
        write(&mut writer, schema, batch)?;
    }
    Ok(writer.into_inner()?.into())
}

/// As [`encode`], but yields after each batch, so that other tasks run; dropping the future cancels it.
pub(crate) async fn encode_in_turns(schema: SchemaRef, batches: Vec<RecordBatch>) -> Result<Bytes> {
    let mut writer = writer(&schema)?;
    for batch in &batches {
        write(&mut writer, &schema, batch)?;
        tokio::task::yield_now().await;
    }
    Ok(writer.into_inner()?.into())
}

fn writer(schema: &SchemaRef) -> Result<StreamWriter<Vec<u8>>> {
    let options =
        IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME))?;
    StreamWriter::try_new_with_options(Vec::new(), schema, options)
}

fn write(
    writer: &mut StreamWriter<Vec<u8>>,
    schema: &SchemaRef,
    batch: &RecordBatch,
) -> Result<()> {
    let columns = batch.columns().iter();
    let columns = columns.map(|column| compact_column(column, Slack::Written)).collect();
    let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    writer.write(&RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

/// Decodes batches from another process, which must have these columns.
pub(crate) fn decode(schema: &SchemaRef, bytes: &[u8]) -> Result<Vec<RecordBatch>> {
    let reader = StreamReader::try_new(Cursor::new(bytes), None)?;
    let columns = |schema: &SchemaRef| {
        let fields = schema.fields().iter();
        fields.map(|field| (field.name().clone(), field.data_type().clone())).collect::<Vec<_>>()
    };
    if columns(&reader.schema()) != columns(schema) {
        let message = format!("{} came instead of {schema}", reader.schema());
        return Err(ArrowError::SchemaError(message));
    }
    // Names and types must agree; nullability is taken from the plan of this process.
    let same = |batch: Result<RecordBatch>| {
        let batch = batch?;
        let rows = arrow::array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(schema), batch.columns().to_vec(), &rows)
    };
    reader.map(same).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array, StringViewArray};

    use super::*;

    fn batch(texts: impl IntoIterator<Item = String>) -> RecordBatch {
        let texts: ArrayRef = Arc::new(StringViewArray::from_iter_values(texts));
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..texts.len() as i64));
        RecordBatch::try_from_iter([("text", texts), ("number", numbers)]).unwrap()
    }

    fn long(number: usize) -> String {
        format!("event number {number} {}", "x".repeat(1_000))
    }

    #[test]
    fn rows_arrive_as_they_were() {
        let rows = batch((0..1_000).map(long));
        let slice = rows.slice(990, 3);
        let sent = [rows.clone(), slice.clone()];
        assert_eq!(decode(&rows.schema(), &encode(&rows.schema(), &sent).unwrap()).unwrap(), sent);
        assert!(encode(&rows.schema(), &[slice]).unwrap().len() < 10_000);
        assert!(decode(&rows.schema(), &encode(&rows.schema(), &[]).unwrap()).unwrap().is_empty());
    }

    #[tokio::test]
    async fn batches_encoded_in_turns_are_the_same_and_other_tasks_run_after_each() {
        let rows = batch((0..100).map(long));
        let sent = vec![rows.clone(), rows.slice(1, 2)];
        let mut encoding = std::pin::pin!(encode_in_turns(rows.schema(), sent.clone()));
        assert!(futures::poll!(&mut encoding).is_pending());
        assert!(futures::poll!(&mut encoding).is_pending());
        assert_eq!(encoding.await.unwrap(), encode(&rows.schema(), &sent).unwrap());
    }

    #[test]
    fn other_columns_are_refused() {
        let rows = batch((0..3).map(long));
        let other = rows.project(&[0]).unwrap();
        let error = decode(&rows.schema(), &encode(&other.schema(), &[other]).unwrap());
        assert!(error.unwrap_err().to_string().contains("came instead of"));
        assert!(decode(&rows.schema(), b"no arrow").is_err());
    }
}
