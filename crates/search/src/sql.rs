//! SQL over the same events: every index is a table, every field a column.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, MemoryCatalogProvider, SchemaProvider};
use datafusion::datasource::TableProvider;
use datafusion::error::DataFusionError;
use datafusion::execution::context::{SQLOptions, SessionContext};
use datafusion::logical_expr::LogicalPlan;
use futures::TryStreamExt;
use jiff::tz::TimeZone;
use model::{ErrorKind, IndexName, TimeRange};
use plan::{EventSource, EventsRequest, SourceField};

use crate::jobs::{JobRequest, Page};
use crate::render::Renderer;
use crate::scan::{EventsTable, FIXED};
use crate::service::time_range;
use crate::source::StoredEvents;
use crate::{Error, SearchService};

/// A query to run.
#[derive(Debug, Clone)]
pub struct SqlRequest {
    /// One `SELECT`, `EXPLAIN` or `SHOW`.
    pub query: String,
    /// Start of the range of `_time`, as in a search; none is all of time.
    pub earliest: Option<String>,
    /// End of the range, likewise.
    pub latest: Option<String>,
    /// Whose offset times are written with.
    pub timezone: TimeZone,
}

/// Rows of a query.
#[derive(Debug, Clone)]
pub struct SqlResult {
    /// Names and types.
    pub schema: SchemaRef,
    /// The rows.
    pub batches: Vec<RecordBatch>,
    /// Whether rows are missing because of the limit `maxresultrows`.
    pub truncated: bool,
    renderer: Renderer,
}

impl SqlResult {
    /// The rows as texts.
    #[must_use]
    pub fn page(&self) -> Page {
        let fields: Vec<String> = self.schema.fields().iter().map(|f| f.name().clone()).collect();
        let mut rows = Vec::new();
        for batch in &self.batches {
            for row in 0..batch.num_rows() {
                let cell = |(name, column): (&String, &arrow::array::ArrayRef)| {
                    self.renderer.value(name, column, row)
                };
                rows.push(fields.iter().zip(batch.columns()).map(cell).collect());
            }
        }
        Page { fields, rows }
    }
}

impl SearchService {
    /// Runs a query.
    ///
    /// # Errors
    /// [`Error::Search`] where the query is at fault, with the engine's words.
    pub async fn sql(&self, request: SqlRequest) -> Result<SqlResult, Error> {
        let mut times = JobRequest::new("", "");
        times.earliest = request.earliest.clone();
        times.latest = request.latest.clone();
        times.timezone = request.timezone.clone();
        let range = time_range(&times, self.now())?;
        let service = self.clone();
        let task = self.runtime().spawn(async move { service.run_sql(request, range).await });
        task.await.map_err(|error| Error::Internal(error.to_string()))?
    }

    async fn run_sql(&self, request: SqlRequest, range: TimeRange) -> Result<SqlResult, Error> {
        let events = self.stored_events(&Arc::default(), &Arc::default());
        // What a query holds is known after planning only: it gets the room of one that holds much.
        let granted = self.grant(&LogicalPlan::default(), true).await?;
        let context = context_over(&granted.session, events, range)?;
        // Nothing that writes: events are changed by ingest only.
        let options = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false);
        let planned = context.sql_with_options(&request.query, options).await;
        let frame = planned.map_err(planning_error)?;
        let schema = Arc::new(frame.schema().as_arrow().clone());
        let limit = self.settings().max_result_rows;
        let mut stream = frame.execute_stream().await.map_err(sql_error)?;
        let mut batches = Vec::new();
        let mut left = limit;
        let mut truncated = false;
        while let Some(batch) = stream.try_next().await.map_err(sql_error)? {
            truncated = batch.num_rows() > left;
            let batch = batch.slice(0, batch.num_rows().min(left));
            left -= batch.num_rows();
            batches.push(batch);
            if truncated {
                break;
            }
        }
        Ok(SqlResult { schema, batches, truncated, renderer: Renderer::new(request.timezone) })
    }
}

/// What cannot be planned is a mistake in the query, unless the engine says otherwise.
fn planning_error(error: DataFusionError) -> Error {
    use DataFusionError as E;
    let in_query = matches!(
        error.find_root(),
        E::SQL(..) | E::Plan(_) | E::SchemaError(..) | E::NotImplemented(_) | E::Diagnostic(..)
    );
    match sql_error(error) {
        Error::Search { text, .. } if in_query => Error::Search { text, kind: ErrorKind::Invalid },
        other => other,
    }
}

fn sql_error(error: DataFusionError) -> Error {
    let error = plan::Error::from(error);
    Error::Search { kind: error.kind(), text: error.to_string() }
}

/// A context whose tables are the indexes, sharing memory and functions with all other queries.
fn context_over(
    session: &plan::Session,
    events: StoredEvents,
    range: TimeRange,
) -> Result<SessionContext, Error> {
    let context = session.sql();
    let indexes = Arc::new(Indexes { events, range });
    let catalog = MemoryCatalogProvider::new();
    catalog.register_schema("public", indexes).map_err(sql_error)?;
    context.register_catalog("datafusion", Arc::new(catalog));
    Ok(context)
}

/// Indexes as tables.
#[derive(Debug)]
struct Indexes {
    events: StoredEvents,
    range: TimeRange,
}

#[async_trait]
impl SchemaProvider for Indexes {
    fn table_names(&self) -> Vec<String> {
        self.events.indexes().iter().map(ToString::to_string).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        let Some(index) = self.find(name) else { return Ok(None) };
        let indexes = vec![index];
        let fields = self.events.fields(&indexes, &self.range).await?;
        let fields = fields
            .into_iter()
            .filter(|field| !FIXED.contains(&field.name.as_str()))
            .map(|field| SourceField { name: field.name, multivalue: field.multivalue })
            .collect();
        let request = EventsRequest { indexes, range: self.range, fields };
        Ok(Some(Arc::new(EventsTable::within_range(self.events.context.clone(), request))))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.find(name).is_some()
    }
}

impl Indexes {
    fn find(&self, name: &str) -> Option<IndexName> {
        self.events.indexes().into_iter().find(|index| index.as_str() == name)
    }
}
