//! `/services/search/jobs`: searches as jobs, their results, and exports.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use jiff::tz::TimeZone;
use quick_xml::escape::escape;
use search::{Job, JobRequest, Page};
use serde_json::{Value, json};

use super::feed;
use super::job_entry::entry;
use crate::ApiState;
use crate::error::RestError;
use crate::output::{OutputMode, ResultPage, csv_text, messages_json, raw_text, row_object};
use crate::params::Params;
use crate::rest::Caller;

const PATH: &str = "/services/search/jobs";
/// Rows of a page unless `count` says otherwise.
const DEFAULT_COUNT: usize = 100;

pub(crate) async fn list(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    let entries = state.search.jobs().iter().map(|job| entry(job)).collect();
    feed::respond("jobs", PATH, entries, &params)
}

pub(crate) async fn create(
    State(state): State<ApiState>,
    caller: Caller,
    params: Params,
) -> Result<Response, RestError> {
    let mode = OutputMode::of(&params)?;
    let exec_mode = params.text("exec_mode").unwrap_or("normal");
    if !matches!(exec_mode, "normal" | "blocking" | "oneshot") {
        return Err(RestError::invalid(format!(
            "unknown exec_mode \"{exec_mode}\"; use normal, blocking or oneshot"
        )));
    }
    let mut request = request(&params, &caller)?;
    // Nobody can look before the end where the answer comes with it.
    request.preview = match params.text("preview") {
        Some(_) => params.flag("preview"),
        None => exec_mode == "normal",
    };
    let job = state.search.dispatch(request).await?;
    if exec_mode == "normal" {
        return Ok(sid_response(&job, mode));
    }
    let finished = job.finished().await;
    if exec_mode == "blocking" {
        return Ok(sid_response(&job, mode));
    }
    let response = finished
        .map_err(RestError::from)
        .and_then(|()| result_response(&state, &job, &params, StatusCode::OK));
    // Nobody else knows this job: its results go with the answer.
    state.search.cancel(job.sid());
    response
}

fn sid_response(job: &Job, mode: OutputMode) -> Response {
    if mode.is_json() {
        let body = json!({"sid": job.sid()}).to_string();
        return mode.respond(StatusCode::CREATED, body);
    }
    let sid = escape(job.sid());
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<response>\n  <sid>{sid}</sid>\n</response>\n"
    );
    OutputMode::Xml.respond(StatusCode::CREATED, body)
}

/// The search a request asks for.
pub(super) fn request(params: &Params, caller: &Caller) -> Result<JobRequest, RestError> {
    let search = params.text("search").ok_or_else(|| {
        RestError::invalid(
            "The required 'search' parameter for the Splunk platform REST API search/jobs endpoint \
             is not specified. Add search=<SPL> to the request.",
        )
    })?;
    let mut request = JobRequest::new(search, &caller.user);
    request.earliest = params.text("earliest_time").map(str::to_owned);
    request.latest = params.text("latest_time").map(str::to_owned);
    request.max_count = params.number("max_count")?;
    request.status_buckets = params.number("status_buckets")?.unwrap_or(0);
    request.sid = params.text("id").map(str::to_owned);
    request.label = params.text("label").map(str::to_owned);
    request.ttl = params.number("timeout")?.map(|seconds| Duration::from_secs(seconds as u64));
    if let Some(name) = params.text("timezone").or_else(|| params.text("tz")) {
        request.timezone = TimeZone::get(name).map_err(|error| {
            RestError::invalid(format!("unknown time zone \"{name}\": {error}"))
        })?;
    }
    Ok(request)
}

fn find(state: &ApiState, sid: &str) -> Result<Arc<Job>, RestError> {
    let unknown = || RestError::new(StatusCode::NOT_FOUND, "FATAL", "Unknown sid.");
    state.search.job(sid).ok_or_else(unknown)
}

pub(crate) async fn show(
    State(state): State<ApiState>,
    Path(sid): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let job = find(&state, &sid)?;
    job.touch();
    let entry = entry(&job);
    if OutputMode::of(&params)?.is_json() {
        return feed::respond_one("jobs", PATH, entry, &params);
    }
    let body = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}", entry.xml(true));
    Ok(OutputMode::Xml.respond(StatusCode::OK, body))
}

/// Splunk keeps settable parameters of a job here; a job is only kept longer by it.
pub(crate) async fn touch(
    state: State<ApiState>,
    path: Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    show(state, path, params).await
}

pub(crate) async fn remove(
    State(state): State<ApiState>,
    Path(sid): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    find(&state, &sid)?;
    state.search.cancel(&sid);
    info(&format!("Search job '{sid}' cancelled."), &params)
}

pub(crate) async fn control(
    State(state): State<ApiState>,
    Path(sid): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let job = find(&state, &sid)?;
    let action = params.required("action")?;
    match action {
        "cancel" => {
            state.search.cancel(&sid);
        }
        "pause" => job.pause(),
        "unpause" => job.unpause(),
        "finalize" => job.finalize(),
        "touch" => job.touch(),
        "setttl" => {
            let seconds = params
                .number("ttl")?
                .ok_or_else(|| RestError::invalid("setttl needs ttl=<seconds>"))?;
            job.set_ttl(Duration::from_secs(seconds as u64));
        }
        "enablepreview" => job.want_previews(true),
        "disablepreview" => job.want_previews(false),
        // Every job has one priority: accepting these changes no answer.
        "setpriority" | "save" | "unsave" => job.touch(),
        other => {
            return Err(RestError::invalid(format!(
                "unknown action \"{other}\"; use cancel, pause, unpause, finalize, enablepreview, \
                 disablepreview, touch or setttl"
            )));
        }
    }
    info(&format!("Search job '{sid}': {action} done."), &params)
}

fn info(text: &str, params: &Params) -> Result<Response, RestError> {
    let mode = OutputMode::of(params)?;
    if mode.is_json() {
        let body = json!({"messages": [{"type": "INFO", "text": text}]}).to_string();
        return Ok(mode.respond(StatusCode::OK, body));
    }
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<response><messages><msg type=\"INFO\">{}</msg>\
         </messages></response>",
        escape(text)
    );
    Ok(OutputMode::Xml.respond(StatusCode::OK, body))
}

pub(crate) async fn results(
    State(state): State<ApiState>,
    Path(sid): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let job = find(&state, &sid)?;
    if let Some(error) = job.status().error {
        return Err(error.into());
    }
    if !job.status().state.is_final() {
        // Splunk's answer to "not yet".
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    result_response(&state, &job, &params, StatusCode::OK)
}

/// The result, or what it would be if the search ended now.
pub(crate) async fn results_preview(
    State(state): State<ApiState>,
    Path(sid): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let job = find(&state, &sid)?;
    let (offset, count) = page_of(&state, &params)?;
    // Asked first: once the result is there, there is no preview any more.
    match job.preview_page(offset, count).filter(|_| !job.status().state.is_final()) {
        Some(page) => page_response(&job, page, offset, true, &params, StatusCode::OK),
        None => results(State(state), Path(sid), params).await,
    }
}

pub(crate) async fn events(
    State(state): State<ApiState>,
    Path(sid): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let job = find(&state, &sid)?;
    if !job.finds_events() {
        return page_response(&job, Page::default(), 0, false, &params, StatusCode::OK);
    }
    results_preview(State(state), Path(sid), params).await
}

/// Where its time went, what it read, what that cost.
pub(crate) async fn inspector(
    State(state): State<ApiState>,
    Path(sid): Path<String>,
) -> Result<Response, RestError> {
    let job = find(&state, &sid)?;
    job.touch();
    let body = json!({
        "sid": job.sid(),
        "search": job.request().search,
        "dispatchState": job.status().state.name(),
        "messages": messages_json(&job.messages()),
        "inspection": job.inspect(),
    });
    Ok(OutputMode::Json.respond(StatusCode::OK, body.to_string()))
}

/// Offset and count of the page a request asks for.
fn page_of(state: &ApiState, params: &Params) -> Result<(usize, usize), RestError> {
    let most = state.settings.max_page_rows;
    let count = match params.count()?.unwrap_or(DEFAULT_COUNT) {
        0 => most,
        count => count.min(most),
    };
    Ok((params.number("offset")?.unwrap_or(0), count))
}

fn result_response(
    state: &ApiState,
    job: &Job,
    params: &Params,
    status: StatusCode,
) -> Result<Response, RestError> {
    let (offset, count) = page_of(state, params)?;
    page_response(job, job.page(offset, count), offset, false, params, status)
}

fn page_response(
    job: &Job,
    mut page: Page,
    offset: usize,
    preview: bool,
    params: &Params,
    status: StatusCode,
) -> Result<Response, RestError> {
    let mode = OutputMode::of(params)?;
    keep_fields(&mut page, params);
    let messages = job.messages();
    let highlight = params.flag("highlight").then(|| job.highlight());
    let body = ResultPage { page: &page, offset, messages: &messages, highlight, preview };
    Ok(mode.respond(status, body.render(mode)))
}

/// `f=` (or `field_list=`) names the only fields wanted.
fn keep_fields(page: &mut Page, params: &Params) {
    let mut wanted: Vec<&str> = params.all("f").collect();
    wanted.extend(params.text("field_list").into_iter().flat_map(|list| list.split(',')));
    if wanted.is_empty() || wanted.contains(&"*") {
        return;
    }
    let kept: Vec<usize> =
        (0..page.fields.len()).filter(|at| wanted.contains(&page.fields[*at].as_str())).collect();
    page.fields = kept.iter().map(|at| page.fields[*at].clone()).collect();
    for row in &mut page.rows {
        *row = kept.iter().map(|at| row[*at].clone()).collect();
    }
}

pub(crate) async fn timeline(
    State(state): State<ApiState>,
    Path(sid): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let job = find(&state, &sid)?;
    // Empty without status_buckets, as Splunk's is.
    let timeline = job.timeline().unwrap_or_default();
    let done = job.status().state.is_final();
    let span = timeline.span_seconds();
    if OutputMode::of(&params)?.is_json() {
        let buckets: Vec<Value> = timeline
            .bins()
            .map(|(start, count)| {
                json!({"earliest_time": start, "duration": span, "total_count": count,
                       "available_count": count, "is_finalized": done})
            })
            .collect();
        let body = json!({"event_count": job.counts().events_matched, "buckets": buckets});
        return Ok(OutputMode::Json.respond(StatusCode::OK, body.to_string()));
    }
    let mut body = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<timeline c='{}' cursor='0'>\n",
        job.counts().events_matched
    );
    for (start, count) in timeline.bins() {
        body.push_str(&format!(
            "<bucket c='{count}' a='{count}' t='{start}' d='{span}' f='{}'/>\n",
            u8::from(done)
        ));
    }
    body.push_str("</timeline>\n");
    Ok(OutputMode::Xml.respond(StatusCode::OK, body))
}

pub(crate) async fn summary(
    State(state): State<ApiState>,
    Path(sid): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let job = find(&state, &sid)?;
    let top = params.number("top_count")?.unwrap_or(10);
    // Extracting every field of thousands of events is work: keep it off the request threads.
    let summarized = Arc::clone(&job);
    let fields = tokio::task::spawn_blocking(move || summarized.field_summary(top)).await;
    let (events, fields) = fields
        .map_err(|error| RestError::of_kind(model::ErrorKind::Internal, error.to_string()))?;
    if OutputMode::of(&params)?.is_json() {
        let body = json!({"event_count": events, "fields": fields}).to_string();
        return Ok(OutputMode::Json.respond(StatusCode::OK, body));
    }
    let mut body =
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<results><summary c='{events}'>\n");
    for (name, counts) in &fields {
        body.push_str(&format!(
            "<field k='{}' c='{}' nc='{}' dc='{}' exact='{}'><modes>",
            escape(name.as_str()),
            counts.count,
            counts.numeric_count,
            counts.distinct_count,
            u8::from(counts.is_exact)
        ));
        for mode in &counts.modes {
            let value = escape(mode.value.as_str());
            body.push_str(&format!("<value c='{}'><text>{value}</text></value>", mode.count));
        }
        body.push_str("</modes></field>\n");
    }
    body.push_str("</summary></results>\n");
    Ok(OutputMode::Xml.respond(StatusCode::OK, body))
}

/// Streams every row as the search hands it over; nothing is kept on the server.
pub(crate) async fn export(
    State(state): State<ApiState>,
    caller: Caller,
    params: Params,
) -> Result<Response, RestError> {
    let mode = OutputMode::of(&params)?;
    let pages = state.search.export(request(&params, &caller)?).await?;
    let stream = futures::stream::unfold(Export::new(mode, pages), |mut export| async move {
        let chunk = export.next().await?;
        Some((Ok::<Bytes, std::convert::Infallible>(chunk.into()), export))
    });
    let content_type = mode.respond(StatusCode::OK, "").headers()[header::CONTENT_TYPE].clone();
    Ok(([(header::CONTENT_TYPE, content_type)], Body::from_stream(stream.boxed())).into_response())
}

type Pages = tokio::sync::mpsc::Receiver<Result<Page, search::Error>>;

/// Writes an export, page by page. JSON rows are held back by one, since the last one says so.
struct Export {
    mode: OutputMode,
    pages: Pages,
    rows: usize,
    held: Option<Value>,
    csv_fields: Option<Vec<String>>,
    ended: bool,
}

impl Export {
    fn new(mode: OutputMode, pages: Pages) -> Self {
        Self { mode, pages, rows: 0, held: None, csv_fields: None, ended: false }
    }

    async fn next(&mut self) -> Option<String> {
        loop {
            if self.ended {
                return None;
            }
            let text = match self.pages.recv().await {
                Some(Ok(page)) => self.page(&page),
                Some(Err(error)) => {
                    self.ended = true;
                    self.error(&error)
                }
                None => {
                    self.ended = true;
                    self.end()
                }
            };
            if !text.is_empty() {
                return Some(text);
            }
        }
    }

    fn page(&mut self, page: &Page) -> String {
        match self.mode {
            OutputMode::Csv => self.csv(page),
            OutputMode::Raw => raw_text(page),
            OutputMode::Xml => self.xml(page),
            OutputMode::Json | OutputMode::JsonRows | OutputMode::JsonCols => self.json(page),
        }
    }

    fn json(&mut self, page: &Page) -> String {
        let mut out = String::new();
        for row in &page.rows {
            let result = row_object(&page.fields, row);
            let next = json!({"preview": false, "offset": self.rows, "result": result});
            self.rows += 1;
            if let Some(ready) = self.held.replace(next) {
                out.push_str(&ready.to_string());
                out.push('\n');
            }
        }
        out
    }

    /// The columns are those of the first page: a header cannot be changed once it is sent.
    fn csv(&mut self, page: &Page) -> String {
        let header = self.csv_fields.is_none();
        let fields = self.csv_fields.get_or_insert_with(|| page.fields.clone());
        let places: Vec<Option<usize>> =
            fields.iter().map(|field| page.fields.iter().position(|f| f == field)).collect();
        let rows: Vec<_> = page
            .rows
            .iter()
            .map(|row| places.iter().map(|at| at.and_then(|at| row[at].clone())).collect())
            .collect();
        csv_text(fields, &rows, header)
    }

    fn xml(&mut self, page: &Page) -> String {
        let offset = self.rows;
        self.rows += page.rows.len();
        let body = ResultPage { page, offset, messages: &[], highlight: None, preview: false };
        body.render(OutputMode::Xml)
    }

    fn end(&mut self) -> String {
        if !self.mode.is_json() {
            return String::new();
        }
        let last = match self.held.take() {
            Some(mut last) => {
                last["lastrow"] = json!(true);
                last
            }
            None => json!({"preview": false, "lastrow": true}),
        };
        format!("{last}\n")
    }

    fn error(&mut self, error: &search::Error) -> String {
        let text = error.to_string();
        if !self.mode.is_json() {
            let message = RestError::invalid(text);
            return crate::output::error_body(&message, self.mode);
        }
        let held = self.held.take().map(|row| format!("{row}\n")).unwrap_or_default();
        let message = json!({"messages": [{"type": "FATAL", "text": text}]});
        format!("{held}{message}\n")
    }
}
