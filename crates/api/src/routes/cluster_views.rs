//! `/services/cluster`: the state of buckets, indexes, sites and the cluster, in Splunk's terms.
//!
//! A bucket of the catalog is in object storage, from where every process reads it. Only events that an
//! indexer has only on its disk or in its memory may be missing: the replication factor is that of its
//! journal, and the search factor is met if all events are searchable.

use std::collections::{BTreeMap, BTreeSet};

use axum::response::Response;
use catalog::{Snapshot, Takeover, Totals};
use cluster::Placement;
use model::{BucketHeader, BucketState, IndexName};
use peers::{Answered, Registration};
use serde_json::{Map, Value, json};

use super::data_indexes::existing;
use super::{bundle, feed};
use crate::ApiState;
use crate::atom::Entry;
use crate::call::Call;
use crate::error::RestError;
use crate::rights::Need::May;
use crate::routing::{Routes, get};
#[cfg(test)]
use crate::tests::cases::{Case, case};

const CONFIG: &str = "/services/cluster/config";
const INFO: &str = "/services/cluster/manager/info";
const HEALTH: &str = "/services/cluster/manager/health";
const GENERATION: &str = "/services/cluster/manager/generation";
const BUCKETS: &str = "/services/cluster/manager/buckets";
const INDEXES: &str = "/services/cluster/manager/indexes";
const SITES: &str = "/services/cluster/manager/sites";
const PEER: &str = "/services/cluster/peer/info";
const SEARCH_HEAD: &str = "/services/cluster/searchhead/generation";

const SEES: crate::rights::Need = May("list_settings");

pub(super) fn routes() -> Routes {
    Routes::default()
        .at(CONFIG, get(SEES, "Roles of this process in the cluster", config))
        .at(INFO, get(SEES, "The leader of the cluster, and the activities in progress", info))
        .at(
            HEALTH,
            get(SEES, "Whether all events are searchable and all processes respond", health),
        )
        .at(GENERATION, get(SEES, "Number of the last catalog write, and the indexers", generation))
        .at(
            BUCKETS,
            get(
                SEES,
                "Lists the buckets of the catalog, in pages; `index` selects one index",
                buckets,
            ),
        )
        .at(INDEXES, get(SEES, "Buckets and bytes of each index in the catalog", indexes))
        .at(SITES, get(SEES, "Lists sites with their indexers", sites))
        .at(PEER, get(SEES, "State of this process as an indexer", peer))
        .at(SEARCH_HEAD, get(SEES, "State of this process as a search head", search_head))
}

/// The registration of the control plane that leads, with its identity.
pub(super) fn leader(snapshot: &Snapshot) -> Option<(String, Registration)> {
    let (leader, _) = peers::leader(snapshot)?;
    Registration::all(snapshot).into_iter().find(|(id, _)| *id == leader)
}

fn has_role(known: &Registration, role: &str) -> bool {
    known.roles.iter().any(|has| has == role)
}

/// Returns the processes that do not answer, with the reasons. A slow process may be included.
pub(super) async fn down(state: &ApiState) -> Vec<(String, String)> {
    let Some(directory) = &state.directory else { return Vec::new() };
    reasons(directory.answers().await)
}

/// The ID of another process, and its answer or why it did not answer.
pub(super) type Answer = (String, Result<Answered, String>);

/// Returns the processes that do not answer, with the reasons.
pub(super) fn reasons(answers: Vec<Answer>) -> Vec<(String, String)> {
    answers.into_iter().filter_map(|(id, answer)| Some((id, answer.err()?))).collect()
}

/// Returns the processes that have a full disk, with their directories and the remedy.
pub(super) fn full_disks(answers: &[Answer]) -> Vec<(String, String)> {
    let full = |(id, answer): &Answer| {
        let texts = &answer.as_ref().ok()?.full_disks;
        (!texts.is_empty()).then(|| (id.clone(), texts.join("; ")))
    };
    answers.iter().filter_map(full).collect()
}

/// Whether searches find all events, as far as this process knows: it may not know the latest changes if it
/// receives no catalog, and without object storage only cached buckets are read.
fn is_searchable(state: &ApiState, snapshot: &Snapshot, down: &[(String, String)]) -> bool {
    let all = Registration::all(snapshot);
    !hides_events(&all, down)
        && recoveries(snapshot).is_empty()
        && state.catalog.stalled().is_none()
}

/// Whether one of the processes that do not answer may have events that searches then lack. Control planes
/// have only events of the cluster itself.
pub(super) fn hides_events(all: &[(String, Registration)], down: &[(String, String)]) -> bool {
    down.iter().any(|(id, _)| {
        let process = all.iter().find(|(known, _)| known == id);
        process.is_none_or(|(_, process)| process.takes_events())
    })
}

/// The message that no process writes the catalog.
pub(super) const NOT_LED: &str = "there is no leading control plane: buckets are not committed";

/// Returns the message that a process does not answer.
pub(super) fn silent(all: &[(String, Registration)], id: &str, reason: &str) -> String {
    format!("{} does not answer: {reason}", named(all, id))
}

/// A process as `name (id)`.
pub(super) fn named(all: &[(String, Registration)], id: &str) -> String {
    let name = all.iter().find(|(known, _)| known == id).map_or("", |(_, known)| &known.name);
    format!("{name} ({id})")
}

/// Sets of lost indexers that their new owners have not returned yet.
pub(super) fn recoveries(snapshot: &Snapshot) -> Vec<Takeover> {
    snapshot.taken_over().filter(|taken| taken.owner != taken.indexer).collect()
}

async fn config(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let snapshot = state.catalog.snapshot();
    let all = Registration::all(&snapshot);
    let own = all.iter().find(|(id, _)| *id == state.info.guid);
    let mode = match own {
        None => "disabled",
        Some((_, own)) if has_role(own, "control-plane") => "manager",
        Some((_, own)) if own.is_indexer() => "peer",
        Some(_) => "searchhead",
    };
    let control_planes = all.iter().filter(|(_, known)| has_role(known, "control-plane"));
    let addresses: Vec<&str> = control_planes.map(|(_, known)| known.address.as_str()).collect();
    let content = json!({
        "mode": mode,
        "disabled": own.is_none(),
        "guid": state.info.guid,
        "roles": own.map(|(_, own)| own.roles.clone()).unwrap_or_default(),
        "manager_uri": addresses.join(","),
        "multisite": state.info.placement.multisite,
        "site": state.info.site,
        "replication_factor": state.info.placement.factor,
        "site_replication_factor": state.info.placement.sites.to_string(),
    });
    let entry = Entry::new(CONFIG, "config", feed::content(content));
    feed::respond_one("clusterconfig", CONFIG, entry, &params)
}

async fn info(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let snapshot = state.catalog.snapshot();
    let leader = leader(&snapshot);
    let is_led = leader.is_some() && state.catalog.stalled().is_none();
    let is_restarting = peers::wave(&snapshot).is_some_and(|wave| !wave.is_over());
    let (active_bundle, previous_bundle) = bundle::both(&state.apps);
    let named = |of: fn(&(String, Registration)) -> &String| leader.as_ref().map(of);
    let content = json!({
        "guid": named(|(id, _)| id),
        "label": named(|(_, known)| &known.name),
        "host_port_pair": named(|(_, known)| &known.address),
        "splunk_version": named(|(_, known)| &known.version),
        "started": named(|(_, known)| &known.started),
        "initialized_flag": leader.is_some(),
        "service_ready_flag": is_led,
        "indexing_ready_flag": leader.is_some(),
        "maintenance_mode": peers::maintenance(&snapshot).is_some(),
        "multisite": state.info.placement.multisite,
        "rolling_restart_flag": is_restarting,
        "peer_count": Registration::all(&snapshot).iter().filter(|(_, k)| k.is_indexer()).count(),
        "bucket_count": snapshot.len(),
        "catalog_write": snapshot.number(),
        "active_bundle": active_bundle,
        "previous_active_bundle": previous_bundle,
        "latest_bundle": { "checksum": state.apps.latest_checksum() },
    });
    let entry = Entry::new(INFO, "manager", feed::content(content));
    feed::respond_one("clustermanagerinfo", INFO, entry, &params)
}

async fn health(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let answers = match &state.directory {
        Some(directory) => directory.answers().await,
        None => Vec::new(),
    };
    let full = full_disks(&answers);
    let down = reasons(answers);
    let snapshot = state.catalog.snapshot();
    let all = Registration::all(&snapshot);
    // Events on the disks or in the memory of other processes are not searchable without them.
    let unread = !recoveries(&snapshot).is_empty();
    let leads = leader(&snapshot).is_some() || all.is_empty();
    let stalled = state.catalog.stalled();
    let versions: BTreeSet<&str> = all.iter().map(|(_, known)| known.version.as_str()).collect();
    let is_searchable = is_searchable(&state, &snapshot, &down);
    let unmet = unmet(&state.info.placement, &all, &down);
    let is_replicated = unmet.is_none();
    let is_ready = is_searchable && down.is_empty() && leads && is_replicated;
    let messages: Vec<String> = down
        .iter()
        .map(|(id, reason)| silent(&all, id, reason))
        .chain((!leads).then(|| NOT_LED.to_owned()))
        .chain(stalled.map(|stalled| stalled.to_string()))
        .chain(unmet)
        .chain(full.iter().map(|(id, text)| format!("{}: {text}", named(&all, id))))
        .chain(own_disks(&state))
        .collect();
    let content = json!({
        "all_data_is_searchable": is_searchable,
        "all_peers_are_up": down.is_empty(),
        "no_fixup_tasks_in_progress": !unread,
        "replication_factor_met": is_replicated,
        "search_factor_met": is_searchable,
        "site_replication_factor_met": is_replicated,
        "site_search_factor_met": is_searchable,
        "cm_version_is_compatible": versions.len() <= 1,
        "splunk_version_peer_count": all.len(),
        "multisite": state.info.placement.multisite,
        "pre_flight_check": is_ready,
        "ready_for_searchable_rolling_upgrade": is_ready,
        "messages": messages,
    });
    let entry = Entry::new(HEALTH, "manager", feed::content(content));
    feed::respond_one("clustermanagerhealth", HEALTH, entry, &params)
}

/// The same as [`full_disks`] of this process, as messages.
fn own_disks(state: &ApiState) -> impl Iterator<Item = String> {
    let (name, id) = (&state.info.server_name, &state.info.guid);
    state.health.full_disks().into_iter().map(move |text| format!("{name} ({id}): {text}"))
}

/// Returns what is missing from the required copies of journals, counting only indexers that answer.
pub(super) fn unmet(
    placement: &Placement,
    all: &[(String, Registration)],
    down: &[(String, String)],
) -> Option<String> {
    let is_up = |id: &String| !down.iter().any(|(gone, _)| gone == id);
    let indexers = || all.iter().filter(|(_, known)| known.is_indexer());
    let answering = indexers().filter(|(id, _)| is_up(id));
    let sites: Vec<&str> = answering.map(|(_, known)| known.site.as_str()).collect();
    // An indexer that was lost with its disk cannot be started: another process has its address.
    let startable = indexers().filter(|(id, known)| is_up(id) || !known.is_replaced(all));
    let (up, listed) = (sites.len(), startable.count());
    let lacking = match indexers().count() {
        1.. if up == 0 => Some("no indexer answers".to_owned()),
        _ => placement.unmet(&sites),
    };
    let (lacking, setting) = (lacking?, placement.setting());
    let waits = "acknowledgements of events with ackLevel = replicated wait for buckets";
    if placement.multisite {
        let starts = "start indexers in these sites, or correct site_replication_factor";
        return Some(format!(
            "{setting} cannot be met ({lacking}; {up} of {listed} indexers answer): {waits}; {starts} \
             (server.conf [clustering])"
        ));
    }
    let factor = placement.factor;
    let helps = match (factor > listed, listed - up) {
        (false, _) => format!("start {} of those that do not answer", factor.saturating_sub(up)),
        (true, 0) => format!("add {}", factor - listed),
        (true, silent) => {
            format!("add {}, and start {silent} of those that do not answer", factor - listed)
        }
    };
    // With a single indexer there would be no copies at all.
    let or = match factor > listed && listed > 1 {
        true => format!(
            "; or set replication_factor = {listed} (server.conf [clustering]) for all processes"
        ),
        false => String::new(),
    };
    Some(format!(
        "{setting} cannot be met ({lacking}): it is {factor}, and {up} of {listed} indexers answer; {waits}; \
         {helps}{or}"
    ))
}

fn peers_of(snapshot: &Snapshot, down: &[(String, String)]) -> Map<String, Value> {
    let indexers = Registration::all(snapshot).into_iter();
    let indexers = indexers.filter(|(_, known)| known.is_indexer());
    let entry = |(id, known): (String, Registration)| {
        let is_down = down.iter().any(|(gone, _)| *gone == id);
        let status = if is_down { "Down" } else { "Up" };
        let peer = json!({
            "label": known.name,
            "host_port_pair": known.address,
            "site": known.site,
            "status": status,
            "splunk_version": known.version,
        });
        (id, peer)
    };
    indexers.map(entry).collect()
}

async fn generation(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let down = down(&state).await;
    let snapshot = state.catalog.snapshot();
    let placement = &state.info.placement;
    let unmet = unmet(placement, &Registration::all(&snapshot), &down);
    let multisite_error = unmet.as_deref().filter(|_| placement.multisite).unwrap_or_default();
    let content = json!({
        "generation_id": snapshot.number(),
        "generation_peers": peers_of(&snapshot, &down),
        "multisite_error": multisite_error,
        "replication_factor_met": unmet.is_none(),
        "search_factor_met": is_searchable(&state, &snapshot, &down),
    });
    let entry = Entry::new(GENERATION, "manager", feed::content(content));
    feed::respond_one("clustermanagergeneration", GENERATION, entry, &params)
}

fn names(
    state: &ApiState,
    snapshot: &Snapshot,
    named: Option<&str>,
) -> Result<Vec<IndexName>, RestError> {
    let mut names: Vec<IndexName> = match named {
        Some(name) => vec![existing(state, name)?],
        None => snapshot.indexes().cloned().collect(),
    };
    names.sort();
    Ok(names)
}

async fn buckets(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    for unknown in ["search", "sort_key", "sort_dir"] {
        if params.text(unknown).is_some() {
            let text = format!(
                "{unknown} is not supported here: choose an index with index=NAME, and pages with \
                 offset and count"
            );
            return Err(RestError::invalid(text));
        }
    }
    let snapshot = state.catalog.snapshot();
    let names = names(&state, &snapshot, params.text("index"))?;
    let total = names.iter().map(|name| snapshot.buckets(name).len()).sum();
    let (names, snapshot) = (&names, &snapshot);
    let page = |mut offset: usize| {
        let rest = names.iter().flat_map(move |name| {
            let buckets = snapshot.buckets(name);
            let passed_over = offset.min(buckets.len());
            offset -= passed_over;
            buckets.iter_from(passed_over)
        });
        rest.map(|one| bucket(&one))
    };
    feed::respond_page("clustermanagerbuckets", BUCKETS, (page, total), &params)
}

fn bucket(header: &BucketHeader) -> Entry {
    let status = match header.state {
        BucketState::Warm => "Complete",
        BucketState::Thawed => "Thawed",
        BucketState::Frozen => "Frozen",
    };
    let content = json!({
        "index": header.index.as_str(),
        "bucket_size": header.size,
        "event_count": header.rows,
        "raw_size": header.raw_bytes,
        "earliest_time": header.first_time.seconds(),
        "latest_time": header.last_time.seconds(),
        "frozen": header.state == BucketState::Frozen,
        "standalone": false,
        "status": status,
        "path": header.path(),
        // Every site reads it from object storage.
        "origin_site": cluster::NO_SITE,
    });
    Entry::new(BUCKETS, &header.id.to_string(), feed::content(content))
}

async fn indexes(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let snapshot = state.catalog.snapshot();
    let unread = !recoveries(&snapshot).is_empty();
    let entry = |name: &IndexName| {
        let buckets = snapshot.buckets(name);
        let Totals { size, rows, raw_bytes } = buckets.totals();
        let content = json!({
            "num_buckets": buckets.len(),
            "searchable_buckets": buckets.searchable(),
            "index_size": size,
            "event_count": rows,
            "raw_size": raw_bytes,
            "is_searchable": !unread,
            "buckets_with_excess_copies": 0,
            "total_excess_bucket_copies": 0,
            "total_excess_searchable_copies": 0,
        });
        Entry::new(INDEXES, name.as_str(), feed::content(content))
    };
    let names = names(&state, &snapshot, None)?;
    feed::respond("clustermanagerindexes", INDEXES, names.iter().map(entry).collect(), &params)
}

async fn sites(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let down = down(&state).await;
    let snapshot = state.catalog.snapshot();
    let mut sites: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for (id, peer) in peers_of(&snapshot, &down) {
        let site = peer["site"].as_str().unwrap_or_default().to_owned();
        sites.entry(site).or_default().insert(id, peer);
    }
    let entry = |(site, peers): (String, Map<String, Value>)| {
        Entry::new(SITES, &site, feed::content(json!({ "peers": peers })))
    };
    feed::respond("clustermanagersites", SITES, sites.into_iter().map(entry).collect(), &params)
}

async fn peer(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let snapshot = state.catalog.snapshot();
    let own = Registration::all(&snapshot).into_iter().find(|(id, _)| *id == state.info.guid);
    let is_indexer = own.as_ref().is_some_and(|(_, own)| own.is_indexer());
    let content = json!({
        "guid": state.info.guid,
        "label": state.info.server_name,
        "is_registered": is_indexer,
        "status": if is_indexer { "Up" } else { "Disabled" },
        "site": state.info.site,
        "base_generation_id": snapshot.number(),
        "maintenance_mode": peers::maintenance(&snapshot).is_some(),
        "restart_state": "NoRestart",
    });
    let entry = Entry::new(PEER, "peer", feed::content(content));
    feed::respond_one("clusterpeerinfo", PEER, entry, &params)
}

async fn search_head(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let down = down(&state).await;
    let snapshot = state.catalog.snapshot();
    let all = Registration::all(&snapshot);
    let own = all.iter().find(|(id, _)| *id == state.info.guid);
    let content = json!({
        "generation_id": snapshot.number(),
        "generation_peers": peers_of(&snapshot, &down),
        "generation_error": "",
        "is_searchable": is_searchable(&state, &snapshot, &down),
        "is_registered": own.is_some_and(|(_, own)| has_role(own, "search-head")),
    });
    let entry = Entry::new(SEARCH_HEAD, "searchhead", feed::content(content));
    feed::respond_one("clustersearchheadgeneration", SEARCH_HEAD, entry, &params)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let all = [
        (CONFIG, "\"site\":\"site1\""),
        (INFO, "\"service_ready_flag\":false"),
        (HEALTH, "\"all_data_is_searchable\":true"),
        (GENERATION, "\"generation_id\":"),
        (BUCKETS, "\"entry\":["),
        (INDEXES, "\"entry\":["),
        (SITES, "\"entry\":[]"),
        (PEER, "\"is_registered\":false"),
        (SEARCH_HEAD, "\"is_searchable\":true"),
    ];
    let both = |(path, answer): (&str, &str)| {
        [
            case(&format!("GET {path}"), "", 200, answer),
            case(&format!("GET {path}?output_mode=none"), "", 400, "unknown output_mode"),
        ]
    };
    let more = [
        case(&format!("GET {BUCKETS}?index=none"), "", 404, "Could not find object id=none"),
        case(&format!("GET {BUCKETS}?sort_key=index"), "", 400, "sort_key is not supported here"),
        case("GET /services/cluster/master/info", "", 200, "catalog_write"),
        case("GET /services/cluster/slave/info", "", 200, "base_generation_id"),
    ];
    all.into_iter().flat_map(both).chain(more).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn process(id: &str, role: &str) -> (String, Registration) {
        let registration = json!({
            "name": id, "address": "127.0.0.1:1", "roles": [role], "management": "", "version": "",
            "started": "", "local_acks": false, "site": "default",
        });
        (id.to_owned(), serde_json::from_value(registration).unwrap())
    }

    #[test]
    fn a_control_plane_that_does_not_answer_hides_no_events() {
        let all =
            [process("a", "indexer"), process("h", "search-head"), process("c", "control-plane")];
        let hides = |id: &str| hides_events(&all, &[(id.to_owned(), "timed out".to_owned())]);
        assert!(!hides_events(&all, &[]) && !hides("c"));
        // Events that `collect` has written at a search head are hot there.
        assert!(hides("a") && hides("h") && hides("a process that has just joined"));
    }

    #[test]
    fn a_full_disk_is_told_with_the_process_that_has_it() {
        let disks = |texts: &[&str]| {
            let full_disks = texts.iter().map(|text| (*text).to_owned()).collect();
            Ok(Answered { full_disks, ..Answered::default() })
        };
        let answers = vec![
            ("a".to_owned(), disks(&[])),
            ("b".to_owned(), disks(&["/data: 1 byte is free", "/cache: 2 bytes are free"])),
            ("c".to_owned(), Err("timed out".to_owned())),
        ];
        let text = "/data: 1 byte is free; /cache: 2 bytes are free".to_owned();
        assert_eq!(full_disks(&answers), [("b".to_owned(), text)]);
        assert_eq!(reasons(answers), [("c".to_owned(), "timed out".to_owned())]);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_health_of_the_cluster_has_the_full_disks_of_the_process_that_answers() {
        let server = crate::tests::server::Server::with_admin().await;
        let told = async || {
            let health = server.get("admin", &format!("{HEALTH}?output_mode=json")).await.json();
            let messages = health["entry"][0]["content"]["messages"].as_array().cloned().unwrap();
            let texts = messages.iter().map(|text| text.as_str().unwrap().to_owned());
            texts.filter(|text| text.contains("bytes are free")).collect::<Vec<_>>()
        };
        assert_eq!(told().await, Vec::<String>::new());
        let (full, warning) = (runtime::health::DISK_FULL, runtime::health::Severity::Warning);
        server.state.health.set(full, warning, "/data: 0 bytes are free");
        let info = &server.state.info;
        let text = format!("{} ({}): /data: 0 bytes are free", info.server_name, info.guid);
        assert_eq!(told().await, [text]);
        server.state.health.clear(full);
        assert_eq!(told().await, Vec::<String>::new());
    }

    #[test]
    fn a_factor_that_the_indexers_that_answer_cannot_meet_is_told() {
        let all = ["a", "b", "c"].map(|id| process(id, "indexer"));
        let all = [&all[..], &[process("head", "search-head")]].concat();
        let down = ["a", "b", "c"].map(|id| (id.to_owned(), "timed out".to_owned()));
        let placement = Placement { factor: 3, ..Placement::default() };
        assert_eq!(unmet(&placement, &all, &[]), None);
        let said = unmet(&placement, &all, &down[..2]).unwrap();
        assert!(said.starts_with("replication_factor cannot be met (2 more)"), "{said}");
        assert!(said.contains("it is 3, and 1 of 3 indexers answer"), "{said}");
        assert!(said.ends_with("start 2 of those that do not answer"), "{said}");
        let said = unmet(&placement, &all[..2], &[]).unwrap();
        assert!(said.contains("it is 3, and 2 of 2 indexers answer"), "{said}");
        assert!(said.contains("; add 1; or set replication_factor = 2"), "{said}");
        let said = unmet(&placement, &all[..2], &down[..1]).unwrap();
        assert!(said.contains("; add 1, and start 1 of those that do not answer; or"), "{said}");
        let said = unmet(&placement, &all[..1], &[]).unwrap();
        assert!(said.ends_with("; add 2"), "{said}");
        // Another one has started at the address of one that is lost with its disk.
        let mut replaced = all.clone();
        replaced[1].1.address = "127.0.0.1:2".to_owned();
        replaced[2].1.started = "2026-11-29T03:54:00Z".to_owned();
        let said = unmet(&placement, &replaced, &down[..1]).unwrap();
        assert!(said.contains("it is 3, and 2 of 2 indexers answer"), "{said}");
        assert!(said.contains("; add 1; or set replication_factor = 2"), "{said}");
        let said = unmet(&placement, &all, &down).unwrap();
        assert!(said.contains("no indexer answers"), "{said}");
        assert_eq!(unmet(&placement, &all[3..], &[]), None, "there are no events");
    }
}
