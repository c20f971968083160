//! Stored events as the planner sees them: indexes, tables, field names, metadata.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Int32Type, TimestampMicrosecondType};
use async_trait::async_trait;
use catalog::Snapshot;
use datafusion::datasource::TableProvider;
use knowledge::Knowledge;
use model::{BucketEntry, BucketSummary, EventTime, IndexName, TimeRange, ValueCount, columns};
use plan::{Error, EventSource, EventsRequest, FieldInfo, MetadataKind};

use crate::discovered::{Discovered, Fields};
use crate::quarantine::quarantined;
use crate::readers::rules_hold;
use crate::scan::{EventsTable, ScanContext, sourcetypes_of};

/// The events a job can reach.
#[derive(Debug)]
pub(crate) struct StoredEvents {
    pub(crate) context: ScanContext,
    pub(crate) indexes: Vec<IndexName>,
    pub(crate) discovered: Arc<Discovered>,
}

impl StoredEvents {
    fn entries(&self, indexes: &[IndexName], range: &TimeRange) -> Vec<Arc<BucketEntry>> {
        let snapshot = self.context.catalog.snapshot();
        let entries = searchable(&snapshot, indexes, range);
        entries.cloned().collect()
    }
}

#[async_trait]
impl EventSource for StoredEvents {
    fn indexes(&self) -> Vec<IndexName> {
        self.indexes.clone()
    }

    fn events(&self, request: &EventsRequest) -> Result<Arc<dyn TableProvider>, Error> {
        Ok(Arc::new(EventsTable::new(self.context.clone(), request.clone())))
    }

    async fn fields(
        &self,
        indexes: &[IndexName],
        range: &TimeRange,
    ) -> Result<Vec<FieldInfo>, Error> {
        let hot = self.context.hot.snapshot(indexes, range);
        let knowledge = &self.context.knowledge;
        let mut found = self.discovered.fields(&hot, knowledge).await;
        let aside = hot.iter().filter_map(|bucket| bucket.stored.clone());
        for entry in self.entries(indexes, range).into_iter().chain(aside) {
            // Names in the rules of today that the bucket's catalogue, made by others, cannot have.
            if !rules_hold(knowledge, &entry.summary) || !entry.summary.fields_complete {
                named(&entry.summary, knowledge, &mut found);
            }
            for field in &entry.summary.fields {
                match found.get_mut(&field.name) {
                    Some(info) => {
                        info.count += field.count;
                        info.multivalue |= field.multivalue;
                    }
                    None => {
                        let (name, multivalue) = (field.name.clone(), field.multivalue);
                        found.insert(
                            name.clone(),
                            FieldInfo { name, multivalue, count: field.count },
                        );
                    }
                }
            }
        }
        Ok(found.into_values().collect())
    }

    async fn sourcetypes(
        &self,
        indexes: &[IndexName],
        range: &TimeRange,
    ) -> Result<Option<HashSet<String>>, Error> {
        // Hot first, as when buckets are read: what is uploaded meanwhile is in both.
        let hot = self.context.hot.snapshot(indexes, range);
        let stored = self.context.catalog.snapshot();
        let mut found: HashSet<&str> = HashSet::new();
        for bucket in &hot {
            for batch in &bucket.batches {
                let Some(names) = sourcetypes_of(batch) else { return Ok(None) };
                found.extend(names.iter().flatten());
            }
        }
        let aside = hot.iter().filter_map(|bucket| bucket.stored.as_ref());
        for entry in searchable(&stored, indexes, range).chain(aside) {
            found.extend(entry.summary.sourcetypes.iter().map(|known| known.value.as_str()));
        }
        Ok(Some(found.into_iter().map(str::to_owned).collect()))
    }

    async fn metadata(
        &self,
        kind: MetadataKind,
        indexes: &[IndexName],
        range: &TimeRange,
    ) -> Result<Vec<ValueCount>, Error> {
        let mut merged: BTreeMap<String, ValueCount> = BTreeMap::new();
        let hot = self.context.hot.snapshot(indexes, range);
        let stored = self.context.catalog.snapshot();
        for bucket in hot.iter().filter(|bucket| !stored.contains(&bucket.index, bucket.id)) {
            for batch in &bucket.batches {
                count_hot(kind, batch, &mut merged);
            }
        }
        let left_out = quarantined(&stored);
        let stored_buckets =
            searchable(&stored, indexes, range).filter(|entry| match left_out.get(&entry.id) {
                Some(bucket) => {
                    self.context.report.leave_out(bucket);
                    false
                }
                None => true,
            });
        let aside = hot.iter().filter_map(|bucket| bucket.stored.as_ref());
        let aside = aside.filter(|entry| !stored.contains(&entry.index, entry.id));
        for entry in stored_buckets.chain(aside) {
            let values = match kind {
                MetadataKind::Hosts => &entry.summary.hosts,
                MetadataKind::Sources => &entry.summary.sources,
                MetadataKind::Sourcetypes => &entry.summary.sourcetypes,
            };
            values.iter().for_each(|value| merge(&mut merged, value));
        }
        Ok(merged.into_values().filter(|v| range.overlaps(v.first_time, v.last_time)).collect())
    }
}

/// Adds the fields that rules name, for the events of a bucket.
fn named(summary: &BucketSummary, knowledge: &Knowledge, found: &mut Fields) {
    let of = |sourcetype: &str, source: &str, host: &str, found: &mut Fields| {
        let rules = knowledge.field_rules(sourcetype, source, host);
        let several = rules.multivalue_names();
        for name in rules.names() {
            let multivalue = several.contains(&name);
            found
                .entry(name.to_owned())
                .and_modify(|info| info.multivalue |= multivalue)
                .or_insert_with(|| FieldInfo { name: name.to_owned(), multivalue, count: 0 });
        }
    };
    // What stanzas of sources and of hosts name adds up.
    for sourcetype in &summary.sourcetypes {
        summary.sources.iter().for_each(|source| of(&sourcetype.value, &source.value, "", found));
        summary.hosts.iter().for_each(|host| of(&sourcetype.value, "", &host.value, found));
    }
}

/// Buckets of the indexes that are not frozen.
fn searchable<'a>(
    snapshot: &'a Snapshot,
    indexes: &'a [IndexName],
    range: &'a TimeRange,
) -> impl Iterator<Item = &'a Arc<BucketEntry>> {
    // To the catalog, no index means every index.
    let all = (!indexes.is_empty()).then(|| snapshot.overlapping(indexes, range));
    all.into_iter().flatten().filter(|entry| entry.state.is_searchable())
}

fn count_hot(kind: MetadataKind, batch: &RecordBatch, merged: &mut BTreeMap<String, ValueCount>) {
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

fn merge(merged: &mut BTreeMap<String, ValueCount>, value: &ValueCount) {
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
