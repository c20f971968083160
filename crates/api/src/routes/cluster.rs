//! `/services/cluster/manager`: the processes of the cluster.

use axum::response::Response;
use model::ErrorKind;
use peers::{Answered, Registration};
use serde_json::json;

use super::feed;
use crate::ApiState;
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
        get(
            May("list_settings"),
            "Lists the processes of the cluster, and whether each responds",
            peers,
        ),
    )
}

async fn peers(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let answers = match &state.directory {
        Some(directory) => directory.answers().await,
        None => Vec::new(),
    };
    let own = state.catalog.snapshot();
    let leader = peers::leader(&own);
    let leaving = peers::leaving(&own);
    let entry = |(id, registration): (String, Registration)| {
        // This process itself has its newest state.
        let answer = if id == state.info.guid {
            Some(Ok(own.number()))
        } else {
            let answer = answers.iter().find(|(known, _)| *known == id).map(|(_, answer)| answer);
            answer.map(|answer| answer.as_ref().map(|answer| answer.write).map_err(String::clone))
        };
        let (status, write, reason) = match answer {
            Some(Ok(number)) if leaving.contains_key(&id) => {
                ("Decommissioning", Some(number), String::new())
            }
            Some(Ok(number)) => ("Up", Some(number), String::new()),
            Some(Err(reason)) => ("Down", None, reason),
            None => ("Unknown", None, String::new()),
        };
        let bundle_of = peers::bundle_of(&own, &id);
        let leads = leader.as_ref().filter(|(leader, _)| *leader == id);
        let since = leads.map(|(_, since)| since);
        let Registration { name, address, roles, management, version, started, .. } = &registration;
        let receives = registration.forwarders.first();
        let content = json!({
            "label": name,
            "host_port_pair": address,
            "site": registration.site,
            "roles": roles,
            "register_forwarder_address": receives.map(|port| &port.address),
            "forwarder_data_use_ssl": receives.map(|port| port.tls),
            "register_search_address": management,
            "splunk_version": version,
            "started": started,
            "local_acks": registration.local_acks,
            "status": status,
            "status_reason": reason,
            "catalog_write": write,
            "active_bundle_id": bundle_of,
            "leads_since": since,
        });
        Entry::new(PATH, &id, feed::content(content))
    };
    let entries = Registration::all(&own).into_iter().map(entry).collect();
    feed::respond("clustermanagerpeers", PATH, entries, &params)
}

/// Returns the other processes that answer, by identity. A slow process may be missing.
pub(super) async fn answering(state: &ApiState) -> Vec<String> {
    let Some(directory) = &state.directory else { return Vec::new() };
    identities(directory.answers().await)
}

/// Returns the other processes that answer, including slow ones, for operations on processes that do not
/// answer.
pub(super) async fn answering_in_time(state: &ApiState) -> Vec<String> {
    let Some(directory) = &state.directory else { return Vec::new() };
    identities(directory.answers_in_time().await)
}

fn identities(answers: Vec<(String, Result<Answered, String>)>) -> Vec<String> {
    answers.into_iter().filter_map(|(id, answer)| answer.is_ok().then_some(id)).collect()
}

/// The process with an ID or a name.
pub(super) fn one<'k>(
    known: &'k [(String, Registration)],
    name: &str,
) -> Result<(&'k String, &'k Registration), RestError> {
    // Also accepts the form without hyphens, as in `instance.id`.
    let plain = name.replace('-', "");
    let is_meant = |id: &String| *id == name || *id == plain;
    let found: Vec<_> =
        known.iter().filter(|(id, peer)| is_meant(id) || peer.name == name).collect();
    match found[..] {
        [(id, peer)] => Ok((id, peer)),
        [] => Err(RestError::not_found(format!("the cluster has no process \"{name}\""))),
        _ => Err(RestError::invalid(format!(
            "several processes have the name \"{name}\"; give the ID of one"
        ))),
    }
}

pub(super) fn conflict(text: String) -> RestError {
    RestError::of_kind(ErrorKind::Conflict, text)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    vec![
        case(&format!("GET {PATH}"), "", 200, "\"entry\":[]"),
        case(&format!("GET {PATH}?output_mode=none"), "", 400, "unknown output_mode"),
    ]
}
