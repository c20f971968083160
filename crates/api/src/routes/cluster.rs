//! `/services/cluster/manager`: the processes of the cluster.

use axum::response::Response;
use catalog::{OWN_EPOCH, Snapshot};
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
    let own_lag = state.catalog.leader_lost_for().unwrap_or_default();
    let shares = state.search.stored_shares();
    let leader = peers::leader(&own);
    let leaving = peers::leaving(&own);
    let entry = |(id, registration): (String, Registration)| {
        // This process itself has its newest state.
        let answer = if id == state.info.guid {
            Some(Ok((own.number(), own_lag)))
        } else {
            let answer = answers.iter().find(|(known, _)| *known == id).map(|(_, answer)| answer);
            let had = |answer: &Answered| (answer.write, answer.lag);
            answer.map(|answer| answer.as_ref().map(had).map_err(String::clone))
        };
        let (status, had, reason) = match answer {
            Some(Ok(had)) if leaving.contains_key(&id) => {
                ("Decommissioning", Some(had), String::new())
            }
            Some(Ok(had)) => ("Up", Some(had), String::new()),
            Some(Err(reason)) => ("Down", None, reason),
            None => ("Unknown", None, String::new()),
        };
        let epoch = registration.is_indexer().then(|| epoch_of(&own, &id));
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
            "catalog_write": had.map(|(write, _)| write),
            "catalog_lag": had.map(|(_, lag)| rounded(lag.as_secs_f64())),
            "epoch": epoch,
            "stored_share": shares.get(&id).copied().map(rounded),
            "active_bundle_id": bundle_of,
            "leads_since": since,
        });
        Entry::new(PATH, &id, feed::content(content))
    };
    let entries = Registration::all(&own).into_iter().map(entry).collect();
    feed::respond("clustermanagerpeers", PATH, entries, &params)
}

/// Returns the greatest epoch of the hot sets of an indexer: 0 before its first start in a cluster.
fn epoch_of(snapshot: &Snapshot, id: &str) -> u64 {
    let own = snapshot.taken_over().filter(|taken| taken.indexer.to_string() == id);
    own.map(|taken| taken.epoch).max().unwrap_or(OWN_EPOCH)
}

fn rounded(number: f64) -> f64 {
    (number * 1_000.0).round() / 1_000.0
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use catalog::{Catalog, Commit, Settings, Takeover};
    use model::IndexerId;
    use object_store::memory::InMemory;
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn the_epoch_of_an_indexer_is_that_of_the_last_takeover_of_its_sets() {
        let (store, clock) = (Arc::new(InMemory::new()), Arc::new(runtime::SystemClock));
        let catalog = Catalog::open(store, "catalog", Settings::default(), clock).await.unwrap();
        let (lost, other) = (IndexerId(Uuid::from_u128(1)), IndexerId(Uuid::from_u128(2)));
        let taken = |set, epoch| Takeover { indexer: lost, set, epoch, owner: other };
        for (set, epoch) in [(0, 1), (1, 1), (1, 2)] {
            let take_over = vec![taken(set, epoch)];
            catalog.commit(Commit { take_over, ..Commit::default() }).await.unwrap();
        }
        let snapshot = catalog.snapshot();
        assert_eq!(epoch_of(&snapshot, &lost.to_string()), 2);
        assert_eq!(epoch_of(&snapshot, &other.to_string()), OWN_EPOCH);
    }

    #[test]
    fn lags_and_shares_have_three_decimals() {
        let shown = [1.0 / 3.0, 0.000_4, 12.0].map(|number| rounded(number).to_string());
        assert_eq!(shown, ["0.333", "0", "12"]);
    }
}
