//! The buckets of an index: lists them, thaws, freezes and quarantines them.

use axum::response::Response;
use catalog::IndexNames;
use ingest::Thaw;
use jiff::tz::TimeZone;
use model::{BucketHeader, BucketId, BucketState, ErrorKind, EventTime, IndexName, TimeRange};
use search::Quarantined;
use serde_json::{Map, json};

use super::data_indexes::existing;
use super::feed;
use crate::ApiState;
use crate::atom::Entry;
use crate::call::Call;
use crate::error::RestError;
use crate::params::Params;
use crate::rights::Need::{May, Own};
use crate::routing::{Routes, get, post};
#[cfg(test)]
use crate::tests::cases::{Case, case};

pub(super) fn routes() -> Routes {
    Routes::default()
        .at(
            "/services/data/indexes/{name}/thaw",
            post(May("indexes_edit"), "Thaws archived buckets of a time range", thaw),
        )
        .at(
            "/services/data/indexes/{name}/freeze",
            post(
                May("indexes_edit"),
                "Removes thawed buckets of a time range from searches",
                freeze,
            ),
        )
        .at("/services/data/buckets", get(Own, "Lists stored buckets, newest first", list))
        .at(
            "/services/data/buckets/{id}/quarantine",
            post(May("indexes_edit"), "Quarantines a damaged bucket", quarantine),
        )
        .at(
            "/services/data/buckets/{id}/release",
            post(May("indexes_edit"), "Releases a quarantined bucket", release),
        )
}

const PATH: &str = "/services/data/buckets";

/// Lists stored buckets of the indexes in `index`, or of all that the caller may search, newest first, within
/// `earliest_time` and `latest_time`.
async fn list(Call { state, caller, params, .. }: Call) -> Result<Response, RestError> {
    let range = range(&state, &params)?;
    let named: Vec<IndexName> =
        params.all("index").map(|name| existing(&state, name)).collect::<Result<_, _>>()?;
    if let Some(closed) = named.iter().find(|index| !caller.rights.may_search(index)) {
        return Err(RestError::no_object(closed.as_str()));
    }
    let mut indexes = if named.is_empty() { state.indexes.names() } else { named };
    indexes.retain(|index| caller.rights.may_search(index));
    let snapshot = state.catalog.snapshot();
    let left_out = search::quarantined(&snapshot);
    let mut entries = Vec::new();
    for index in &indexes {
        let buckets = snapshot.buckets(index).iter();
        let wanted = buckets.filter(|bucket| bucket.overlaps(&range));
        entries.extend(wanted.map(|bucket| entry(&bucket, left_out.get(&bucket.id))));
    }
    feed::respond_in_order("buckets", PATH, entries, &params)
}

fn entry(bucket: &BucketHeader, quarantined: Option<&Quarantined>) -> Entry {
    let state = match bucket.state {
        _ if quarantined.is_some() => "quarantined",
        BucketState::Warm => "warm",
        BucketState::Thawed => "thawed",
        BucketState::Frozen => "frozen",
    };
    let mut content = Map::new();
    content.insert("index".to_owned(), json!(bucket.index.as_str()));
    content.insert("state".to_owned(), json!(state));
    content.insert("path".to_owned(), json!(bucket.path()));
    content.insert("eventCount".to_owned(), json!(bucket.rows));
    content.insert("rawSize".to_owned(), json!(bucket.raw_bytes));
    content.insert("size".to_owned(), json!(bucket.size));
    content.insert("startTime".to_owned(), json!(text(bucket.first_time)));
    content.insert("endTime".to_owned(), json!(text(bucket.last_time)));
    if let Some(Quarantined { reason, by, since, .. }) = quarantined {
        content.insert("quarantineReason".to_owned(), json!(reason));
        content.insert("quarantinedBy".to_owned(), json!(by));
        content.insert("quarantinedSince".to_owned(), json!(since));
    }
    Entry::new(PATH, &bucket.id.to_string(), content)
}

fn text(time: EventTime) -> String {
    let time = jiff::Timestamp::from_microsecond(time.0).ok();
    time.map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()).unwrap_or_default()
}

/// Brings archived buckets of the range back; `from` names another archive than the index's own.
async fn thaw(call: Call) -> Result<Response, RestError> {
    let Call { state, params, .. } = &call;
    let name = call.segment("name");
    let index = existing(state, name)?;
    let wanted = Thaw {
        index: index.clone(),
        range: range(state, params)?,
        from: params.text("from").map(str::to_owned),
    };
    let thawed = state.ingest.thaw(&wanted).await?;
    let mut content = Map::new();
    content.insert("buckets".to_owned(), json!(thawed.buckets));
    content.insert("events".to_owned(), json!(thawed.events));
    content.insert("alreadyThere".to_owned(), json!(thawed.present));
    content.insert("unreadable".to_owned(), json!(thawed.unreadable));
    let entry = Entry::new(PATH, index.as_str(), content);
    feed::respond_one("thaw", PATH, entry, params)
}

/// Freezes thawed buckets of the range again, so that they are not searched.
async fn freeze(call: Call) -> Result<Response, RestError> {
    let Call { state, params, .. } = &call;
    let name = call.segment("name");
    let index = existing(state, name)?;
    let range = range(state, params)?;
    let frozen = state.ingest.freeze_thawed(&index, &range).await?;
    let mut content = Map::new();
    content.insert("buckets".to_owned(), json!(frozen));
    let entry = Entry::new(PATH, index.as_str(), content);
    feed::respond_one("freeze", PATH, entry, params)
}

/// Excludes a bucket from searches, which report this from then on; stores `reason`.
async fn quarantine(call: Call) -> Result<Response, RestError> {
    let Call { state, caller, params, .. } = &call;
    let id = call.segment("id");
    let bucket = named(state, id)?;
    let reason = params.text("reason").unwrap_or("put into quarantine by hand");
    let put = state.search.quarantine().put(&bucket, reason, Some(&caller.user)).await?;
    feed::respond_one("buckets", PATH, entry(&bucket, Some(&put)), params)
}

/// Lets searches read a bucket again.
async fn release(call: Call) -> Result<Response, RestError> {
    let Call { state, params, .. } = &call;
    let id = call.segment("id");
    let bucket = named(state, id)?;
    if !state.search.quarantine().release(&bucket).await? {
        return Err(RestError::invalid(format!("bucket {id} is not quarantined")));
    }
    feed::respond_one("buckets", PATH, entry(&bucket, None), params)
}

/// The bucket of an id.
fn named(state: &ApiState, id: &str) -> Result<BucketHeader, RestError> {
    let unknown = || RestError::of_kind(ErrorKind::NotFound, format!("no bucket has the id {id}"));
    let id = uuid::Uuid::parse_str(id).map(BucketId).map_err(|_| unknown())?;
    let snapshot = state.catalog.snapshot();
    snapshot.bucket(id).ok_or_else(unknown)
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

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let (id, unknown) = ("00000000-0000-0000-0000-000000000000", "no bucket has the id");
    let (event, none) = ("an event", "Could not find object id=none");
    vec![
        case("POST /services/receivers/simple", event, 200, "\"events\":1"),
        case("POST /services/data/indexes/main/roll-hot-buckets", "", 200, "main"),
        case(&format!("GET {PATH}?index=main"), "", 200, "\"state\":\"warm\"")
            .keeping("bucket", "/entry/0/name"),
        case(&format!("GET {PATH}?index=none"), "", 404, none),
        case(&format!("POST {PATH}/$bucket/quarantine"), "reason=test", 200, "\"quarantined\""),
        case("GET /services/data/indexes-extended/main", "", 200, "\"total_bucket_count\":0"),
        case(&format!("POST {PATH}/{id}/quarantine"), "", 404, unknown),
        case(&format!("POST {PATH}/$bucket/release"), "", 200, "\"warm\""),
        case(&format!("POST {PATH}/$bucket/release"), "", 400, "is not quarantined"),
        case("POST /services/data/indexes/main/freeze", "", 200, "\"buckets\":0"),
        case("POST /services/data/indexes/none/freeze", "", 404, none),
        case("POST /services/data/indexes/main/thaw", "earliest_time=x", 400, "earliest_time"),
        case("POST /services/data/indexes/main/thaw", "", 200, "alreadyThere"),
        case(
            "POST /services/data/indexes/main/thaw",
            "from=nowhere",
            400,
            "no buckets of the index",
        ),
    ]
}
