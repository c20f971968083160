//! Hot rows as messages: one batch each, an Arrow IPC stream.

use std::io::Cursor;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::DataType;
use arrow::error::{ArrowError, Result};
use arrow::ipc::CompressionType;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::{IpcWriteOptions, StreamWriter};
use bucket::hot_schema;
use bytes::Bytes;

use crate::PART;

/// A batch as bytes.
pub(crate) fn encode(batch: &RecordBatch) -> Result<Bytes> {
    let options =
        IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME))?;
    let batch = compact(batch)?;
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options)?;
    writer.write(&batch)?;
    Ok(writer.into_inner()?.into())
}

/// The batch of bytes that another process has sent.
pub(crate) fn decode(bytes: &[u8]) -> Result<RecordBatch> {
    let mut reader = StreamReader::try_new(Cursor::new(bytes), None)?;
    let schema = hot_schema();
    if reader.schema().fields() != schema.fields() {
        return Err(ArrowError::SchemaError(format!("these are no hot rows: {}", reader.schema())));
    }
    let batch = reader.next().ok_or_else(|| ArrowError::IpcError("no rows came".to_owned()))??;
    RecordBatch::try_new(schema, batch.columns().to_vec())
}

/// The rows behind the first ones, in parts that are short enough for a message, with the number of rows
/// before each.
pub(crate) fn parts(batches: &[RecordBatch], first: u64) -> Vec<(u64, RecordBatch)> {
    let mut parts = Vec::new();
    let mut before = 0;
    for batch in batches {
        let rows = batch.num_rows();
        let skip = usize::try_from(first.saturating_sub(before)).unwrap_or(usize::MAX).min(rows);
        let most = rows_of_part(batch);
        let mut at = skip;
        while at < rows {
            let length = most.min(rows - at);
            parts.push((before + at as u64, batch.slice(at, length)));
            at += length;
        }
        before += rows as u64;
    }
    parts
}

fn rows_of_part(batch: &RecordBatch) -> usize {
    let rows = batch.num_rows().max(1);
    (rows * PART / text_bytes(batch).max(1)).clamp(1, rows)
}

fn text_bytes(batch: &RecordBatch) -> usize {
    let texts = |column: &ArrayRef| match column.data_type() {
        DataType::Utf8View => column.as_string_view().lengths().map(|length| length as usize).sum(),
        DataType::Utf8 => {
            let offsets = column.as_string::<i32>().value_offsets();
            let (first, last) = (offsets.first(), offsets.last());
            usize::try_from(last.unwrap_or(&0) - first.unwrap_or(&0)).unwrap_or_default()
        }
        _ => 0,
    };
    batch.columns().iter().map(texts).sum()
}

/// Copies the rows without the texts of other rows: a slice keeps the buffers of the whole batch. Corresponds
/// to `compact_batch` of the crate `exprs` for rows that are written; this crate does not depend on
/// expressions.
fn compact(batch: &RecordBatch) -> Result<RecordBatch> {
    let column = |column: &ArrayRef| -> ArrayRef {
        let Some(views) = column.as_string_view_opt() else { return Arc::clone(column) };
        let held: usize = views.data_buffers().iter().map(arrow::buffer::Buffer::len).sum();
        if held <= views.total_buffer_bytes_used() + (4 << 10) {
            return Arc::clone(column);
        }
        Arc::new(views.gc())
    };
    RecordBatch::try_new(batch.schema(), batch.columns().iter().map(column).collect())
}

/// Neighbours as one batch.
pub(crate) fn join(batches: &[RecordBatch]) -> Result<RecordBatch> {
    let joined = concat_batches(&hot_schema(), batches)?;
    // One buffer of texts instead of one for each neighbour.
    let column = |column: &ArrayRef| -> ArrayRef {
        match column.as_string_view_opt() {
            Some(views) => Arc::new(views.gc()),
            None => Arc::clone(column),
        }
    };
    RecordBatch::try_new(joined.schema(), joined.columns().iter().map(column).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests {
    use arrow::array::{DictionaryArray, StringArray, StringViewArray, TimestampMicrosecondArray};
    use arrow::datatypes::Int32Type;

    use super::*;

    /// Rows with these texts, at these times.
    pub(crate) fn batch(texts: impl IntoIterator<Item = String>) -> RecordBatch {
        let texts: Vec<String> = texts.into_iter().collect();
        let times = || -> ArrayRef {
            let times = TimestampMicrosecondArray::from_iter_values(0..texts.len() as i64);
            Arc::new(times.with_timezone("UTC"))
        };
        let name = |name: &str| -> ArrayRef {
            Arc::new(texts.iter().map(|_| name).collect::<DictionaryArray<Int32Type>>())
        };
        let raw = StringViewArray::from_iter_values(&texts);
        let fields = StringArray::from(vec![None::<&str>; texts.len()]);
        let columns: Vec<ArrayRef> = vec![
            times(),
            times(),
            Arc::new(raw),
            name("host"),
            name("source"),
            name("sourcetype"),
            Arc::new(fields),
        ];
        RecordBatch::try_new(hot_schema(), columns).unwrap()
    }

    fn long(number: usize) -> String {
        format!("event number {number} {}", "x".repeat(1_000))
    }

    #[test]
    fn rows_arrive_as_they_were() {
        let rows = batch((0..1_000).map(long));
        assert_eq!(decode(&encode(&rows).unwrap()).unwrap(), rows);
        let slice = rows.slice(990, 3);
        let bytes = encode(&slice).unwrap();
        assert!(bytes.len() < 10_000, "{}", bytes.len());
        assert_eq!(decode(&bytes).unwrap(), slice);
    }

    #[test]
    fn parts_have_all_rows_behind_the_first_ones_and_are_short() {
        let batches = [batch((0..10).map(long)), batch((10..9_000).map(long))];
        for first in [0, 1, 10, 11, 8_999, 9_000, 10_000] {
            let parts = parts(&batches, first);
            let mut next = first;
            for (before, part) in &parts {
                assert_eq!(*before, next);
                assert!(text_bytes(part) <= PART + 2_000);
                next += part.num_rows() as u64;
            }
            assert_eq!(next, first.max(9_000));
        }
        let texts: Vec<_> = parts(&batches, 8_998).into_iter().map(|(_, part)| part).collect();
        assert_eq!(join(&texts).unwrap().column(2).as_string_view().value(0), long(8_998));
    }

    #[test]
    fn other_bytes_are_refused() {
        assert!(decode(b"").is_err());
        assert!(decode(b"no arrow").is_err());
        let rows = batch((0..3).map(long)).project(&[0, 2]).unwrap();
        let error = decode(&encode(&rows).unwrap()).unwrap_err();
        assert!(error.to_string().contains("no hot rows"), "{error}");
    }
}
