//! `/services/search/distributed/peers`: the other indexers of the cluster, under Splunk's names. A single
//! server has none.

use axum::response::Response;
use peers::Registration;
use serde_json::json;

use super::feed;
use crate::ApiState;
use crate::atom::{Acl, Entry};
use crate::call::Call;
use crate::error::RestError;
use crate::rights::Need::May;
use crate::routing::{Routes, get};
#[cfg(test)]
use crate::tests::cases::{Case, case};

const PATH: &str = "/services/search/distributed/peers";
const TITLE: &str = "distsearch-peer";

pub(super) fn routes() -> Routes {
    let see = May("list_settings");
    Routes::default()
        .at(PATH, get(see, "Lists the other indexers, and whether each responds", list))
        .at("/services/search/distributed/peers/{name}", get(see, "Shows an indexer", show))
}

async fn list(call: Call) -> Result<Response, RestError> {
    feed::respond(TITLE, PATH, entries(&call.state).await, &call.params)
}

async fn show(call: Call) -> Result<Response, RestError> {
    let found = entries(&call.state).await.into_iter().find(|entry| entry.name == call.name());
    let entry = found.ok_or_else(|| RestError::no_object(call.name()))?;
    feed::respond_one(TITLE, PATH, entry, &call.params)
}

async fn entries(state: &ApiState) -> Vec<Entry> {
    let Some(directory) = &state.directory else { return Vec::new() };
    let answers = directory.answers().await;
    let all = Registration::all(&state.catalog.snapshot()).into_iter();
    let others = all.filter(|(id, other)| *id != state.info.guid && other.is_indexer());
    let of = |(id, other): (String, Registration)| {
        let answer = answers.iter().find(|(known, _)| *known == id).map(|(_, answer)| answer);
        let failed = answer.and_then(|answer| answer.as_ref().err()).map(String::as_str);
        entry(&id, &other, answer.is_some(), failed)
    };
    others.map(of).collect()
}

/// `failed`: why it does not respond.
fn entry(id: &str, other: &Registration, is_asked: bool, failed: Option<&str>) -> Entry {
    let status = match failed {
        Some(_) => "Down",
        None if is_asked => "Up",
        None => "Unknown",
    };
    // The management port may listen at all addresses, 0.0.0.0: the host is the one within the cluster.
    let host = other.address.rsplit_once(':').map_or(other.address.as_str(), |(host, _)| host);
    let port = other.management.rsplit_once(':').map_or("", |(_, port)| port);
    let address = format!("{host}:{port}");
    let content = json!({
        "peerName": other.name,
        "host": other.name,
        "host_fqdn": other.name,
        "guid": id,
        "disabled": false,
        "is_https": other.management.starts_with("https:"),
        "peerType": "configured",
        "server_roles": other.roles,
        "site": other.site,
        "startup_time": other.started,
        "status": status,
        "status_details": failed.into_iter().collect::<Vec<_>>(),
        "version": other.version,
    });
    let acl = Acl { removable: false, writable: false, ..Acl::system() };
    Entry::new(PATH, &address, feed::content(content)).with_acl(acl)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    vec![
        case(&format!("GET {PATH}"), "", 200, "\"entry\":[]"),
        case(&format!("GET {PATH}?count=x"), "", 400, "must be a whole number"),
        case(&format!("GET {PATH}/none"), "", 404, "Could not find object id=none"),
        case("GET /services/admin/distsearch-peer", "", 200, "\"entry\":[]"),
    ]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_has_the_host_of_the_cluster_the_management_port_and_what_is_known_of_it() {
        let registration = json!({
            "name": "idx1", "address": "10.0.0.7:9100", "roles": ["indexer"], "version": "1",
            "management": "https://0.0.0.0:8089", "started": "", "local_acks": false, "site": "site1",
        });
        let known = serde_json::from_value::<Registration>(registration).unwrap();
        let up = entry("a", &known, true, None);
        assert_eq!(up.name, "10.0.0.7:8089");
        assert_eq!((&up.content["status"], &up.content["is_https"]), (&json!("Up"), &json!(true)));
        let down = entry("a", &known, true, Some("timed out")).content;
        assert_eq!(down["status"], "Down");
        assert_eq!(down["status_details"], json!(["timed out"]));
        assert_eq!(entry("a", &known, false, None).content["status"], "Unknown");
    }
}
