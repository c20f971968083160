//! Hosts, sources and source types with their counts and times, as `metadata` lists them.

use std::collections::BTreeMap;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Int32Type, TimestampMicrosecondType};
use model::{EventTime, ValueCount, columns};
use plan::MetadataKind;

/// Hosts, sources or source types, with their counts.
pub(crate) type Counts = BTreeMap<String, ValueCount>;

/// Adds the counts of hot rows.
pub(crate) fn count_hot(kind: MetadataKind, batch: &RecordBatch, merged: &mut Counts) {
    let name = match kind {
        MetadataKind::Hosts => columns::HOST,
        MetadataKind::Sources => columns::SOURCE,
        MetadataKind::Sourcetypes => columns::SOURCETYPE,
    };
    let times = |name: &str| {
        batch.column_by_name(name).and_then(|c| c.as_primitive_opt::<TimestampMicrosecondType>())
    };
    let values = batch.column_by_name(name).and_then(|c| c.as_dictionary_opt::<Int32Type>());
    let (Some(values), Some(time), Some(arrived)) =
        (values, times(columns::TIME), times(columns::INDEX_TIME))
    else {
        return;
    };
    let Some(texts) = values.values().as_string_opt::<i32>() else { return };
    let mut counts: Vec<Option<ValueCount>> = vec![None; texts.len()];
    for row in 0..batch.num_rows() {
        let Some(key) = values.key(row) else { continue };
        let at = EventTime(time.value(row));
        let recent = EventTime(arrived.value(row));
        let count = counts[key].get_or_insert_with(|| ValueCount {
            value: texts.value(key).to_owned(),
            count: 0,
            first_time: at,
            last_time: at,
            recent_time: recent,
        });
        count.count += 1;
        count.first_time = count.first_time.min(at);
        count.last_time = count.last_time.max(at);
        count.recent_time = count.recent_time.max(recent);
    }
    counts.iter().flatten().for_each(|count| merge(merged, count));
}

/// Adds a count to the merged counts.
pub(crate) fn merge(merged: &mut Counts, value: &ValueCount) {
    match merged.get_mut(&value.value) {
        Some(known) => {
            known.count += value.count;
            known.first_time = known.first_time.min(value.first_time);
            known.last_time = known.last_time.max(value.last_time);
            known.recent_time = known.recent_time.max(value.recent_time);
        }
        None => {
            merged.insert(value.value.clone(), value.clone());
        }
    }
}
