//! `/services/data/indexes-extended`: buckets, sizes and times of each index, with the fields of
//! `disk_objects.log`, and as of now.
//!
//! An index is visible here if it is visible at `/services/data/indexes`.

use axum::response::Response;
use serde_json::{Value, json};

use super::data_indexes::{Held, Index, Indexes, may_count};
use super::feed;
use super::resource::Resource as _;
use crate::atom::{Acl, Entry};
use crate::call::Call;
use crate::error::RestError;
use crate::rights::Need::Own;
use crate::routing::{Routes, get};
#[cfg(test)]
use crate::tests::cases::{Case, case};

const PATH: &str = "/services/data/indexes-extended";
const TITLE: &str = "indexes-extended";

pub(super) fn routes() -> Routes {
    let (all, one) = ("Lists buckets and sizes of indexes", "Buckets and sizes of an index");
    Routes::default()
        .at(PATH, get(Own, all, list))
        .at("/services/data/indexes-extended/{name}", get(Own, one, show))
}

async fn list(call: Call) -> Result<Response, RestError> {
    if let Some((indexes, total)) = Indexes.page(&call).await? {
        let entries: Vec<Entry> = indexes.iter().map(|index| entry(&call, index)).collect();
        let page = (|_: usize| entries.into_iter(), total);
        return feed::respond_page(TITLE, PATH, page, &call.params);
    }
    let indexes = Indexes.list(&call).await?;
    let entries = indexes.iter().map(|index| entry(&call, index)).collect();
    feed::respond(TITLE, PATH, entries, &call.params)
}

async fn show(call: Call) -> Result<Response, RestError> {
    let mut found = Indexes.find(&call).await?;
    found.retain(|index| Indexes.may_see(&call, index));
    let Some(index) = found.first() else { return Err(RestError::no_object(call.name())) };
    feed::respond_one(TITLE, PATH, entry(&call, index), &call.params)
}

/// Returns the entry of an index. All buckets of Splunk's `homePath` and `coldPath` are in object storage:
/// they are reported as those of `home`.
fn entry(call: &Call, Index { name, held, .. }: &Index) -> Entry {
    let seconds = |micros: i64| match held.events {
        0 => Value::Null,
        _ => json!(micros.div_euclid(1_000_000)),
    };
    let Held { events, raw, size, first, last, hot, warm } = held;
    let content = match may_count(call) {
        false => json!({"name": name.as_str()}),
        true => json!({
            "name": name.as_str(),
            "total_size": megabytes(*size),
            "total_event_count": events,
            "total_bucket_count": hot + warm,
            "total_raw_size": megabytes(*raw),
            "bucket_dirs": { "home": {
                "hot_bucket_count": hot,
                "warm_bucket_count": warm,
                "warm_bucket_size": megabytes(*size),
                "event_count": events,
                "event_min_time": seconds(first.0),
                "event_max_time": seconds(last.0),
                "size": megabytes(*size),
            } },
        }),
    };
    let acl = Acl { removable: false, writable: false, ..Acl::system() };
    Entry::new(PATH, name.as_str(), feed::content(content)).with_acl(acl)
}

/// Returns megabytes with three decimals, as in the log.
#[allow(clippy::cast_precision_loss)]
fn megabytes(bytes: u64) -> f64 {
    (bytes as f64 / 1_048_576.0 * 1e3).round() / 1e3
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    vec![
        case("POST /services/receivers/simple?index=main&sourcetype=st", "event", 200, ""),
        case(&format!("GET {PATH}"), "", 200, "\"total_event_count\":1"),
        case(&format!("GET {PATH}?datatype=metric"), "", 200, "\"name\":\"_metrics\""),
        case(&format!("GET {PATH}?count=x"), "", 400, "must be a whole number"),
        case(&format!("GET {PATH}/main"), "", 200, "\"hot_bucket_count\":1"),
        case(&format!("GET {PATH}/none"), "", 404, "Could not find object id=none"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_megabytes_with_three_decimals() {
        assert_eq!((megabytes(0), megabytes(3 << 20), megabytes(1_536)), (0.0, 3.0, 0.001));
    }
}
