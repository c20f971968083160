//! In-memory topologies: all events in one batch, or randomly split into small batches.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arrow::array::{
    ArrayRef, ListBuilder, RecordBatch, StringDictionaryBuilder, StringViewArray,
    StringViewBuilder, TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field, Int32Type, Schema, SchemaRef};
use datafusion::datasource::{MemTable, TableProvider};
use futures::future::BoxFuture;
use model::{EventTime, IndexName, TimeRange, ValueCount};
use plan::{
    ArrowType, Error, EventSource, EventsRequest, FieldInfo, MetadataKind, SessionSettings,
    SourceField, ValueType,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::{SpecEvent, Topology};

/// Events in memory, in one of two layouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// One batch in one partition.
    Whole,
    /// Batches of a few rows in several partitions, in random order, determined by the seed.
    Pieces(u64),
}

impl Topology for Memory {
    fn name(&self) -> String {
        match self {
            Self::Whole => "memory, one batch".to_owned(),
            Self::Pieces(seed) => format!("memory, in pieces (seed {seed})"),
        }
    }

    fn wide_columns(&self) -> usize {
        match self {
            Self::Whole => SessionSettings::default().wide_columns,
            // Zero, so that the rule for wide plans applies to the plans of all specs.
            Self::Pieces(_) => 0,
        }
    }

    fn load<'a>(
        &'a self,
        events: &'a [SpecEvent],
        knowledge: &'a Arc<knowledge::Knowledge>,
    ) -> BoxFuture<'a, Result<Arc<dyn EventSource>, String>> {
        Box::pin(async move {
            let parts = match self {
                Self::Whole => vec![vec![events.to_vec()]],
                Self::Pieces(seed) => pieces(events, *seed),
            };
            Ok(Arc::new(MemorySource::new(parts, knowledge)) as Arc<dyn EventSource>)
        })
    }
}

fn pieces(events: &[SpecEvent], seed: u64) -> Vec<Vec<Vec<SpecEvent>>> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut parts = vec![Vec::new(); 3];
    let mut rest = events.to_vec();
    while !rest.is_empty() {
        let size = random.random_range(1..=rest.len().min(3));
        let batch = (0..size).map(|_| rest.swap_remove(random.random_range(0..rest.len())));
        let batch = batch.collect();
        parts[random.random_range(0..3)].push(batch);
    }
    parts
}

type Fields = BTreeMap<String, Vec<String>>;

/// An event source over events in memory, as partitions of batches.
#[derive(Debug)]
pub struct MemorySource {
    parts: Vec<Vec<Vec<(SpecEvent, Fields)>>>,
    metric_indexes: Vec<IndexName>,
}

impl MemorySource {
    /// A source over partitions of batches.
    #[must_use]
    pub fn new(parts: Vec<Vec<Vec<SpecEvent>>>, knowledge: &knowledge::Knowledge) -> Self {
        let with_fields = |event: SpecEvent| {
            let fields = fields_of(&event, knowledge);
            (event, fields)
        };
        let batch = |batch: Vec<SpecEvent>| batch.into_iter().map(with_fields).collect();
        let part = |part: Vec<Vec<SpecEvent>>| part.into_iter().map(batch).collect();
        let metric = knowledge.indexes().iter().filter(|index| index.metric);
        let metric_indexes = metric.map(|index| index.name.clone()).collect();
        Self { parts: parts.into_iter().map(part).collect(), metric_indexes }
    }

    fn events_in<'s>(
        &'s self,
        indexes: &'s [IndexName],
        range: &'s TimeRange,
    ) -> impl Iterator<Item = &'s (SpecEvent, Fields)> {
        let all = self.parts.iter().flatten().flatten();
        all.filter(|(event, _)| indexes.contains(&event.index) && range.contains(event.time))
    }
}

/// The listed fields, and those extracted from the text.
fn fields_of(event: &SpecEvent, knowledge: &knowledge::Knowledge) -> Fields {
    let mut fields: Fields = event.fields.iter().cloned().collect();
    let listed: Vec<String> = fields.keys().cloned().collect();
    let rules = knowledge.field_rules(&event.sourcetype, &event.source, &event.host);
    let _ = rules.extract(&event.raw, &mut |name, value| {
        if !listed.iter().any(|known| known == name) {
            fields.entry(name.to_owned()).or_default().push(value.into_owned());
        }
    });
    fields
}

impl EventSource for MemorySource {
    fn indexes(&self) -> Vec<IndexName> {
        let all = self.parts.iter().flatten().flatten();
        let mut names: Vec<IndexName> = all.map(|(event, _)| event.index.clone()).collect();
        names.extend(IndexName::new("main").ok());
        names.sort();
        names.dedup();
        names
    }

    fn metric_indexes(&self) -> Vec<IndexName> {
        self.metric_indexes.clone()
    }

    fn events(&self, request: &EventsRequest) -> Result<Arc<dyn TableProvider>, Error> {
        let schema = schema(&request.fields);
        let mut partitions = Vec::new();
        for part in &self.parts {
            let mut batches = Vec::new();
            for batch in part {
                // Rows outside the range are kept, because the plan must filter them.
                let rows: Vec<&(SpecEvent, Fields)> = batch
                    .iter()
                    .filter(|(event, _)| request.indexes.contains(&event.index))
                    .filter(|(event, _)| {
                        let known = request.sourcetypes.as_ref();
                        known.is_none_or(|known| known.contains(&event.sourcetype))
                    })
                    .collect();
                batches.push(record_batch(&schema, &rows, &request.fields)?);
            }
            partitions.push(batches);
        }
        Ok(Arc::new(MemTable::try_new(schema, partitions)?))
    }

    fn fields<'a>(
        &'a self,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<Vec<FieldInfo>, Error>> {
        Box::pin(async move {
            let mut found: BTreeMap<String, FieldInfo> = BTreeMap::new();
            for (_, fields) in self.events_in(indexes, range) {
                for (name, values) in fields {
                    let info = found.entry(name.clone()).or_insert_with(|| FieldInfo {
                        name: name.clone(),
                        multivalue: false,
                        count: 0,
                    });
                    info.count += 1;
                    info.multivalue |= values.len() > 1;
                }
            }
            Ok(found.into_values().collect())
        })
    }

    fn sourcetypes<'a>(
        &'a self,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<Option<HashSet<String>>, Error>> {
        Box::pin(async move {
            let events = self.events_in(indexes, range);
            Ok(Some(events.map(|(event, _)| event.sourcetype.clone()).collect()))
        })
    }

    fn metadata<'a>(
        &'a self,
        kind: MetadataKind,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<Vec<ValueCount>, Error>> {
        Box::pin(async move {
            let mut found: BTreeMap<String, ValueCount> = BTreeMap::new();
            for (event, _) in self.events_in(indexes, range) {
                let value = match kind {
                    MetadataKind::Hosts => &event.host,
                    MetadataKind::Sources => &event.source,
                    MetadataKind::Sourcetypes => &event.sourcetype,
                };
                let entry = found.entry(value.clone()).or_insert_with(|| ValueCount {
                    value: value.clone(),
                    count: 0,
                    first_time: EventTime::MAX,
                    last_time: EventTime::MIN,
                    recent_time: EventTime::MIN,
                });
                entry.count += 1;
                entry.first_time = entry.first_time.min(event.time);
                entry.last_time = entry.last_time.max(event.time);
                entry.recent_time = entry.recent_time.max(event.index_time);
            }
            Ok(found.into_values().collect())
        })
    }
}

fn schema(fields: &[SourceField]) -> SchemaRef {
    let time = ValueType::Time.data_type();
    let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let mut columns = vec![
        Field::new("_time", time.clone(), false),
        Field::new("_indextime", time, false),
        Field::new("_raw", DataType::Utf8View, false),
        Field::new("host", dictionary.clone(), false),
        Field::new("source", dictionary.clone(), false),
        Field::new("sourcetype", dictionary.clone(), false),
        Field::new("index", dictionary, false),
    ];
    columns.extend(fields.iter().map(|field| {
        let kind = if field.multivalue { ValueType::Multi } else { ValueType::Text };
        Field::new(&field.name, kind.data_type(), true)
    }));
    Arc::new(Schema::new(columns))
}

fn record_batch(
    schema: &SchemaRef,
    rows: &[&(SpecEvent, Fields)],
    fields: &[SourceField],
) -> Result<RecordBatch, Error> {
    let times = |pick: fn(&SpecEvent) -> EventTime| -> ArrayRef {
        let micros = rows.iter().map(|(event, _)| pick(event).0);
        Arc::new(TimestampMicrosecondArray::from_iter_values(micros).with_timezone("UTC"))
    };
    let dictionary = |pick: fn(&SpecEvent) -> &str| -> ArrayRef {
        let mut built = StringDictionaryBuilder::<Int32Type>::new();
        rows.iter().for_each(|(event, _)| built.append_value(pick(event)));
        Arc::new(built.finish())
    };
    let raw = StringViewArray::from_iter_values(rows.iter().map(|(event, _)| &event.raw));
    let mut columns: Vec<ArrayRef> = vec![
        times(|event| event.time),
        times(|event| event.index_time),
        Arc::new(raw),
        dictionary(|event| &event.host),
        dictionary(|event| &event.source),
        dictionary(|event| &event.sourcetype),
        dictionary(|event| event.index.as_str()),
    ];
    columns.extend(fields.iter().map(|field| field_column(rows, field)));
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}

fn field_column(rows: &[&(SpecEvent, Fields)], field: &SourceField) -> ArrayRef {
    let values = rows.iter().map(|(_, fields)| fields.get(&field.name));
    if !field.multivalue {
        let first = values.map(|values| values.and_then(|values| values.first()));
        return Arc::new(first.collect::<StringViewArray>());
    }
    let mut built = ListBuilder::new(StringViewBuilder::new());
    for values in values {
        if let Some(values) = values {
            values.iter().for_each(|value| built.values().append_value(value));
        }
        built.append(values.is_some());
    }
    Arc::new(built.finish())
}
