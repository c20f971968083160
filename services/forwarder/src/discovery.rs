//! Indexer discovery: asks the cluster which indexers a group can send to, again and again.
//!
//! ```text
//! manager_uri -> answer, signed -> Polling: which indexers, when to ask again -> list -> senders
//!                                                                                 +-> file, for a restart
//! ```
//!
//! Guarantees: a list is used only if it is signed with the key. Without a new list that has indexers, the
//! last one stays in use, also after a restart; why is in the log and in the status. Not here: what happens
//! to batches of an indexer that is no longer listed (`sender`).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use deployment::{
    DiscoveredIndexers, DiscoveryRequest, Key, PROOF_HEADER, ReceivingIndexer, VERSION,
};
use hyper::Method;
use runtime::{Clock, Shutdown, metrics as names};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use uuid::Uuid;

use crate::deployment_client::connection::{Asked, ask};
use crate::deployment_client::jittered;
use crate::indexer_rules::IndexerRules;
use crate::outputs::{DiscoverySettings, Endpoint, Group, Server};
use crate::status::{DiscoveryStatus, StatusBoard};

const PATH: &str = "/services/indexer_discovery";
/// The file in the directory of a group with the last list.
const FILE: &str = "indexers";
/// First and maximum pause after a request that brought no indexers.
const PAUSE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(30));
/// Maximum pause that an answer can ask for, in seconds.
const MOST: u64 = 3_600;

/// The list of indexers of a group, which changes if they are asked for.
pub(crate) type Servers = watch::Receiver<Arc<[Server]>>;

/// The list of a group that names its indexers.
pub(crate) fn fixed(group: &Group) -> Servers {
    watch::channel(group.servers.clone().into()).1
}

/// An indexer in the list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Listed {
    /// `host:port`.
    address: String,
    /// Its identity.
    id: Option<Uuid>,
}

/// What follows from an answer, or from its absence.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    /// Time until the next request.
    pause: Duration,
    /// The indexers, or why there are none; the last ones stay in use then.
    indexers: Result<Vec<Listed>, String>,
}

/// Decides what to do with an answer: no I/O, no clock.
#[derive(Debug)]
struct Polling {
    /// The site of the forwarder, whose indexers are preferred.
    site: Option<String>,
    /// Whether the group connects with TLS.
    tls: bool,
    /// Consecutive requests that brought no indexers.
    failures: u32,
}

impl Polling {
    fn next(&mut self, answer: Result<DiscoveredIndexers, String>) -> Step {
        let indexers =
            answer.and_then(|answer| Ok((self.chosen(&answer.indexers)?, answer.interval)));
        match indexers {
            Ok((indexers, interval)) => {
                self.failures = 0;
                let pause = Duration::from_secs(interval.clamp(1, MOST));
                Step { pause, indexers: Ok(indexers) }
            }
            Err(reason) => {
                let pause = PAUSE.0.saturating_mul(1 << self.failures.min(6)).min(PAUSE.1);
                self.failures = self.failures.saturating_add(1);
                Step { pause, indexers: Err(reason) }
            }
        }
    }

    /// The indexers of the own site; those of all sites if it has none.
    fn chosen(&self, indexers: &[ReceivingIndexer]) -> Result<Vec<Listed>, String> {
        let listed = |only_near: bool| {
            let near = |indexer: &&ReceivingIndexer| {
                !only_near || Some(&indexer.site) == self.site.as_ref()
            };
            let fitting = indexers.iter().filter(near).filter_map(|indexer| {
                let port = indexer.ports.iter().find(|port| port.tls == self.tls)?;
                let id = Uuid::parse_str(&indexer.id).ok();
                Some(Listed { address: port.address.clone(), id })
            });
            let mut fitting: Vec<Listed> = fitting.collect();
            fitting.sort();
            fitting.dedup_by(|one, other| one.address == other.address);
            fitting
        };
        let near = listed(true);
        let chosen = if near.is_empty() { listed(false) } else { near };
        match (chosen.is_empty(), indexers.len()) {
            (false, _) => Ok(chosen),
            (true, 0) => Err("no indexer is up that has a port for forwarders".to_owned()),
            (true, all) => {
                let (has, wants) = if self.tls { ("no", "false") } else { ("only", "true") };
                Err(format!(
                    "the {all} indexers have {has} ports for forwarders with TLS: set useSSL = {wants} in the \
                     group, or other ports on the indexers"
                ))
            }
        }
    }
}

/// The parts of the discovery of a group.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) group: Arc<Group>,
    /// The directory of the group.
    pub(crate) directory: PathBuf,
    /// The identity of the forwarder.
    pub(crate) guid: String,
    pub(crate) site: Option<String>,
    /// Told why there are no indexers.
    pub(crate) rules: Arc<IndexerRules>,
    pub(crate) board: StatusBoard,
    pub(crate) clock: Arc<dyn Clock>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Discovery {
    parts: Parts,
    settings: DiscoverySettings,
    key: Key,
    polling: Polling,
    /// The indexers in use.
    current: Vec<Listed>,
    servers: watch::Sender<Arc<[Server]>>,
    /// The last error that was logged, so that repetitions are not.
    told: Option<String>,
}

impl Discovery {
    /// The discovery of a group, which begins with the last list of before, and the list; `None` for a group
    /// that names its indexers.
    pub(crate) fn open(parts: Parts) -> Option<(Self, Servers)> {
        let settings = parts.group.discovery.clone()?;
        let key = Key::of(&settings.secret)?;
        let current = read(&parts.directory.join(FILE));
        let servers = watch::channel(servers_of(&parts.group, &current)).0;
        let list = servers.subscribe();
        let (site, tls) = (parts.site.clone(), parts.group.tls.is_some());
        let polling = Polling { site, tls, failures: 0 };
        Some((Self { parts, settings, key, polling, current, servers, told: None }, list))
    }

    /// Asks until the signal to stop.
    pub(crate) async fn run(mut self, shutdown: Shutdown) {
        loop {
            let answer = tokio::select! {
                () = shutdown.stopped() => return,
                answer = self.ask() => answer,
            };
            let Step { pause, indexers } = self.polling.next(answer);
            self.take(indexers);
            let dice = runtime::random::uuid().as_u128();
            if !shutdown.sleep(jittered(pause, dice)).await {
                return;
            }
        }
    }

    /// Asks the processes in order, until one answers.
    async fn ask(&self) -> Result<DiscoveredIndexers, String> {
        let mut reasons = Vec::new();
        for manager in &self.settings.managers {
            match self.ask_one(manager).await {
                Ok(answer) => return Ok(answer),
                Err(reason) => reasons.push(format!("{}: {reason}", manager.server.address)),
            }
        }
        Err(reasons.join("; "))
    }

    async fn ask_one(&self, manager: &Endpoint) -> Result<DiscoveredIndexers, String> {
        let nonce = runtime::random::uuid().simple().to_string();
        let request = DiscoveryRequest {
            version: VERSION,
            time: self.now(),
            nonce: nonce.clone(),
            guid: self.parts.guid.clone(),
        };
        let (body, proof) = request.signed(&self.key).map_err(|error| error.to_string())?;
        let headers = [(PROOF_HEADER, proof.as_str())];
        let asked = Asked { method: Method::POST, path: PATH, headers: &headers, body };
        let (answer, proof) = ask(manager, asked, PROOF_HEADER).await?;
        DiscoveredIndexers::verified(&answer, &proof, &nonce, &self.key)
            .map_err(|error| format!("its response is ignored: {error}"))
    }

    fn now(&self) -> u64 {
        u64::try_from(self.parts.clock.now().0 / 1_000_000).unwrap_or(0)
    }

    /// Takes over a list, or records why there is none.
    fn take(&mut self, indexers: Result<Vec<Listed>, String>) {
        let group = &*self.parts.group.name;
        let error = match indexers {
            Ok(indexers) if indexers == self.current => None,
            Ok(indexers) => {
                let addresses = addresses(&indexers);
                tracing::info!(group, indexers = ?addresses, "the indexers of the group have changed");
                self.keep(&indexers);
                self.servers.send_replace(servers_of(&self.parts.group, &indexers));
                self.current = indexers;
                None
            }
            Err(reason) => Some(reason),
        };
        if let Some(reason) = &error {
            let known = self.current.len();
            if self.told.as_ref() != Some(reason) {
                tracing::warn!(
                    group,
                    known,
                    reason,
                    "indexer discovery brings no indexers: the last known ones stay in use, and events that \
                     they do not take stay in the queue"
                );
            }
            if known == 0 {
                self.parts.rules.failed("indexer discovery", reason, Instant::now());
            }
            metrics::counter!(names::FORWARDER_DISCOVERY_FAILURES, "group" => group.to_owned())
                .increment(1);
        }
        let known = u32::try_from(self.current.len()).unwrap_or(u32::MAX);
        metrics::gauge!(names::FORWARDER_DISCOVERED, "group" => group.to_owned())
            .set(f64::from(known));
        let before = self.parts.board.discovery(group).unwrap_or_default();
        let is_new = error.is_none();
        self.parts.board.put_discovery(
            group,
            DiscoveryStatus {
                managers: self.addresses_of_managers(),
                indexers: addresses(&self.current),
                last_answer: if is_new { self.now() } else { before.last_answer },
                last_error: error.clone(),
            },
        );
        self.told = error;
    }

    fn addresses_of_managers(&self) -> Vec<String> {
        let managers = self.settings.managers.iter();
        managers.map(|manager| manager.server.address.clone()).collect()
    }

    /// Writes the list for the next start.
    fn keep(&self, indexers: &[Listed]) {
        let path = self.parts.directory.join(FILE);
        let write = || -> std::io::Result<()> {
            fs::create_dir_all(&self.parts.directory)?;
            let draft = path.with_extension("next");
            fs::write(&draft, serde_json::to_vec(indexers)?)?;
            fs::rename(draft, &path)
        };
        if let Err(error) = write() {
            tracing::warn!(
                %error, path = %path.display(),
                "the list of indexers is not kept: a restart has none until the cluster answers"
            );
        }
    }
}

/// The last list; empty if there is none that can be read.
fn read(path: &Path) -> Vec<Listed> {
    let text = fs::read(path).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

fn servers_of(group: &Group, indexers: &[Listed]) -> Arc<[Server]> {
    let server = |listed: &Listed| Server {
        address: listed.address.clone(),
        tls: group.tls.clone(),
        id: listed.id,
    };
    indexers.iter().map(server).collect()
}

fn addresses(indexers: &[Listed]) -> Vec<String> {
    indexers.iter().map(|listed| listed.address.clone()).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use deployment::ReceivingPort;

    use super::*;

    fn indexer(host: &str, site: &str, ports: &[(u16, bool)]) -> ReceivingIndexer {
        let port = |(port, tls): &(u16, bool)| ReceivingPort {
            address: format!("{host}:{port}"),
            tls: *tls,
        };
        let ports = ports.iter().map(port).collect();
        let id = Uuid::from_bytes([host.as_bytes()[0]; 16]).to_string();
        ReceivingIndexer { id, name: host.to_owned(), site: site.to_owned(), ports }
    }

    fn answer(indexers: Vec<ReceivingIndexer>) -> Result<DiscoveredIndexers, String> {
        let nonce = String::new();
        Ok(DiscoveredIndexers { version: VERSION, nonce, interval: 42, indexers })
    }

    fn polling(site: Option<&str>, tls: bool) -> Polling {
        Polling { site: site.map(str::to_owned), tls, failures: 0 }
    }

    #[test]
    fn a_list_is_used_until_the_time_that_the_answer_names() {
        let mut polling = polling(None, false);
        let two = vec![indexer("b", "x", &[(1, false)]), indexer("a", "y", &[(1, false)])];
        let step = polling.next(answer(two));
        assert_eq!(step.pause, Duration::from_secs(42));
        let indexers = step.indexers.unwrap();
        assert_eq!(addresses(&indexers), ["a:1", "b:1"]);
        assert_eq!(indexers[0].id, Some(Uuid::from_bytes([b'a'; 16])));
    }

    #[test]
    fn failures_and_empty_lists_are_retried_soon_and_then_less_often() {
        let mut polling = polling(None, false);
        let pauses: Vec<u64> = (0..40)
            .map(|n| {
                let failed =
                    if n % 2 == 0 { Err("refused".to_owned()) } else { answer(Vec::new()) };
                let step = polling.next(failed);
                assert!(step.indexers.is_err());
                step.pause.as_secs()
            })
            .collect();
        assert_eq!((&pauses[..4], pauses[39]), (&[5, 10, 20, 30][..], 30));
        polling.next(answer(vec![indexer("a", "x", &[(1, false)])]));
        let step = polling.next(Err("refused".to_owned()));
        assert_eq!(step, Step { pause: PAUSE.0, indexers: Err("refused".to_owned()) });
    }

    #[test]
    fn the_own_site_is_preferred_and_another_one_is_better_than_none() {
        let all = [indexer("a", "east", &[(1, false)]), indexer("b", "west", &[(1, false)])];
        let chosen =
            |site| polling(site, false).chosen(&all).map(|chosen| addresses(&chosen).join(" "));
        assert_eq!(chosen(Some("west")), Ok("b:1".to_owned()));
        for site in [None, Some("north")] {
            assert_eq!(chosen(site), Ok("a:1 b:1".to_owned()));
        }
    }

    #[test]
    fn the_port_fits_the_encryption_of_the_group() {
        let both = indexer("a", "x", &[(1, false), (2, true)]);
        let plain = indexer("b", "x", &[(1, false)]);
        let chosen = |tls, all: &[ReceivingIndexer]| {
            polling(None, tls).chosen(all).map(|chosen| addresses(&chosen))
        };
        assert_eq!(chosen(true, &[both.clone(), plain.clone()]), Ok(vec!["a:2".to_owned()]));
        let two = vec!["a:1".to_owned(), "b:1".to_owned()];
        assert_eq!(chosen(false, &[both, plain.clone()]), Ok(two));
        let reason = chosen(true, &[plain]).unwrap_or_else(|reason| vec![reason]).join("");
        assert!(
            reason.contains("the 1 indexers have no ports for forwarders with TLS"),
            "{reason}"
        );
    }
}
