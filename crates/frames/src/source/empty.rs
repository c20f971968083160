//! A source without events, for plans that are never run.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use datafusion::datasource::TableProvider;
use datafusion::datasource::empty::EmptyTable;
use exprs::types::{ArrowType, ValueType};
use futures::future::BoxFuture;
use model::{IndexName, TimeRange, ValueCount, columns};

use crate::{Error, EventSource, EventsRequest, FieldInfo, MetadataKind};

/// Existing, empty indexes.
#[derive(Debug, Clone, Default)]
pub struct EmptySource {
    indexes: Vec<IndexName>,
    sourcetypes: HashSet<String>,
}

impl EmptySource {
    /// Creates a source with these indexes.
    #[must_use]
    pub fn new(indexes: Vec<IndexName>) -> Self {
        Self { indexes, ..Self::default() }
    }

    /// Sets the source types that the source reports.
    #[must_use]
    pub fn with_sourcetypes(self, sourcetypes: HashSet<String>) -> Self {
        Self { sourcetypes, ..self }
    }
}

impl EventSource for EmptySource {
    fn indexes(&self) -> Vec<IndexName> {
        self.indexes.clone()
    }

    fn metric_indexes(&self) -> Vec<IndexName> {
        Vec::new()
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

    fn fields<'a>(
        &'a self,
        _: &'a [IndexName],
        _: &'a TimeRange,
    ) -> BoxFuture<'a, Result<Vec<FieldInfo>, Error>> {
        Box::pin(async move { Ok(Vec::new()) })
    }

    fn sourcetypes<'a>(
        &'a self,
        _: &'a [IndexName],
        _: &'a TimeRange,
    ) -> BoxFuture<'a, Result<Option<HashSet<String>>, Error>> {
        Box::pin(async move { Ok(Some(self.sourcetypes.clone())) })
    }

    fn metadata<'a>(
        &'a self,
        _: MetadataKind,
        _: &'a [IndexName],
        _: &'a TimeRange,
    ) -> BoxFuture<'a, Result<Vec<ValueCount>, Error>> {
        Box::pin(async move { Ok(Vec::new()) })
    }
}
