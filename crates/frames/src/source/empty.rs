//! A source without events, for plans that nobody runs.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use async_trait::async_trait;
use datafusion::datasource::TableProvider;
use datafusion::datasource::empty::EmptyTable;
use exprs::types::{ArrowType, ValueType};
use model::{IndexName, TimeRange, ValueCount, columns};

use crate::{Error, EventSource, EventsRequest, FieldInfo, MetadataKind};

/// Indexes that exist and hold nothing.
#[derive(Debug, Clone, Default)]
pub struct EmptySource {
    indexes: Vec<IndexName>,
}

impl EmptySource {
    /// A source of these indexes.
    #[must_use]
    pub fn new(indexes: Vec<IndexName>) -> Self {
        Self { indexes }
    }
}

#[async_trait]
impl EventSource for EmptySource {
    fn indexes(&self) -> Vec<IndexName> {
        self.indexes.clone()
    }

    fn events(&self, request: &EventsRequest) -> Result<Arc<dyn TableProvider>, Error> {
        let time = ValueType::Time.data_type();
        let name = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let mut fields = vec![
            Field::new(columns::TIME, time.clone(), false),
            Field::new(columns::INDEX_TIME, time, false),
            Field::new(columns::RAW, DataType::Utf8View, false),
            Field::new(columns::HOST, name.clone(), false),
            Field::new(columns::SOURCE, name.clone(), false),
            Field::new(columns::SOURCETYPE, name.clone(), false),
            Field::new(columns::INDEX, name, false),
        ];
        fields.extend(request.fields.iter().map(|field| {
            let kind = if field.multivalue { ValueType::Multi } else { ValueType::Text };
            Field::new(&field.name, kind.data_type(), true)
        }));
        Ok(Arc::new(EmptyTable::new(Arc::new(Schema::new(fields)))))
    }

    async fn fields(&self, _: &[IndexName], _: &TimeRange) -> Result<Vec<FieldInfo>, Error> {
        Ok(Vec::new())
    }

    async fn sourcetypes(
        &self,
        _: &[IndexName],
        _: &TimeRange,
    ) -> Result<Option<HashSet<String>>, Error> {
        Ok(Some(HashSet::new()))
    }

    async fn metadata(
        &self,
        _: MetadataKind,
        _: &[IndexName],
        _: &TimeRange,
    ) -> Result<Vec<ValueCount>, Error> {
        Ok(Vec::new())
    }
}
