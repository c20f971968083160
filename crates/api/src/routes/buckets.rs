//! The buckets of an index: what there is, and what comes back from or goes back to an archive.

use axum::extract::{Path, State};
use axum::response::Response;
use ingest::Thaw;
use jiff::tz::TimeZone;
use model::{BucketEntry, BucketState, EventTime, IndexName, TimeRange};
use search::IndexNames;
use serde_json::{Map, json};

use super::data_indexes::existing;
use super::feed;
use crate::ApiState;
use crate::atom::Entry;
use crate::error::RestError;
use crate::params::Params;
use crate::session::Caller;

const PATH: &str = "/services/data/buckets";

/// Stored buckets of the indexes named by `index`, or of all that the caller may search, newest first, within
/// `earliest_time` and `latest_time`.
pub(crate) async fn list(
    State(state): State<ApiState>,
    caller: Caller,
    params: Params,
) -> Result<Response, RestError> {
    let range = range(&state, &params)?;
    let named: Vec<IndexName> =
        params.all("index").map(|name| existing(&state, name)).collect::<Result<_, _>>()?;
    if let Some(closed) = named.iter().find(|index| !caller.rights.may_search(index)) {
        return Err(RestError::no_object(closed.as_str()));
    }
    let mut indexes = if named.is_empty() { state.indexes.names() } else { named };
    indexes.retain(|index| caller.rights.may_search(index));
    let snapshot = state.catalog.snapshot();
    let mut entries = Vec::new();
    for index in &indexes {
        let buckets = snapshot.buckets(index).iter();
        let wanted = buckets.filter(|bucket| bucket.summary.overlaps(&range));
        entries.extend(wanted.map(|bucket| entry(bucket)));
    }
    feed::respond_in_order("buckets", PATH, entries, &params)
}

fn entry(bucket: &BucketEntry) -> Entry {
    let state = match bucket.state {
        BucketState::Warm => "warm",
        BucketState::Thawed => "thawed",
        BucketState::Frozen => "frozen",
    };
    let summary = &bucket.summary;
    let mut content = Map::new();
    content.insert("index".to_owned(), json!(bucket.index.as_str()));
    content.insert("state".to_owned(), json!(state));
    content.insert("path".to_owned(), json!(bucket.path));
    content.insert("eventCount".to_owned(), json!(summary.rows));
    content.insert("rawSize".to_owned(), json!(summary.raw_bytes));
    content.insert("size".to_owned(), json!(bucket.size));
    content.insert("startTime".to_owned(), json!(text(summary.first_time)));
    content.insert("endTime".to_owned(), json!(text(summary.last_time)));
    feed::entry(PATH, &bucket.id.to_string(), content)
}

fn text(time: EventTime) -> String {
    let time = jiff::Timestamp::from_microsecond(time.0).ok();
    time.map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()).unwrap_or_default()
}

/// Brings archived buckets of the range back; `from` names another archive than the index's own.
pub(crate) async fn thaw(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let index = existing(&state, &name)?;
    let wanted = Thaw {
        index: index.clone(),
        range: range(&state, &params)?,
        from: params.text("from").map(str::to_owned),
    };
    let thawed = state.ingest.thaw(&wanted).await;
    let thawed = thawed.map_err(|error| RestError::of_kind(error.kind(), error.to_string()))?;
    let mut content = Map::new();
    content.insert("buckets".to_owned(), json!(thawed.buckets));
    content.insert("events".to_owned(), json!(thawed.events));
    content.insert("alreadyThere".to_owned(), json!(thawed.present));
    let entry = feed::entry(PATH, index.as_str(), content);
    feed::respond_one("thaw", PATH, entry, &params)
}

/// Takes thawed buckets of the range out of searches again.
pub(crate) async fn freeze(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let index = existing(&state, &name)?;
    let range = range(&state, &params)?;
    let frozen = state.ingest.freeze_thawed(&index, &range).await;
    let frozen = frozen.map_err(|error| RestError::of_kind(error.kind(), error.to_string()))?;
    let mut content = Map::new();
    content.insert("buckets".to_owned(), json!(frozen));
    let entry = feed::entry(PATH, index.as_str(), content);
    feed::respond_one("freeze", PATH, entry, &params)
}

fn range(state: &ApiState, params: &Params) -> Result<TimeRange, RestError> {
    let zone = match params.text("timezone") {
        None => TimeZone::UTC,
        Some(name) => {
            TimeZone::get(name).map_err(|error| RestError::invalid(format!("timezone: {error}")))?
        }
    };
    let now = state.clock.now();
    let read = |name: &str, missing: EventTime| match params.text(name) {
        None => Ok(missing),
        Some(text) => knowledge::time::parse_time(text, now, &zone)
            .map_err(|error| RestError::invalid(format!("{name}: {error}"))),
    };
    let earliest = read("earliest_time", EventTime::MIN)?;
    let latest = read("latest_time", EventTime::MAX)?;
    if earliest > latest {
        return Err(RestError::invalid("earliest_time must not be later than latest_time"));
    }
    Ok(TimeRange { earliest, latest })
}
