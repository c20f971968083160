//! `/services/search/concurrency-settings`: the settings that limit concurrent searches, under Splunk's
//! names.
//!
//! There are no scheduled and no real-time searches: their shares are 0.

use axum::response::Response;
use serde_json::{Value, json};

use super::feed;
use crate::ApiState;
use crate::atom::{Acl, Entry};
use crate::call::Call;
use crate::error::RestError;
use crate::rights::Need::Session;
use crate::routing::{Routes, get};
#[cfg(test)]
use crate::tests::cases::{Case, case};

const PATH: &str = "/services/search/concurrency-settings";
const TITLE: &str = "search-concurrency-settings-handler";

pub(super) fn routes() -> Routes {
    let all = "Lists the settings that limit concurrent searches";
    Routes::default().at(PATH, get(Session, all, list)).at(
        "/services/search/concurrency-settings/{name}",
        get(Session, "The settings of `search` or `scheduler`", show),
    )
}

fn entries(state: &ApiState) -> [Entry; 2] {
    let scheduler = json!({"max_searches_perc": 0, "auto_summary_perc": 0});
    let search = json!({
        "base_max_searches": limit(state, "base_max_searches"),
        "max_searches_per_cpu": limit(state, "max_searches_per_cpu"),
        "max_rt_search_multiplier": 0,
    });
    [("scheduler", scheduler), ("search", search)].map(|(name, content)| {
        let acl = Acl { removable: false, writable: false, ..Acl::system() };
        Entry::new(PATH, name, feed::content(content)).with_acl(acl)
    })
}

/// A setting of `limits.conf [search]` as of the start, or its default.
fn limit(state: &ApiState, name: &str) -> Value {
    const CONF: &str = "limits";
    const STANZA: &str = "search";
    let files = state.knowledge.conf(CONF);
    let conf = state.declared.started(CONF).unwrap_or(&files);
    if let Some(entry) = conf.get(STANZA, name) {
        return number(&entry.value);
    }
    let mut declared = state.declared.registry.settings(CONF);
    let setting = declared.find(|setting| setting.stanza == STANZA && setting.name == name);
    setting.map_or(Value::Null, |setting| number(setting.default))
}

fn number(text: &str) -> Value {
    text.trim().parse::<u64>().map_or_else(|_| json!(text), |number| json!(number))
}

async fn list(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    feed::respond(TITLE, PATH, entries(&state).into(), &params)
}

async fn show(call: Call) -> Result<Response, RestError> {
    let found = entries(&call.state).into_iter().find(|entry| entry.name == call.name());
    let entry = found.ok_or_else(|| RestError::no_object(call.name()))?;
    feed::respond_one(TITLE, PATH, entry, &call.params)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    vec![
        case(&format!("GET {PATH}"), "", 200, "\"max_rt_search_multiplier\":0"),
        case(&format!("GET {PATH}?count=x"), "", 400, "must be a whole number"),
        case(&format!("GET {PATH}/search"), "", 200, "\"base_max_searches\":6"),
        case(&format!("GET {PATH}/scheduler"), "", 200, "\"max_searches_perc\":0"),
        case(&format!("GET {PATH}/none"), "", 404, "Could not find object id=none"),
    ]
}
