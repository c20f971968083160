//! `/services/data/indexes`: which indexes there are, and what is in them.

use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::Response;
use model::{EventTime, IndexName, TimeRange};
use serde_json::{Map, Value, json};

use super::feed;
use crate::ApiState;
use crate::atom::{Acl, Attributes, Entry};
use crate::error::RestError;
use crate::indexes::{DEFAULT, Definition, Known};
use crate::params::Params;
use crate::session::Caller;

const PATH: &str = "/services/data/indexes";
/// Time after which buckets are looked at again that were too young to be frozen at once.
const SHORT: Duration = Duration::from_secs(60);
/// What can be changed while the server runs.
const EDITABLE: [&str; 3] = ["disabled", "frozenTimePeriodInSecs", "maxTotalDataSizeMB"];

/// What is in an index.
struct Held {
    events: u64,
    raw: u64,
    size: u64,
    first: EventTime,
    last: EventTime,
}

fn held(state: &ApiState, name: &IndexName) -> Held {
    let stored = state.catalog.snapshot();
    let mut held = Held { events: 0, raw: 0, size: 0, first: EventTime::MAX, last: EventTime::MIN };
    let mut count = |rows: u64, raw_bytes: u64, from: EventTime, to: EventTime| {
        held.events += rows;
        held.raw += raw_bytes;
        held.first = held.first.min(from);
        held.last = held.last.max(to);
    };
    let mut size = 0;
    let left_out = search::quarantined(&stored);
    for bucket in stored.buckets(name) {
        let summary = &bucket.summary;
        if left_out.contains_key(&bucket.id) {
            // Searches do not count it either.
            size += bucket.size;
            continue;
        }
        count(summary.rows, summary.raw_bytes, summary.first_time, summary.last_time);
        size += bucket.size;
    }
    let hot = state.ingest.hot().snapshot(std::slice::from_ref(name), &TimeRange::ALL);
    for bucket in hot.iter().filter(|bucket| !stored.contains(name, bucket.id)) {
        count(bucket.rows, bucket.raw_bytes, bucket.first_time, bucket.last_time);
    }
    held.size = size;
    held
}

fn entry(state: &ApiState, name: &IndexName, known: &Known) -> Entry {
    let mut content = settings(state, name, known);
    let held = held(state, name);
    let time = |at: EventTime| {
        let time = jiff::Timestamp::from_microsecond(at.0).ok().filter(|_| held.events > 0);
        time.map(|time| time.strftime("%Y-%m-%dT%H:%M:%S+0000").to_string()).unwrap_or_default()
    };
    content.insert("totalEventCount".to_owned(), json!(held.events));
    content.insert("currentDBSizeMB".to_owned(), json!((held.size >> 20).to_string()));
    content.insert("totalRawBytes".to_owned(), json!(held.raw));
    content.insert("totalStoredBytes".to_owned(), json!(held.size));
    content.insert("minTime".to_owned(), json!(time(held.first)));
    content.insert("maxTime".to_owned(), json!(time(held.last)));
    let removable = known.configured.is_none();
    let disable = if known.disabled() { "enable" } else { "disable" };
    feed::entry(PATH, name.as_str(), content)
        .with_acl(Acl { removable, ..Acl::system() })
        .with_attributes(Attributes::new(&[], &EDITABLE, &[]))
        .editable()
        .linking(&[disable, "roll-hot-buckets"])
}

/// What `indexes.conf` and REST say, under Splunk's names.
fn settings(state: &ApiState, name: &IndexName, known: &Known) -> Map<String, Value> {
    let conf = state.knowledge.conf("indexes");
    let mut content = Map::new();
    // Whatever stands in the index's stanza and in [default].
    for entry in conf.complete(name.as_str()) {
        content.insert(entry.key.clone(), json!(entry.value));
    }
    let path = |part: &str| format!("{}/{name}/{part}", state.info.home.display());
    content.extend(feed::content(json!({
        "assureUTF8": false,
        "coldPath": path("objects"),
        "homePath": path("journal"),
        "thawedPath": path("objects"),
        "datatype": "event",
        "defaultDatabase": DEFAULT,
        "disabled": known.disabled(),
        "enableOnlineBucketRepair": true,
        "enableRealtimeSearch": false,
        "frozenTimePeriodInSecs": known.frozen_seconds(),
        "isInternal": name.is_internal(),
        "isReady": true,
        "isVirtual": false,
        "maxTotalDataSizeMB": known.total_mb(),
        "repFactor": 0,
        "rotatePeriodInSecs": state.ingest.settings().lifecycle.rotate_period.as_secs(),
        "sync": 0,
        "syncMeta": true,
    })));
    content
}

/// Users see the indexes they may search; all with `indexes_list_all` or `indexes_edit`.
fn may_see(caller: &Caller, name: &IndexName) -> bool {
    let all = caller.may("indexes_list_all") || caller.may("indexes_edit");
    all || caller.rights.may_search(name)
}

pub(crate) async fn list(
    State(state): State<ApiState>,
    caller: Caller,
    params: Params,
) -> Result<Response, RestError> {
    let wanted = params.text("datatype").unwrap_or("event");
    let all = if matches!(wanted, "event" | "all") { state.indexes.all() } else { Vec::new() };
    let seen = all.iter().filter(|(name, _)| may_see(&caller, name));
    let entries = seen.map(|(name, known)| entry(&state, name, known)).collect();
    feed::respond("indexes", PATH, entries, &params)
}

/// An index that is there, switched on or not.
fn found(state: &ApiState, name: &str) -> Result<(IndexName, Known), RestError> {
    let named = IndexName::new(name).ok();
    let known = named.and_then(|name| state.indexes.get(&name).map(|known| (name, known)));
    known.ok_or_else(|| RestError::no_object(name))
}

pub(super) fn existing(state: &ApiState, name: &str) -> Result<IndexName, RestError> {
    found(state, name).map(|(name, _)| name)
}

fn respond(state: &ApiState, name: &IndexName, params: &Params) -> Result<Response, RestError> {
    let (name, known) = found(state, name.as_str())?;
    feed::respond_one("indexes", PATH, entry(state, &name, &known), params)
}

pub(crate) async fn show(
    State(state): State<ApiState>,
    caller: Caller,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    if name == "_new" {
        let attributes = Attributes::new(&["name"], &EDITABLE, &[]);
        return feed::respond_template("indexes", PATH, attributes, &params);
    }
    let index = existing(&state, &name)?;
    if !may_see(&caller, &index) {
        return Err(RestError::no_object(&name));
    }
    respond(&state, &index, &params)
}

pub(crate) async fn create(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    if params.text("datatype").is_some_and(|kind| kind != "event") {
        return Err(RestError::invalid("datatype: there are indexes of events only"));
    }
    let name = IndexName::new(params.required("name")?)
        .map_err(|error| RestError::invalid(error.to_string()))?;
    let definition = changed(Definition::default(), &params)?;
    if !state.indexes.create(name.clone()).await? {
        let text = format!("an index with name={name} already exists");
        return Err(RestError::of_kind(model::ErrorKind::Conflict, text));
    }
    if definition != Definition::default() {
        state.indexes.define(&name, definition, &state.ingest).await?;
    }
    let mut response = respond(&state, &name, &params)?;
    *response.status_mut() = axum::http::StatusCode::CREATED;
    Ok(response)
}

/// The definition as the request changes it.
fn changed(mut definition: Definition, params: &Params) -> Result<Definition, RestError> {
    let number = |name: &str| params.number(name).map(|number| number.map(|value| value as u64));
    if let Some(seconds) = number("frozenTimePeriodInSecs")? {
        definition.frozen_seconds = Some(seconds);
    }
    if let Some(size) = number("maxTotalDataSizeMB")? {
        definition.total_mb = Some(size);
    }
    if params.text("disabled").is_some() {
        definition.disabled = Some(params.flag("disabled"));
    }
    Ok(definition)
}

/// Changes how long events are kept, or whether the index is on. A setting that is read at a start
/// only is refused.
pub(crate) async fn edit(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let (name, known) = found(&state, &name)?;
    let fixed = settings(&state, &name, &known);
    for (key, value) in params.iter() {
        let same = fixed.get(key).is_some_and(|now| crate::filter::scalar(now) == value);
        if fixed.contains_key(key) && !EDITABLE.contains(&key) && !same {
            return Err(RestError::invalid(format!(
                "{key} stands in indexes.conf, which is read at a start; over REST, {} can be changed",
                EDITABLE.join(", ")
            )));
        }
    }
    let definition = changed(known.definition, &params)?;
    state.indexes.define(&name, definition, &state.ingest).await?;
    retain_soon(&state, &name);
    respond(&state, &name, &params)
}

/// Freezes what the index need not keep any more, and again when what is too young now is old enough.
fn retain_soon(state: &ApiState, name: &IndexName) {
    let Some(known) = state.indexes.get(name) else { return };
    let period = Duration::from_secs(known.frozen_seconds());
    if period > SHORT {
        return;
    }
    let (ingest, name, stop) = (state.ingest.clone(), name.clone(), state.shutdown.clone());
    state.shutdown.spawn(async move {
        for wait in [Duration::ZERO, period + Duration::from_secs(1)] {
            if stop.is_stopped() || !stop.sleep(wait).await || ingest.retain(&name).await.is_err() {
                return;
            }
        }
    });
}

pub(crate) async fn remove(
    State(state): State<ApiState>,
    caller: Caller,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let (name, known) = found(&state, &name)?;
    if known.configured.is_some() {
        let text =
            format!("the index \"{name}\" stands in indexes.conf; disable it, or remove it there");
        return Err(RestError::invalid(text));
    }
    state.indexes.remove(&name, &state.ingest).await?;
    list(State(state), caller, params).await
}

/// Searches do not read a disabled index, and senders are refused.
pub(crate) async fn enable(
    state: State<ApiState>,
    path: Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    switch(state, path, params, false).await
}

pub(crate) async fn disable(
    state: State<ApiState>,
    path: Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    switch(state, path, params, true).await
}

async fn switch(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    params: Params,
    off: bool,
) -> Result<Response, RestError> {
    let (name, known) = found(&state, &name)?;
    let definition = Definition { disabled: Some(off), ..known.definition };
    state.indexes.define(&name, definition, &state.ingest).await?;
    respond(&state, &name, &params)
}

/// Rolls the hot buckets and waits until they are in object storage.
pub(crate) async fn roll(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let name = existing(&state, &name)?;
    let rolled = state.ingest.roll_all(Some(&name)).await;
    rolled.map_err(|error| RestError::of_kind(error.kind(), error.to_string()))?;
    retain_soon(&state, &name);
    respond(&state, &name, &params)
}
