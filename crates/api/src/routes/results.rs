//! The results of a job: `results`, `results_preview`, `events`, `timeline`, `summary`.

use std::convert::Infallible;
use std::sync::Arc;

use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use knowledge::time::TimeFormat;
use model::{EventTime, TimeRange};
use quick_xml::escape::escape;
use search::{Job, ResultRows, without_leading_comments};
use serde_json::{Value, json};

use super::jobs::{RequestJob, find, of_caller, range_of_events};
use crate::ApiState;
use crate::audit::{Observed, searches};
use crate::call::Call;
use crate::error::RestError;
use crate::namespace::PathNamespace;
use crate::output::{OutputMode, Pieces, ResponseMeta, fields_of, streamed, whole};
use crate::params::Params;
use crate::rights::Need;
use crate::routing::{Routes, get};
use crate::session::Caller;
#[cfg(test)]
use crate::tests::cases::{Case, case};
use crate::work::work_on_rows;

pub(super) fn routes() -> Routes {
    Routes::default()
        .at(
            "/services/search/jobs/{sid}/results",
            get(Need::Own, "The rows of a finished search; 204 while it runs", results).post(
                Need::Own,
                "The same, with a form",
                results,
            ),
        )
        .at(
            "/services/search/jobs/{sid}/results_preview",
            get(Need::Own, "The rows of a search; a preview while it runs", results_preview).post(
                Need::Own,
                "The same, with a form",
                results_preview,
            ),
        )
        .at(
            "/services/search/jobs/{sid}/events",
            get(Need::Own, "The events of an event search; empty for a report", events).post(
                Need::Own,
                "The same, with a form",
                events,
            ),
        )
        .at(
            "/services/search/jobs/{sid}/timeline",
            get(Need::Own, "Number of events over time; requires `status_buckets`", timeline),
        )
        .at(
            "/services/search/jobs/{sid}/summary",
            get(
                Need::Own,
                "The fields of the events found, with their most frequent values",
                summary,
            ),
        )
}

/// Default number of rows of a page.
const DEFAULT_COUNT: usize = 100;

async fn results(call: Call, seen: Observed, method: Method) -> Result<Response, RestError> {
    let job = find(&call.state, &call.caller, call.segment("sid")).await?;
    final_rows(&call, (&seen, &method), &job, None).await
}

/// Returns the rows of a job that has ended, of a range of time if there is one.
async fn final_rows(
    Call { state, caller, params, .. }: &Call,
    (seen, method): (&Observed, &Method),
    job: &Job,
    range: Option<TimeRange>,
) -> Result<Response, RestError> {
    if let Some(error) = job.status().error {
        return Err(error.into());
    }
    if !job.status().state.is_final() {
        // Splunk's answer to "not yet".
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    if let Some(rest) = params.text("search") {
        caller.require("search")?;
        return continued(state, (caller, seen), job, (rest, range), method, params).await;
    }
    let (offset, count) = page_of(state, params)?;
    // Messages from before the run are in the job's entry.
    let meta = ResponseMeta { offset, messages: job.messages_of_run(), ..ResponseMeta::default() };
    let rows = match range {
        Some(range) => rows_within(&job.rows(0, usize::MAX), range, (offset, count)),
        None => job.rows(offset, count),
    };
    page_response(job, rows, meta, params, None).await
}

/// Returns a page of the rows of a range of time.
fn rows_within(rows: &ResultRows, range: TimeRange, (offset, count): (usize, usize)) -> ResultRows {
    work_on_rows(rows.len(), || rows.within(range, offset, count))
}

/// Returns a command that keeps the events of a range of time. A text that is not a time is in no range.
fn where_within(range: TimeRange) -> String {
    let mut conditions = vec!["isnum(_time)".to_owned()];
    if range.earliest != EventTime::MIN {
        conditions.push(format!("_time>={:.6}", range.earliest.seconds()));
    }
    if range.latest != EventTime::MAX {
        conditions.push(format!("_time<{:.6}", range.latest.seconds()));
    }
    format!("where {}", conditions.join(" AND "))
}

/// Returns the results of a further search over those of the job (`search` of a page of results).
async fn continued(
    state: &ApiState,
    (caller, seen): (&Caller, &Observed),
    job: &Job,
    (rest, range): (&str, Option<TimeRange>),
    method: &Method,
    params: &Params,
) -> Result<Response, RestError> {
    let rest = without_leading_comments(rest).trim_end();
    let asked = job.request();
    let app = PathNamespace { owner: None, app: Some(asked.app.clone()) };
    let mut request = of_caller(state, rest, caller, &app);
    // Clients leave out the pipe in front. Terms without `search` are taken, too.
    let rest = match rest.strip_prefix('|') {
        Some(rest) => rest.to_owned(),
        None if state.search.begins_with_command(rest, &request) => rest.to_owned(),
        None => format!("search {rest}"),
    };
    let within = range.map(|range| format!("{} | ", where_within(range))).unwrap_or_default();
    request.search = format!("| loadjob {} | {within}{rest}", job.sid());
    request.timezone = asked.timezone.clone();
    // A GET request may come from any page in a browser, so it must not change anything.
    request.read_only = *method != Method::POST;
    let further = searches::dispatch(state, seen, request).await?;
    // No other request knows this job.
    let own = RequestJob::new(&state.search, &further);
    further.finished().await?;
    let (offset, count) = page_of(state, params)?;
    let post_process = Some(further.result_count());
    let messages = further.messages_of_run();
    let meta = ResponseMeta { offset, messages, post_process, ..ResponseMeta::default() };
    page_response(&further, further.rows(offset, count), meta, params, Some(own)).await
}

/// Returns the result, or the result as if the search ended now.
async fn results_preview(
    call: Call,
    seen: Observed,
    method: Method,
) -> Result<Response, RestError> {
    let job = find(&call.state, &call.caller, call.segment("sid")).await?;
    rows_so_far(&call, (&seen, &method), &job, None).await
}

async fn rows_so_far(
    call: &Call,
    from: (&Observed, &Method),
    job: &Job,
    range: Option<TimeRange>,
) -> Result<Response, RestError> {
    let (offset, count) = page_of(&call.state, &call.params)?;
    let preview = match range {
        Some(range) => {
            let rows = job.preview_rows(0, usize::MAX);
            rows.map(|rows| rows_within(&rows, range, (offset, count)))
        }
        None => job.preview_rows(offset, count),
    };
    // Asked first: once the result is there, there is no preview any more.
    match preview.filter(|_| !job.status().state.is_final()) {
        Some(rows) => {
            let messages = job.messages();
            let meta = ResponseMeta { offset, messages, preview: true, ..ResponseMeta::default() };
            page_response(job, rows, meta, &call.params, None).await
        }
        None => final_rows(call, from, job, range).await,
    }
}

/// Returns the events, of the range between `earliest_time` and `latest_time` if the request has these.
async fn events(call: Call, seen: Observed, method: Method) -> Result<Response, RestError> {
    let Call { state, caller, params, .. } = &call;
    let sid = call.segment("sid");
    let job = find(state, caller, sid).await?;
    let range = range_of_events(&job, params, state.clock.now())?;
    if !job.finds_events() {
        return page_response(&job, ResultRows::default(), ResponseMeta::default(), params, None)
            .await;
    }
    rows_so_far(&call, (&seen, &method), &job, range).await
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
pub(super) async fn result_response(
    state: &ApiState,
    job: &Job,
    params: &Params,
    own: RequestJob,
) -> Result<Response, RestError> {
    let (offset, count) = page_of(state, params)?;
    let meta = ResponseMeta { offset, messages: job.messages(), ..ResponseMeta::default() };
    page_response(job, job.rows(offset, count), meta, params, Some(own)).await
}

/// Responds with rows of a job. If there are many, the response is created while it is sent, and a job that
/// belongs to this request only is kept until then: the memory of its result counts with that of other jobs.
async fn page_response(
    job: &Job,
    rows: ResultRows,
    mut meta: ResponseMeta,
    params: &Params,
    own: Option<RequestJob>,
) -> Result<Response, RestError> {
    let mode = OutputMode::of(params)?;
    meta.highlight = params.flag("highlight").then(|| job.highlight().to_vec());
    let format = params.text("output_time_format").map(TimeFormat::parse);
    let rows = rows.with_times(format.as_ref());
    if rows.are_many() {
        let fields = wanted_of(fields_of(&rows).await, params);
        let pages = rows.slices().map(|slice| slice.page());
        let pieces = Pieces::new(mode.format(meta, fields), pages);
        let body = streamed(pieces.map(Ok::<_, Infallible>), own);
        return Ok(mode.respond(StatusCode::OK, body));
    }
    let text = work_on_rows(rows.len(), || {
        let page = rows.page();
        // Without events there are no fields.
        let none = rows.is_empty() && job.finds_events();
        let fields = if none { Vec::new() } else { wanted_of(page.fields.clone(), params) };
        whole(mode.format(meta, fields), &page)
    });
    Ok(mode.respond(StatusCode::OK, text))
}

/// `f=` (or `field_list=`) names the only fields wanted.
fn wanted_of(mut fields: Vec<String>, params: &Params) -> Vec<String> {
    let is_field = |name: &str| fields.iter().any(|field| field == name);
    if let Some(wanted) = wanted_fields(params, is_field) {
        fields.retain(|field| wanted.contains(&field.as_str()));
    }
    fields
}

/// Returns the names of the only fields wanted; `None` for all fields. `f` is a list, unless it is the name
/// of a field: names of computed fields may have commas, as in `list(a,b)`.
fn wanted_fields(params: &Params, is_field: impl Fn(&str) -> bool) -> Option<Vec<&str>> {
    let mut wanted = Vec::new();
    for list in params.all("f") {
        match is_field(list) {
            true => wanted.push(list),
            false => wanted.extend(list.split(',')),
        }
    }
    wanted.extend(params.text("field_list").into_iter().flat_map(|list| list.split(',')));
    (!wanted.is_empty() && !wanted.contains(&"*")).then_some(wanted)
}

async fn timeline(call: Call) -> Result<Response, RestError> {
    let Call { state, caller, params, .. } = &call;
    let sid = call.segment("sid");
    let job = find(state, caller, sid).await?;
    // Empty without status_buckets, as Splunk's is.
    let timeline = job.timeline().unwrap_or_default();
    let done = job.status().state.is_final();
    let span = timeline.span_seconds();
    if OutputMode::of(params)?.is_json() {
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

async fn summary(call: Call) -> Result<Response, RestError> {
    let Call { state, caller, params, .. } = &call;
    let sid = call.segment("sid");
    let job = find(state, caller, sid).await?;
    for (name, is_set) in
        [("search", params.text("search").is_some()), ("histogram", params.flag("histogram"))]
    {
        if is_set {
            return Err(RestError::invalid(format!("summary does not support {name}")));
        }
    }
    let top = params.number("top_count")?.unwrap_or(10);
    let least = min_frequency(params)?;
    let range = range_of_events(&job, params, state.clock.now())?;
    // Extracting every field of thousands of events is work: keep it off the request threads.
    let summarized = Arc::clone(&job);
    let fields = tokio::task::spawn_blocking(move || summarized.field_summary(top, range)).await;
    let (events, mut fields) = fields
        .map_err(|error| RestError::of_kind(model::ErrorKind::Internal, error.to_string()))?;
    if let Some(wanted) = wanted_fields(params, |name| fields.contains_key(name)) {
        fields.retain(|name, _| wanted.contains(&name.as_str()));
    }
    fields.retain(|_, counts| occurs(counts.count, events) >= least);
    if OutputMode::of(params)?.is_json() {
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

/// Returns `min_freq`: the least share of the events in which a field occurs, 0 to 1.
fn min_frequency(params: &Params) -> Result<f64, RestError> {
    let Some(text) = params.text("min_freq") else { return Ok(0.0) };
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| RestError::invalid("min_freq must be a number from 0 to 1"))
}

/// Returns the share of events.
#[allow(clippy::cast_precision_loss)]
fn occurs(count: u64, events: usize) -> f64 {
    count as f64 / events.max(1) as f64
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let job = "/services/search/jobs/mine";
    let search = "id=mine&exec_mode=blocking&search=%7C+makeresults+%7C+eval+a%3D7";
    let mut all = vec![case("POST /services/search/jobs", search, 201, "mine")];
    for (below, part) in
        [("results", "\"a\":\"7\""), ("results_preview", "\"a\":\"7\""), ("events", "results")]
    {
        for method in ["GET", "POST"] {
            all.push(case(&format!("{method} {job}/{below}"), "", 200, part));
            let none = format!("{method} /services/search/jobs/none/{below}");
            all.push(case(&none, "", 404, "Unknown sid."));
        }
    }
    for below in ["timeline", "summary"] {
        all.push(case(&format!("GET {job}/{below}"), "", 200, ""));
        let none = format!("GET /services/search/jobs/none/{below}");
        all.push(case(&none, "", 404, "Unknown sid."));
    }
    for (query, text) in [
        ("events?earliest_time=soon", "earliest_time: "),
        ("summary?latest_time=soon", "latest_time: "),
        ("summary?min_freq=2", "min_freq must be"),
        ("summary?histogram=1", "does not support histogram"),
        ("summary?search=0", "does not support search"),
        ("events?earliest_time=now&latest_time=-1d", "must not be later than latest_time"),
    ] {
        all.push(case(&format!("GET {job}/{query}"), "", 400, text));
    }
    all.push(case(&format!("GET {job}/results?count=x"), "", 400, "must be a whole number"));
    all
}
