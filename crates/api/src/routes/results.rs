//! What a job found: `results`, `results_preview`, `events`, `timeline`, `summary`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use quick_xml::escape::escape;
use search::{Job, Message, Page};
use serde_json::{Value, json};

use super::jobs::{find, of_caller};
use crate::ApiState;
use crate::audit::{Observed, searches};
use crate::error::RestError;
use crate::namespace::PathNamespace;
use crate::output::{OutputMode, ResultPage};
use crate::params::Params;
use crate::receiver::work_on_rows;
use crate::session::Caller;

/// Rows of a page unless `count` says otherwise.
const DEFAULT_COUNT: usize = 100;

pub(crate) async fn results(
    State(state): State<ApiState>,
    caller: Caller,
    seen: Observed,
    Path(sid): Path<String>,
    method: Method,
    params: Params,
) -> Result<Response, RestError> {
    let job = find(&state, &caller, &sid)?;
    if let Some(error) = job.status().error {
        return Err(error.into());
    }
    if !job.status().state.is_final() {
        // Splunk's answer to "not yet".
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    if let Some(rest) = params.text("search") {
        caller.require("search")?;
        return continued(&state, (&caller, &seen), &job, rest, &method, &params).await;
    }
    let (offset, count) = page_of(&state, &params)?;
    // What was known before it ran is said in the job's entry.
    let told = Told { messages: job.messages_of_run(), preview: false, rows: None };
    page_response(&job, page_at(&job, offset, count), offset, &told, &params)
}

/// The results of a further search of the caller's over those of the job (`search` of a page of
/// results).
async fn continued(
    state: &ApiState,
    (caller, seen): (&Caller, &Observed),
    job: &Job,
    rest: &str,
    method: &Method,
    params: &Params,
) -> Result<Response, RestError> {
    let rest = rest.trim();
    let rest = rest.strip_prefix('|').map_or_else(|| format!("search {rest}"), str::to_owned);
    let asked = job.request();
    let search = format!("| loadjob {} | {rest}", job.sid());
    let app = PathNamespace { owner: None, app: Some(asked.app.clone()) };
    let mut request = of_caller(state, &search, caller, &app);
    request.timezone = asked.timezone.clone();
    // What is asked for with GET may be asked for by any page a browser shows: it changes nothing.
    request.read_only = *method != Method::POST;
    let further = searches::dispatch(state, seen, request).await?;
    let finished = further.finished().await;
    let response = finished.map_err(RestError::from).and_then(|()| {
        let (offset, count) = page_of(state, params)?;
        let rows = Some(further.result_count());
        let told = Told { messages: further.messages_of_run(), preview: false, rows };
        page_response(&further, page_at(&further, offset, count), offset, &told, params)
    });
    // Nobody else knows this job.
    state.search.cancel(further.sid());
    response
}

/// The result, or what it would be if the search ended now.
pub(crate) async fn results_preview(
    State(state): State<ApiState>,
    caller: Caller,
    seen: Observed,
    Path(sid): Path<String>,
    method: Method,
    params: Params,
) -> Result<Response, RestError> {
    let job = find(&state, &caller, &sid)?;
    let (offset, count) = page_of(&state, &params)?;
    // Asked first: once the result is there, there is no preview any more.
    match job.preview_page(offset, count).filter(|_| !job.status().state.is_final()) {
        Some(page) => {
            let told = Told { messages: job.messages(), preview: true, rows: None };
            page_response(&job, page, offset, &told, &params)
        }
        None => results(State(state), caller, seen, Path(sid), method, params).await,
    }
}

pub(crate) async fn events(
    State(state): State<ApiState>,
    caller: Caller,
    seen: Observed,
    Path(sid): Path<String>,
    method: Method,
    params: Params,
) -> Result<Response, RestError> {
    let job = find(&state, &caller, &sid)?;
    if !job.finds_events() {
        return page_response(&job, Page::default(), 0, &Told::default(), &params);
    }
    results_preview(State(state), caller, seen, Path(sid), method, params).await
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

/// The result with all that is to be said of it, for clients that never see the job.
pub(super) fn result_response(
    state: &ApiState,
    job: &Job,
    params: &Params,
) -> Result<Response, RestError> {
    let (offset, count) = page_of(state, params)?;
    let told = Told { messages: job.messages(), preview: false, rows: None };
    page_response(job, page_at(job, offset, count), offset, &told, params)
}

fn page_at(job: &Job, offset: usize, count: usize) -> Page {
    work_on_rows(count.min(job.result_count()), || job.page(offset, count))
}

/// What a page says besides its rows.
#[derive(Default)]
struct Told {
    messages: Vec<Message>,
    preview: bool,
    /// All rows of a further search, where the page is of one.
    rows: Option<usize>,
}

fn page_response(
    job: &Job,
    mut page: Page,
    offset: usize,
    told: &Told,
    params: &Params,
) -> Result<Response, RestError> {
    let mode = OutputMode::of(params)?;
    keep_fields(&mut page, params);
    // No event, no fields.
    if page.rows.is_empty() && job.finds_events() {
        page.fields.clear();
    }
    let highlight = params.flag("highlight").then(|| job.highlight());
    let Told { messages, preview, rows } = told;
    let body = ResultPage {
        page: &page,
        offset,
        messages,
        highlight,
        preview: *preview,
        post_process: *rows,
    };
    let text = work_on_rows(page.rows.len(), || body.render(mode));
    Ok(mode.respond(StatusCode::OK, text))
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
    caller: Caller,
    Path(sid): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let job = find(&state, &caller, &sid)?;
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
    caller: Caller,
    Path(sid): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let job = find(&state, &caller, &sid)?;
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
