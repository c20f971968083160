//! The events of a part for its planner: the rows are those of the share, and all other answers are those
//! that the search head received.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::datasource::TableProvider;
use futures::future::BoxFuture;
use model::{IndexName, TimeRange, ValueCount};
use plan::{Error, EventSource, EventsRequest, FieldInfo, MetadataKind};

use crate::recipes::{Answers, Asked};
use crate::scan::{EventsTable, ScanContext};

#[derive(Debug)]
pub(crate) struct Replayed {
    pub(crate) answers: Answers,
    /// The scan context, with the buckets of the share.
    pub(crate) context: ScanContext,
}

fn is_about(asked: &Asked, indexes: &[IndexName], range: &TimeRange) -> bool {
    asked.0 == indexes && asked.1 == *range
}

fn missing<T>(what: &str) -> Result<T, Error> {
    Err(Error::internal(format!("the search head has not asked for {what}")))
}

impl EventSource for Replayed {
    fn indexes(&self) -> Vec<IndexName> {
        self.answers.indexes.clone()
    }

    fn metric_indexes(&self) -> Vec<IndexName> {
        self.answers.metric_indexes.clone()
    }

    fn events(&self, request: &EventsRequest) -> Result<Arc<dyn TableProvider>, Error> {
        Ok(Arc::new(EventsTable::new(self.context.clone(), request.clone())))
    }

    fn fields<'a>(
        &'a self,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<Vec<FieldInfo>, Error>> {
        Box::pin(async move {
            let known =
                self.answers.fields.iter().find(|(asked, _)| is_about(asked, indexes, range));
            let Some((_, known)) = known else { return missing("the names of fields") };
            let info = |(name, multivalue, count): &(String, bool, u64)| FieldInfo {
                name: name.clone(),
                multivalue: *multivalue,
                count: *count,
            };
            Ok(known.iter().map(info).collect())
        })
    }

    fn several<'a>(
        &'a self,
        names: &'a [&'a str],
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<HashSet<String>, Error>> {
        Box::pin(async move {
            let mut known = self.answers.several.iter();
            let found =
                known.find(|(asked, about, _)| is_about(asked, indexes, range) && about == names);
            found.map_or_else(
                || missing("fields with several values"),
                |(.., found)| Ok(found.clone()),
            )
        })
    }

    fn has_summary_rows<'a>(
        &'a self,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async move {
            let mut known = self.answers.summary_rows.iter();
            let found = known.find(|(asked, _)| is_about(asked, indexes, range));
            found.map_or_else(|| missing("rows of summary indexes"), |(_, found)| Ok(*found))
        })
    }

    fn sourcetypes<'a>(
        &'a self,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<Option<HashSet<String>>, Error>> {
        Box::pin(async move {
            let mut known = self.answers.sourcetypes.iter();
            let found = known.find(|(asked, _)| is_about(asked, indexes, range));
            found.map_or_else(|| missing("source types"), |(_, found)| Ok(found.clone()))
        })
    }

    fn metadata<'a>(
        &'a self,
        _: MetadataKind,
        _: &'a [IndexName],
        _: &'a TimeRange,
    ) -> BoxFuture<'a, Result<Vec<ValueCount>, Error>> {
        Box::pin(async move { missing("metadata") })
    }
}
