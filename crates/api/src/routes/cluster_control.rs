//! `/services/cluster/manager/control` and `status`: rolling restarts, and removal of lost processes.

use std::collections::BTreeSet;

use axum::response::Response;
use catalog::{Commit, Snapshot, Takeover};
use cluster::Wave;
use knowledge::AckLevel;
use model::{IndexName, IndexerId};
use peers::Registration;
use serde_json::{Map, json};
use uuid::Uuid;

use super::cluster::{answering, answering_in_time, conflict, one};
use super::{cluster_offline, feed};
use crate::ApiState;
use crate::atom::Entry;
use crate::call::Call;
use crate::error::RestError;
use crate::rights::Need::May;
use crate::routing::{Routes, get, post};
#[cfg(test)]
use crate::tests::cases::{Case, case};

const STATUS: &str = "/services/cluster/manager/status";
const RESTART: &str = "/services/cluster/manager/control/control/restart";
const CANCEL: &str = "/services/cluster/manager/control/control/cancel_restart";
const REMOVE: &str = "/services/cluster/manager/control/control/remove_peers";
/// Maximum number of indexes that a message names; the others are counted.
const NAMED_INDEXES: usize = 20;

pub(super) fn routes() -> Routes {
    Routes::default()
        .at(
            STATUS,
            get(
                May("list_settings"),
                "State of the cluster, of a rolling restart, and of indexers being decommissioned",
                status,
            ),
        )
        .at(
            RESTART,
            post(
                May("edit_server"),
                "Performs a rolling restart of the indexers, which stops if searches are affected; `dry_run=1` only \
                 lists them, `force=1` ignores searches",
                restart,
            ),
        )
        .at(CANCEL, post(May("edit_server"), "Cancels a rolling restart", cancel))
        .at(
            REMOVE,
            post(
                May("edit_server"),
                "Removes lost processes from the list: `peers`, IDs or names; `force=1` removes them even if \
                 acknowledged events on their disks may be lost",
                remove,
            ),
        )
}

async fn status(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let up = answering(&state).await;
    let is_up = |id: &str| id == state.info.guid || up.iter().any(|other| other.as_str() == id);
    let snapshot = state.catalog.snapshot();
    let mut peers = Map::new();
    for (id, known) in Registration::all(&snapshot) {
        let status = if is_up(&id) { "Up" } else { "Down" };
        peers.insert(id, json!({ "label": known.name, "roles": known.roles, "status": status }));
    }
    let leaving = cluster_offline::all(&state).await;
    let wave = peers::wave(&snapshot);
    let is_restarting = wave.as_ref().is_some_and(|wave| !wave.is_over());
    let wave = wave.unwrap_or_default();
    let halted: Vec<&String> = wave.halted.iter().collect();
    let listed = Registration::awaited(&snapshot, is_up).into_iter().map(|(id, _)| id);
    let mut shown = progress(&wave);
    shown["waits_for"] = json!(waits_for(&wave, listed, is_up));
    let content = json!({
        "peers": peers,
        "rolling_restart_flag": is_restarting,
        "maintenance_mode": peers::maintenance(&snapshot).is_some(),
        "restart_progress": shown,
        "decommission": leaving,
        "messages": halted,
    });
    let entry = Entry::new(STATUS, "status", feed::content(content));
    feed::respond_one("clustermanagerstatus", STATUS, entry, &params)
}

fn progress(wave: &Wave) -> serde_json::Value {
    let told: Vec<&String> = wave.told.keys().collect();
    json!({
        "done": wave.done,
        "in_progress": told,
        "to_be_restarted": wave.waiting,
        "failed": wave.halted,
        "searches_before": wave.usual,
    })
}

/// Returns the processes that a rolling restart waits for: those that restart now and, while others are to be
/// restarted, those of the list that do not answer.
fn waits_for(
    wave: &Wave,
    listed: impl Iterator<Item = String>,
    is_up: impl Fn(&str) -> bool,
) -> BTreeSet<String> {
    if wave.is_over() {
        return BTreeSet::new();
    }
    let is_awaited = |id: &String| !wave.waiting.is_empty() && !is_up(id);
    listed.filter(is_awaited).chain(wave.told.keys().cloned()).collect()
}

/// Starts a rolling restart: determines the processes and their order; the leading control plane executes it.
async fn restart(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let is_forced = params.flag("force");
    let role = params.text("role").unwrap_or("indexer");
    if !["indexer", "search-head"].contains(&role) {
        return Err(RestError::invalid(format!(
            "role must be indexer or search-head, not \"{role}\"; restart control planes one by one"
        )));
    }
    let percent = match params.number("percent_peers_to_restart")? {
        Some(percent @ 1..=100) => Some(percent),
        None => None,
        Some(percent) => {
            let text = format!(
                "--percent (percent_peers_to_restart over REST) must be from 1 to 100, not {percent}"
            );
            return Err(RestError::invalid(text));
        }
    };
    let snapshot = state.catalog.snapshot();
    if let Some(wave) = peers::wave(&snapshot).filter(|wave| !wave.is_over()) {
        let (back, all) = (wave.done.len(), wave.len());
        return Err(conflict(format!(
            "a rolling restart is in progress: {back} of {all} processes are back"
        )));
    }
    let leaving = peers::leaving(&snapshot);
    if let Some(id) = leaving.keys().next().filter(|_| !is_forced) {
        let known = Registration::all(&snapshot).into_iter().find(|(known, _)| known == id);
        let name = known.map_or_else(|| id.clone(), |(_, known)| format!("{} ({id})", known.name));
        return Err(conflict(format!("{name} is being decommissioned; force=1 does not wait")));
    }
    let up = answering_in_time(&state).await;
    let answers = |id: &str| id == state.info.guid || up.iter().any(|other| other.as_str() == id);
    let all = Registration::awaited(&snapshot, answers);
    let down = all.iter().find(|(id, _)| !answers(id));
    if let Some((id, known)) = down.filter(|_| !is_forced) {
        return Err(conflict(format!(
            "{} ({id}) does not respond, so nothing is restarted: start it, remove it, or use force=1",
            known.name
        )));
    }
    let mut wanted: Vec<(String, String)> = all
        .into_iter()
        .filter(|(_, known)| known.roles.iter().any(|has| has == role))
        .map(|(id, known)| (known.name, id))
        .collect();
    wanted.sort();
    match wanted.len() {
        0 => return Err(RestError::not_found(format!("the cluster has no {role}"))),
        1 if !is_forced => {
            return Err(conflict(format!(
                "there is only one {role}: no other process does its work while it restarts; force=1 \
                 restarts it anyway"
            )));
        }
        _ => {}
    }
    let wave = Wave::new(wanted.into_iter().map(|(_, id)| id).collect(), percent);
    let wave = if is_forced { wave.unguarded() } else { wave };
    let is_dry = params.flag("dry_run");
    if !is_dry && !peers::replace_wave(&state.catalog, &snapshot, &wave).await? {
        return Err(conflict(
            "another rolling restart has been started in the meantime".to_owned(),
        ));
    }
    let content = json!({
        "dry_run": is_dry,
        "stops_if_searches_suffer": !is_forced,
        "restart_progress": progress(&wave),
    });
    let entry = Entry::new(RESTART, "restart", feed::content(content));
    feed::respond_one("clustermanagercontrol", RESTART, entry, &params)
}

async fn cancel(Call { state, params, caller, .. }: Call) -> Result<Response, RestError> {
    let reason = format!("cancelled by {}", caller.user);
    if !peers::cancel_wave(&state.catalog, &reason).await? {
        return Err(conflict("no rolling restart is in progress".to_owned()));
    }
    feed::respond_empty("clustermanagercontrol", CANCEL, &params)
}

/// Removes lost processes. Events that were only on their disks are given up: searches no longer report them
/// as missing, and recoveries do not wait for the copies of journals there.
async fn remove(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let is_forced = params.flag("force");
    let wanted = params.required("peers")?.to_owned();
    let snapshot = state.catalog.snapshot();
    let known = Registration::all(&snapshot);
    let mut up = answering_in_time(&state).await;
    up.push(state.info.guid.clone());
    let local = local_indexes(&state);
    let mut gone = Vec::new();
    for name in wanted.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let (id, peer) = match unlisted(&snapshot, &known, name) {
            Some(id) => (id, None),
            None => one(&known, name).map(|(id, peer)| (id.clone(), Some(peer)))?,
        };
        let shown = peer.map_or_else(|| id.clone(), |peer| format!("{} ({id})", peer.name));
        if up.contains(&id) {
            return Err(conflict(format!(
                "{shown} is running; stop it, and it leaves the list by itself"
            )));
        }
        let lost = lost_with(&snapshot, &up, (&id, peer), &local);
        if !lost.is_empty() && !is_forced {
            return Err(conflict(format!(
                "{shown} is not removed: its disk may have the only copy of {}; start it with its disk, \
                 or accept the loss with force=1",
                lost.join(", and of ")
            )));
        }
        gone.push((id, peer.map(|peer| peer.started.clone())));
    }
    for (id, started) in gone {
        hand_over(&state, &id, &up).await?;
        peers::remove(&state.catalog, &id, started.as_deref()).await?;
    }
    feed::respond_empty("clustermanagercontrol", REMOVE, &params)
}

/// Assigns the events of a removed indexer to another one, which recovers them: until then, searches report
/// them as missing. Without this, results would be incomplete without a message until the leading control
/// plane has found the journal.
async fn hand_over(state: &ApiState, id: &str, up: &[String]) -> Result<(), RestError> {
    let Ok(from) = Uuid::parse_str(id).map(IndexerId) else { return Ok(()) };
    let snapshot = state.catalog.snapshot();
    let leaving = peers::leaving(&snapshot);
    let indexers = Registration::all(&snapshot)
        .into_iter()
        .filter(|(other, peer)| other != id && up.contains(other) && peer.is_indexer());
    let by = indexers.min_by_key(|(other, _)| leaving.contains_key(other));
    // Nobody is there who could recover them; the control plane gives them to the first that is.
    let Some(by) = by.and_then(|(other, _)| Uuid::parse_str(&other).ok()) else { return Ok(()) };
    let gone = snapshot
        .taken_over()
        .filter(|taken| taken.indexer == from && !up.contains(&taken.owner.to_string()));
    let taken =
        |taken: Takeover| Takeover { epoch: taken.epoch + 1, owner: IndexerId(by), ..taken };
    let take_over: Vec<Takeover> = gone.map(taken).collect();
    if take_over.is_empty() {
        return Ok(());
    }
    match state.catalog.commit(Commit { take_over, ..Commit::default() }).await {
        // Somebody else recovers them already, or they are their indexer's again.
        Ok(()) | Err(catalog::Error::OldEpoch { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The ID of an indexer that has left the list by itself, and may have copies of journals: it had sets.
fn unlisted(snapshot: &Snapshot, known: &[(String, Registration)], name: &str) -> Option<String> {
    let plain = name.replace('-', "");
    let is_listed = known.iter().any(|(id, peer)| *id == plain || peer.name == name);
    let had_sets = || snapshot.taken_over().any(|set| set.indexer.to_string() == plain);
    let is_left = !is_listed && !peers::is_removed(snapshot, &plain) && had_sets();
    is_left.then_some(plain)
}

/// The indexes of users whose events are acknowledged when they are on one disk, for people.
fn local_indexes(state: &ApiState) -> String {
    let all = state.indexes.all().into_iter().map(|(name, _)| name);
    let is_local =
        |name: &IndexName| !name.is_internal() && state.ingest.ack_level(name) == AckLevel::Local;
    let local: Vec<String> = all.filter(is_local).map(|name| name.to_string()).collect();
    let more = local.len().saturating_sub(NAMED_INDEXES);
    match (local.len(), more) {
        (0, _) => "none".to_owned(),
        (_, 0) => local.join(", "),
        _ => format!("{} and {more} more", local[..NAMED_INDEXES].join(", ")),
    }
}

/// Returns the acknowledged events that may only be on the disk of a process that does not answer, as text.
/// `up`: the processes that answer; these have their own journals, and create other copies of them. `local`:
/// the indexes that need no copy.
fn lost_with(
    snapshot: &Snapshot,
    up: &[String],
    (id, peer): (&str, Option<&Registration>),
    local: &str,
) -> Vec<String> {
    let mut lost = Vec::new();
    if peer.is_some_and(|peer| peer.local_acks) {
        lost.push(format!(
            "events that are only on its disk (of the indexes with ackLevel = local, now {local}; or of \
             others, if all copies of its journal are lost)"
        ));
    }
    let Ok(indexer) = Uuid::parse_str(id).map(IndexerId) else { return lost };
    let owners = replication::held_at(snapshot, indexer).into_iter().map(|owner| owner.to_string());
    let away: Vec<String> = owners.filter(|owner| owner != id && !up.contains(owner)).collect();
    if !away.is_empty() {
        lost.push(format!(
            "events acknowledged by indexers that do not respond, and whose journals it has copies of: \
             {}",
            away.join(", ")
        ));
    }
    lost
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    vec![
        case(&format!("GET {STATUS}"), "", 200, "rolling_restart_flag"),
        case(&format!("GET {STATUS}?output_mode=none"), "", 400, "unknown output_mode"),
        case(&format!("POST {RESTART}"), "", 404, "the cluster has no indexer"),
        case(&format!("POST {RESTART}"), "role=control-plane", 400, "one by one"),
        case(&format!("POST {RESTART}"), "percent_peers_to_restart=0", 400, "1 to 100"),
        case(&format!("POST {CANCEL}"), "", 409, "no rolling restart"),
        case(&format!("POST {REMOVE}"), "", 400, "peers"),
        case(&format!("POST {REMOVE}"), "peers=web9", 404, "has no process"),
    ]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use catalog::{Catalog, Settings};
    use object_store::memory::InMemory;

    use super::*;

    fn id(number: u128) -> IndexerId {
        IndexerId(Uuid::from_u128(number))
    }

    #[test]
    fn a_rolling_restart_waits_for_those_that_restart_and_those_that_do_not_answer() {
        let listed = || ["a", "b", "c"].map(str::to_owned).into_iter();
        let mut wave = Wave::new(vec!["b".to_owned()], None);
        assert_eq!(waits_for(&wave, listed(), |_| true), BTreeSet::new());
        wave.told.insert("a".to_owned(), "1".to_owned());
        let waits: Vec<String> = waits_for(&wave, listed(), |id| id != "c").into_iter().collect();
        assert_eq!(waits, ["a", "c"]);
        wave.waiting.clear();
        let waits: Vec<String> = waits_for(&wave, listed(), |id| id != "c").into_iter().collect();
        assert_eq!(waits, ["a"], "the last one is told already");
        wave.halted = Some("cancelled".to_owned());
        assert_eq!(waits_for(&wave, listed(), |_| false), BTreeSet::new());
    }

    #[tokio::test]
    async fn what_may_be_lost_with_a_disk_is_said() {
        let (store, clock) = (Arc::new(InMemory::new()), Arc::new(runtime::SystemClock));
        let catalog = Catalog::open(store, "catalog", Settings::default(), clock).await.unwrap();
        let (gone, owner) = (id(1), id(2));
        let copy = json!({ "peer": gone, "copy": Uuid::from_u128(9) });
        let document = json!({ "members": [copy], "version": 1 });
        catalog.put_document("replicas", &owner.0.to_string(), document).await.unwrap();
        let snapshot = catalog.snapshot();
        let gone = gone.to_string();
        let lost = lost_with(&snapshot, &[], (&gone, None), "main");
        assert!(lost.len() == 1 && lost[0].contains(&owner.to_string()), "{lost:?}");
        // An owner that answers has its journal itself.
        assert!(lost_with(&snapshot, &[owner.to_string()], (&gone, None), "main").is_empty());
        assert!(lost_with(&snapshot, &[], (&owner.to_string(), None), "main").is_empty());
        let registration = json!({
            "name": "a", "address": "127.0.0.1:1", "roles": ["indexer"], "management": "",
            "version": "", "started": "", "local_acks": true, "site": "default",
        });
        let mut registration: Registration = serde_json::from_value(registration).unwrap();
        let lost = lost_with(&snapshot, &[], (&gone, Some(&registration)), "main, web");
        assert!(lost.len() == 2 && lost[0].contains("ackLevel = local, now main, web"), "{lost:?}");
        registration.local_acks = false;
        assert_eq!(lost_with(&snapshot, &[], (&gone, Some(&registration)), "main").len(), 1);
    }
}
