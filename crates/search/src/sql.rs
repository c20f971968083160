//! SQL over events: every index is a table, every field a column.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use access::Rights;
use apps::Namespace;
use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::catalog::{CatalogProvider, MemoryCatalogProvider, SchemaProvider};
use datafusion::datasource::TableProvider;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::context::SessionContext;
use datafusion::sql::parser::Statement;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use jiff::tz::TimeZone;
use model::{ErrorKind, IndexName, TimeRange};
use plan::{
    EventSource, EventsRequest, Message, MessageLog, PlanContext, PlanningTime, SourceField,
    SqlLogs, Waiting,
};
use runtime::trace::TraceContext;

use crate::handover;
use crate::inspect::hides_events;
use crate::jobs::{JobRequest, Page};
use crate::memory::MemoryGrant;
use crate::panics::caught;
use crate::queries::Running;
use crate::recipes::Lookups;
use crate::render::Renderer;
use crate::report::{Outcome, ScanReport};
use crate::scan::{EventsTable, FIXED};
use crate::search_host::{SearchHost, namespace};
use crate::service::{restriction, time_range, within};
use crate::slices::{self, Slices};
use crate::source::StoredEvents;
use crate::sql_columns;
use crate::sql_errors::{missing_column, planning_error, sql_error};
use crate::sql_plan::{self, PlannedQuery};
use crate::threads::Assigned;
use crate::traced::{About, Traced};
use crate::{Error, SearchService};

/// Maximum number of buffered batches; when the buffer is full, the query waits for its reader.
const WAITING_BATCHES: usize = 2;
/// The SQL catalog of the tables.
pub const SQL_CATALOG: &str = "karst";
/// The only schema of the catalog.
pub const SQL_SCHEMA: &str = "public";

/// An SQL query.
#[derive(Debug, Clone)]
pub struct SqlRequest {
    /// One `SELECT`, `EXPLAIN` or `SHOW`.
    pub query: String,
    /// Start of the range of `_time`, in the syntax of searches; `None` is unbounded.
    pub earliest: Option<String>,
    /// End of the range of `_time`, in the syntax of searches; `None` is unbounded.
    pub latest: Option<String>,
    /// The time zone with whose offset times are written.
    pub timezone: TimeZone,
    /// The app whose knowledge objects apply, with the user's own in it, besides those that other apps export
    /// ([`sql_app`]).
    pub app: String,
    /// The rights of the user: the indexes that become tables, the quota, the time window, the filter.
    pub rights: Arc<Rights>,
    /// The limit on the number of rows.
    pub rows: SqlRows,
    /// The parent span; without one, the query begins a trace.
    pub trace: TraceContext,
}

/// Returns the app of a query from the parameter of a client: as for searches, none, an empty one and `-`
/// stand for the default app.
#[must_use]
pub fn sql_app(parameter: Option<String>) -> String {
    parameter
        .filter(|app| !matches!(app.as_str(), "" | "-"))
        .unwrap_or_else(|| apps::SEARCH.to_owned())
}

/// The limit on the number of rows of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlRows {
    /// The setting `maxresultrows`. The rows are collected before they are returned.
    Limited,
    /// No limit. The rows are returned batch by batch.
    All,
}

/// The result of a query.
#[derive(Debug, Clone)]
pub struct SqlResult {
    /// Names and types of the columns.
    pub schema: SchemaRef,
    /// The rows.
    pub batches: Vec<RecordBatch>,
    /// Whether rows are missing because of the limit `maxresultrows`.
    pub truncated: bool,
    /// Messages about knowledge objects.
    pub messages: Vec<Message>,
    renderer: Renderer,
}

impl SqlResult {
    /// Renders the rows as texts.
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

    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Whether the rows should be written in slices.
    #[must_use]
    pub fn are_many(&self) -> bool {
        slices::are_many(&self.batches)
    }

    /// Splits the rows into slices of limited size, in order.
    pub fn slices(mut self) -> impl Iterator<Item = Self> + Send {
        let slices = Slices::of(std::mem::take(&mut self.batches));
        slices.map(move |batches| Self { batches, ..self.clone() })
    }
}

impl SearchService {
    /// Runs a query to its end.
    ///
    /// # Errors
    /// [`Error::Search`] where the query is at fault, with the engine's words.
    pub async fn sql(&self, request: SqlRequest) -> Result<SqlResult, Error> {
        let renderer = Renderer::exact(request.timezone.clone());
        let mut stream = self.sql_stream(request).await?;
        let mut batches = Vec::new();
        let (limit, mut bytes) = (self.settings().search_memory_bytes, 0);
        while let Some(batch) = stream.next().await {
            let batch = batch?;
            bytes += plan::batch_bytes(&batch);
            if bytes > limit {
                return Err(Error::ResultBytes { limit });
            }
            batches.push(batch);
        }
        let truncated = stream.is_truncated();
        let messages = stream.messages();
        Ok(SqlResult { schema: stream.schema, batches, truncated, messages, renderer })
    }

    /// Starts a query and streams its rows. Above the limit of concurrent searches, it waits in the queue of
    /// the jobs. While its reader stands still, it has no turn. Dropping the stream cancels the query;
    /// dropping this future, also in the queue.
    ///
    /// # Errors
    /// As [`Self::sql`]; what goes wrong later comes with the rows.
    pub async fn sql_stream(&self, request: SqlRequest) -> Result<SqlStream, Error> {
        let running = self.admit_query(&request.rights)?;
        let service = self.clone();
        let planning = PlanningTime::new(self.settings().plan.plan_time);
        let waiting = planning.waited_for();
        let threads = Arc::new(self.assign_threads());
        let own = Arc::clone(&threads);
        let about = About {
            kind: "sql",
            sid: None,
            user: request.rights.user(),
            app: Some(&request.app),
            text: &request.query,
        };
        let traced = Arc::new(Traced::begin(self.tracer(), &request.trace, about));
        let own_traced = Arc::clone(&traced);
        let log = MessageLog::default();
        let own_log = log.clone();
        let begin = async move {
            // Before the queue: who mistypes a query need not wait for a turn to learn that.
            service.check_sql(&request)?;
            let granted = service.grant_turn(&planning, &running).await?;
            let report = Arc::new(ScanReport::default());
            let found = Found { report: &report, planning: &planning, log: &own_log };
            let planned = service.plan_sql(&request, &granted.session, found);
            let planned = planning.counted(Box::pin(planned));
            let PlannedQuery { frame, schema, held } = planned.await?;
            let rows = planning.counted(Box::pin(frame.execute_stream())).await;
            drop(held);
            // The optimizer detects some errors, such as a negative LIMIT.
            let rows = rows.map_err(planning_error)?;
            let limit = match request.rows {
                SqlRows::Limited => service.settings().max_result_rows,
                SqlRows::All => usize::MAX,
            };
            let (sender, batches) = handover::channel(WAITING_BATCHES);
            let truncated = Arc::new(AtomicBool::new(false));
            let truncated_too = Arc::clone(&truncated);
            let traced = own_traced;
            let forward = Forward { sender, limit, truncated: truncated_too, report, traced };
            let handle = own.handle().clone();
            handle.spawn(forward.run(rows, (granted, running, own)));
            Ok::<_, Error>((schema, limit, batches, truncated))
        };
        let begun = within(&threads, Box::pin(begin)).await;
        let begun = begun.inspect_err(|error| traced.fail(error));
        let (schema, limit, batches, truncated) = begun?;
        Ok(SqlStream { schema, limit, batches, truncated, log, _waiting: waiting })
    }

    /// Returns the names and types of the result columns of a query.
    ///
    /// # Errors
    /// As [`Self::sql`].
    pub async fn sql_schema(&self, request: SqlRequest) -> Result<SchemaRef, Error> {
        let service = self.clone();
        let plan = async move {
            let planning = PlanningTime::new(service.settings().plan.plan_time);
            let (report, log) = (Arc::default(), MessageLog::default());
            let found = Found { report: &report, planning: &planning, log: &log };
            let planned = service.plan_sql(&request, service.session(), found).await?;
            Ok::<_, Error>(planned.schema)
        };
        within(&self.assign_threads(), Box::pin(plan)).await
    }

    /// Returns the columns of an index, which are those of `SELECT *` in the default app; `None` if it is not
    /// a table for the user.
    ///
    /// # Errors
    /// If the fields of stored events cannot be read.
    pub async fn sql_columns(
        &self,
        table: &str,
        rights: &Rights,
    ) -> Result<Option<SchemaRef>, Error> {
        let seen_from = Namespace::new(rights.user(), apps::SEARCH);
        let knowledge = self.dependencies().apps.view_without(&seen_from, &rights.hidden());
        let mut events = self.stored_events(&Arc::default(), &Arc::default(), knowledge, None);
        events.indexes.retain(|index| rights.may_search(index));
        // A filter of the user changes the rows only. Planning `SELECT *` over a million fields took 18 s.
        let (range, restriction) = (TimeRange::ALL, plan::Restriction::default());
        let indexes = Indexes { events: Arc::new(events), range, restriction, computed: None };
        let name = table.to_owned();
        let columns = async move {
            let found = indexes.open(&name).await.map_err(sql_error)?;
            let nullable = |table: Arc<dyn TableProvider>| {
                let schema = table.schema();
                let fields = schema.fields().iter();
                let fields = fields.map(|field| Field::clone(field).with_nullable(true));
                Arc::new(Schema::new(fields.collect::<Vec<_>>()))
            };
            Ok::<_, Error>(found.map(nullable))
        };
        within(&self.assign_threads(), Box::pin(columns)).await
    }

    /// Returns the indexes that are tables for a user, sorted.
    #[must_use]
    pub fn sql_tables(&self, rights: &Rights) -> Vec<String> {
        let knowledge = self.dependencies().apps.knowledge();
        let mut indexes =
            self.stored_events(&Arc::default(), &Arc::default(), knowledge, None).indexes();
        indexes.retain(|index| rights.may_search(index));
        let mut names: Vec<String> = indexes.iter().map(ToString::to_string).collect();
        names.sort_unstable();
        names
    }

    /// Refuses a query with a mistake that is found without reading anything: its app or its syntax.
    fn check_sql(&self, request: &SqlRequest) -> Result<(), Error> {
        self.check_app(&request.app)?;
        let sql = self.session().sql(SQL_CATALOG, SQL_SCHEMA);
        sql_plan::parsed(&request.query, &sql, self.settings().plan.plan_depth).map(drop)
    }

    /// Refuses an unknown app: another one would silently have other values.
    fn check_app(&self, name: &str) -> Result<(), Error> {
        let apps = &self.dependencies().apps;
        if name != apps::SEARCH && !apps.apps().iter().any(|app| app.name == name) {
            let text = format!("there is no app \"{name}\"");
            return Err(Error::Search { kind: ErrorKind::Invalid, text });
        }
        Ok(())
    }

    async fn plan_sql(
        &self,
        request: &SqlRequest,
        session: &plan::Session,
        found: Found<'_>,
    ) -> Result<PlannedQuery, Error> {
        let mut asked = JobRequest::of(request.query.as_str(), &request.rights);
        asked.app.clone_from(&request.app);
        asked.earliest.clone_from(&request.earliest);
        asked.latest.clone_from(&request.latest);
        asked.timezone = request.timezone.clone();
        self.check_app(&request.app)?;
        let apps = &self.dependencies().apps;
        let seen_from = namespace(&asked);
        let (knowledge, files) = apps.view_with_files(&seen_from, &request.rights.hidden());
        let now = self.now();
        let restriction = restriction(&request.rights, now, &apps.knowledge())?;
        let range = restriction.within(time_range(&asked, now)?, now);
        let shown = Arc::clone(&knowledge);
        let mut events = self.stored_events(&Arc::default(), found.report, shown, None);
        events.indexes.retain(|index| request.rights.may_search(index));
        let events = Arc::new(events);
        let sql = session.sql(SQL_CATALOG, SQL_SCHEMA);
        let depth = self.settings().plan.plan_depth;
        let statement = sql_plan::parsed(&request.query, &sql, depth)?;
        let columns = sql_columns::of(&request.query, &statement);
        if columns.too_many {
            let text = "the query reads too many columns through too many queries within queries: \
                        name fewer columns, or write fewer levels";
            return Err(Error::Search { kind: ErrorKind::Invalid, text: text.to_owned() });
        }
        let search_host = SearchHost {
            engine: Arc::clone(self.engine()),
            hot: Arc::clone(&events.context.hot),
            namespace: seen_from,
            apps: apps.clone(),
            files,
            rights: Arc::clone(&request.rights),
            read_only: true,
            sid: String::new(),
            search: request.query.clone(),
            lookups: Lookups::default(),
        };
        let source: Arc<dyn EventSource> = Arc::<StoredEvents>::clone(&events);
        let context = PlanContext {
            source,
            host: Arc::new(search_host),
            knowledge,
            rules: apps.rules(),
            now,
            timezone: request.timezone.clone(),
            range,
            index_range: TimeRange::ALL,
            default_indexes: Vec::new(),
            limits: self.settings().plan.clone(),
            restriction: restriction.clone(),
            sid: String::new(),
            search_name: None,
            planning: found.planning.clone(),
        };
        let (log, tried) = (found.log.clone(), MessageLog::default());
        let computed = Computed { context, columns, log, tried: tried.clone() };
        let indexes = Indexes { events, range, restriction, computed: Some(computed) };
        let contexts = Contexts { sql: &sql, session, depth };
        let planned = Box::pin(contexts.plan(statement, indexes)).await;
        let planned = planned.map_err(|error| with_reason(error, &tried))?;
        if hides_events(&request.rights) && planned.explains() {
            let text = "EXPLAIN tells what a plan reads: also events that the srchFilter of your \
                        roles hides";
            return Err(Error::Search { kind: ErrorKind::Forbidden, text: text.to_owned() });
        }
        Ok(planned)
    }
}

/// What planning adds to, beside the plan.
#[derive(Clone, Copy)]
struct Found<'a> {
    report: &'a Arc<ScanReport>,
    planning: &'a PlanningTime,
    log: &'a MessageLog,
}

/// A stream of the rows of a query.
#[derive(Debug)]
pub struct SqlStream {
    /// Names and types of the columns.
    pub schema: SchemaRef,
    /// Maximum number of rows.
    pub limit: usize,
    batches: handover::Receiver<RecordBatch>,
    truncated: Arc<AtomicBool>,
    log: MessageLog,
    /// Cancels a wait for memory when the reader disconnects.
    _waiting: Waiting,
}

impl SqlStream {
    /// Returns the next rows; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<RecordBatch, Error>> {
        self.batches.next().await
    }

    /// Returns the messages about knowledge objects; all of them after the last row.
    #[must_use]
    pub fn messages(&self) -> Vec<Message> {
        self.log.all()
    }

    /// Whether rows are missing because of the limit; known after the last row.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.truncated.load(Ordering::Acquire)
    }
}

/// Forwards rows to the reader, up to the limit.
struct Forward {
    sender: handover::Sender<RecordBatch>,
    limit: usize,
    truncated: Arc<AtomicBool>,
    report: Arc<ScanReport>,
    traced: Arc<Traced>,
}

impl Forward {
    /// Runs until the last row, or until the reader disconnects.
    async fn run(
        self,
        mut rows: SendableRecordBatchStream,
        (granted, running, threads): (MemoryGrant, Running, Arc<Assigned>),
    ) {
        let mut left = self.limit;
        let end = loop {
            let next = tokio::select! {
                () = self.sender.closed() => break None,
                next = caught(rows.next().map(Ok)) => next,
            };
            let batch = match next {
                Ok(None) => break None,
                Ok(Some(Ok(batch))) => batch,
                Ok(Some(Err(error))) => break Some(Err(sql_error(error))),
                Err(error) => break Some(Err(error)),
            };
            let is_last = batch.num_rows() > left;
            self.truncated.store(is_last, Ordering::Release);
            let batch = batch.slice(0, batch.num_rows().min(left));
            left -= batch.num_rows();
            let is_empty = batch.num_rows() == 0;
            let aside = || granted.give_up_turn();
            let sent = is_empty || handover::send(&self.sender, Ok(batch), aside).await.is_ok();
            if is_last || !sent {
                break None;
            }
        };
        let outcome = match &end {
            Some(_) => Outcome::Failed,
            None if self.sender.is_closed() => Outcome::Cancelled,
            None => Outcome::Done,
        };
        self.report.record(outcome);
        let error = end.as_ref().and_then(|end| end.as_ref().err());
        let count = (self.limit - left) as u64;
        self.traced.end(outcome, error, &self.report, Some(count));
        // The reader may take the end late: neither memory nor a turn has to wait for that.
        drop(rows);
        drop(granted);
        // Sending fails if the reader has disconnected.
        let _ = self.sender.send(end).await;
        drop((running, threads));
    }
}

/// Adds to an error about a missing column the message about knowledge objects that names the column: it may
/// be missing because of a mistake in the object that would compute it. Without one, the first message is
/// added as a further mistake: the outputs of a lookup that cannot be read are unknown.
fn with_reason(error: Error, log: &MessageLog) -> Error {
    let (kind, text) = match error {
        Error::Search { kind, text } => (kind, text),
        other => return other,
    };
    let messages = log.all();
    let Some(column) = missing_column(&text) else { return Error::Search { kind, text } };
    let text = match messages.iter().find(|message| is_named(column, &message.text)) {
        Some(message) => format!("{text} ({})", message.text),
        None => match messages.first() {
            Some(message) => format!("{text}; also, {}", message.text),
            None => text,
        },
    };
    Error::Search { kind, text }
}

/// Whether a message is about a column of this name: it has the calculated field or the name in quotes. Other
/// words of a message may be names of columns, too.
fn is_named(name: &str, text: &str) -> bool {
    let goes_on = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.');
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let is_field = before.ends_with("EVAL-") && !after.starts_with(goes_on);
        is_field || (before.ends_with('"') && after.starts_with('"'))
    })
}

/// Where queries are planned.
struct Contexts<'a> {
    sql: &'a SessionContext,
    session: &'a plan::Session,
    /// Maximum depth of a plan.
    depth: usize,
}

impl Contexts<'_> {
    /// Plans a query over the indexes as tables.
    async fn plan(
        &self,
        statement: Statement,
        mut indexes: Indexes,
    ) -> Result<PlannedQuery, Error> {
        let Self { sql, session, depth } = *self;
        put_tables(sql, indexes.clone())?;
        let planned = Box::pin(sql_plan::planned(statement.clone(), sql, session, depth)).await;
        let lacks_column = match &planned {
            Err(Error::Search { text, .. }) => missing_column(text).is_some(),
            _ => false,
        };
        let words = indexes.computed.as_mut().and_then(|computed| computed.columns.words.take());
        if !lacks_column || words.is_none() {
            return planned;
        }
        drop(planned);
        // The message lists similar names, of which a table of the named columns has few.
        put_tables(sql, indexes)?;
        Box::pin(sql_plan::planned(statement, sql, session, depth)).await
    }
}

/// Makes the indexes the tables of a context.
fn put_tables(context: &SessionContext, indexes: Indexes) -> Result<(), Error> {
    let catalog = MemoryCatalogProvider::new();
    catalog.register_schema(SQL_SCHEMA, Arc::new(indexes)).map_err(sql_error)?;
    context.register_catalog(SQL_CATALOG, Arc::new(catalog));
    Ok(())
}

/// The indexes as tables.
#[derive(Debug, Clone)]
struct Indexes {
    events: Arc<StoredEvents>,
    range: TimeRange,
    restriction: plan::Restriction,
    /// The columns that knowledge objects may compute; `None` for those of `SELECT *` only.
    computed: Option<Computed>,
}

/// The columns that a query may mean, and the knowledge objects that compute them.
#[derive(Debug, Clone)]
struct Computed {
    context: PlanContext,
    columns: sql_columns::Columns,
    /// Messages about the objects that compute columns.
    log: MessageLog,
    /// Messages about all objects that could.
    tried: MessageLog,
}

/// Written as the attribute `async_trait` writes it: see docs/decisions/0042-boxed-futures.md.
impl SchemaProvider for Indexes {
    fn table_names(&self) -> Vec<String> {
        self.events.indexes().iter().map(ToString::to_string).collect()
    }

    fn table<'s, 'n, 'a>(
        &'s self,
        name: &'n str,
    ) -> BoxFuture<'a, Result<Option<Arc<dyn TableProvider>>, DataFusionError>>
    where
        's: 'a,
        'n: 'a,
        Self: 'a,
    {
        self.open(name)
    }

    fn table_exist(&self, name: &str) -> bool {
        self.find(name).is_some()
    }
}

impl Indexes {
    fn find(&self, name: &str) -> Option<IndexName> {
        self.events.indexes().into_iter().find(|index| index.as_str() == name)
    }

    fn open<'a>(
        &'a self,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<dyn TableProvider>>, DataFusionError>> {
        Box::pin(async move {
            let Some(index) = self.find(name) else { return Ok(None) };
            let indexes = vec![index];
            // The columns are those of all time, so that a query over a range without events is still valid.
            let fields = self.events.fields(&indexes, &TimeRange::ALL).await?;
            let fields = fields
                .into_iter()
                .filter(|field| !FIXED.contains(&field.name.as_str()))
                .map(|field| SourceField { name: field.name, multivalue: field.multivalue })
                .collect();
            let sourcetypes = None;
            let request = EventsRequest { indexes, range: self.range, fields, sourcetypes };
            let open = |request: EventsRequest| -> Arc<dyn TableProvider> {
                Arc::new(EventsTable::within_range(self.events.context.clone(), request))
            };
            if let Some(Computed { context, columns, log, tried }) = &self.computed {
                let logs = SqlLogs { applied: log, tried };
                let columns = columns.of_index(name);
                let table = plan::sql_table(context, logs, &request, &columns, &open).await?;
                if table.is_some() {
                    return Ok(table);
                }
            }
            Ok(Some(self.restriction.table(open(request))?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_message_are_not_names_of_columns() {
        let text =
            "props.conf:2: the calculated field EVAL-lost was left out: \"n\" is not a number";
        for name in ["lost", "n"] {
            assert!(is_named(name, text), "{name}");
        }
        for name in ["was", "left", "a", "out", "los", "number", "2"] {
            assert!(!is_named(name, text), "{name}");
        }
    }
}
