//! `/services/cluster/manager`: the processes of the cluster.

use axum::response::Response;
use peers::Registration;
use serde_json::json;

use super::feed;
use crate::atom::Entry;
use crate::call::Call;
use crate::error::RestError;
use crate::rights::Need::May;
use crate::routing::{Routes, get};
#[cfg(test)]
use crate::tests::cases::{Case, case};

const PATH: &str = "/services/cluster/manager/peers";

pub(super) fn routes() -> Routes {
    Routes::default().at(
        PATH,
        get(May("list_settings"), "Processes of the cluster, and whether each answers", peers),
    )
}

async fn peers(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let answers = match &state.directory {
        Some(directory) => directory.answers().await,
        None => Vec::new(),
    };
    let own = state.catalog.snapshot();
    let leader = peers::leader(&own);
    let entry = |(id, registration): (String, Registration)| {
        // This process has the newest state that it knows of.
        let answer = if id == state.info.guid {
            Some(Ok(own.number()))
        } else {
            answers.iter().find(|(known, _)| *known == id).map(|(_, answer)| answer.clone())
        };
        let (status, write, reason) = match answer {
            Some(Ok(number)) => ("Up", Some(number), String::new()),
            Some(Err(reason)) => ("Down", None, reason),
            None => ("Unknown", None, String::new()),
        };
        let leads = leader.as_ref().filter(|(leader, _)| *leader == id);
        let since = leads.map(|(_, since)| since);
        let Registration { name, address, roles, management, version, started, local_acks } =
            registration;
        let content = json!({
            "label": name,
            "host_port_pair": address,
            "roles": roles,
            "register_search_address": management,
            "splunk_version": version,
            "started": started,
            "local_acks": local_acks,
            "status": status,
            "status_reason": reason,
            "catalog_write": write,
            "leads_since": since,
        });
        Entry::new(PATH, &id, feed::content(content))
    };
    let entries = Registration::all(&own).into_iter().map(entry).collect();
    feed::respond("clustermanagerpeers", PATH, entries, &params)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    vec![
        case(&format!("GET {PATH}"), "", 200, "\"entry\":[]"),
        case(&format!("GET {PATH}?output_mode=none"), "", 400, "unknown output_mode"),
    ]
}
