//! `/services/data/indexes`: which indexes there are, and what is in them.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use model::{EventTime, IndexName, TimeRange};
use search::IndexNames;
use serde_json::{Map, json};

use super::feed;
use crate::ApiState;
use crate::atom::Entry;
use crate::error::RestError;
use crate::params::Params;

const PATH: &str = "/services/data/indexes";

fn entry(state: &ApiState, name: &IndexName) -> Entry {
    let names = std::slice::from_ref(name);
    let stored = state.catalog.snapshot();
    let (mut events, mut raw, mut size) = (0, 0, 0);
    let (mut first, mut last) = (EventTime::MAX, EventTime::MIN);
    let mut count = |rows: u64, raw_bytes: u64, from: EventTime, to: EventTime| {
        events += rows;
        raw += raw_bytes;
        first = first.min(from);
        last = last.max(to);
    };
    for bucket in stored.buckets(name) {
        let summary = &bucket.summary;
        count(summary.rows, summary.raw_bytes, summary.first_time, summary.last_time);
        size += bucket.size;
    }
    let hot = state.ingest.hot().snapshot(names, &TimeRange::ALL);
    for bucket in hot.iter().filter(|bucket| !stored.contains(name, bucket.id)) {
        count(bucket.rows, bucket.raw_bytes, bucket.first_time, bucket.last_time);
    }
    let time = |at: EventTime| {
        let time = jiff::Timestamp::from_microsecond(at.0).ok().filter(|_| events > 0);
        time.map(|time| time.strftime("%Y-%m-%dT%H:%M:%S+0000").to_string()).unwrap_or_default()
    };
    let mut content = Map::new();
    content.insert("totalEventCount".to_owned(), json!(events));
    content.insert("currentDBSizeMB".to_owned(), json!((size >> 20).to_string()));
    content.insert("totalRawBytes".to_owned(), json!(raw));
    content.insert("totalStoredBytes".to_owned(), json!(size));
    content.insert("minTime".to_owned(), json!(time(first)));
    content.insert("maxTime".to_owned(), json!(time(last)));
    content.insert("disabled".to_owned(), json!(false));
    content.insert("isInternal".to_owned(), json!(name.is_internal()));
    content.insert("datatype".to_owned(), json!("event"));
    feed::entry(PATH, name.as_str(), content)
}

pub(crate) async fn list(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    let entries = state.indexes.names().iter().map(|name| entry(&state, name)).collect();
    feed::respond("indexes", PATH, entries, &params)
}

pub(super) fn existing(state: &ApiState, name: &str) -> Result<IndexName, RestError> {
    let found = IndexName::new(name).ok().filter(|name| state.indexes.contains(name));
    found.ok_or_else(|| RestError::not_found(format!("Could not find object id={name}")))
}

pub(crate) async fn show(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let name = existing(&state, &name)?;
    feed::respond_one("indexes", PATH, entry(&state, &name), &params)
}

pub(crate) async fn create(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    let name = IndexName::new(params.required("name")?)
        .map_err(|error| RestError::invalid(error.to_string()))?;
    if !state.indexes.create(name.clone()).await? {
        let text = format!("an index \"{name}\" exists already");
        return Err(RestError::of_kind(model::ErrorKind::Conflict, text));
    }
    let mut response = feed::respond_one("indexes", PATH, entry(&state, &name), &params)?;
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
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
    feed::respond_one("indexes", PATH, entry(&state, &name), &params)
}
