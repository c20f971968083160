//! Actions on saved searches: dispatch, history, scheduled times, suppression of alerts.

use std::time::Duration;

use apps::ConfObject;
use axum::response::Response;
use inputs::exec::Schedule;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use model::EventTime;
use search::{fill_placeholders, with_implied_search};
use serde_json::json;

use super::feed;
use super::job_entry::history_entry;
use super::jobs::{info, of_caller, sid_response, time_of, visible};
use super::objects::{Asked, SAVED_SEARCHES, check_writable, found};
use crate::atom::{Entry, segment};
use crate::audit::{Observed, searches};
use crate::call::Call;
use crate::error::RestError;
use crate::namespace::PathNamespace;
use crate::output::OutputMode;
use crate::params::Params;
use crate::rights::Need::Object;
use crate::rights::{EDIT, SEARCH};
use crate::routing::{Routes, get, post};
#[cfg(test)]
use crate::tests::cases::{Case, case};

pub(super) fn routes() -> Routes {
    Routes::default()
        .at(
            "/services/saved/searches/{name}/dispatch",
            post(
                SEARCH,
                "Runs a saved search; `dispatch.*` override its settings, `args.name` replaces `$name$` and `$args.name$` in it",
                dispatch,
            ),
        )
        .at(
            "/services/saved/searches/{name}/history",
            get(Object, "Lists the existing jobs of a saved search", history),
        )
        .at(
            "/services/saved/searches/{name}/scheduled_times",
            get(Object, "Lists run times of a saved search, as scheduled by `cron_schedule`", times),
        )
        .at(
            "/services/saved/searches/{name}/suppress",
            get(Object, "Shows whether the alerts of a saved search are suppressed", suppression).post(
                EDIT,
                "Suppresses the alerts of a saved search",
                suppress,
            ),
        )
        .at(
            "/services/saved/searches/{name}/acknowledge",
            post(EDIT, "Ends the suppression of a saved search's alerts", acknowledge),
        )
}

const PATH: &str = "/services/saved/searches";
/// Times of runs in one answer.
const MAX_TIMES: usize = 1_000;
/// Default time for which an alert is suppressed, in seconds.
const SUPPRESSED_SECONDS: usize = 60;

/// Returns the prefix of the ids of the search's runs. It contains a digest of the search's key, which
/// distinguishes it from other searches.
fn sid_prefix(object: &ConfObject) -> String {
    let place = apps::Suppressions::place(object);
    let digest = place.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("saved_{digest:016x}_at_")
}

fn object(call: &Call) -> Result<ConfObject, RestError> {
    let asked = Asked::new(&SAVED_SEARCHES, "", call)?;
    found(&asked, &asked.namespace()?, call.name())
}

/// The same, if the caller may change it.
fn object_to_change(call: &Call) -> Result<ConfObject, RestError> {
    let object = object(call)?;
    check_writable(&Asked::new(&SAVED_SEARCHES, "", call)?, &object)?;
    Ok(object)
}

/// Runs the search. Parameters `dispatch.*` and `args.*` replace its own settings of these names.
async fn dispatch(call: Call, seen: Observed) -> Result<Response, RestError> {
    let Call { state, caller, params, .. } = &call;
    let mode = OutputMode::of(params)?;
    let object = object(&call)?;
    let set = |key: &str| params.text(key).or_else(|| object.get(key)).filter(|v| !v.is_empty());
    let text = with_arguments(&object, params)?;
    let app = PathNamespace { owner: None, app: Some(object.app.clone()) };
    let mut request = of_caller(state, &with_implied_search(&text), caller, &app);
    let number = |key: &str| -> Result<Option<usize>, RestError> {
        let Some(text) = set(key) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| RestError::invalid(format!("{key} must be a number")))
    };
    request.earliest = set("dispatch.earliest_time").map(str::to_owned);
    request.latest = set("dispatch.latest_time").map(str::to_owned);
    request.index_earliest = set("dispatch.index_earliest").map(str::to_owned);
    request.index_latest = set("dispatch.index_latest").map(str::to_owned);
    request.max_count = number("dispatch.max_count")?;
    request.status_buckets = number("dispatch.buckets")?.unwrap_or(0);
    request.label = Some(object.name.clone());
    // `2p` is twice the time between two runs, which a single run does not have.
    request.ttl = set("dispatch.ttl").and_then(|text| text.parse().ok()).map(Duration::from_secs);
    request.now = time_of(params, "dispatch.now", &request.timezone, state.clock.now())?;
    request.preview = true;
    let unique = runtime::random::uuid().as_simple().to_string();
    let seconds = state.clock.now().0 / 1_000_000;
    let sid = format!("{}{seconds}_{}", sid_prefix(&object), &unique[..12]);
    request.sid = Some(state.search.owned_sid(sid));
    let job = searches::dispatch(state, &seen, request).await?;
    Ok(sid_response(&job, mode))
}

/// Returns the text of the search with the values of `args.name` for `$name$` and `$args.name$`: those of the
/// request, otherwise those of the saved search. Without any argument, the search is not a template, and text
/// between dollars, such as the name of a nested class of Java, stays as it is.
fn with_arguments(object: &ConfObject, params: &Params) -> Result<String, RestError> {
    let text = object.get("search").unwrap_or_default();
    let is_argument = |key: &str| key.starts_with("args.");
    let set = object.settings.iter().map(|(name, _)| name.as_str());
    if !params.iter().map(|(name, _)| name).chain(set).any(is_argument) {
        return Ok(text.to_owned());
    }
    let value = |name: &str| {
        let key = format!("args.{name}");
        params.get(&key).or_else(|| object.get(&key)).map(str::to_owned)
    };
    fill_placeholders(text, value).map_err(|name| {
        RestError::invalid(format!(
            "the saved search \"{}\" has ${name}$ in it: add args.{name} to the request or to the saved search; if it \
             is not a placeholder, write $${name}$$",
            object.name
        ))
    })
}

/// Its runs that are still kept, the newest first.
async fn history(call: Call) -> Result<Response, RestError> {
    let Call { state, caller, params, .. } = &call;
    let prefix = sid_prefix(&object(&call)?);
    let jobs = visible(state, caller);
    let own = jobs.iter().filter(|job| job.sid().starts_with(&prefix));
    let entries = own.map(|job| history_entry(job)).collect();
    let title = format!("{PATH}/{}/history", segment(call.name()));
    feed::respond_in_order("history", &title, entries, params)
}

/// When it runs between `earliest_time` and `latest_time`.
async fn times(call: Call) -> Result<Response, RestError> {
    let Call { state, params, .. } = &call;
    let object = object(&call)?;
    let now = state.clock.now();
    let time = |key: &str, missing: &str| {
        let text = params.text(key).unwrap_or(missing);
        knowledge::time::parse_time(text, now, &TimeZone::UTC)
            .map_err(|error| RestError::invalid(format!("{key}: {error}")))
    };
    let (from, to) = (time("earliest_time", "now")?, time("latest_time", "+1h")?);
    let content = feed::content(json!({"scheduled_times": runs(&object, from, to)}));
    let entry = Entry::new(PATH, &object.name, content);
    feed::respond_one("scheduled_times", PATH, entry, params)
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
async fn suppression(call: Call) -> Result<Response, RestError> {
    let object = object(&call)?;
    let left = call.state.suppressions.left(&object, call.now());
    let content =
        feed::content(json!({"suppressed": left > 0, "expiration": left, "suppressionKey": ""}));
    feed::respond_one("suppress", PATH, Entry::new(PATH, &object.name, content), &call.params)
}

/// Holds its alerts back for `expiration` seconds; 0 ends that.
async fn suppress(call: Call) -> Result<Response, RestError> {
    let Call { state, params, .. } = &call;
    let found = object_to_change(&call)?;
    let seconds = params.number("expiration")?.unwrap_or(SUPPRESSED_SECONDS);
    if seconds == 0 {
        state.suppressions.remove(&found).await?;
    } else {
        let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
        let until = call.now().saturating_add(seconds);
        state.suppressions.put(&found, until).await?;
    }
    suppression(call).await
}

/// Ends the holding back of its alerts.
async fn acknowledge(call: Call) -> Result<Response, RestError> {
    call.state.suppressions.remove(&object_to_change(&call)?).await?;
    info(&format!("Alerts of \"{}\" are acknowledged.", call.name()), &call.params)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let path = "/servicesNS/nobody/search/saved/searches";
    let (one, none) = (format!("{path}/one"), format!("{path}/none"));
    let absent = "Could not find object id=none";
    let form = "name=one&search=%7C+makeresults&cron_schedule=0+*+*+*+*";
    vec![
        case(&format!("POST {path}"), form, 201, "\"one\""),
        case(&format!("POST {path}"), "name=two&search=a&cron_schedule=soon", 400, "five fields"),
        case(&format!("POST {one}/dispatch"), "", 201, "saved_"),
        case(&format!("POST {one}/dispatch"), "dispatch.max_count=x", 400, "must be a number"),
        case(&format!("POST {one}/dispatch"), "dispatch.now=soon", 400, "dispatch.now: "),
        case(
            &format!("POST {one}/dispatch"),
            "dispatch.index_earliest=soon",
            400,
            "index_earliest",
        ),
        case(&format!("POST {path}"), "name=open&search=a%3D%24b%24", 201, "\"open\""),
        case(&format!("POST {path}/open/dispatch"), "", 201, "saved_"),
        case(&format!("POST {path}/open/dispatch"), "args.c=d", 400, "add args.b to the request"),
        case(&format!("POST {path}/open/dispatch"), "args.b=c", 201, "saved_"),
        case(&format!("POST {path}/open"), "args.b=d", 200, "\"args.b\":\"d\""),
        case(&format!("POST {path}/open/dispatch"), "", 201, "saved_"),
        case(&format!("GET {one}/history"), "", 200, "\"name\":\"saved_"),
        case(&format!("GET {none}/history"), "", 404, absent),
        case(&format!("GET {one}/scheduled_times"), "", 200, "scheduled_times"),
        case(&format!("GET {one}/scheduled_times?latest_time=x"), "", 400, "latest_time"),
        case(&format!("POST {one}/suppress"), "expiration=60", 200, "\"suppressed\":true"),
        case(&format!("POST {one}/suppress"), "expiration=x", 400, "must be a whole number"),
        case(&format!("GET {one}/suppress"), "", 200, "\"suppressed\":true"),
        case(&format!("GET {none}/suppress"), "", 404, absent),
        case(&format!("POST {one}/acknowledge"), "", 200, "acknowledged"),
        case(&format!("POST {none}/acknowledge"), "", 404, absent),
        case(&format!("GET {one}/suppress"), "", 200, "\"suppressed\":false"),
    ]
}
