//! `/services/cluster/peer/control`: decommissions an indexer.

use std::collections::BTreeSet;

use axum::response::Response;
use catalog::Snapshot;
use cluster::{Leaving, Member, objection};
use peers::Registration;
use serde_json::{Value, json};

use super::cluster::{answering, answering_in_time, conflict, one};
use super::feed;
use crate::ApiState;
use crate::atom::Entry;
use crate::call::Call;
use crate::error::RestError;
use crate::rights::Need::May;
use crate::routing::{Routes, post};
#[cfg(test)]
use crate::tests::cases::{Case, case};

const DECOMMISSION: &str = "/services/cluster/peer/control/control/decommission";

pub(super) fn routes() -> Routes {
    Routes::default().at(
        DECOMMISSION,
        post(
            May("edit_server"),
            "Decommissions an indexer after its data is stored elsewhere: `peer` (default: this process); \
             `dry_run=1` only shows the steps, `cancel=1` cancels it unless the process has already stopped",
            decommission,
        ),
    )
}

/// An indexer that is asked to leave, for clients.
fn shown(snapshot: &Snapshot, up: &[String], id: &str, asked: &Leaving) -> Value {
    let known = Registration::all(snapshot).into_iter().find(|(known, _)| known == id);
    let handover = peers::handover(snapshot, id);
    let is_stopping = handover.as_ref().is_some_and(|handover| handover.stops);
    let is_up = up.iter().any(|known| known == id);
    let handover = handover.unwrap_or_default();
    json!({
        "peer": id,
        "label": known.map(|(_, known)| known.name),
        "status": match (is_stopping, is_up) {
            (false, _) => "Decommissioning",
            (true, true) => "ShuttingDown",
            (true, false) => "Stopped",
        },
        "is_up": is_up,
        "by": asked.by,
        "force": asked.force,
        "events": handover.events,
        "uploads": handover.uploads,
        "copies_of": handover.copies_of,
        "recovering": handover.recovering,
    })
}

/// The processes that are up: those that answer, and this one.
fn up(state: &ApiState, mut answering: Vec<String>) -> Vec<String> {
    answering.push(state.info.guid.clone());
    answering
}

/// The indexers that are asked to leave.
pub(super) async fn all(state: &ApiState) -> Vec<Value> {
    let snapshot = state.catalog.snapshot();
    let leaving = peers::leaving(&snapshot);
    if leaving.is_empty() {
        return Vec::new();
    }
    let up = up(state, answering(state).await);
    leaving.iter().map(|(id, asked)| shown(&snapshot, &up, id, asked)).collect()
}

/// Returns the objection while maintenance mode is on.
fn maintained(snapshot: &Snapshot) -> Option<String> {
    let by = peers::maintenance(snapshot)?;
    Some(format!("the cluster is in maintenance mode ({by}): turn it off first"))
}

async fn decommission(Call { state, params, caller, .. }: Call) -> Result<Response, RestError> {
    let snapshot = state.catalog.snapshot();
    let known = Registration::all(&snapshot);
    // An empty name, as of a variable that is not set, does not mean this process.
    let named = match params.get("peer") {
        Some("") => {
            return Err(RestError::invalid("peer is empty: give the ID or name of an indexer"));
        }
        Some(named) => named,
        None => &state.info.guid,
    };
    let (id, peer) = one(&known, named)?;
    if params.flag("cancel") {
        return cancel(&state, &snapshot, (id, peer), &params).await;
    }
    if !peer.is_indexer() {
        let text = format!(
            "{} ({id}) is not an indexer: stop it, and it leaves the list by itself",
            peer.name
        );
        return Err(RestError::invalid(text));
    }
    let up = up(&state, answering_in_time(&state).await);
    if !up.contains(id) {
        return Err(conflict(format!(
            "{} ({id}) does not respond, so it cannot hand over its data: start it, or remove it with \
             karst cluster remove",
            peer.name
        )));
    }
    let leaving: BTreeSet<String> = peers::leaving(&snapshot).into_keys().collect();
    let is_forced = params.flag("force");
    if leaving.contains(id) && !is_forced {
        return Err(conflict(format!("{} ({id}) is already being decommissioned", peer.name)));
    }
    let indexers = known.iter().filter(|(_, known)| known.is_indexer());
    let indexers: Vec<Member<'_>> = indexers
        .map(|(id, known)| Member { id, site: &known.site, is_up: up.contains(id) })
        .collect();
    let wave = peers::wave(&snapshot);
    let objection = objection(id, &indexers, &leaving, &state.info.placement, wave.as_ref())
        .or_else(|| maintained(&snapshot));
    let is_dry = params.flag("dry_run");
    if let Some(reason) = objection.as_ref().filter(|_| !is_forced && !is_dry) {
        return Err(conflict(format!(
            "{} ({id}) is not decommissioned: {reason}; force=1 does it anyway",
            peer.name
        )));
    }
    let stay = indexers.iter().filter(|one| one.id != *id && !leaving.contains(one.id));
    let (stay, down): (Vec<&Member<'_>>, Vec<&Member<'_>>) = stay.partition(|one| one.is_up);
    let (stay, down) = (stay.len(), down.len());
    let asked =
        Leaving { started: peer.started.clone(), force: is_forced, by: caller.user.clone() };
    if !is_dry {
        peers::ask_to_leave(&state.catalog, id, &asked).await?;
    }
    let content = json!({
        "dry_run": is_dry,
        "peer": id,
        "label": peer.name,
        "is_this_process": *id == state.info.guid,
        // Not including indexers that do not answer.
        "indexers_left": stay,
        "indexers_down": down,
        // The reason why the request is refused without force=1.
        "objection": objection,
    });
    let entry = Entry::new(DECOMMISSION, "decommission", feed::content(content));
    feed::respond_one("clusterpeercontrol", DECOMMISSION, entry, &params)
}

async fn cancel(
    state: &ApiState,
    snapshot: &Snapshot,
    (id, peer): (&String, &Registration),
    params: &crate::params::Params,
) -> Result<Response, RestError> {
    if peers::asked(snapshot, id, &peer.started).is_none() {
        return Err(conflict(format!("{} ({id}) is not being decommissioned", peer.name)));
    }
    let stops = peers::handover(snapshot, id).is_some_and(|handover| handover.stops);
    if stops || !peers::keep(&state.catalog, id).await? {
        let text = format!("{} ({id}) is already stopping; start it again to keep it", peer.name);
        return Err(conflict(text));
    }
    feed::respond_empty("clusterpeercontrol", DECOMMISSION, params)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    vec![
        case(&format!("POST {DECOMMISSION}"), "peer=web9", 404, "has no process"),
        case(&format!("POST {DECOMMISSION}"), "peer=web9&dry_run=1", 404, "has no process"),
        case(&format!("POST {DECOMMISSION}"), "peer=", 400, "peer is empty"),
        case(&format!("POST {DECOMMISSION}"), "peer=&dry_run=1", 400, "peer is empty"),
        case(&format!("POST {DECOMMISSION}"), "peer=&cancel=1", 400, "peer is empty"),
        // This process is in no cluster.
        case(&format!("POST {DECOMMISSION}"), "", 404, "has no process"),
    ]
}
