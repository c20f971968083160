//! `/services/cluster/manager/fixup`: pending repairs of the cluster, and repairs that are impossible.
//!
//! The catalog names the copies of journals. Whether their indexers answer is the view of this process.

use std::collections::{BTreeMap, BTreeSet};

use axum::response::Response;
use catalog::{Snapshot, Takeover};
use cluster::Placement;
use peers::Registration;
use serde_json::json;

use super::cluster_views::{down, recoveries, silent, unmet};
use super::feed;
use crate::ApiState;
use crate::atom::Entry;
use crate::call::Call;
use crate::error::RestError;
use crate::rights::Need::May;
use crate::routing::{Routes, get};
#[cfg(test)]
use crate::tests::cases::{Case, case};

const FIXUP: &str = "/services/cluster/manager/fixup";
/// Splunk's names of the levels.
const RECOVERY: &str = "data_safety";
const COPIES: &str = "replication_factor";

pub(super) fn routes() -> Routes {
    let sees = May("list_settings");
    Routes::default()
        .at(
            FIXUP,
            get(
                sees,
                "Lists lost indexers whose events are being recovered, and journals with too few copies; `level` selects a kind",
                fixup,
            ),
        )
}

/// The state of the cluster as this process knows it.
struct Seen<'s> {
    placement: &'s Placement,
    all: &'s [(String, Registration)],
    down: &'s [(String, String)],
    is_maintained: bool,
}

impl Seen<'_> {
    fn known(&self, id: &str) -> Option<&Registration> {
        self.all.iter().find(|(known, _)| known == id).map(|(_, known)| known)
    }

    /// Returns why the copies of an indexer do not count; `None` if they do.
    fn absent(&self, id: &str) -> Option<String> {
        let Some(known) = self.known(id) else {
            return Some(format!("indexer {id} is not in the list of the cluster"));
        };
        if known.is_replaced(self.all) {
            return Some(format!("{} ({id}): another process has its address", known.name));
        }
        let (_, reason) = self.down.iter().find(|(gone, _)| gone == id)?;
        Some(silent(self.all, id, reason))
    }

    /// Returns what an indexer's journal lacks if these other indexers have copies; `None` if the copies are
    /// sufficient.
    fn lacking(&self, owner: &str, copies: &[String]) -> Option<String> {
        // An indexer that has left the list is lost, or has no more events.
        let origin = self.known(owner)?.site.as_str();
        let absent = |id: &String| self.absent(id);
        let there = copies.iter().filter(|id| self.absent(id).is_none());
        let sites: Vec<&str> = there.filter_map(|id| Some(self.known(id)?.site.as_str())).collect();
        let mut counts = self.placement.kept(origin, &sites).into_iter();
        let kept: Vec<&str> =
            sites.into_iter().filter(|_| counts.next().unwrap_or_default()).collect();
        let lacking = self.placement.choose(origin, &kept, &[]).err();
        let own = self.absent(owner);
        if lacking.is_none() && own.is_none() {
            return None;
        }
        let has = kept.len() + usize::from(own.is_none());
        let (total, setting) = (self.placement.total(), self.placement.setting());
        let mut parts = vec![format!("{has} of {total} indexers ({setting}) have its journal")];
        if let Some(lacking) = lacking.filter(|_| self.placement.multisite) {
            parts.push(format!("it is in the site {origin} and lacks {lacking}"));
        }
        let outlook = match own {
            Some(_) => "another indexer recovers its events if it stays away",
            None => self.outlook(),
        };
        parts.extend(own.into_iter().chain(copies.iter().filter_map(absent)));
        parts.push(outlook.to_owned());
        Some(parts.join("; "))
    }

    /// Returns what will happen to lost copies.
    fn outlook(&self) -> &'static str {
        if self.is_maintained {
            return "lost copies are not replaced in maintenance mode";
        }
        match unmet(self.placement, self.all, self.down) {
            Some(_) => "too few indexers answer for another copy",
            None => "a lost copy is replaced when the next event arrives",
        }
    }
}

/// Returns the indexers whose journals have too few copies, with what is missing. Indexers whose events are
/// being recovered are not included.
pub(super) fn few_copies(
    state: &ApiState,
    snapshot: &Snapshot,
    down: &[(String, String)],
) -> BTreeMap<String, String> {
    let all = Registration::all(snapshot);
    let is_maintained = peers::maintenance(snapshot).is_some();
    let seen = Seen { placement: &state.info.placement, all: &all, down, is_maintained };
    let lost: BTreeSet<_> = recoveries(snapshot).iter().map(|taken| taken.indexer).collect();
    let owners = replication::copies(snapshot).into_iter();
    let few = owners.filter(|(owner, _)| !lost.contains(owner)).filter_map(|(owner, copies)| {
        let (owner, copies) = (owner.to_string(), copies.iter().map(ToString::to_string));
        let lacking = seen.lacking(&owner, &copies.collect::<Vec<String>>())?;
        Some((owner, lacking))
    });
    few.collect()
}

async fn fixup(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let down = down(&state).await;
    let snapshot = state.catalog.snapshot();
    let all = Registration::all(&snapshot);
    let name_of = |id: &str| {
        let known = all.iter().find(|(known, _)| known == id);
        known.map_or_else(|| id.to_owned(), |(_, known)| known.name.clone())
    };
    let lost = |taken: Takeover| {
        let (lost, owner) = (taken.indexer.to_string(), taken.owner.to_string());
        let content = json!({
            "level": RECOVERY,
            "peer": lost,
            "peer_label": name_of(&lost),
            "set": taken.set,
            "epoch": taken.epoch,
            "assigned_to": owner,
            "assigned_to_label": name_of(&owner),
            "latest": { "reason": "the indexer is lost: its events are being recovered from object storage" },
        });
        Entry::new(FIXUP, &format!("{lost}:{}", taken.set), feed::content(content))
    };
    let now = state.clock.now().0 / 1_000_000;
    let few = |(owner, reason): (String, String)| {
        // `watch_cluster` waits longer for slow indexers, and so may not have seen what this request sees.
        let since = state.copy_fixups.since(&owner).unwrap_or(now);
        let content = json!({
            "level": COPIES,
            "peer": owner,
            "peer_label": name_of(&owner),
            "initial": { "timestamp": since },
            "latest": { "reason": reason, "timestamp": now },
        });
        Entry::new(FIXUP, &format!("{owner}:journal"), feed::content(content))
    };
    let level = params.text("level");
    let is_wanted = |kind: &str| level.is_none_or(|level| level == kind);
    let mut entries: Vec<Entry> = Vec::new();
    if is_wanted(RECOVERY) {
        entries.extend(recoveries(&snapshot).into_iter().map(lost));
    }
    if is_wanted(COPIES) {
        entries.extend(few_copies(&state, &snapshot, &down).into_iter().map(few));
    }
    feed::respond("clustermanagerfixup", FIXUP, entries, &params)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    vec![
        case(&format!("GET {FIXUP}"), "", 200, "\"entry\":[]"),
        case(&format!("GET {FIXUP}?output_mode=none"), "", 400, "unknown output_mode"),
    ]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::tests::server::Server;

    fn indexer(name: &str, site: &str) -> Registration {
        let registration = json!({
            "name": name, "address": format!("{name}:1"), "roles": ["indexer"], "management": "",
            "version": "", "started": "", "site": site,
        });
        serde_json::from_value(registration).unwrap()
    }

    #[test]
    fn a_journal_lacks_copies_whose_indexers_are_not_there() {
        let all = [("a", "x"), ("b", "x"), ("c", "y"), ("d", "y")];
        let all = all.map(|(id, site)| (id.to_owned(), indexer(&format!("host-{id}"), site)));
        let down = [("b".to_owned(), "timed out".to_owned())];
        let placement = Placement { factor: 3, ..Placement::default() };
        let seen = Seen { placement: &placement, all: &all, down: &down, is_maintained: false };
        let lacking = |seen: &Seen<'_>, owner: &str, copies: [&str; 2]| {
            seen.lacking(owner, &copies.map(str::to_owned))
        };
        assert_eq!(lacking(&seen, "a", ["c", "d"]), None);
        let one = "2 of 3 indexers (replication_factor) have its journal; ";
        let silent = "host-b (b) does not answer: timed out; ";
        let soon = "a lost copy is replaced when the next event arrives";
        assert_eq!(lacking(&seen, "a", ["b", "c"]), Some(format!("{one}{silent}{soon}")));
        let away = "another indexer recovers its events if it stays away";
        assert_eq!(lacking(&seen, "b", ["c", "d"]), Some(format!("{one}{silent}{away}")));
        let gone = "indexer e is not in the list of the cluster; ";
        assert_eq!(lacking(&seen, "a", ["c", "e"]), Some(format!("{one}{gone}{soon}")));
        assert_eq!(lacking(&seen, "e", ["b", "e"]), None, "it is lost");
        let maintained = Seen { is_maintained: true, ..seen };
        let said = lacking(&maintained, "a", ["b", "c"]).unwrap();
        assert!(said.ends_with("; lost copies are not replaced in maintenance mode"), "{said}");
        // With multisite, one more copy is required in the site of the owner (origin:2,total:3).
        let placement = Placement { multisite: true, ..Placement::default() };
        let said = lacking(&Seen { placement: &placement, ..maintained }, "a", ["c", "d"]).unwrap();
        assert!(said.contains("; it is in the site x and lacks 1 more in x; "), "{said}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_journal_with_too_few_copies_is_a_fixup_with_its_reason_and_the_time() {
        let server = Server::with_admin().await;
        let (owner, gone, catalog) =
            (Uuid::from_u128(1), Uuid::from_u128(2), &server.state.catalog);
        indexer("owner", "default").write(catalog, &owner.simple().to_string()).await.unwrap();
        let members = json!({ "members": [{ "peer": gone, "copy": gone }] });
        catalog.put_document("replicas", &owner.to_string(), members).await.unwrap();
        let of = |level: &str| format!("{FIXUP}?output_mode=json&level={level}");
        let told = server.get("admin", &of("replication_factor")).await.json();
        let content = &told["entry"][0]["content"];
        assert_eq!((&content["peer_label"], &content["level"]), (&json!("owner"), &json!(COPIES)));
        let reason = content["latest"]["reason"].as_str().unwrap();
        assert!(reason.starts_with("1 of 3 indexers (replication_factor)"), "{reason}");
        assert!(reason.ends_with("; too few indexers answer for another copy"), "{reason}");
        assert!(content["initial"]["timestamp"].as_i64().is_some_and(|since| since > 0), "{told}");
        // The time is that of the checks, and requests do not change it.
        let known = &server.state.copy_fixups;
        known.look(5, [owner.simple().to_string()].iter());
        let told = server.get("admin", &of("replication_factor")).await.json();
        assert_eq!(told["entry"][0]["content"]["initial"]["timestamp"], json!(5));
        known.look(6, [].iter());
        server.get("admin", &of("replication_factor")).await;
        assert_eq!(known.since(&owner.simple().to_string()), None);
        let told = server.get("admin", &of("data_safety")).await.json();
        assert_eq!(told["entry"], json!([]));
    }
}
