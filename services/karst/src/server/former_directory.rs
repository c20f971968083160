//! The start over a new data directory in the place of a former one: with its identity, at its cluster
//! address, or, without a cluster, over its catalog. The directory was removed, or its disk is not mounted,
//! and nothing fails: the process starts as a new one, or restores what other places have. The log names the
//! former directory, the events that only it may have, and what to do.
//!
//! In a cluster, a process leaves the list when all events that it has acknowledged are stored. The former
//! directory of a process that is not in the list has none of them, unless it ran without a cluster.

use catalog::Snapshot;
use model::IndexerId;
use peers::Registration;

use super::incarnation::{self, Place};

/// A former data directory.
#[derive(Debug)]
struct Former {
    indexer: IndexerId,
    place: Place,
    /// Whether only this directory may have acknowledged events.
    has_acknowledged: bool,
    /// Whether its process is in the list of the cluster.
    is_listed: bool,
}

/// Logs the former directories in the place of a process that starts over a new one, which the catalog does
/// not know yet.
pub(crate) fn report(snapshot: &Snapshot, (own, place): (IndexerId, &Place)) {
    for former in formers(snapshot, (own, place)) {
        let text = described(&former, (own, place));
        match former.has_acknowledged {
            true => tracing::warn!(former = %former.indexer, "{text}"),
            // As after each move of a process to another machine with an empty disk.
            false => tracing::info!(former = %former.indexer, "{text}"),
        }
    }
}

fn formers(snapshot: &Snapshot, (own, at): (IndexerId, &Place)) -> Vec<Former> {
    let known = incarnation::places(snapshot);
    let by_start = |(_, one): &&(IndexerId, Place), (_, other): &&(IndexerId, Place)| {
        one.started.cmp(&other.started)
    };
    let is_alone = |(_, place): &&(IndexerId, Place)| place.address.is_none();
    // Of those without a cluster only the last one counts: earlier ones were replaced before.
    let last = match at.address {
        None => known.iter().filter(is_alone).max_by(by_start),
        Some(_) => known.iter().max_by(by_start).filter(is_alone),
    };
    let last = last.map(|(indexer, _)| *indexer);
    let former = |(indexer, place): (IndexerId, Place)| {
        let entry = Registration::of(snapshot, &indexer.to_string());
        let Some(entry) = entry.filter(|_| at.address.is_some()) else {
            let (has_acknowledged, is_listed) = (true, false);
            let former = Former { indexer, place, has_acknowledged, is_listed };
            return (last == Some(indexer)).then_some(former);
        };
        let is_here = indexer == own || place.address == at.address;
        let has_acknowledged = entry.local_acks;
        // Others have no events but those about themselves.
        let is_former = is_here && entry.takes_events();
        is_former.then_some(Former { indexer, place, has_acknowledged, is_listed: true })
    };
    known.into_iter().filter_map(former).collect()
}

fn described(former: &Former, (own, at): (IndexerId, &Place)) -> String {
    let Former { indexer, place, has_acknowledged, is_listed } = former;
    let Place { host, data, started, .. } = place;
    let events = match has_acknowledged {
        true => "acknowledged with ackLevel = local, and not stored yet",
        false => "not acknowledged (other processes have those that were)",
    };
    let give_up = match *is_listed && *indexer != own && *has_acknowledged {
        true => format!(
            "; to give them up, run `karst cluster remove {indexer} --force`: until then searches report \
             them as missing"
        ),
        false => String::new(),
    };
    format!(
        "the data directory {} is new. The one before was {data} on host {host} (indexer {indexer}, started \
         {started}), and only it may have events that were {events}. To keep them, stop this process, and \
         start it over the former directory{give_up}",
        at.data
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use catalog::Catalog;
    use object_store::memory::InMemory;
    use uuid::Uuid;

    use super::*;

    const FORMER: IndexerId = IndexerId(Uuid::from_u128(1));
    const OWN: IndexerId = IndexerId(Uuid::from_u128(2));

    fn place(data: &Path, address: Option<&str>) -> Place {
        Place {
            host: "here".to_owned(),
            data: data.display().to_string(),
            address: address.map(str::to_owned),
            started: "2026-11-28T00:00:00Z".to_owned(),
        }
    }

    /// A catalog over which the former indexer was started, with its directory.
    async fn started(address: Option<&str>) -> (Catalog, tempfile::TempDir) {
        let (store, clock) = (Arc::new(InMemory::new()), Arc::new(runtime::SystemClock));
        let settings = catalog::Settings::default();
        let catalog = Catalog::open(store, "catalog", settings, clock).await.unwrap();
        let data = tempfile::tempdir().unwrap();
        assert!(incarnation::is_new(data.path()).unwrap());
        let place = place(data.path(), address);
        incarnation::begin(&catalog, (data.path(), false), FORMER, &place).await.unwrap();
        assert!(!incarnation::is_new(data.path()).unwrap());
        (catalog, data)
    }

    fn said(catalog: &Catalog, own: IndexerId, address: Option<&str>) -> Vec<String> {
        let at = place(Path::new("/new"), address);
        let formers = formers(&catalog.snapshot(), (own, &at));
        formers.iter().map(|former| described(former, (own, &at))).collect()
    }

    #[tokio::test]
    async fn in_a_cluster_a_former_directory_counts_while_its_process_is_in_the_list() {
        const HERE: Option<&str> = Some("here:9887");
        let (catalog, data) = started(HERE).await;
        assert_eq!(said(&catalog, OWN, HERE), Vec::<String>::new(), "all of its events are stored");
        let entry = |role: &str, local_acks| Registration {
            name: "here".to_owned(),
            address: "here:9887".to_owned(),
            roles: vec![role.to_owned()],
            management: String::new(),
            version: String::new(),
            started: "2026-11-28T00:00:00Z".to_owned(),
            local_acks,
            site: cluster::NO_SITE.to_owned(),
            forwarders: Vec::new(),
            cold: false,
        };
        let name = FORMER.to_string();
        entry("control-plane", false).write(&catalog, &name).await.unwrap();
        assert_eq!(said(&catalog, OWN, HERE), Vec::<String>::new());
        entry("indexer", true).write(&catalog, &name).await.unwrap();
        let texts = said(&catalog, OWN, HERE);
        let [text] = &texts[..] else { panic!("{texts:?}") };
        let directory = format!("{} on host here (indexer {FORMER}", data.path().display());
        let events = "events that were acknowledged with ackLevel = local, and not stored yet";
        let remedy = format!("`karst cluster remove {FORMER} --force`");
        for part in ["the data directory /new is new", &*directory, events, &*remedy] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(said(&catalog, OWN, Some("there:9887")), Vec::<String>::new());
        // The id has been kept: removing it would remove this process.
        let same = said(&catalog, FORMER, Some("there:9887"));
        assert!(same.len() == 1 && same[0].ends_with("over the former directory"), "{same:?}");
        entry("indexer", false).write(&catalog, &name).await.unwrap();
        let other = said(&catalog, OWN, HERE);
        assert!(other.len() == 1 && other[0].contains("were not acknowledged"), "{other:?}");
    }

    #[tokio::test]
    async fn without_a_cluster_the_last_directory_over_the_catalog_counts() {
        let (catalog, _data) = started(None).await;
        let other = said(&catalog, OWN, None);
        assert!(other.len() == 1 && other[0].ends_with("over the former directory"), "{other:?}");
        // It joins a cluster with a new directory.
        let joined = said(&catalog, OWN, Some("here:9887"));
        assert_eq!(joined, other);
    }
}
