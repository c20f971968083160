//! The object of a stored job: what is beside the rows as JSON, then the rows as Arrow IPC streams, together
//! compressed with zstd.
//!
//! ```text
//! KARSTJOB1 | zstd( length of the JSON: u32, little-endian | JSON | stream | stream ... )
//! ```
//!
//! A stream has batches of one schema: batches of a result may differ in what may be null. The checksum of
//! zstd tells damage.

use std::io::{self, Cursor, Read, Write};

use arrow::array::RecordBatch;
use arrow::error::{ArrowError, Result as ArrowResult};
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use bytes::Bytes;
use exprs::compact::{Slack, compact_batch};

use crate::Error;
use crate::jobs::Details;

const MAGIC: &[u8] = b"KARSTJOB1";
/// The level of zstd: the default.
const LEVEL: i32 = 3;

/// Encodes a job as an object, if the object is not larger than the limit.
///
/// # Errors
/// [`Error::SavedResultBytes`] if it is larger.
pub(crate) fn encode(
    details: &Details,
    batches: &[RecordBatch],
    limit: usize,
) -> Result<Bytes, Error> {
    let mut sink = Limited { bytes: MAGIC.to_vec(), limit, is_full: false };
    match write(details, batches, &mut sink) {
        Ok(()) => Ok(sink.bytes.into()),
        Err(_) if sink.is_full => Err(Error::SavedResultBytes { limit }),
        Err(error) => Err(Error::Internal(format!("the rows of a job cannot be stored: {error}"))),
    }
}

fn write(details: &Details, batches: &[RecordBatch], sink: &mut Limited) -> ArrowResult<()> {
    let mut packed = zstd::Encoder::new(sink, LEVEL)?;
    packed.include_checksum(true)?;
    let json = serde_json::to_vec(details).map_err(io::Error::from)?;
    let length = u32::try_from(json.len()).map_err(io::Error::other)?;
    packed.write_all(&length.to_le_bytes())?;
    packed.write_all(&json)?;
    let mut left = batches;
    while let Some(first) = left.first() {
        let schema = first.schema();
        let same = left.iter().take_while(|batch| batch.schema_ref() == first.schema_ref()).count();
        let (stream, rest) = left.split_at(same);
        let mut writer = StreamWriter::try_new(&mut packed, &schema)?;
        for batch in stream {
            writer.write(&compact_batch(batch, Slack::Written)?)?;
        }
        writer.finish()?;
        drop(writer);
        left = rest;
    }
    packed.finish()?;
    Ok(())
}

/// Decodes an object, if its contents do not take more memory than the limit.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn decode(object: &[u8], limit: usize) -> Result<(Details, Vec<RecordBatch>), String> {
    let packed = object.strip_prefix(MAGIC);
    let packed = packed.ok_or("it is not a stored job of this version of Karst")?;
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let mut unpacked = Vec::new();
    let reader = zstd::Decoder::new(packed).map_err(|error| text(&error))?;
    let read = reader.take(limit as u64 + 1).read_to_end(&mut unpacked);
    read.map_err(|error| text(&error))?;
    if unpacked.len() > limit {
        return Err(format!("it takes more than {} MB of memory", limit >> 20));
    }
    let short = || "it is shorter than it says".to_owned();
    let (length, rest) = unpacked.split_first_chunk::<4>().ok_or_else(short)?;
    let length = u32::from_le_bytes(*length) as usize;
    let (json, rows) = rest.split_at_checked(length).ok_or_else(short)?;
    let details = serde_json::from_slice(json).map_err(|error| text(&error))?;
    Ok((details, batches(rows).map_err(|error| text(&error))?))
}

fn batches(rows: &[u8]) -> ArrowResult<Vec<RecordBatch>> {
    let mut cursor = Cursor::new(rows);
    let mut batches: Vec<RecordBatch> = Vec::new();
    while cursor.position() < rows.len() as u64 {
        let before = cursor.position();
        let mut reader = StreamReader::try_new(&mut cursor, None)?;
        for batch in &mut reader {
            batches.push(batch?);
        }
        drop(reader);
        if cursor.position() == before {
            return Err(ArrowError::IpcError("a stream without an end".to_owned()));
        }
    }
    Ok(batches)
}

/// A writer with a size limit.
struct Limited {
    bytes: Vec<u8>,
    limit: usize,
    is_full: bool,
}

impl Write for Limited {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + more.len() > self.limit {
            self.is_full = true;
            return Err(io::Error::other("the limit is reached"));
        }
        self.bytes.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, StringViewArray};

    use super::*;

    const LIMIT: usize = 1 << 20;

    fn details() -> Details {
        let column = serde_json::json!({
            "name": "a", "kind": "integer", "shown": true, "possible": false, "named": true,
        });
        let details = serde_json::json!({
            "plans": [], "timeline": null, "columns": [column], "keep": ["a*"], "drop": [],
            "hidden": ["nobody/search/props/x"],
        });
        serde_json::from_value(details).unwrap()
    }

    fn numbers(from: i64, to: i64) -> RecordBatch {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(from..to));
        RecordBatch::try_from_iter([("a", column)]).unwrap()
    }

    #[test]
    fn rows_of_different_schemas_come_back_in_their_order() {
        let nullable: ArrayRef = Arc::new(Int64Array::from_iter([Some(7), None]));
        let nullable = RecordBatch::try_from_iter_with_nullable([("a", nullable, true)]).unwrap();
        let batches = [numbers(0, 3), numbers(3, 5), nullable, numbers(5, 6)];
        let object = encode(&details(), &batches, LIMIT).unwrap();
        let (details, again) = decode(&object, LIMIT).unwrap();
        assert_eq!(again, batches);
        assert_eq!(details.hidden, ["nobody/search/props/x"]);
        let (_, none) = decode(&encode(&details, &[], LIMIT).unwrap(), LIMIT).unwrap();
        assert!(none.is_empty());
    }

    #[test]
    fn a_slice_does_not_bring_the_texts_of_the_whole() {
        let texts =
            (0..20_000).map(|n: u64| format!("{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let column: ArrayRef = Arc::new(StringViewArray::from_iter_values(texts));
        let whole = RecordBatch::try_from_iter([("a", column)]).unwrap();
        let object = encode(&details(), &[whole.slice(100, 2)], LIMIT).unwrap();
        assert!(object.len() < 2_000, "{}", object.len());
        assert_eq!(decode(&object, LIMIT).unwrap().1, [whole.slice(100, 2)]);
    }

    #[test]
    fn what_is_too_large_or_damaged_is_refused() {
        let error = encode(&details(), &[numbers(0, 100_000)], 100).unwrap_err();
        assert!(matches!(error, Error::SavedResultBytes { limit: 100 }), "{error}");
        let object = encode(&details(), &[numbers(0, 1_000)], LIMIT).unwrap();
        assert!(decode(&object, 1_000).unwrap_err().contains("of memory"));
        for at in [0, MAGIC.len() + 3, object.len() / 2, object.len() - 1] {
            let mut damaged = object.to_vec();
            damaged[at] ^= 0x55;
            assert!(decode(&damaged, LIMIT).is_err(), "{at}");
            assert!(decode(&object[..at], LIMIT).is_err(), "up to {at}");
        }
    }
}
