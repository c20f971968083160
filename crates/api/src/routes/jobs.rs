//! `/services/search/jobs`: searches as jobs. Their results are in `results`.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::ConnectInfo;
use axum::http::{Extensions, HeaderMap, Method, StatusCode};
use axum::response::Response;
use catalog::IndexNames;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use knowledge::time::{LocalClock, TimeFormat, TimeModifier};
use model::{EventTime, IndexName, TimeRange};
use quick_xml::escape::escape;
use search::{Job, JobRequest, Keeping, SearchService};
use serde_json::json;

use super::job_entry::{SAVED_SECONDS, entry, of_other_head};
use super::results::result_response;
use super::{feed, job_heads, search_bundle};
use crate::atom::Entry;
use crate::audit::{Observed, searches};
use crate::call::Call;
use crate::error::RestError;
use crate::namespace::PathNamespace;
use crate::output::{OutputMode, messages_json};
use crate::params::Params;
use crate::rights::Need;
use crate::rights::SEARCH;
use crate::routing::{Routes, get, post};
use crate::session::Caller;
use crate::status_streams::stream_name;
#[cfg(test)]
use crate::tests::cases::{Case, case};
use crate::{ApiState, FromOther, Question};

pub(super) fn routes() -> Routes {
    Routes::default()
        .at(
            "/services/search/jobs",
            get(
                Need::Own,
                "Lists jobs, newest first: the caller's own, or all with `admin_all_objects`",
                list,
            )
            .post(SEARCH, "Starts a search", create),
        )
        .at(
            "/services/search/jobs/{sid}",
            get(Need::Own, "Shows a job: progress, counts, messages", show)
                .post(Need::Own, "Extends the lifetime of a job", touch)
                .delete(Need::Own, "Ends and removes a job", remove),
        )
        .at(
            "/services/search/jobs/{sid}/acl",
            get(Need::Own, "Shows the owner and the permissions of a job", acl).post(
                Need::Own,
                "Opens a job to users of other roles, or closes it",
                share,
            ),
        )
        .at(
            "/services/search/jobs/{sid}/control",
            post(Need::Own, "Pauses, finalizes or cancels a job, or extends its lifetime", control),
        )
        .at(
            "/services/search/jobs/{sid}/inspector",
            get(Need::Own, "Job inspector, with time by phase, data read and cost", inspector),
        )
        .at(
            "/services/search/jobs/{sid}/search.log",
            get(Need::Own, "The log of the job, as text", log),
        )
}

const PATH: &str = "/services/search/jobs";
/// The request to other search heads.
const ALL_JOBS: &str = "/services/search/jobs?count=0&output_mode=json";
/// TTL of a job that is no longer saved, in seconds.
const DEFAULT_TTL_SECONDS: u64 = 600;
/// Longest id that a request may choose.
const MAX_SID_BYTES: usize = 256;
/// Maximum length of the text in which a client names the origin of a search.
const MAX_PROVENANCE_BYTES: usize = 256;

/// Returns the jobs of this process and those in object storage that the caller may see, the newest first.
pub(super) fn visible(state: &ApiState, caller: &Caller) -> Vec<Arc<Job>> {
    let mut jobs = state.search.jobs();
    jobs.extend(state.search.saved_jobs());
    jobs.sort_by_key(|job| Reverse(job.created()));
    of_caller_only(state, jobs, caller)
}

/// The caller's own jobs, or all with `admin_all_objects`; with a token of a limited scope, those within it.
fn of_caller_only(state: &ApiState, mut jobs: Vec<Arc<Job>>, caller: &Caller) -> Vec<Arc<Job>> {
    let all = caller.may("admin_all_objects");
    let in_scope = |job: &Job| state.search.is_in_scope(job, &caller.rights);
    jobs.retain(|job| (all || job.request().owner == caller.user) && in_scope(job));
    jobs
}

/// Lists the jobs; in a cluster, those of all search heads. A job in object storage is listed by its search
/// head, if that answers.
async fn list(
    Call { state, caller, params, .. }: Call,
    headers: HeaderMap,
    extensions: Extensions,
) -> Result<Response, RestError> {
    let client = extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0);
    let is_asked = extensions.get::<FromOther>().is_some();
    let entries_of = |jobs: Vec<Arc<Job>>| -> Vec<Entry> {
        of_caller_only(&state, jobs, &caller).iter().map(|job| entry(job)).collect()
    };
    let (Some(heads), Some(client), false) = (&state.heads, client, is_asked) else {
        // The process that has sent the request lists the jobs in object storage itself.
        let entries = match is_asked {
            true => entries_of(state.search.jobs()),
            false => visible(&state, &caller).iter().map(|job| entry(job)).collect(),
        };
        return feed::respond_in_order("jobs", PATH, entries, &params);
    };
    let mut entries = entries_of(state.search.jobs());
    let mut warnings = Vec::new();
    let (path, body) = (ALL_JOBS, Bytes::new());
    let question = Question { method: Method::GET, path, headers: &headers, body, client };
    for answer in heads.ask(&question).await {
        match answer {
            Ok(feed) => {
                let listed = feed["entry"].as_array().into_iter().flatten();
                entries.extend(listed.filter_map(of_other_head));
            }
            Err(reason) => warnings.push(format!("jobs are missing: {reason}")),
        }
    }
    let sid = |entry: &Entry| entry.content["sid"].as_str().map(str::to_owned);
    let listed: HashSet<String> = entries.iter().filter_map(sid).collect();
    let mut saved = state.search.saved_jobs();
    saved.retain(|job| !listed.contains(job.sid()));
    entries.extend(entries_of(saved));
    // The newest first, as each search head lists its own.
    let created = |entry: &Entry| entry.content["published"].as_str().map(str::to_owned);
    entries.sort_by_cached_key(|entry| Reverse(created(entry)));
    feed::respond_incomplete("jobs", PATH, entries, warnings, &params)
}

async fn create(
    Call { state, caller, namespace, params, .. }: Call,
    seen: Observed,
    headers: HeaderMap,
    extensions: Extensions,
) -> Result<Response, RestError> {
    let mode = OutputMode::of(&params)?;
    let exec_mode = params.text("exec_mode").unwrap_or("normal");
    if !matches!(exec_mode, "normal" | "blocking" | "oneshot") {
        return Err(RestError::invalid(format!(
            "unknown exec_mode \"{exec_mode}\"; use normal, blocking or oneshot"
        )));
    }
    let priority = priority(&params)?;
    let follower = params.text("status_stream").map(stream_name).transpose()?;
    let mut request = request(&state, &params, &caller, &namespace)?;
    search_bundle::set_bundle(&state, &params, &caller, &mut request).await?;
    // If the response contains the results, no client can request a preview.
    request.preview = match params.text("preview") {
        Some(_) => params.flag("preview"),
        None => exec_mode == "normal",
    };
    let sid = request.sid.clone();
    let is_taken = sid.map(|sid| job_heads::is_taken(&state, sid, headers, &extensions));
    let job = searches::dispatch_unless_taken(&state, &seen, request, is_taken).await?;
    if let Some(priority) = priority {
        job.set_priority(priority);
    }
    if let Some(follower) = follower {
        state.status_streams.tell(&caller.user, follower, &job);
    }
    if exec_mode == "normal" {
        cancel_when_unused(&state, &job);
        return Ok(sid_response(&job, mode));
    }
    if exec_mode == "blocking" {
        // No client has the id yet, unless the client chose it: a client that disconnects could not find the
        // job again.
        let own = params.text("id").is_none().then(|| RequestJob::new(&state.search, &job));
        let _ = job.finished().await;
        if let Some(own) = own {
            own.keep();
        }
        return Ok(sid_response(&job, mode));
    }
    // Only this request knows the job: it is removed after its results are sent, or when the client
    // disconnects.
    let own = RequestJob::new(&state.search, &job);
    job.finished().await?;
    result_response(&state, &job, &params, own).await
}

/// Cancels a running job for which there was no request for the time of `auto_cancel`. In other modes, the
/// response comes with the end of the job: waiting for it counts as use.
fn cancel_when_unused(state: &ApiState, job: &Arc<Job>) {
    let most = job.request().auto_cancel;
    if most.is_zero() {
        return;
    }
    let (search, clock, stop) =
        (state.search.clone(), Arc::clone(&state.clock), state.shutdown.clone());
    let job = Arc::clone(job);
    state.shutdown.spawn(async move {
        loop {
            let unused = clock.now().0.saturating_sub(job.touched().0);
            let unused = Duration::from_micros(u64::try_from(unused).unwrap_or_default());
            let Some(left) = most.checked_sub(unused).filter(|left| !left.is_zero()) else { break };
            tokio::select! {
                _ = job.finished() => return,
                goes_on = stop.sleep(left) => if !goes_on { return },
            }
        }
        if !job.status().state.is_final() {
            tracing::info!(sid = job.sid(), "cancelled a job that was not used for auto_cancel");
            search.cancel_job(&job);
        }
    });
}

/// A job of one request: it ends when this is dropped.
pub(super) struct RequestJob {
    search: SearchService,
    job: Option<Arc<Job>>,
}

impl RequestJob {
    pub(super) fn new(search: &SearchService, job: &Arc<Job>) -> Self {
        Self { search: search.clone(), job: Some(Arc::clone(job)) }
    }

    /// Keeps the job for clients that have its id.
    fn keep(mut self) {
        self.job = None;
    }
}

impl Drop for RequestJob {
    fn drop(&mut self) {
        if let Some(job) = &self.job {
            self.search.cancel_job(job);
        }
    }
}

pub(super) fn sid_response(job: &Job, mode: OutputMode) -> Response {
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
pub(super) fn request(
    state: &ApiState,
    params: &Params,
    caller: &Caller,
    namespace: &PathNamespace,
) -> Result<JobRequest, RestError> {
    let search = params.text("search").ok_or_else(|| {
        RestError::invalid(
            "The required 'search' parameter for the Splunk platform REST API search/jobs endpoint \
             is not specified. Add search=<SPL> to the request.",
        )
    })?;
    let mut request = of_caller(state, search, caller, namespace);
    request.max_count = params.number("max_count")?;
    request.status_buckets = params.number("status_buckets")?.unwrap_or(0);
    request.sid = params.text("id").map(checked_sid).transpose()?;
    request.label = params.text("label").map(str::to_owned);
    request.provenance = params.text("provenance").map(checked_provenance).transpose()?;
    request.ttl = params.number("timeout")?.map(|seconds| Duration::from_secs(seconds as u64));
    let auto_cancel = params.number("auto_cancel")?.unwrap_or(0);
    request.auto_cancel = Duration::from_secs(auto_cancel as u64);
    if let Some(name) = params.text("timezone").or_else(|| params.text("tz")) {
        request.timezone = TimeZone::get(name).map_err(|error| {
            RestError::invalid(format!("unknown time zone \"{name}\": {error}"))
        })?;
    }
    set_times(&mut request, params, state.clock.now())?;
    Ok(request)
}

/// Sets the time ranges of a request, and the time to which they refer.
fn set_times(request: &mut JobRequest, params: &Params, clock: EventTime) -> Result<(), RestError> {
    if let Some(mode) = params.text("search_mode").filter(|mode| *mode != "normal") {
        return Err(RestError::invalid(format!(
            "search_mode \"{mode}\" is not supported: there are no real-time searches; use normal"
        )));
    }
    request.now = time_of(params, "now", &request.timezone, clock)?;
    let now = request.now.unwrap_or(clock);
    let format = time_format(params)?;
    let bound = |name: &str| bound_of(params, name, format.as_ref(), (&request.timezone, now));
    let (earliest, latest) = (bound("earliest_time")?, bound("latest_time")?);
    let (index_earliest, index_latest) = (bound("index_earliest")?, bound("index_latest")?);
    (request.earliest, request.latest) = (earliest, latest);
    (request.index_earliest, request.index_latest) = (index_earliest, index_latest);
    Ok(())
}

fn time_format(params: &Params) -> Result<Option<TimeFormat>, RestError> {
    let format = params.text("time_format").map(TimeFormat::for_input).transpose();
    format.map_err(|error| RestError::invalid(format!("time_format: {error}")))
}

/// Returns a bound of a time range as searches read it.
fn bound_of(
    params: &Params,
    name: &str,
    format: Option<&TimeFormat>,
    (zone, now): (&TimeZone, EventTime),
) -> Result<Option<String>, RestError> {
    let Some(text) = params.text(name) else { return Ok(None) };
    let Some(format) = format else { return Ok(Some(text.to_owned())) };
    let read = formatted(text, format, zone, now);
    read.map(Some).map_err(|reason| RestError::invalid(format!("{name}: {reason}")))
}

/// Returns the time range of a request for a part of the events of a job; `None` for all of them.
pub(super) fn range_of_events(
    job: &Job,
    params: &Params,
    now: EventTime,
) -> Result<Option<TimeRange>, RestError> {
    let zone = &job.request().timezone;
    let format = time_format(params)?;
    let bound = |name: &str| bound_of(params, name, format.as_ref(), (zone, now));
    let (earliest, latest) = (bound("earliest_time")?, bound("latest_time")?);
    let bounds = [earliest.as_deref(), latest.as_deref()];
    let range = search::range_of(["earliest_time", "latest_time"], bounds, now, zone)?;
    Ok((range != TimeRange::ALL).then_some(range))
}

/// Returns the time of a parameter, such as `now`.
pub(super) fn time_of(
    params: &Params,
    name: &str,
    zone: &TimeZone,
    now: EventTime,
) -> Result<Option<EventTime>, RestError> {
    let Some(text) = params.text(name) else { return Ok(None) };
    let time = knowledge::time::parse_time(text, now, zone);
    time.map(Some).map_err(|error| RestError::invalid(format!("{name}: {error}")))
}

/// A time as searches read it, of one that `time_format` describes. Relative times and epochs stay.
fn formatted(
    text: &str,
    format: &TimeFormat,
    zone: &TimeZone,
    now: EventTime,
) -> Result<String, String> {
    let text = text.trim();
    // Text after the time would be ignored, and the time be another one than the client means.
    let parsed = format.read(text.as_bytes()).filter(|parsed| parsed.end == text.len());
    let mut clock = LocalClock::new(zone.clone());
    let time = parsed.and_then(|parsed| parsed.fields.resolve(&mut clock, now));
    if let Some(time) = time.and_then(|time| Timestamp::from_microsecond(time.0).ok()) {
        return Ok(time.to_string());
    }
    let modifier = TimeModifier::parse(text).map_err(|error| error.to_string())?;
    // Another absolute form may be another day by mistake: day and month are in any order.
    if modifier.is_relative() || text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return Ok(text.to_owned());
    }
    Err(format!("\"{text}\" does not match time_format \"{}\"", format.as_str()))
}

/// Checks the client's `provenance`, which is written to the audit trail.
fn checked_provenance(text: &str) -> Result<String, RestError> {
    if text.len() <= MAX_PROVENANCE_BYTES && !text.chars().any(char::is_control) {
        return Ok(text.to_owned());
    }
    let text = format!("provenance: up to {MAX_PROVENANCE_BYTES} bytes without control characters");
    Err(RestError::invalid(text))
}

/// An id that somebody chose: one word, in paths and in searches that load the job.
fn checked_sid(id: &str) -> Result<String, RestError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-.@~".contains(c);
    if id.len() <= MAX_SID_BYTES && id.chars().all(fits) {
        return Ok(id.to_owned());
    }
    let text = format!("id: up to {MAX_SID_BYTES} letters, digits and _ - . @ ~");
    Err(RestError::invalid(text))
}

/// A search of the caller in the app of the path, over the indexes that the caller's roles allow.
pub(super) fn of_caller(
    state: &ApiState,
    search: &str,
    caller: &Caller,
    namespace: &PathNamespace,
) -> JobRequest {
    let mut request = JobRequest::of(search, &caller.rights);
    namespace.search_app().clone_into(&mut request.app);
    if let Some(zone) = state.accounts.user(&caller.user).map(|user| user.tz)
        && let Ok(zone) = TimeZone::get(&zone)
    {
        request.timezone = zone;
    }
    if let Some(search) = state.search.with_pipe(&request) {
        request.search = search;
    }
    request
}

/// The indexes that the caller may search.
pub(super) fn searchable_indexes(state: &ApiState, caller: &Caller) -> Vec<IndexName> {
    caller.rights.searchable(state.indexes.names())
}

/// Returns a job that the caller may see, rows included: the caller's own, or any with `admin_all_objects`,
/// unless it searched indexes that the caller may not search.
///
/// A job in object storage is returned with its rows, unless this process has it itself.
pub(super) async fn find(
    state: &ApiState,
    caller: &Caller,
    sid: &str,
) -> Result<Arc<Job>, RestError> {
    let job = find_known(state, caller, sid)?;
    if !job.lacks_rows() {
        return Ok(job);
    }
    state.search.load_job(sid).await?.ok_or_else(unknown)
}

/// As [`find`], for lists: a job in object storage has no rows, timeline and plans.
pub(super) fn find_known(
    state: &ApiState,
    caller: &Caller,
    sid: &str,
) -> Result<Arc<Job>, RestError> {
    let job = state.search.job(sid).or_else(|| state.search.saved_job(sid));
    job.filter(|job| state.search.may_read_job(job, &caller.rights)).ok_or_else(unknown)
}

/// Returns the jobs with these ids that exist and that the caller may see; keeps the other ids in `sids`.
pub(super) fn find_all_known<'s>(
    (state, caller): (&ApiState, &Caller),
    sids: &mut Vec<&'s str>,
    find: impl Fn(&'s str) -> Option<Arc<Job>>,
) -> Vec<Arc<Job>> {
    let mut found = Vec::new();
    sids.retain(|sid| {
        let job = find(sid).filter(|job| state.search.may_read_job(job, &caller.rights));
        let is_unknown = job.is_none();
        found.extend(job);
        is_unknown
    });
    found
}

fn unknown() -> RestError {
    RestError::new(StatusCode::NOT_FOUND, "FATAL", "Unknown sid.")
}

/// As [`find_known`], for changes: another user's job needs `admin_all_objects`.
fn found_to_change(state: &ApiState, caller: &Caller, sid: &str) -> Result<Arc<Job>, RestError> {
    let job = find_known(state, caller, sid)?;
    if job.request().owner != caller.user {
        caller.require("admin_all_objects")?;
    }
    Ok(job)
}

async fn show(call: Call) -> Result<Response, RestError> {
    let Call { state, caller, params, .. } = &call;
    let sid = call.segment("sid");
    let job = find_known(state, caller, sid)?;
    job.touch();
    let entry = entry(&job);
    if OutputMode::of(params)?.is_json() {
        return feed::respond_one("jobs", PATH, entry, params);
    }
    let body = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}", entry.xml(true));
    Ok(OutputMode::Xml.respond(StatusCode::OK, body))
}

/// Extends the lifetime of a job. Splunk also has settable parameters of a job here.
async fn touch(call: Call) -> Result<Response, RestError> {
    show(call).await
}

async fn acl(call: Call) -> Result<Response, RestError> {
    let Call { state, caller, params, .. } = &call;
    let job = find_known(state, caller, call.segment("sid"))?;
    feed::respond_one("jobs", PATH, entry(&job), params)
}

/// Sets who reads a job (`perms.read`, or nobody else with `sharing=user`), and its lifetime (`ttl`). These
/// are two changes, the lifetime first: if one of them fails, the readers are as before.
async fn share(call: Call) -> Result<Response, RestError> {
    let Call { state, caller, params, .. } = &call;
    let job = found_to_change(state, caller, call.segment("sid"))?;
    let owner = &job.request().owner;
    if params.text("owner").is_some_and(|name| name != owner) {
        return Err(RestError::invalid(format!("the owner of a job cannot be changed: {owner}")));
    }
    let readers = readers(state, params, owner)?;
    let ttl = params.number("ttl")?;
    if readers.is_none() && ttl.is_none() && params.text("sharing").is_none() {
        return Err(RestError::invalid("acl needs perms.read, sharing or ttl"));
    }
    if let Some(seconds) = ttl {
        let ttl = Duration::from_secs(seconds as u64);
        state.search.keep_job(&job, Keeping::For(ttl)).await?;
    }
    if let Some(readers) = readers {
        state.search.share_job(&job, readers).await?;
    }
    feed::respond_one("jobs", PATH, entry(&job), params)
}

/// The roles that a job is opened to; `None` if the request leaves them as they are.
fn readers(
    state: &ApiState,
    params: &Params,
    owner: &str,
) -> Result<Option<Vec<String>>, RestError> {
    let named = params.get("perms.read").map(|_| {
        let mut names = params.list("perms.read");
        // Clients send back the list that they have received, where the owner is one of the readers, and a
        // role of the same name is another one.
        names.retain(|name| name != owner || state.roles.get(name).is_some());
        let mut known = HashSet::new();
        names.retain(|name| known.insert(name.clone()));
        names
    });
    let unknown = |name: &&String| {
        !matches!(name.as_str(), "*" | "nobody") && state.roles.get(name).is_none()
    };
    if let Some(name) = named.iter().flatten().find(unknown) {
        return Err(RestError::invalid(format!("perms.read: there is no role \"{name}\"")));
    }
    match params.text("sharing") {
        None | Some("app" | "global") => Ok(named),
        Some("user") if named.as_ref().is_none_or(Vec::is_empty) => Ok(Some(Vec::new())),
        Some("user") => Err(RestError::invalid("a job with sharing=user has no perms.read")),
        Some(other) => {
            Err(RestError::invalid(format!("unknown sharing \"{other}\"; use user, app, global")))
        }
    }
}

async fn remove(call: Call) -> Result<Response, RestError> {
    let Call { state, caller, params, .. } = &call;
    let sid = call.segment("sid");
    found_to_change(state, caller, sid)?;
    state.search.remove_job(sid).await?;
    info(&format!("Search job '{sid}' cancelled."), params)
}

async fn control(call: Call) -> Result<Response, RestError> {
    let Call { state, caller, params, .. } = &call;
    let sid = call.segment("sid");
    let job = found_to_change(state, caller, sid)?;
    let action = params.required("action")?;
    match action {
        "cancel" => {
            state.search.remove_job(sid).await?;
        }
        "pause" => job.pause(),
        "unpause" => job.unpause(),
        "finalize" => job.finalize(),
        "touch" => state.search.keep_job(&job, Keeping::Touched).await?,
        "setttl" => {
            let seconds = params
                .number("ttl")?
                .ok_or_else(|| RestError::invalid("setttl needs ttl=<seconds>"))?;
            let ttl = Duration::from_secs(seconds as u64);
            state.search.keep_job(&job, Keeping::For(ttl)).await?;
        }
        "setpriority" => {
            let priority = priority(params)?;
            let priority =
                priority.ok_or_else(|| RestError::invalid("setpriority needs priority=<0-10>"))?;
            job.set_priority(priority);
        }
        "enablepreview" => job.want_previews(true),
        "disablepreview" => job.want_previews(false),
        "save" => {
            let saved = Keeping::Saved(Duration::from_secs(SAVED_SECONDS));
            state.search.keep_job(&job, saved).await?;
        }
        "unsave" => {
            let unsaved = Keeping::Unsaved(Duration::from_secs(DEFAULT_TTL_SECONDS));
            state.search.keep_job(&job, unsaved).await?;
        }
        other => {
            return Err(RestError::invalid(format!(
                "unknown action \"{other}\"; use cancel, pause, unpause, finalize, enablepreview, \
                 disablepreview, touch, setttl, setpriority, save or unsave"
            )));
        }
    }
    info(&format!("Search job '{sid}': {action} done."), params)
}

fn priority(params: &Params) -> Result<Option<u8>, RestError> {
    let Some(number) = params.number("priority")? else { return Ok(None) };
    let fits = u8::try_from(number).ok().filter(|priority| *priority <= 10);
    let fits = fits.ok_or_else(|| RestError::invalid("priority is a number from 0 to 10"))?;
    Ok(Some(fits))
}

/// A message as an answer.
pub(super) fn info(text: &str, params: &Params) -> Result<Response, RestError> {
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

/// Shows the times of the job's phases, the data it read, and its cost.
async fn inspector(call: Call) -> Result<Response, RestError> {
    let Call { state, caller, .. } = &call;
    let sid = call.segment("sid");
    let job = find(state, caller, sid).await?;
    job.touch();
    let mut body = json!({
        "sid": job.sid(),
        "search": job.request().search,
        "dispatchState": job.status().state.name(),
        "messages": messages_json(&job.messages()),
        "inspection": job.inspect(),
    });
    if let Some(trace) = job.trace_id() {
        body["traceId"] = trace.into();
    }
    Ok(OutputMode::Json.respond(StatusCode::OK, body.to_string()))
}

/// Shows the log of the job: how it was parsed, its steps, its messages.
async fn log(call: Call) -> Result<Response, RestError> {
    let Call { state, caller, .. } = &call;
    let sid = call.segment("sid");
    let job = find_known(state, caller, sid)?;
    let (status, inspection) = (job.status(), job.summary());
    let mut lines = Vec::new();
    let mut line = |time: i64, level: &str, text: String| {
        let time = Timestamp::from_microsecond(time).unwrap_or(Timestamp::UNIX_EPOCH);
        let time = time.strftime("%m-%d-%Y %H:%M:%S%.3f +0000");
        lines.push(format!("{time} {level:<5} SearchJob - {}", text.replace('\n', " ")));
    };
    let (created, ended) = (job.created().0, job.touched().0);
    line(created, "INFO", format!("sid={} user={}", job.sid(), job.request().owner));
    if let Some(trace) = job.trace_id() {
        line(created, "INFO", format!("trace_id={trace}"));
    }
    if let Some(bundle) = job.bundle_version() {
        line(created, "INFO", format!("bundle_version={bundle}"));
    }
    line(created, "INFO", format!("search={}", job.request().search));
    line(created, "INFO", format!("understood={}", job.normalized_search()));
    if let Some(started) = status.started {
        line(started.0, "INFO", "running".to_owned());
    }
    for phase in &inspection.phases {
        let text = format!(
            "phase={} seconds={:.6} invocations={}",
            phase.name, phase.seconds, phase.invocations
        );
        line(ended, "INFO", text);
    }
    for message in messages_json(&job.messages()) {
        let level = message["type"].as_str().unwrap_or("INFO").to_owned();
        line(ended, &level, message["text"].as_str().unwrap_or_default().to_owned());
    }
    if let Some(error) = &status.error {
        line(ended, "FATAL", error.to_string());
    }
    line(ended, "INFO", format!("state={}", status.state.name()));
    lines.push(String::new());
    Ok(OutputMode::Raw.respond(StatusCode::OK, lines.join("\n")))
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let (job, unknown) = (format!("{PATH}/mine"), "Unknown sid.");
    vec![
        case(
            &format!("POST {PATH}"),
            "id=mine&exec_mode=blocking&search=%7C+makeresults",
            201,
            "mine",
        ),
        case(&format!("POST {PATH}"), "search=a&exec_mode=soon", 400, "unknown exec_mode"),
        case(&format!("POST {PATH}"), "search=%7C+nothing", 400, "nothing"),
        case(&format!("GET {PATH}"), "", 200, "\"sid\":\"mine\""),
        case(
            &format!("POST {PATH}"),
            "search=a&earliest_time=2015-06-30&time_format=%25Y-%25d-%25m",
            400,
            "does not match time_format",
        ),
        case(&format!("POST {PATH}"), "search=a&search_mode=realtime", 400, "no real-time"),
        case(&format!("POST {PATH}"), "search=a&now=soon", 400, "now: "),
        case(&format!("POST {PATH}"), "search=a&bundle=1", 400, "bundle_retention"),
        case(&format!("POST {PATH}"), "search=a&index_earliest=soon", 400, "index_earliest: "),
        case(&format!("POST {PATH}"), "search=a&auto_cancel=soon", 400, "must be a whole number"),
        case(
            &format!("POST {PATH}"),
            "id=brief&exec_mode=blocking&auto_cancel=30&search=%7C+makeresults",
            201,
            "brief",
        ),
        case(&format!("GET {PATH}/brief"), "", 200, "\"auto_cancel\":\"30\""),
        case(&format!("POST {PATH}"), "search=a&time_format=%25i", 400, "time_format: bad time"),
        case(&format!("GET {PATH}?count=x"), "", 400, "must be a whole number"),
        case(&format!("GET {job}"), "", 200, "\"isDone\":true"),
        case(&format!("GET {PATH}/none"), "", 404, unknown),
        case(&format!("POST {job}"), "", 200, "\"isDone\":true"),
        case(&format!("POST {PATH}/none"), "", 404, unknown),
        case(&format!("POST {job}/control"), "action=touch", 200, "touch done"),
        case(&format!("POST {job}/control"), "action=explode", 400, "unknown action"),
        case(&format!("POST {job}/control"), "action=setpriority&priority=11", 400, "from 0 to 10"),
        case(&format!("GET {job}/acl"), "", 200, "\"owner\":\"admin\""),
        case(&format!("GET {PATH}/none/acl"), "", 404, unknown),
        case(
            &format!("POST {job}/acl"),
            "sharing=global&owner=admin&perms.read=power&ttl=700",
            200,
            "\"read\":[\"admin\",\"power\"]",
        ),
        // The role with the name of the owner, after the owner.
        case(
            &format!("POST {job}/acl"),
            "perms.read=admin,admin,power",
            200,
            "\"read\":[\"admin\",\"admin\",\"power\"]",
        ),
        case(&format!("GET {job}"), "", 200, "\"ttl\":700"),
        case(&format!("POST {job}/acl"), "", 400, "acl needs perms.read"),
        case(&format!("POST {job}/acl"), "perms.read=crew", 400, "there is no role"),
        case(&format!("POST {job}/acl"), "owner=power&perms.read=*", 400, "owner of a job"),
        case(&format!("POST {job}/acl"), "sharing=system", 400, "unknown sharing"),
        case(&format!("POST {job}/acl"), "sharing=user&perms.read=*", 400, "has no perms.read"),
        case(&format!("GET {job}/inspector"), "", 200, "\"inspection\""),
        case(&format!("GET {PATH}/none/inspector"), "", 404, unknown),
        case(&format!("GET {job}/search.log"), "", 200, "state=DONE"),
        case(&format!("GET {PATH}/none/search.log"), "", 404, unknown),
        case(&format!("DELETE {job}"), "", 200, "cancelled"),
        case(&format!("DELETE {job}"), "", 404, unknown),
    ]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_by_time_format_and_relative_ones_and_epochs_stay() {
        let format = TimeFormat::for_input("%Y-%d-%m").unwrap();
        let read = |text: &str| formatted(text, &format, &TimeZone::UTC, EventTime(0));
        // 6 May 2015.
        assert_eq!(read("2015-06-05").unwrap(), "2015-05-06T00:00:00Z");
        assert_eq!(read("1965-06-05").unwrap(), "1965-05-06T00:00:00Z");
        for text in ["-1h@h", "now", "0", "1430870400", "1430870400.5"] {
            assert_eq!(read(text).unwrap(), text);
        }
        assert!(read("2015-06-30").unwrap_err().contains("does not match time_format"));
        assert!(read("2015-06-05T10:00:00").unwrap_err().contains("does not match time_format"));
        assert!(read("soonish").is_err());
        let zone = TimeZone::get("Asia/Tokyo").unwrap();
        let read = formatted("2015-06-05", &format, &zone, EventTime(0));
        assert_eq!(read.unwrap(), "2015-05-05T15:00:00Z");
    }
}
