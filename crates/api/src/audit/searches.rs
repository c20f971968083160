//! Searches and queries: a record when one begins, and one when it ends.
//!
//! The only module that starts searches, so that each has its records (a test checks the others). A search
//! whose commands write data begins once its record is on the disk; all others do not wait.

use std::sync::Arc;
use std::time::Instant;

use ::audit::{Info, Record};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use futures::future::BoxFuture;
use model::ErrorKind;
use runtime::Health;
use search::{
    DispatchState, Error, ExportRun, Job, JobRequest, Message, Page, SqlRequest, SqlResult,
    SqlStream,
};

use super::Observed;
use super::ended::{with_numbers, with_numbers_of_export};
use crate::ApiState;

/// Commands that leave something behind.
const WRITE: [&str; 11] = [
    "outputlookup",
    "outputcsv",
    "outputtext",
    "collect",
    "mcollect",
    "meventcollect",
    "tscollect",
    "delete",
    "sendemail",
    "sendalert",
    "script",
];

/// Starts a search.
pub(crate) async fn dispatch(
    state: &ApiState,
    seen: &Observed,
    request: JobRequest,
) -> Result<Arc<Job>, Error> {
    dispatch_unless_taken(state, seen, request, None).await
}

/// Starts a search; with `is_taken`, one whose id a client has chosen. The id is reserved, then `is_taken`
/// finds out whether another process has a job with it.
pub(crate) async fn dispatch_unless_taken(
    state: &ApiState,
    seen: &Observed,
    mut request: JobRequest,
    is_taken: Option<BoxFuture<'_, bool>>,
) -> Result<Arc<Job>, Error> {
    refuse_within_search(seen)?;
    let sid = request.sid.get_or_insert_with(|| state.search.new_sid()).clone();
    request.trace = seen.trace().clone();
    let about =
        StartedSearch::new(state, seen, &request.owner, "search", &sid, "job").about(&request);
    about.granted(&request.search).await?;
    let job = match started(state, &sid, request, is_taken).await {
        Ok(job) => job,
        Err(error) => {
            about.ended(Info::Failed, Some(&error), |record| record);
            return Err(error);
        }
    };
    let (watched, stopped) = (Arc::clone(&job), state.shutdown.stopped());
    state.shutdown.spawn(async move {
        tokio::select! {
            ended = watched.finished() => about.job_ended(&watched, ended),
            () = stopped => {
                about.ended(Info::Canceled, None, |record| record.with("reason", "the server stops"));
            }
        }
    });
    Ok(job)
}

/// Returns the job of a search once it is planned.
async fn started(
    state: &ApiState,
    sid: &str,
    request: JobRequest,
    is_taken: Option<BoxFuture<'_, bool>>,
) -> Result<Arc<Job>, Error> {
    let Some(is_taken) = is_taken else { return state.search.dispatch(request).await };
    // Until the job is known.
    let _reserved = state.search.reserve(sid, &request)?;
    if is_taken.await {
        return Err(Error::IdTaken { sid: sid.to_owned() });
    }
    state.search.dispatch(request).await
}

/// Refuses the requests of a search: see [`super::WithinSearch`].
fn refuse_within_search(seen: &Observed) -> Result<(), Error> {
    match seen.is_within_search() {
        true => Err(Error::Request("a request of a search cannot run another search".to_owned())),
        false => Ok(()),
    }
}

/// Starts a search whose rows are streamed.
pub(crate) async fn export(
    state: &ApiState,
    seen: &Observed,
    mut request: JobRequest,
) -> Result<Pages, Error> {
    refuse_within_search(seen)?;
    let sid = request.sid.get_or_insert_with(|| state.search.new_sid()).clone();
    request.trace = seen.trace().clone();
    let about =
        StartedSearch::new(state, seen, &request.owner, "search", &sid, "export").about(&request);
    about.granted(&request.search).await?;
    match state.search.export(request).await {
        Ok(pages) => {
            let mut end = Ending::new(about);
            end.run = Some(pages.run().clone());
            Ok(Pages { pages, end, health: state.health.clone() })
        }
        Err(error) => {
            about.ended(Info::Failed, Some(&error), |record| record);
            Err(error)
        }
    }
}

/// Runs a query to its end.
pub(crate) async fn sql(
    state: &ApiState,
    seen: &Observed,
    user: &str,
    mut request: SqlRequest,
) -> Result<SqlResult, Error> {
    request.trace = seen.trace().clone();
    let about = StartedSearch::new(state, seen, user, "sql", &state.search.new_sid(), "rest")
        .of_query(&request);
    about.granted("").await?;
    // A client that disconnects ends the query.
    let mut end = Ending::new(about);
    let result = unless_fatal(&state.health, state.search.sql(request)).await;
    match &result {
        Ok(result) => {
            end.rows = result.batches.iter().map(|batch| batch.num_rows() as u64).sum();
            end.complete();
        }
        Err(error) => end.fail(error),
    }
    result
}

/// Starts a query whose rows are streamed.
pub(crate) async fn sql_stream(
    state: &ApiState,
    seen: &Observed,
    user: &str,
    mut request: SqlRequest,
) -> Result<Rows, Error> {
    request.trace = seen.trace().clone();
    let about = StartedSearch::new(state, seen, user, "sql", &state.search.new_sid(), "flight")
        .of_query(&request);
    about.granted("").await?;
    let mut end = Ending::new(about);
    match state.search.sql_stream(request).await {
        Ok(rows) => Ok(Rows { rows, end, health: state.health.clone() }),
        Err(error) => {
            end.fail(&error);
            Err(error)
        }
    }
}

/// Runs a search unless a condition is fatal before it ends: its results would then be incomplete.
async fn unless_fatal<T>(
    health: &Health,
    found: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    tokio::select! {
        // A result that arrives together with the condition does not count either.
        biased;
        condition = health.turns_fatal() => {
            let text = condition.summary().to_owned();
            Err(Error::Search { kind: ErrorKind::Unavailable, text })
        }
        found = found => found,
    }
}

/// The streamed rows of a query, whose end is recorded.
#[derive(Debug)]
pub(crate) struct Rows {
    rows: SqlStream,
    end: Ending,
    health: Health,
}

impl Rows {
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.rows.schema
    }

    /// Returns the messages about knowledge objects that planning has found.
    pub(crate) fn messages(&self) -> Vec<Message> {
        self.rows.messages()
    }

    /// Returns the next rows; `None` at the end. An error is the last item.
    pub(crate) async fn next(&mut self) -> Option<Result<RecordBatch, Error>> {
        let next = async { self.rows.next().await.transpose() };
        let next = unless_fatal(&self.health, next).await.transpose();
        match &next {
            Some(Ok(batch)) => self.end.add(batch.num_rows()),
            Some(Err(error)) => self.end.fail(error),
            None => self.end.complete(),
        }
        next
    }
}

/// Rows of an export, whose end is recorded.
#[derive(Debug)]
pub(crate) struct Pages {
    pages: search::Export,
    end: Ending,
    health: Health,
}

impl Pages {
    /// The next rows; none at the end.
    pub(crate) async fn recv(&mut self) -> Option<Result<Page, Error>> {
        let next = async { self.pages.next().await.transpose() };
        let next = unless_fatal(&self.health, next).await.transpose();
        match &next {
            Some(Ok(page)) => self.end.add(page.rows.len()),
            Some(Err(error)) => self.end.fail(error),
            None => self.end.complete(),
        }
        next
    }

    /// Returns the reasons why rows are missing; complete after the last row.
    pub(crate) fn incomplete(&self) -> Vec<String> {
        self.pages.run().incomplete()
    }

    /// Returns the warnings about the rows; complete after the last row.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.pages.run().warnings()
    }
}

/// A guard that records the end of a stream of rows: if it is dropped earlier, its reader has disconnected.
#[derive(Debug)]
pub(crate) struct Ending {
    about: Option<StartedSearch>,
    rows: u64,
    /// The search, if it is an export.
    run: Option<ExportRun>,
}

impl Ending {
    fn new(about: StartedSearch) -> Self {
        Self { about: Some(about), rows: 0, run: None }
    }

    pub(crate) fn add(&mut self, rows: usize) {
        self.rows += rows as u64;
    }

    pub(crate) fn complete(&mut self) {
        self.end(Info::Completed, None);
    }

    pub(crate) fn fail(&mut self, error: &Error) {
        self.end(Info::Failed, Some(error));
    }

    fn end(&mut self, info: Info, error: Option<&Error>) {
        if let Some(about) = self.about.take() {
            let (rows, is_done) = (self.rows, matches!(info, Info::Completed));
            about.ended(info, error, |record| match &self.run {
                Some(run) => with_numbers_of_export(record, run, rows, is_done, error.is_some()),
                None => record.with("result_count", rows),
            });
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.end(Info::Canceled, None);
    }
}

/// A search or query that has begun.
#[derive(Debug)]
struct StartedSearch {
    state: ApiState,
    record: RecordParts,
    since: Instant,
}

#[derive(Debug)]
struct RecordParts {
    user: String,
    action: &'static str,
    fields: Vec<(&'static str, String)>,
}

impl StartedSearch {
    fn new(
        state: &ApiState,
        seen: &Observed,
        user: &str,
        action: &'static str,
        sid: &str,
        mode: &'static str,
    ) -> Self {
        seen.set_recorded();
        let client = seen.client();
        let mut fields = vec![("search_id", sid.to_owned()), ("mode", mode.to_owned())];
        fields.extend(client.address.clone().map(|address| ("clientip", address)));
        fields.extend(client.scheme.map(|scheme| ("auth", scheme.to_owned())));
        fields.extend(seen.session().map(|session| ("session", session)));
        fields.extend(seen.trace().trace_id().map(|trace| ("trace_id", trace)));
        let record = RecordParts { user: user.to_owned(), action, fields };
        Self { state: state.clone(), record, since: Instant::now() }
    }

    fn about(mut self, request: &JobRequest) -> Self {
        let range = [("api_et", &request.earliest), ("api_lt", &request.latest)];
        for (name, text) in range {
            self.add(name, text.clone().unwrap_or_else(|| "N/A".to_owned()));
        }
        // Most searches have none of these.
        let range =
            [("api_index_et", &request.index_earliest), ("api_index_lt", &request.index_latest)];
        for (name, text) in range {
            text.iter().for_each(|text| self.add(name, text.clone()));
        }
        if let Some(now) = request.now {
            self.add("now", format!("{:.3}", now.seconds()));
        }
        self.add("app", request.app.clone());
        self.add("provenance", request.provenance.clone().unwrap_or_else(|| "N/A".to_owned()));
        self.add("savedsearch_name", request.label.clone().unwrap_or_default());
        self.add("search", request.search.clone());
        self
    }

    fn of_query(mut self, request: &SqlRequest) -> Self {
        let range = [("api_et", &request.earliest), ("api_lt", &request.latest)];
        for (name, text) in range {
            self.add(name, text.clone().unwrap_or_else(|| "N/A".to_owned()));
        }
        self.add("app", request.app.clone());
        self.add("search", request.query.clone());
        self
    }

    fn add(&mut self, name: &'static str, value: String) {
        self.record.fields.push((name, value));
    }

    fn record(&self, info: Info, more: impl FnOnce(Record) -> Record) -> Record {
        let parts = &self.record;
        let mut record = Record::new(&parts.user, parts.action, info);
        // The text of the search comes last, as in Splunk, because it is the longest.
        let (last, first): (Vec<_>, Vec<_>) =
            parts.fields.iter().partition(|(name, _)| *name == "search");
        for (name, value) in first {
            record = record.with(*name, value);
        }
        record = more(record);
        for (name, value) in last {
            record = record.with(*name, value);
        }
        record
    }

    /// Records that it begins.
    async fn granted(&self, search: &str) -> Result<(), Error> {
        let record = self.record(Info::Granted, |record| record);
        let log = &self.state.audit.log;
        let recorded = if writes(search) {
            match log.check() {
                Ok(()) => log.append(record).await.map(drop),
                Err(error) => Err(error),
            }
        } else {
            log.note(record).await
        };
        recorded.map_err(|error| {
            let text = format!("searches are refused while they cannot be recorded: {error}");
            Error::Unrecorded(text)
        })
    }

    fn ended(&self, info: Info, error: Option<&Error>, more: impl FnOnce(Record) -> Record) {
        let seconds = self.since.elapsed().as_secs_f64();
        let info = if matches!(error, Some(Error::Cancelled | Error::Stopping)) {
            Info::Canceled
        } else {
            info
        };
        let record = self.record(info, |record| {
            let record = record.with("total_run_time", format!("{seconds:.3}"));
            more(record).with_some("reason", error.map(ToString::to_string))
        });
        self.state.audit.log.try_note(record);
    }

    fn job_ended(&self, job: &Job, ended: Result<(), Error>) {
        let status = job.status();
        let info = if status.state == DispatchState::Done { Info::Completed } else { Info::Failed };
        self.ended(info, ended.err().as_ref(), |record| with_numbers(record, job));
    }
}

/// Whether a search may leave something behind, by the words in it: a word in quotes costs a wait, a macro
/// may hide one.
fn writes(search: &str) -> bool {
    let lower = search.to_ascii_lowercase();
    search.contains('`') || WRITE.iter().any(|command| lower.contains(command))
}
