//! Events in memory: compact columns that are converted to Arrow when they are first read.
//!
//! Small batches are joined by copying their text into one buffer; Arrow columns are views over it
//! and are made once, at the first snapshot or at the roll.

use std::sync::{Arc, OnceLock};

use arrow::array::{
    ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray, StringBuilder,
    StringViewArray, TimestampMicrosecondArray, make_view,
};
use arrow::buffer::{Buffer, ScalarBuffer};
use arrow::datatypes::{Int32Type, SchemaRef};
use bytes::Bytes;
use foldhash::HashMap;
use model::{EventBatch, EventBatchBuilder, IndexedField, Origin, OriginRun, Origins};

use super::indexed::Indexed;
use crate::Error;

/// Memory per row besides its text: times, text offset, place in Arrow columns.
const ROW_BYTES: usize = 64;
/// Memory per field besides its value.
const FIELD_BYTES: usize = 64;

/// Rows of one hot bucket, in arrival order.
#[derive(Debug)]
pub(crate) struct Rows {
    raw: Bytes,
    offsets: Vec<u32>,
    time: Vec<i64>,
    index_time: Vec<i64>,
    origins: Vec<Arc<Origin>>,
    runs: Vec<OriginRun>,
    fields: Vec<IndexedField>,
    columns: OnceLock<RecordBatch>,
}

impl Rows {
    /// Creates the rows of a batch whose first event arrived at `first_index_time`; each further event counts
    /// as one microsecond later.
    pub(crate) fn new(batch: EventBatch, first_index_time: i64) -> Self {
        let rows = batch.rows();
        Self {
            raw: batch.raw,
            offsets: batch.offsets,
            time: batch.time.iter().map(|time| time.0).collect(),
            index_time: (first_index_time..).take(rows).collect(),
            origins: batch.origins,
            runs: batch.runs,
            fields: batch.fields,
            columns: OnceLock::new(),
        }
    }

    pub(crate) fn rows(&self) -> usize {
        self.time.len()
    }

    pub(crate) fn raw_bytes(&self) -> usize {
        self.raw.len()
    }

    /// Returns the size that counts towards limits: the bytes of text, or half of the memory of the rows if
    /// that is larger, as for tiny events or many indexed fields.
    pub(crate) fn weight(&self) -> u64 {
        let fields = self.fields.iter().map(|field| field.value.len() + FIELD_BYTES);
        let memory = self.raw.len() + self.rows() * ROW_BYTES + fields.sum::<usize>();
        self.raw.len().max(memory / 2) as u64
    }

    /// Returns the earliest and latest event time; `None` without rows.
    pub(crate) fn span(&self) -> Option<(i64, i64)> {
        let (mut first, mut last) = (*self.time.first()?, *self.time.first()?);
        for &time in &self.time {
            first = first.min(time);
            last = last.max(time);
        }
        Some((first, last))
    }

    /// Returns the earliest and latest arrival time; `None` without rows.
    pub(crate) fn arrivals(&self) -> Option<(i64, i64)> {
        let times = || self.index_time.iter().copied();
        Some((times().min()?, times().max()?))
    }

    /// Returns events, bytes and ages by origin; `now` is in microseconds.
    pub(crate) fn by_origin(&self, now: i64) -> impl Iterator<Item = (&Arc<Origin>, Indexed)> {
        let mut counted = vec![Indexed::default(); self.origins.len()];
        let mut row = 0;
        for run in &self.runs {
            let end = row + run.rows as usize;
            let times = self.time[row..end].iter();
            let age = |time: &i64| u64::try_from(now.saturating_sub(*time)).unwrap_or(0);
            let (mut sum, mut max) = (0_u64, 0_u64);
            for age in times.map(age) {
                sum = sum.saturating_add(age);
                max = max.max(age);
            }
            counted[run.origin as usize].add(&Indexed {
                events: u64::from(run.rows),
                bytes: u64::from(self.offsets[end] - self.offsets[row]),
                age: sum,
                max_age: max,
            });
            row = end;
        }
        self.origins.iter().zip(counted)
    }

    /// Joins the rows of all parts, in order, in one buffer.
    pub(crate) fn join(parts: &[Arc<Self>]) -> Self {
        let bytes = parts.iter().map(|part| part.raw.len()).sum();
        let rows = parts.iter().map(|part| part.rows()).sum();
        let mut raw = Vec::with_capacity(bytes);
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        let mut time = Vec::with_capacity(rows);
        let mut index_time = Vec::with_capacity(rows);
        let mut origins = Origins::default();
        let mut fields = Vec::new();
        for part in parts {
            let text_base = u32::try_from(raw.len()).expect("joined rows stay small");
            let row_base = u32::try_from(time.len()).expect("joined rows stay small");
            raw.extend_from_slice(&part.raw);
            offsets.extend(part.offsets[1..].iter().map(|end| end + text_base));
            time.extend_from_slice(&part.time);
            index_time.extend_from_slice(&part.index_time);
            for run in &part.runs {
                origins.push(&part.origins[run.origin as usize], run.rows);
            }
            fields.extend(part.fields.iter().cloned().map(|mut field| {
                field.row += row_base;
                field
            }));
        }
        let raw = Bytes::from(raw);
        let (origins, runs) = origins.finish();
        Self { raw, offsets, time, index_time, origins, runs, fields, columns: OnceLock::new() }
    }

    /// Returns the rows as Arrow columns of `schema` (hot rows), sharing the text.
    pub(crate) fn columns(&self, schema: &SchemaRef) -> Result<RecordBatch, Error> {
        if let Some(columns) = self.columns.get() {
            return Ok(columns.clone());
        }
        let columns = self.build(schema).map_err(|error| Error::Columns(Arc::new(error)))?;
        Ok(self.columns.get_or_init(|| columns).clone())
    }

    fn build(&self, schema: &SchemaRef) -> Result<RecordBatch, arrow::error::ArrowError> {
        let times = |values: &[i64]| {
            let values = ScalarBuffer::from(values.to_vec());
            Arc::new(TimestampMicrosecondArray::new(values, None).with_timezone("UTC")) as ArrayRef
        };
        let views: ScalarBuffer<u128> = self
            .offsets
            .windows(2)
            .map(|border| {
                make_view(&self.raw[border[0] as usize..border[1] as usize], 0, border[0])
            })
            .collect();
        let raw = StringViewArray::try_new(views, vec![Buffer::from(self.raw.clone())], None)?;
        let columns = vec![
            times(&self.time),
            times(&self.index_time),
            Arc::new(raw) as ArrayRef,
            self.names(|origin| &origin.host)?,
            self.names(|origin| &origin.source)?,
            self.names(|origin| &origin.sourcetype)?,
            Arc::new(self.field_texts()),
        ];
        RecordBatch::try_new(Arc::clone(schema), columns)
    }

    fn names(
        &self,
        name: impl Fn(&Origin) -> &Arc<str>,
    ) -> Result<ArrayRef, arrow::error::ArrowError> {
        let mut values: Vec<&str> = Vec::new();
        let mut known: HashMap<&str, i32> = HashMap::default();
        let mut key_of = Vec::with_capacity(self.origins.len());
        for origin in &self.origins {
            let text: &str = name(origin);
            key_of.push(*known.entry(text).or_insert_with(|| {
                values.push(text);
                i32::try_from(values.len() - 1).expect("fewer names than rows")
            }));
        }
        let mut keys = Vec::with_capacity(self.rows());
        for run in &self.runs {
            keys.extend(std::iter::repeat_n(key_of[run.origin as usize], run.rows as usize));
        }
        let values = Arc::new(StringArray::from(values));
        Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(Int32Array::from(keys), values)?))
    }

    /// Returns a compact JSON object of the indexed fields of each row, or null if it has none.
    fn field_texts(&self) -> StringArray {
        if self.fields.is_empty() {
            return StringArray::new_null(self.rows());
        }
        let mut out = StringBuilder::new();
        let mut rest = self.fields.as_slice();
        for row in 0..self.rows() {
            let count = rest.iter().take_while(|field| field.row as usize <= row).count();
            let (mine, others) = rest.split_at(count);
            rest = others;
            if mine.is_empty() {
                out.append_null();
            } else {
                out.append_value(json_object(mine));
            }
        }
        out.finish()
    }
}

fn json_object(fields: &[IndexedField]) -> String {
    let mut object = serde_json::Map::new();
    for field in fields {
        let value = serde_json::Value::from(&*field.value);
        match object.get_mut(&*field.name) {
            None => {
                object.insert(field.name.to_string(), value);
            }
            Some(serde_json::Value::Array(values)) => values.push(value),
            Some(first) => *first = serde_json::Value::Array(vec![first.take(), value]),
        }
    }
    serde_json::Value::Object(object).to_string()
}

/// Returns the rows for which `wanted` is true.
pub(crate) fn select(batch: &EventBatch, wanted: impl Fn(usize) -> bool) -> EventBatch {
    let mut builder = EventBatchBuilder::new(batch.index.clone(), batch.raw.len());
    let mut fields = batch.fields.iter().peekable();
    for (row, origin) in batch.each_origin().enumerate() {
        let wanted = wanted(row);
        if wanted {
            // Batches hold whole characters by construction.
            let raw = std::str::from_utf8(batch.row(row)).unwrap_or_default();
            builder.push(origin, batch.time[row], raw);
        }
        while let Some(field) = fields.next_if(|field| field.row as usize <= row) {
            if wanted {
                builder.push_field(Arc::clone(&field.name), &field.value);
            }
        }
    }
    builder.finish()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::AsArray;
    use model::{EventBatchBuilder, EventTime, IndexName};

    use super::*;

    #[test]
    fn joined_rows_keep_their_order_origins_and_fields() {
        let parts = [rows("a", "one", None), rows("a", "two", Some("x")), rows("b", "three", None)];
        let joined = Rows::join(&parts.map(Arc::new));
        let batch = joined.columns(&bucket::hot_schema()).unwrap();
        let raw: Vec<_> = batch.column(2).as_string_view().iter().flatten().collect();
        assert_eq!(raw, ["one", "two", "three"]);
        assert_eq!(joined.origins.len(), 2);
        let fields: Vec<_> = batch.column(6).as_string::<i32>().iter().collect();
        assert_eq!(fields, [None, Some(r#"{"f":["x","x"]}"#), None]);
    }

    #[test]
    fn tiny_events_weigh_more_than_their_text() {
        assert_eq!(rows("a", &"x".repeat(1_000), None).weight(), 1_000);
        let tiny = rows("a", "x", Some("value"));
        assert!(tiny.weight() > 90, "{}", tiny.weight());
    }

    fn rows(host: &str, text: &str, field: Option<&str>) -> Rows {
        let origin = Origin {
            index: IndexName::new("main").unwrap(),
            host: host.into(),
            source: "s".into(),
            sourcetype: "t".into(),
        };
        let mut builder = EventBatchBuilder::new(origin.index.clone(), 0);
        builder.push(&Arc::new(origin), EventTime(1), text);
        for value in field.into_iter().chain(field) {
            builder.push_field("f".into(), value);
        }
        Rows::new(builder.finish(), 7)
    }
}
