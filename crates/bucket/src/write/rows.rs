//! All rows of a bucket in their final order, sharing the text of the original batches.

use std::sync::Arc;

use arrow::array::{
    Array, AsArray, RecordBatch, StringArray, StringViewArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{Int32Type, TimestampMicrosecondType};
use hashbrown::HashMap;
use model::{BucketId, EventTime, ValueCount};

use crate::Error;
use crate::hot::{FIELDS, hot_schema};

/// `host`, `source` or `sourcetype` of every row.
#[derive(Debug)]
pub(crate) struct Names {
    pub(crate) values: Vec<Arc<str>>,
    pub(crate) keys: Vec<u32>,
}

impl Names {
    pub(crate) fn value(&self, row: usize) -> &str {
        &self.values[self.keys[row] as usize]
    }

    /// Returns the counts of the values for the summary, sorted by value.
    pub(crate) fn counts(&self, rows: &Rows) -> Vec<ValueCount> {
        let mut counts: Vec<ValueCount> = self.values.iter().map(|value| unseen(value)).collect();
        for (row, key) in self.keys.iter().enumerate() {
            let count = &mut counts[*key as usize];
            count.count += 1;
            count.first_time.0 = count.first_time.0.min(rows.time[row]);
            count.last_time.0 = count.last_time.0.max(rows.time[row]);
            count.recent_time.0 = count.recent_time.0.max(rows.index_time[row]);
        }
        // A dictionary may have values that no row uses.
        counts.retain(|count| count.count > 0);
        counts.sort_by(|a, b| a.value.cmp(&b.value));
        counts
    }
}

fn unseen(value: &str) -> ValueCount {
    ValueCount {
        value: value.to_owned(),
        count: 0,
        first_time: EventTime::MAX,
        last_time: EventTime::MIN,
        recent_time: EventTime::MIN,
    }
}

/// Rows sorted by (`_time`, `_indextime`) ascending.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) time: Vec<i64>,
    pub(crate) index_time: Vec<i64>,
    pub(crate) host: Names,
    pub(crate) source: Names,
    pub(crate) sourcetype: Names,
    /// Number of bytes of `_raw`.
    pub(crate) raw_bytes: u64,
    /// The original `_raw` and `_fields` columns; no `_fields` if all are null.
    raw: Vec<StringViewArray>,
    fields: Vec<Option<StringArray>>,
    /// For each row, its batch and its row in that batch.
    places: Vec<(u32, u32)>,
}

impl Rows {
    /// Checks and sorts the batches.
    pub(crate) fn gather(id: BucketId, batches: &[RecordBatch]) -> Result<Self, Error> {
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        if rows == 0 {
            return Err(Error::Empty { id });
        }
        if rows > i32::MAX as usize {
            let (found, limit) = (rows as u64, i32::MAX as u64);
            return Err(Error::TooLarge { id, what: "the number of rows", found, limit });
        }
        for (at, batch) in batches.iter().enumerate() {
            check(id, at, batch)?;
        }
        let times = column_times(batches, 0);
        let index_times = column_times(batches, 1);
        let places = order(&times, &index_times, rows);
        let pick = |columns: &[TimestampMicrosecondArray]| {
            let value = |place: &(u32, u32)| columns[place.0 as usize].value(place.1 as usize);
            places.iter().map(value).collect::<Vec<i64>>()
        };
        let raw: Vec<_> = batches.iter().map(|batch| batch.column(2).as_string_view()).collect();
        let lengths = raw.iter().flat_map(|texts| texts.lengths());
        Ok(Self {
            time: pick(&times),
            index_time: pick(&index_times),
            host: gather_names(batches, 3, &places),
            source: gather_names(batches, 4, &places),
            sourcetype: gather_names(batches, 5, &places),
            raw_bytes: lengths.map(u64::from).sum(),
            raw: raw.into_iter().cloned().collect(),
            fields: batches.iter().map(fields_of).collect(),
            places,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.time.len()
    }

    /// Returns the `_raw` of the row.
    #[inline]
    pub(crate) fn text(&self, row: usize) -> &str {
        let (batch, row) = self.places[row];
        self.raw[batch as usize].value(row as usize)
    }

    /// Returns the indexed fields of the row as JSON.
    pub(crate) fn fields(&self, row: usize) -> Option<&str> {
        let (batch, row) = self.places[row];
        let fields = self.fields[batch as usize].as_ref()?;
        fields.is_valid(row as usize).then(|| fields.value(row as usize))
    }
}

/// Checks that the batch has the six fixed columns without nulls, and optionally [`FIELDS`].
fn check(id: BucketId, at: usize, batch: &RecordBatch) -> Result<(), Error> {
    let fail =
        |found: String, expected: String| Err(Error::Schema { id, batch: at, found, expected });
    let expected = hot_schema();
    let found = batch.schema();
    if found.fields().len() != 6 && found.fields().len() != 7 {
        return fail(format!("{} columns", found.fields().len()), "6 or 7 columns".into());
    }
    for (column, (theirs, ours)) in found.fields().iter().zip(expected.fields()).enumerate() {
        if theirs.name() != ours.name() || theirs.data_type() != ours.data_type() {
            let describe = |field: &arrow::datatypes::Field| {
                format!("column {} \"{}\" of type {}", column, field.name(), field.data_type())
            };
            return fail(describe(theirs), describe(ours));
        }
        let nulls = batch.column(column).logical_null_count();
        if !ours.is_nullable() && nulls > 0 {
            return fail(format!("{nulls} nulls in \"{}\"", ours.name()), "none".into());
        }
    }
    Ok(())
}

fn column_times(batches: &[RecordBatch], column: usize) -> Vec<TimestampMicrosecondArray> {
    let times = |batch: &RecordBatch| {
        batch.column(column).as_primitive::<TimestampMicrosecondType>().clone()
    };
    batches.iter().map(times).collect()
}

fn fields_of(batch: &RecordBatch) -> Option<StringArray> {
    let column = batch.column_by_name(FIELDS)?;
    // A column of nulls need not be kept in memory.
    (column.null_count() < column.len()).then(|| column.as_string::<i32>().clone())
}

/// Returns the origin of each row in final order.
fn order(
    times: &[TimestampMicrosecondArray],
    index_times: &[TimestampMicrosecondArray],
    rows: usize,
) -> Vec<(u32, u32)> {
    let mut keys = Vec::with_capacity(rows);
    for (batch, (time, index_time)) in times.iter().zip(index_times).enumerate() {
        for (row, (time, index_time)) in time.values().iter().zip(index_time.values()).enumerate() {
            keys.push((*time, *index_time, batch as u32, row as u32));
        }
    }
    // The stable sort merges sorted runs, and batches are mostly in order, one after the other or a few
    // interleaved. Batch and row break ties, so that the order of arrival is kept.
    keys.sort();
    keys.into_iter().map(|(_, _, batch, row)| (batch, row)).collect()
}

fn gather_names(batches: &[RecordBatch], column: usize, places: &[(u32, u32)]) -> Names {
    let mut values: Vec<Arc<str>> = Vec::new();
    let mut known: HashMap<Arc<str>, u32> = HashMap::new();
    let mut sources = Vec::with_capacity(batches.len());
    for batch in batches {
        let names = batch.column(column).as_dictionary::<Int32Type>();
        let texts = names.values().as_string::<i32>();
        // Texts are looked up once per dictionary entry, not once per row.
        let mut translated = Vec::with_capacity(texts.len());
        for text in texts {
            let text = text.unwrap_or_default();
            let key = known.get(text).copied().unwrap_or_else(|| {
                let key = values.len() as u32;
                values.push(text.into());
                known.insert(text.into(), key);
                key
            });
            translated.push(key);
        }
        sources.push((names.keys(), translated));
    }
    let key = |(batch, row): &(u32, u32)| {
        let (keys, translated) = &sources[*batch as usize];
        translated[keys.value(*row as usize) as usize]
    };
    Names { keys: places.iter().map(key).collect(), values }
}
