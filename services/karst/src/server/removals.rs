//! Removals of indexes between the processes of a cluster: the state of hot events that this process reports,
//! and that of the others. Also rolls hot buckets on request of the others.

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::Catalog;
use futures::future::BoxFuture;
use ingest::{IndexCatalog, Ingest, OtherHot};
use model::IndexName;
use peers::{Answered, Directory, EmptiesIndexes, Registration};

/// The answers of processes by identity, or why they did not answer.
type Answers = BTreeMap<String, Result<Answered, String>>;

/// The removals in this process, as others see them.
#[derive(Debug)]
pub(crate) struct OwnRemovals {
    pub(crate) indexes: Arc<IndexCatalog>,
    pub(crate) ingest: Arc<Ingest>,
    pub(crate) catalog: Catalog,
}

impl EmptiesIndexes for OwnRemovals {
    fn emptied(&self) -> Vec<IndexName> {
        self.indexes.emptied(&self.ingest)
    }

    fn roll<'a>(&'a self, index: &'a IndexName) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let rolled = self.ingest.roll_unless_stuck(index, &self.catalog).await;
            rolled.map_err(|error| error.to_string())
        })
    }
}

/// The hot events of the other processes.
#[derive(Debug)]
pub(crate) struct OtherRemovals {
    pub(crate) directory: Directory,
    pub(crate) catalog: Catalog,
    /// The identity of this process.
    pub(crate) own: String,
}

impl OtherHot for OtherRemovals {
    fn without<'a>(&'a self, index: &'a IndexName) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let answers: Answers = self.directory.answers().await.into_iter().collect();
            // After the answers: one that has joined since may have events of its former life.
            let mut listed = Registration::all(&self.catalog.snapshot());
            listed.retain(|(id, process)| *id != self.own && may_have(process, index));
            match waits_for(index, &listed, &answers) {
                Some(reason) => Err(reason),
                None => Ok(()),
            }
        })
    }
}

/// Whether a process may have events of an index: processes without these roles have only internal events.
fn may_have(process: &Registration, index: &IndexName) -> bool {
    let takes = |role: &String| role == "indexer" || role == "search-head";
    index.is_internal() || process.roles.iter().any(takes)
}

/// Returns the reason why the removal of an index waits; `None` if no process has hot events of the index.
fn waits_for(
    index: &IndexName,
    listed: &[(String, Registration)],
    answers: &Answers,
) -> Option<String> {
    let (mut silent, mut busy) = (Vec::new(), Vec::new());
    for (id, process) in listed {
        let shown = in_words(process);
        match answers.get(id) {
            Some(Ok(answered)) if answered.emptied.contains(index) => {}
            Some(Ok(_)) => busy.push(format!("{shown} has not stored its events of the index yet")),
            Some(Err(reason)) => silent.push(format!("{shown} does not answer ({reason})")),
            None => busy.push(format!("{shown} has just joined the cluster")),
        }
    }
    if silent.is_empty() {
        return (!busy.is_empty()).then(|| busy.join(", "));
    }
    Some(format!(
        "{}; its events are removed when it is back, or when its journal has been taken over",
        silent.join(", ")
    ))
}

/// A process for users.
fn in_words(Registration { name, address, roles, .. }: &Registration) -> String {
    let has = |role: &str| roles.iter().any(|one| one == role);
    let role = match (has("indexer"), has("search-head")) {
        (true, _) => "indexer",
        (false, true) => "search head",
        (false, false) => "control plane",
    };
    format!("{role} {name} ({address})")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn process(name: &str, role: &str) -> Registration {
        Registration {
            name: name.to_owned(),
            address: "10.0.0.3:9887".to_owned(),
            roles: vec![role.to_owned()],
            management: String::new(),
            version: String::new(),
            started: String::new(),
            local_acks: true,
            site: ::cluster::NO_SITE.to_owned(),
            forwarders: Vec::new(),
            cold: false,
        }
    }

    fn answered(emptied: &[&str]) -> Result<Answered, String> {
        let emptied = emptied.iter().map(|name| IndexName::new(name).unwrap()).collect();
        Ok(Answered { emptied, ..Answered::default() })
    }

    /// Returns the reason for which the removal of the index `shop` waits, with these answers of the indexers
    /// idx1 and idx2.
    fn waits(answers: &[(&str, Result<Answered, String>)]) -> Option<String> {
        let listed = ["idx1", "idx2"].map(|name| (name.to_owned(), process(name, "indexer")));
        let answers = answers.iter().map(|(id, answer)| ((*id).to_owned(), answer.clone()));
        waits_for(&IndexName::new("shop").unwrap(), &listed, &answers.collect())
    }

    #[test]
    fn a_removal_waits_until_each_process_has_no_hot_events_of_the_index() {
        let (with, without) = (answered(&["other"]), answered(&["other", "shop"]));
        assert_eq!(waits(&[("idx1", without.clone()), ("idx2", without.clone())]), None);
        let busy = waits(&[("idx1", with), ("idx2", without.clone())]).unwrap();
        assert_eq!(busy, "indexer idx1 (10.0.0.3:9887) has not stored its events of the index yet");
        let joined = waits(&[("idx1", without.clone())]).unwrap();
        assert!(joined.contains("idx2 (10.0.0.3:9887) has just joined"), "{joined}");
        let refused = Err("connection refused".to_owned());
        let silent = waits(&[("idx1", without), ("idx2", refused)]).unwrap();
        assert!(silent.starts_with("indexer idx2 (10.0.0.3:9887) does not answer"), "{silent}");
        assert!(silent.contains("(connection refused); its events are removed when"), "{silent}");
    }

    #[test]
    fn control_planes_may_have_events_of_internal_indexes_only() {
        let (shop, own) = (IndexName::new("shop").unwrap(), IndexName::new("_own").unwrap());
        let control_plane = process("cp", "control-plane");
        assert!(!may_have(&control_plane, &shop) && may_have(&control_plane, &own));
        assert!(may_have(&process("head", "search-head"), &shop));
    }
}
