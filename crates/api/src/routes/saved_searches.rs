//! What can be done to a saved search: run it, see its runs, its times, hold its alerts back.

use std::time::Duration;

use apps::{ConfObject, NOBODY, Sharing};
use axum::extract::{Path, State};
use axum::response::Response;
use inputs::exec::Schedule;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use model::EventTime;
use serde_json::json;

use super::feed;
use super::job_entry::history_entry;
use super::jobs::{info, of_caller, sid_response, visible};
use super::objects::{Asked, SAVED_SEARCHES, found, namespace};
use crate::ApiState;
use crate::atom::Entry;
use crate::audit::{Observed, searches};
use crate::error::RestError;
use crate::namespace::PathNamespace;
use crate::output::OutputMode;
use crate::params::Params;
use crate::session::Caller;

const PATH: &str = "/services/saved/searches";
/// Times of runs in one answer.
const MAX_TIMES: usize = 1_000;
/// How long an alert is held back if nothing else is said, in seconds.
const SUPPRESSED_SECONDS: usize = 60;

/// Names a saved search among all.
pub(crate) fn suppression_place(object: &ConfObject) -> String {
    let owner = if object.sharing == Sharing::User { object.owner.as_str() } else { NOBODY };
    format!("{owner}/{}/{}", object.app, object.name)
}

/// How the ids of its runs begin: they say whose search it is, and are told from others' by a digest of
/// its place.
fn sid_prefix(object: &ConfObject) -> String {
    let place = suppression_place(object);
    let digest = place.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("saved_{digest:016x}_at_")
}

fn object(
    state: &ApiState,
    caller: &Caller,
    path: &PathNamespace,
    name: &str,
) -> Result<ConfObject, RestError> {
    let params = Params::default();
    let asked = Asked::new(&SAVED_SEARCHES, state, caller, &params);
    found(&asked, &namespace(state, caller, path)?, name)
}

/// Runs it. Parameters `dispatch.*` stand in for its own settings; `args.*` for `$args.*$` in it.
pub(crate) async fn dispatch(
    State(state): State<ApiState>,
    caller: Caller,
    seen: Observed,
    path: PathNamespace,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let mode = OutputMode::of(&params)?;
    let object = object(&state, &caller, &path, &name)?;
    let set = |key: &str| params.text(key).or_else(|| object.get(key)).filter(|v| !v.is_empty());
    let search = leading_command(object.get("search").unwrap_or_default());
    let app = PathNamespace { owner: None, app: Some(object.app.clone()) };
    let mut request = of_caller(&state, &with_arguments(search, &params), &caller, &app);
    let number = |key: &str| -> Result<Option<usize>, RestError> {
        let Some(text) = set(key) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| RestError::invalid(format!("{key} must be a number")))
    };
    request.earliest = set("dispatch.earliest_time").map(str::to_owned);
    request.latest = set("dispatch.latest_time").map(str::to_owned);
    request.max_count = number("dispatch.max_count")?;
    request.status_buckets = number("dispatch.buckets")?.unwrap_or(0);
    request.label = Some(object.name.clone());
    // `2p` is twice the time between two runs, which a single run does not have.
    request.ttl = set("dispatch.ttl").and_then(|text| text.parse().ok()).map(Duration::from_secs);
    if let Some(now) = params.text("dispatch.now") {
        let now = knowledge::time::parse_time(now, state.clock.now(), &request.timezone);
        request.now =
            Some(now.map_err(|error| RestError::invalid(format!("dispatch.now: {error}")))?);
    }
    request.preview = true;
    let unique = runtime::random::uuid().as_simple().to_string();
    let seconds = state.clock.now().0 / 1_000_000;
    request.sid = Some(format!("{}{seconds}_{}", sid_prefix(&object), &unique[..12]));
    let job = searches::dispatch(&state, &seen, request).await?;
    Ok(sid_response(&job, mode))
}

/// A saved search may leave its first command out.
fn leading_command(search: &str) -> String {
    let text = search.trim_start();
    let first = text.split_whitespace().next().unwrap_or_default();
    if text.starts_with(['|', '[', '`']) || first.eq_ignore_ascii_case("search") {
        search.to_owned()
    } else {
        format!("search {search}")
    }
}

fn with_arguments(mut search: String, params: &Params) -> String {
    for (key, value) in params.iter().filter(|(key, _)| key.starts_with("args.")) {
        search = search.replace(&format!("${key}$"), value);
    }
    search
}

/// Its runs that are still kept, the newest first.
pub(crate) async fn history(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let prefix = sid_prefix(&object(&state, &caller, &path, &name)?);
    let jobs = visible(&state, &caller);
    let own = jobs.iter().filter(|job| job.sid().starts_with(&prefix));
    let entries = own.map(|job| history_entry(job)).collect();
    let title = format!("{PATH}/{}/history", crate::atom::segment(&name));
    feed::respond_in_order("history", &title, entries, &params)
}

/// When it runs between `earliest_time` and `latest_time`.
pub(crate) async fn times(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let object = object(&state, &caller, &path, &name)?;
    let now = state.clock.now();
    let time = |key: &str, missing: &str| {
        let text = params.text(key).unwrap_or(missing);
        knowledge::time::parse_time(text, now, &TimeZone::UTC)
            .map_err(|error| RestError::invalid(format!("{key}: {error}")))
    };
    let (from, to) = (time("earliest_time", "now")?, time("latest_time", "+1h")?);
    let content = feed::content(json!({"scheduled_times": runs(&object, from, to)}));
    let entry = Entry::new(PATH, &object.name, content);
    feed::respond_one("scheduled_times", PATH, entry, &params)
}

/// Epoch seconds of its runs after `from` and until `to`.
fn runs(object: &ConfObject, from: EventTime, to: EventTime) -> Vec<i64> {
    let cron = object.get("cron_schedule").unwrap_or_default();
    let Some(Schedule::Cron(cron)) = Schedule::parse(cron) else { return Vec::new() };
    let Ok(start) = Timestamp::from_microsecond(from.0) else { return Vec::new() };
    let mut after = start.to_zoned(TimeZone::system());
    let mut times = Vec::new();
    while let Some(next) = cron.next(&after) {
        if next.timestamp().as_microsecond() > to.0 || times.len() == MAX_TIMES {
            break;
        }
        times.push(next.timestamp().as_second());
        after = next;
    }
    times
}

/// Whether its alerts are held back, and how long.
pub(crate) async fn suppression(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let object = object(&state, &caller, &path, &name)?;
    let now = state.clock.now().0 / 1_000_000;
    let left = state.suppressions.left(&suppression_place(&object), now);
    let content =
        feed::content(json!({"suppressed": left > 0, "expiration": left, "suppressionKey": ""}));
    feed::respond_one("suppress", PATH, Entry::new(PATH, &object.name, content), &params)
}

/// Holds its alerts back for `expiration` seconds; 0 ends that.
pub(crate) async fn suppress(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let found = object(&state, &caller, &path, &name)?;
    let asked = Asked::new(&SAVED_SEARCHES, &state, &caller, &params);
    super::objects::access::check_writable(&asked, &found)?;
    let seconds = params.number("expiration")?.unwrap_or(SUPPRESSED_SECONDS);
    let place = suppression_place(&found);
    if seconds == 0 {
        state.suppressions.remove(&place).await?;
    } else {
        let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
        let until = (state.clock.now().0 / 1_000_000).saturating_add(seconds);
        state.suppressions.put(&place, until).await?;
    }
    suppression(State(state), caller, path, Path(name), params).await
}

/// Ends the holding back of its alerts.
pub(crate) async fn acknowledge(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let found = object(&state, &caller, &path, &name)?;
    let asked = Asked::new(&SAVED_SEARCHES, &state, &caller, &params);
    super::objects::access::check_writable(&asked, &found)?;
    state.suppressions.remove(&suppression_place(&found)).await?;
    info(&format!("Alerts of \"{name}\" are acknowledged."), &params)
}
