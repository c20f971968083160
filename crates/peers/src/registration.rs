//! The list of the processes of a cluster: documents of the catalog.

use std::sync::Arc;
use std::time::Duration;

use catalog::{Catalog, Error, Snapshot};
use serde::{Deserialize, Serialize};

use crate::Indexer;

/// The kind of the documents. Their names are the identities of the processes.
const KIND: &str = "peer";
/// The kind of the documents with the version of the apps that each process uses.
const APPS: &str = "bundle_of";
/// The kind of the documents that name the processes that an administrator has removed, together with their
/// disks.
const REMOVED: &str = "removed";
/// The kind and the name of the document that names the leader.
const LEADER: (&str, &str) = ("leader", "catalog");
/// Maximum number of attempts to change an entry that others change at the same time.
const ATTEMPTS: usize = 3;
/// Maximum time to wait between two attempts until the view of this process has the change of the others.
const LAG: Duration = Duration::from_secs(1);

/// A port for forwarders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForwarderPort {
    /// The `host:port` at which forwarders reach it.
    pub address: String,
    /// Whether it requires TLS.
    pub tls: bool,
}

/// The data that a process publishes about itself, from its start until an orderly stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// Its server name.
    pub name: String,
    /// Its cluster address.
    pub address: String,
    /// Its roles, as `--role` takes them.
    pub roles: Vec<String>,
    /// The URL of its management port.
    pub management: String,
    /// The version of its program.
    pub version: String,
    /// When it was started, RFC 3339.
    pub started: String,
    /// Whether it may acknowledge events that are on its disk only.
    #[serde(default = "unknown")]
    pub local_acks: bool,
    /// Its site.
    #[serde(default = "no_site")]
    pub site: String,
    /// Its ports for forwarders; none from a process of an older version, and from one that stops.
    #[serde(default)]
    pub forwarders: Vec<ForwarderPort>,
    /// Whether it started with an empty cache although there is much to read. A process of an older version
    /// does not say so.
    #[serde(default)]
    pub cold: bool,
}

/// A process of an older version has none.
fn no_site() -> String {
    cluster::NO_SITE.to_owned()
}

/// A process of an older version does.
const fn unknown() -> bool {
    true
}

impl Registration {
    /// Adds this process to the list, or replaces its entry.
    ///
    /// # Errors
    /// If the catalog does not take the document.
    pub async fn write(&self, catalog: &Catalog, id: &str) -> Result<(), Error> {
        let document = |kind: &str, json| (kind.to_owned(), id.to_owned(), json);
        let own = document(KIND, Some(serde_json::json!(self)));
        // The process is back with its disk, so that it does not count as removed any more.
        catalog.change_documents(vec![own, document(REMOVED, None)]).await
    }

    /// Returns the entry of a process; `None` if it is not in the list.
    #[must_use]
    pub fn of(snapshot: &Snapshot, id: &str) -> Option<Self> {
        serde_json::from_value((*snapshot.document(KIND, id)?).clone()).ok()
    }

    /// The processes in the list, by identity.
    #[must_use]
    pub fn all(snapshot: &Snapshot) -> Vec<(String, Self)> {
        let documents = snapshot.documents(KIND).into_iter();
        let read = documents.filter_map(|document| {
            let registration = serde_json::from_value((*document.json).clone()).ok()?;
            Some((document.name, registration))
        });
        read.collect()
    }

    /// The processes in the list that a restart of others waits for while they are away: all but control
    /// planes that do not answer and whose address another process has: one that answers, or was started
    /// later. A control plane that is lost with its disk starts at its address with another identity; the
    /// former one stays in the list until its own events are recovered. On a machine that was cut off, it may
    /// be started again after that, before it ends for good.
    #[must_use]
    pub fn awaited(snapshot: &Snapshot, answers: impl Fn(&str) -> bool) -> Vec<(String, Self)> {
        let all = Self::all(snapshot);
        let is_over = |id: &str, known: &Self| {
            let has_its_place = |other: &str, there: &Self| {
                other != id && there.address == known.address && answers(other)
            };
            let is_taken = || all.iter().any(|(other, there)| has_its_place(other, there));
            !known.takes_events() && !answers(id) && (known.is_replaced(&all) || is_taken())
        };
        all.iter().filter(|(id, known)| !is_over(id, known)).cloned().collect()
    }

    /// Whether one of these processes was started later at the address of this one: who connects to the
    /// address reaches that one. The times are those of the machines, whose clocks may differ.
    #[must_use]
    pub fn is_replaced(&self, all: &[(String, Self)]) -> bool {
        let replaces = |other: &Self| other.address == self.address && other.started > self.started;
        all.iter().any(|(_, other)| replaces(other))
    }

    /// Whether its roles include indexer.
    #[must_use]
    pub fn is_indexer(&self) -> bool {
        self.roles.iter().any(|role| role == "indexer")
    }

    /// Whether it receives events other than internal ones.
    #[must_use]
    pub fn takes_events(&self) -> bool {
        self.roles.iter().any(|role| role == "indexer" || role == "search-head")
    }

    /// The processes in the list but one: each of them may have hot buckets.
    #[must_use]
    pub fn others(snapshot: &Snapshot, own: &str) -> Vec<Indexer> {
        let others = Self::all(snapshot).into_iter().filter(|(id, _)| id != own);
        let indexer = |(id, registration): (String, Self)| {
            let is_internal = !registration.takes_events();
            let is_recoverable = registration.is_indexer() && !registration.local_acks;
            let Self { name, address, .. } = registration;
            Indexer { id, name, address, is_internal, is_recoverable }
        };
        others.map(indexer).collect()
    }
}

/// Removes the process with this start time ([`Registration::started`]) from the list. A process that has
/// been restarted since stays in the list, even if this request arrives late. Returns whether it was in the
/// list.
///
/// # Errors
/// If the catalog does not take the change.
pub async fn leave(catalog: &Catalog, id: &str, started: &str) -> Result<bool, Error> {
    take_out(catalog, (id, started), Vec::new()).await
}

/// Notes that events which a process has acknowledged, one that was started then, may be on its disk only:
/// searches are not complete without it. Until its next start. Whether it was there.
///
/// # Errors
/// If the catalog does not take the change.
pub async fn note_local_acks(catalog: &Catalog, id: &str, started: &str) -> Result<bool, Error> {
    let Some(before) = document_of(&catalog.snapshot(), (id, started)) else { return Ok(false) };
    let mut after = before.clone();
    after["local_acks"] = true.into();
    let document = |json| vec![(KIND.to_owned(), id.to_owned(), Some(json))];
    if_unchanged(catalog.replace_documents(document(before), document(after)).await)
}

/// Notes that a process, one that was started then, takes nothing more from forwarders, because it stops.
/// Until its next start. Whether it was in the list with ports for them.
///
/// # Errors
/// If the catalog does not take the change.
pub async fn close_to_forwarders(
    catalog: &Catalog,
    id: &str,
    started: &str,
) -> Result<bool, Error> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let Some(before) = document_of(&catalog.snapshot(), (id, started)) else {
            return Ok(false);
        };
        if before["forwarders"].as_array().is_none_or(Vec::is_empty) {
            return Ok(false);
        }
        let mut after = before.clone();
        after["forwarders"] = serde_json::json!([]);
        let document = |json| vec![(KIND.to_owned(), id.to_owned(), Some(json))];
        match catalog.replace_documents(document(before.clone()), document(after)).await {
            // Acknowledgements on the disk only are noted in the same entry.
            Err(Error::Changed { .. }) if attempts < ATTEMPTS => {
                wait_for_change(catalog, (id, started), &before).await;
            }
            replaced => return replaced.map(|()| true),
        }
    }
}

/// Returns the entry of the process with this start time.
fn document_of(snapshot: &Snapshot, (id, started): (&str, &str)) -> Option<serde_json::Value> {
    let json = snapshot.document(KIND, id).filter(|json| json["started"] == started)?;
    Some((*json).clone())
}

/// Waits until the entry of a process is not this one any more, for at most [`LAG`]. The view of a follower
/// does not have a change at once that its leader has.
async fn wait_for_change(catalog: &Catalog, of: (&str, &str), known: &serde_json::Value) {
    let mut views = catalog.subscribe();
    let is_other = |view: &Arc<Snapshot>| document_of(view, of).is_none_or(|entry| entry != *known);
    // Without a change, the caller finds the same entry again.
    let _ = tokio::time::timeout(LAG, views.wait_for(is_other)).await;
}

/// Whether documents were changed, or had been changed by somebody else before.
fn if_unchanged(replaced: Result<(), Error>) -> Result<bool, Error> {
    match replaced {
        Ok(()) => Ok(true),
        Err(Error::Changed { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes the process with this start time from the list if it does not come back, and gives up its disk;
/// `None` for a process that is not in the list. Returns whether it was in the list.
///
/// # Errors
/// As [`leave`].
pub async fn remove(catalog: &Catalog, id: &str, started: Option<&str>) -> Result<bool, Error> {
    let note = (REMOVED.to_owned(), id.to_owned(), Some(serde_json::json!({ "started": started })));
    let Some(started) = started else {
        let unlisted = (KIND.to_owned(), id.to_owned(), None);
        let noted = catalog.replace_documents(vec![unlisted], vec![note]).await;
        return if_unchanged(noted).map(|_| false);
    };
    take_out(catalog, (id, started), vec![note]).await
}

/// Whether an administrator has removed a process with its disk, and it has not come back.
#[must_use]
pub fn is_removed(snapshot: &Snapshot, id: &str) -> bool {
    snapshot.document(REMOVED, id).is_some()
}

async fn take_out(
    catalog: &Catalog,
    (id, started): (&str, &str),
    notes: Vec<(String, String, Option<serde_json::Value>)>,
) -> Result<bool, Error> {
    let document = |kind: &str, json| (kind.to_owned(), id.to_owned(), json);
    let mut attempts = 0;
    loop {
        attempts += 1;
        let Some(json) = document_of(&catalog.snapshot(), (id, started)) else { return Ok(false) };
        let before = vec![document(KIND, Some(json.clone()))];
        let mut after = vec![document(KIND, None), document(APPS, None)];
        after.extend(notes.clone());
        match catalog.replace_documents(before, after).await {
            // It may have been restarted in the meantime, or have changed its entry late.
            Err(Error::Changed { .. }) if attempts < ATTEMPTS => {
                wait_for_change(catalog, (id, started), &json).await;
            }
            replaced => return replaced.map(|()| true),
        }
    }
}

/// Notes by which installed apps a process works: their digest.
///
/// # Errors
/// If the catalog does not take the document.
pub async fn note_bundle(catalog: &Catalog, id: &str, checksum: &str) -> Result<(), Error> {
    catalog.put_document(APPS, id, serde_json::json!({ "checksum": checksum })).await
}

/// The digest of the installed apps by which a process works, as it has said last.
#[must_use]
pub fn bundle_of(snapshot: &Snapshot, id: &str) -> Option<String> {
    snapshot.document(APPS, id)?["checksum"].as_str().map(str::to_owned)
}

/// Notes that a process leads, and since when.
///
/// # Errors
/// If the catalog does not take the document.
pub async fn note_leader(catalog: &Catalog, id: &str, since: &str) -> Result<(), Error> {
    let document = serde_json::json!({ "id": id, "since": since });
    catalog.put_document(LEADER.0, LEADER.1, document).await
}

/// The identity of the process that leads, and since when.
#[must_use]
pub fn leader(snapshot: &Snapshot) -> Option<(String, String)> {
    let document = snapshot.document(LEADER.0, LEADER.1)?;
    let text = |field: &str| document[field].as_str().map(str::to_owned);
    Some((text("id")?, text("since")?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;

    use object_store::memory::InMemory;

    use super::*;

    fn started(started: &str) -> Registration {
        Registration {
            name: "a".to_owned(),
            address: "127.0.0.1:1".to_owned(),
            roles: vec!["indexer".to_owned()],
            management: String::new(),
            version: String::new(),
            started: started.to_owned(),
            local_acks: false,
            site: no_site(),
            forwarders: Vec::new(),
            cold: false,
        }
    }

    async fn catalog() -> Catalog {
        let (store, clock) = (Arc::new(InMemory::new()), Arc::new(runtime::SystemClock));
        let settings = catalog::Settings::default();
        Catalog::open(store, "catalog", settings, clock).await.unwrap()
    }

    fn is_listed(catalog: &Catalog) -> bool {
        Registration::of(&catalog.snapshot(), "1").is_some()
    }

    #[tokio::test]
    async fn one_that_has_been_started_again_stays_in_the_list() {
        let catalog = catalog().await;
        started("first").write(&catalog, "1").await.unwrap();
        note_bundle(&catalog, "1", "abc").await.unwrap();
        // The indexer that recovers its events has read its entry by then, and tries to remove the entry
        // after the restart.
        started("second").write(&catalog, "1").await.unwrap();
        assert!(!leave(&catalog, "1", "first").await.unwrap());
        assert!(is_listed(&catalog) && bundle_of(&catalog.snapshot(), "1").is_some());
        assert!(leave(&catalog, "1", "second").await.unwrap());
        assert!(!is_listed(&catalog) && bundle_of(&catalog.snapshot(), "1").is_none());
        assert!(!leave(&catalog, "1", "second").await.unwrap());
    }

    #[tokio::test]
    async fn a_control_plane_whose_address_has_a_later_start_is_not_waited_for() {
        let catalog = catalog().await;
        let of = |role: &str, address: &str, at: &str| Registration {
            address: address.to_owned(),
            roles: vec![role.to_owned()],
            ..started(at)
        };
        let awaited_if = |up: &[&str]| {
            let all = Registration::awaited(&catalog.snapshot(), |id| up.contains(&id)).into_iter();
            let mut names: Vec<String> = all.map(|(id, _)| id).collect();
            names.sort();
            names
        };
        let awaited = || awaited_if(&[]);
        let (first, second) = ("2026-11-28T23:27:24Z", "2026-11-28T23:38:42Z");
        of("control-plane", "cp-0:9887", first).write(&catalog, "leader").await.unwrap();
        of("control-plane", "cp-1:9887", first).write(&catalog, "lost").await.unwrap();
        assert_eq!(awaited(), ["leader", "lost"]);
        of("control-plane", "cp-1:9887", second).write(&catalog, "new").await.unwrap();
        assert_eq!(awaited(), ["leader", "new"]);
        // Searches are not complete without the events of a lost indexer.
        of("indexer", "indexer-0:9887", first).write(&catalog, "indexer").await.unwrap();
        of("indexer", "indexer-0:9887", second).write(&catalog, "its place").await.unwrap();
        assert_eq!(awaited(), ["indexer", "its place", "leader", "new"]);
        let all = Registration::all(&catalog.snapshot());
        let replaced = all.iter().filter(|(_, known)| known.is_replaced(&all));
        let replaced: BTreeSet<&str> = replaced.map(|(id, _)| id.as_str()).collect();
        assert_eq!(replaced, BTreeSet::from(["indexer", "lost"]));
    }

    #[tokio::test]
    async fn a_lost_control_plane_that_started_again_elsewhere_does_not_replace_one_that_answers() {
        let catalog = catalog().await;
        let of = |at: &str| Registration { roles: vec!["control-plane".to_owned()], ..started(at) };
        of("2026-11-29T03:54:00Z").write(&catalog, "new").await.unwrap();
        of("2026-11-29T03:55:38Z").write(&catalog, "lost").await.unwrap();
        let awaited_if = |up: &[&str]| {
            let all = Registration::awaited(&catalog.snapshot(), |id| up.contains(&id)).into_iter();
            all.map(|(id, _)| id).collect::<Vec<String>>()
        };
        assert_eq!(awaited_if(&["new"]), ["new"]);
        assert_eq!(awaited_if(&["lost"]), ["lost"]);
        assert_eq!(awaited_if(&[]), ["lost"]);
    }

    #[tokio::test]
    async fn what_only_a_disk_has_is_noted_until_the_next_start() {
        let catalog = catalog().await;
        let is_local =
            || Registration::of(&catalog.snapshot(), "1").is_some_and(|own| own.local_acks);
        started("first").write(&catalog, "1").await.unwrap();
        assert!(!note_local_acks(&catalog, "1", "an earlier start").await.unwrap() && !is_local());
        assert!(note_local_acks(&catalog, "1", "first").await.unwrap() && is_local());
        started("second").write(&catalog, "1").await.unwrap();
        assert!(!is_local());
        assert!(!note_local_acks(&catalog, "2", "first").await.unwrap());
    }

    #[tokio::test]
    async fn one_that_stops_has_no_ports_for_forwarders_until_its_next_start() {
        let catalog = catalog().await;
        let port = ForwarderPort { address: "127.0.0.1:9997".to_owned(), tls: true };
        let indexer = Registration { forwarders: vec![port], ..started("first") };
        indexer.write(&catalog, "1").await.unwrap();
        let listed = || Registration::of(&catalog.snapshot(), "1").unwrap();
        assert_eq!(listed(), indexer);
        // The entry is that of the process which has the id now.
        assert!(!close_to_forwarders(&catalog, "1", "an earlier start").await.unwrap());
        assert_eq!(listed(), indexer);
        assert!(close_to_forwarders(&catalog, "1", "first").await.unwrap());
        assert_eq!(listed(), started("first"));
        assert!(!close_to_forwarders(&catalog, "1", "first").await.unwrap());
        assert!(!close_to_forwarders(&catalog, "2", "first").await.unwrap());
        assert!(leave(&catalog, "1", "first").await.unwrap());
    }

    #[test]
    fn an_entry_of_an_older_version_has_no_ports_for_forwarders() {
        let mut entry = serde_json::json!(started("first"));
        assert!(entry.as_object_mut().unwrap().remove("forwarders").is_some());
        let read: Registration = serde_json::from_value(entry).unwrap();
        assert_eq!(read, started("first"));
    }

    #[tokio::test]
    async fn one_that_was_removed_is_given_up_until_it_is_back() {
        let catalog = catalog().await;
        started("first").write(&catalog, "1").await.unwrap();
        assert!(remove(&catalog, "1", Some("first")).await.unwrap());
        assert!(is_removed(&catalog.snapshot(), "1") && !is_listed(&catalog));
        started("second").write(&catalog, "1").await.unwrap();
        assert!(!is_removed(&catalog.snapshot(), "1"));
        assert!(!remove(&catalog, "1", None).await.unwrap());
        assert!(!is_removed(&catalog.snapshot(), "1") && is_listed(&catalog), "it is back");
        assert!(!remove(&catalog, "2", None).await.unwrap());
        assert!(is_removed(&catalog.snapshot(), "2"));
    }
}
