//! The forwarders that have phoned home, for display. No decision depends on this list: it is in memory
//! only, and is complete again one interval after a start.

use std::collections::{BTreeMap, HashMap};

use crate::classes::{Assigned, Facts};
use crate::messages::{Outcome, PhoneHome};

/// The failure shown for an app that a server class assigns, but that the server cannot distribute.
const NOT_HANDED_OUT: &str = "the server has no directory of this name among its apps, or cannot hand it out; \
                              its log says which";

/// An app of a forwarder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientApp {
    /// The server classes that assign it; empty for an app to be removed.
    pub classes: Vec<String>,
    /// The assigned checksum; `None` if the app is not assigned, or the server cannot distribute it.
    pub wanted: Option<String>,
    /// The installed checksum.
    pub installed: Option<String>,
    /// Size of the assigned version in bytes.
    pub bytes: u64,
    /// Whether the forwarder restarts after the app has changed.
    pub restart: bool,
    /// `stateOnClient`.
    pub state: &'static str,
    /// Why the forwarder could not install the assigned version, or cannot get one.
    pub failed: Option<String>,
}

impl ClientApp {
    /// The pending action, in Splunk's words.
    #[must_use]
    pub fn action(&self) -> &'static str {
        match (&self.wanted, &self.installed) {
            (None, Some(_)) if self.classes.is_empty() => "Uninstall",
            (Some(wanted), installed) if installed.as_ref() != Some(wanted) => "Install",
            _ => "Noop",
        }
    }

    /// The result of the last action, in Splunk's words.
    #[must_use]
    pub fn result(&self) -> &'static str {
        match self.action() {
            _ if self.failed.is_some() => "Fail",
            "Noop" => "Ok",
            _ => "Pending",
        }
    }
}

/// A forwarder. Times are seconds of Unix time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// The properties that filters match.
    pub facts: Facts,
    /// Its version.
    pub build: String,
    /// Time of the first call that this process knows of.
    pub first: u64,
    /// Time of the last call.
    pub last: u64,
    /// Number of calls.
    pub calls: u64,
    /// The server classes of which it is a member.
    pub classes: Vec<String>,
    /// Its apps, by name.
    pub apps: BTreeMap<String, ClientApp>,
}

impl Client {
    /// Average seconds between two calls; `None` after the first call.
    #[must_use]
    pub fn average_interval(&self) -> Option<u64> {
        Some(self.last.saturating_sub(self.first) / self.calls.checked_sub(1).filter(|n| *n > 0)?)
    }
}

/// Numbers of forwarders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// All listed forwarders.
    pub clients: usize,
    /// By machine type.
    pub by_machine_type: BTreeMap<String, usize>,
    /// By server class.
    pub by_class: BTreeMap<String, usize>,
    /// Forwarders with the assigned version of an app, by app.
    pub installed: BTreeMap<String, usize>,
    /// Forwarders that could not install it, by app.
    pub failed: BTreeMap<String, usize>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Clients(HashMap<String, Client>);

impl Clients {
    /// Records a call. Above `most` clients, those that have been silent for the longest time are removed.
    pub(crate) fn note(&mut self, new: Client, most: usize) {
        let guid = new.facts.guid.clone();
        let known = self.0.get(&guid);
        let (first, calls) = known.map_or((new.first, 0), |known| (known.first, known.calls));
        self.0.insert(guid.clone(), Client { first, calls: calls + 1, ..new });
        while self.0.len() > most.max(1) {
            let others = self.0.iter().filter(|(id, _)| **id != guid);
            let silent = others.min_by_key(|(_, client)| client.last).map(|(id, _)| id.clone());
            let Some(silent) = silent else { return };
            self.0.remove(&silent);
        }
    }

    pub(crate) fn all(&self) -> Vec<Client> {
        let mut all: Vec<Client> = self.0.values().cloned().collect();
        all.sort_by(|a, b| a.facts.guid.cmp(&b.facts.guid));
        all
    }

    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts { clients: self.0.len(), ..Counts::default() };
        let count = |counts: &mut BTreeMap<String, usize>, name: &str| match counts.get_mut(name) {
            Some(count) => *count += 1,
            None => drop(counts.insert(name.to_owned(), 1)),
        };
        for client in self.0.values() {
            count(&mut counts.by_machine_type, &client.facts.utsname);
            client.classes.iter().for_each(|class| count(&mut counts.by_class, class));
            for (name, app) in &client.apps {
                if app.failed.is_some() {
                    count(&mut counts.failed, name);
                }
                if app.installed.is_some() && app.installed == app.wanted {
                    count(&mut counts.installed, name);
                }
            }
        }
        counts
    }

    pub(crate) fn get(&self, guid: &str) -> Option<Client> {
        self.0.get(guid).cloned()
    }

    pub(crate) fn forget(&mut self, guid: &str) -> bool {
        self.0.remove(guid).is_some()
    }
}

/// The apps of a forwarder: assigned apps, with the checksum and size of each, and other apps that it has.
pub(crate) fn apps_of(
    message: &PhoneHome,
    assigned: &[(Assigned, Option<(String, u64)>)],
) -> BTreeMap<String, ClientApp> {
    let installed: HashMap<&str, &str> =
        message.apps.iter().map(|app| (&*app.name, &*app.checksum)).collect();
    let failed = |app: &str, checksum: &str| {
        let is_it = |one: &&Outcome| one.app == app && one.checksum == checksum;
        message.failed.iter().find(is_it).map(|one| one.reason.clone())
    };
    let mut apps = BTreeMap::new();
    for (app, content) in assigned {
        let (wanted, bytes) = match content {
            Some((checksum, bytes)) => (Some(checksum.clone()), *bytes),
            None => (None, 0),
        };
        let client_app = ClientApp {
            classes: app.classes.clone(),
            installed: installed.get(&*app.app).map(|sum| (*sum).to_owned()),
            failed: match &wanted {
                Some(checksum) => failed(&app.app, checksum),
                None => Some(NOT_HANDED_OUT.to_owned()),
            },
            wanted,
            bytes,
            restart: app.restart,
            state: app.state.as_str(),
        };
        apps.insert(app.app.clone(), client_app);
    }
    for (name, checksum) in installed {
        apps.entry(name.to_owned()).or_insert_with(|| ClientApp {
            classes: Vec::new(),
            wanted: None,
            installed: Some(checksum.to_owned()),
            bytes: 0,
            restart: false,
            state: "disabled",
            failed: None,
        });
    }
    apps
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn client(guid: &str, time: u64) -> Client {
        Client {
            facts: Facts { guid: guid.to_owned(), ..Facts::default() },
            build: "1".to_owned(),
            first: time,
            last: time,
            calls: 0,
            classes: Vec::new(),
            apps: BTreeMap::new(),
        }
    }

    #[test]
    fn the_list_is_bounded_and_forgets_who_was_silent_longest() {
        let mut clients = Clients::default();
        for (guid, time) in [("a", 1), ("b", 2), ("a", 11), ("c", 12)] {
            clients.note(client(guid, time), 2);
        }
        let names: Vec<_> = clients.all().into_iter().map(|one| one.facts.guid).collect();
        assert_eq!(names, ["a", "c"]);
        assert!(clients.forget("c") && !clients.forget("c"));
    }

    #[test]
    fn calls_are_counted_with_their_interval() {
        let mut clients = Clients::default();
        clients.note(client("a", 100), 9);
        assert_eq!(clients.get("a").unwrap().average_interval(), None);
        clients.note(client("a", 150), 9);
        clients.note(client("a", 220), 9);
        let known = clients.get("a").unwrap();
        assert_eq!((known.first, known.last, known.calls), (100, 220, 3));
        assert_eq!(known.average_interval(), Some(60));
    }

    #[test]
    fn an_app_says_what_is_to_be_done_and_what_became_of_it() {
        let app = |wanted: Option<&str>, installed: Option<&str>, failed: bool| ClientApp {
            classes: wanted.map(|_| "c".to_owned()).into_iter().collect(),
            wanted: wanted.map(str::to_owned),
            installed: installed.map(str::to_owned),
            bytes: 0,
            restart: false,
            state: "enabled",
            failed: failed.then(|| "why".to_owned()),
        };
        for (one, action, result) in [
            (app(Some("a"), Some("a"), false), "Noop", "Ok"),
            (app(Some("b"), Some("a"), false), "Install", "Pending"),
            (app(Some("b"), Some("a"), true), "Install", "Fail"),
            (app(None, Some("a"), false), "Uninstall", "Pending"),
        ] {
            assert_eq!((one.action(), one.result()), (action, result));
        }
    }
}
