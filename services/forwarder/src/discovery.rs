//! Indexer discovery: asks the cluster which indexers a group can send to, again and again.
//!
//! ```text
//! manager_uri -> answer, signed -> Polling: which indexers, when to ask again -> list -> senders
//!                                                                                 +-> file, for a restart
//! ```
//!
//! Guarantees: a list is used only if it is signed with the key. Without a new list that has indexers, the
//! last one stays in use, also after a restart, if it is of the same cluster; why is in the log and in the
//! status. However many forwarders fail at a time, each keeps to the interval of the last answer in the end.
//! Not here: what happens to batches of an indexer that is no longer listed (`sender`).

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use deployment::{
    DISCOVERY_VERSION, DiscoveredIndexers, DiscoveryRequest, Key, PROOF_HEADER, ReceivingIndexer,
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
/// First and maximum pause after a request without an answer; the maximum is the last interval, if it is
/// longer.
const PAUSE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(30));
/// Maximum pause that an answer can ask for, in seconds.
const MOST: u64 = 3_600;
/// Age in seconds at which a list that has not changed is written again, so that its time is about right.
const OLD: u64 = 3_600;

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
    /// Consecutive requests without an answer.
    failures: u32,
    /// The interval in the last answer.
    interval: Duration,
}

impl Polling {
    fn next(&mut self, answer: Result<DiscoveredIndexers, String>) -> Step {
        match answer {
            Ok(answer) => {
                self.failures = 0;
                self.interval = Duration::from_secs(answer.interval.clamp(1, MOST));
                Step { pause: self.interval, indexers: self.chosen(&answer.indexers) }
            }
            Err(reason) => {
                // All forwarders ask in vain together if the cluster does not answer.
                let most = PAUSE.1.max(self.interval);
                let pause = PAUSE.0.saturating_mul(1 << self.failures.min(10)).min(most);
                self.failures = self.failures.saturating_add(1);
                Step { pause, indexers: Err(reason) }
            }
        }
    }

    /// The indexers of the own site; those of all sites if none of its own answers. Indexers that do not
    /// answer are among them: the sender finds out for itself which ones it reaches.
    fn chosen(&self, indexers: &[ReceivingIndexer]) -> Result<Vec<Listed>, String> {
        let fitting = |indexer: &ReceivingIndexer| {
            let port = indexer.ports.iter().find(|port| port.tls == self.tls)?;
            let (address, id) = (port.address.clone(), Uuid::parse_str(&indexer.id).ok());
            Some(Listed { address, id })
        };
        let is_near = |indexer: &&ReceivingIndexer| Some(&indexer.site) == self.site.as_ref();
        let is_usable = |indexer: &ReceivingIndexer| indexer.answers && fitting(indexer).is_some();
        let stays_near = indexers.iter().filter(is_near).any(is_usable);
        let wanted = indexers.iter().filter(|indexer| !stays_near || is_near(indexer));
        let mut chosen: Vec<Listed> = wanted.filter_map(fitting).collect();
        chosen.sort();
        chosen.dedup_by(|one, other| one.address == other.address);
        match (chosen.is_empty(), indexers.len()) {
            (false, _) => Ok(chosen),
            (true, 0) => Err("the cluster has no indexer with a port for forwarders".to_owned()),
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

/// The last list, in a file.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    /// The processes that were asked.
    managers: Vec<String>,
    /// Whether the group connected with TLS.
    tls: bool,
    /// When the list was received, in seconds of Unix time.
    time: u64,
    indexers: Vec<Listed>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Discovery {
    parts: Parts,
    settings: DiscoverySettings,
    key: Key,
    polling: Polling,
    /// The process to ask first: the last one that has answered.
    first: usize,
    /// The list in use.
    kept: Kept,
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
        let (site, tls) = (parts.site.clone(), parts.group.tls.is_some());
        let managers = settings.managers.iter().map(|manager| manager.server.address.clone());
        let (managers, group) = (managers.collect::<Vec<_>>(), &*parts.group.name);
        let kept = match read(&parts.directory.join(FILE), &managers, tls) {
            Ok(kept) => kept,
            Err(reason) => {
                tracing::warn!(group, reason, "the last list of indexers is not used");
                None
            }
        };
        let is_kept = kept.is_some();
        let kept = kept.unwrap_or_else(|| Kept { managers, tls, ..Kept::default() });
        let servers = watch::channel(servers_of(&parts.group, &kept.indexers)).0;
        let list = servers.subscribe();
        let polling = Polling { site, tls, failures: 0, interval: PAUSE.1 };
        // Not all forwarders ask the same process first.
        let dice = runtime::random::uuid().as_u64_pair().0;
        let first = usize::try_from(dice % settings.managers.len().max(1) as u64).unwrap_or(0);
        let own = Self { parts, settings, key, polling, first, kept, servers, told: None };
        if is_kept {
            let age = own.now().saturating_sub(own.kept.time);
            tracing::info!(
                group = &*own.parts.group.name,
                indexers = own.kept.indexers.len(),
                age_in_seconds = age,
                "the last list of indexers is used until the cluster answers"
            );
        }
        own.show(0, None);
        Some((own, list))
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

    /// Asks the processes in order, beginning with the last one that has answered, until one answers.
    async fn ask(&mut self) -> Result<DiscoveredIndexers, String> {
        let mut reasons = Vec::new();
        let (first, all) = (self.first, self.settings.managers.len());
        for at in (0..all).map(|step| (first + step) % all) {
            let manager = &self.settings.managers[at];
            match self.ask_one(manager).await {
                Ok(answer) => {
                    self.first = at;
                    return Ok(answer);
                }
                Err(reason) => reasons.push(format!("{}: {reason}", manager.server.address)),
            }
        }
        Err(reasons.join("; "))
    }

    async fn ask_one(&self, manager: &Endpoint) -> Result<DiscoveredIndexers, String> {
        let nonce = runtime::random::uuid().simple().to_string();
        let request = DiscoveryRequest {
            version: DISCOVERY_VERSION,
            time: self.now(),
            nonce: nonce.clone(),
            guid: self.parts.guid.clone(),
        };
        let (body, proof) = request.signed(&self.key).map_err(|error| error.to_string())?;
        let headers = [(PROOF_HEADER, proof.as_str())];
        let asked = Asked { method: Method::POST, path: PATH, headers: &headers, body };
        let (answer, proof) = ask(manager, asked, PROOF_HEADER).await.map_err(explained)?;
        DiscoveredIndexers::verified(&answer, &proof, &nonce, &self.key)
            .map_err(|error| format!("its response is ignored: {error}"))
    }

    fn now(&self) -> u64 {
        u64::try_from(self.parts.clock.now().0 / 1_000_000).unwrap_or(0)
    }

    /// Takes over a list, or records why there is none.
    fn take(&mut self, indexers: Result<Vec<Listed>, String>) {
        let group = Arc::clone(&self.parts.group.name);
        let error = match indexers {
            Ok(indexers) => {
                self.use_list(indexers);
                None
            }
            Err(reason) => Some(reason),
        };
        if let Some(reason) = &error {
            let known = self.kept.indexers.len();
            if self.told.as_deref().map(without_numbers) != Some(without_numbers(reason)) {
                tracing::warn!(
                    group = &*group,
                    known,
                    reason,
                    "indexer discovery brings no indexers: the last known ones stay in use, and events that \
                     they do not take stay in the queue"
                );
            }
            if known == 0 {
                self.parts.rules.failed("indexer discovery", reason, Instant::now());
            }
            metrics::counter!(names::FORWARDER_DISCOVERY_FAILURES, "group" => group.to_string())
                .increment(1);
        }
        let before = self.parts.board.discovery(&group).unwrap_or_default();
        let last_answer = if error.is_none() { self.now() } else { before.last_answer };
        self.show(last_answer, error.clone());
        self.told = error;
    }

    fn use_list(&mut self, indexers: Vec<Listed>) {
        let is_new = indexers != self.kept.indexers;
        let now = self.now();
        if !is_new && now.saturating_sub(self.kept.time) < OLD {
            return;
        }
        (self.kept.indexers, self.kept.time) = (indexers, now);
        self.kept.managers = self.addresses_of_managers();
        self.keep();
        if is_new {
            let addresses = addresses(&self.kept.indexers);
            let group = &*self.parts.group.name;
            tracing::info!(group, indexers = ?addresses, "the indexers of the group have changed");
            self.servers.send_replace(servers_of(&self.parts.group, &self.kept.indexers));
        }
    }

    /// Publishes the state.
    fn show(&self, last_answer: u64, last_error: Option<String>) {
        let group = &*self.parts.group.name;
        let known = u32::try_from(self.kept.indexers.len()).unwrap_or(u32::MAX);
        metrics::gauge!(names::FORWARDER_DISCOVERED, "group" => group.to_owned())
            .set(f64::from(known));
        let status = DiscoveryStatus {
            managers: self.addresses_of_managers(),
            indexers: addresses(&self.kept.indexers),
            last_answer,
            last_error,
        };
        self.parts.board.put_discovery(group, status);
    }

    fn addresses_of_managers(&self) -> Vec<String> {
        let managers = self.settings.managers.iter();
        managers.map(|manager| manager.server.address.clone()).collect()
    }

    /// Writes the list for the next start.
    fn keep(&self) {
        if let Err(error) = write(&self.parts.directory, &self.kept) {
            tracing::warn!(
                %error, directory = %self.parts.directory.display(),
                "the list of indexers is not kept: a restart has an older one, or none, until the cluster answers"
            );
        }
    }
}

fn write(directory: &Path, kept: &Kept) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let path = directory.join(FILE);
    let draft = path.with_extension("next");
    let mut file = File::create(&draft)?;
    file.write_all(&serde_json::to_vec(kept)?)?;
    file.sync_all()?;
    fs::rename(draft, path)?;
    File::open(directory)?.sync_all()
}

/// The last list; `None` if there is none.
///
/// # Errors
/// Why it cannot be used: it is damaged, or was got from another cluster or for other ports.
fn read(path: &Path, managers: &[String], tls: bool) -> Result<Option<Kept>, String> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{}: {error}", path.display())),
    };
    let kept: Kept = serde_json::from_slice(&text)
        .map_err(|error| format!("{} is damaged: {error}", path.display()))?;
    if !kept.managers.iter().any(|manager| managers.contains(manager)) {
        return Err(format!("it is from other processes: {}", kept.managers.join(", ")));
    }
    if kept.tls != tls {
        return Err("useSSL of the group has changed since".to_owned());
    }
    Ok(Some(kept))
}

/// An error with what it means here.
fn explained(error: String) -> String {
    let is_unknown = error.starts_with("it answers 404");
    if is_unknown { format!("{error} (its version has no indexer discovery)") } else { error }
}

/// A reason without its numbers: a difference of clocks is another one each time.
fn without_numbers(reason: &str) -> String {
    reason.chars().filter(|c| !c.is_ascii_digit()).collect()
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
    use conf::{Layer, Layers};
    use deployment::ReceivingPort;
    use knowledge::Knowledge;

    use super::*;
    use crate::indexer_rules::Compiler;
    use crate::outputs::Outputs;

    fn indexer(host: &str, site: &str, ports: &[(u16, bool)]) -> ReceivingIndexer {
        let port = |(port, tls): &(u16, bool)| ReceivingPort {
            address: format!("{host}:{port}"),
            tls: *tls,
        };
        let (ports, answers) = (ports.iter().map(port).collect(), true);
        let id = Uuid::from_bytes([host.as_bytes()[0]; 16]).to_string();
        ReceivingIndexer { id, name: host.to_owned(), site: site.to_owned(), ports, answers }
    }

    fn answer(indexers: Vec<ReceivingIndexer>) -> Result<DiscoveredIndexers, String> {
        let nonce = String::new();
        Ok(DiscoveredIndexers { version: DISCOVERY_VERSION, nonce, interval: 42, indexers })
    }

    fn polling(site: Option<&str>, tls: bool) -> Polling {
        Polling { site: site.map(str::to_owned), tls, failures: 0, interval: PAUSE.1 }
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
    fn failures_are_retried_soon_and_then_as_often_as_the_last_answer_says() {
        let mut polling = polling(None, false);
        let failed = |polling: &mut Polling| {
            let step = polling.next(Err("refused".to_owned()));
            assert_eq!(step.indexers, Err("refused".to_owned()));
            step.pause.as_secs()
        };
        let pauses = [(); 5].map(|()| failed(&mut polling));
        assert_eq!(pauses, [5, 10, 20, 30, 30]);
        // 10,000 forwarders: those that get no answer do not ask more often than all together may.
        let many = |indexers| {
            answer(indexers).map(|answer| DiscoveredIndexers { interval: 1030, ..answer })
        };
        assert!(polling.next(many(vec![indexer("a", "x", &[(1, false)])])).indexers.is_ok());
        let pauses = [(); 10].map(|()| failed(&mut polling));
        assert_eq!((pauses[0], pauses[1], pauses[9]), (5, 10, 1030));
        for nothing in [vec![], vec![indexer("a", "x", &[(1, true)])]] {
            let step = polling.next(many(nothing));
            assert!(step.indexers.is_err());
            assert_eq!(step.pause.as_secs(), 1030, "the cluster has answered");
        }
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
    fn indexers_that_do_not_answer_stay_in_the_list_but_not_as_the_only_ones() {
        let of = |host: &str, site: &str, answers| ReceivingIndexer {
            answers,
            ..indexer(host, site, &[(1, false)])
        };
        let chosen = |all: &[ReceivingIndexer]| {
            polling(Some("east"), false).chosen(all).map(|chosen| addresses(&chosen).join(" "))
        };
        let far = of("c", "west", true);
        let one_is_slow = [of("a", "east", true), of("b", "east", false), far.clone()];
        assert_eq!(chosen(&one_is_slow), Ok("a:1 b:1".to_owned()));
        let site_is_lost = [of("a", "east", false), of("b", "east", false), far];
        assert_eq!(chosen(&site_is_lost), Ok("a:1 b:1 c:1".to_owned()));
        assert_eq!(chosen(&[of("a", "east", false)]), Ok("a:1".to_owned()));
    }

    #[test]
    fn a_list_is_used_after_a_restart_if_it_is_of_the_same_cluster_and_for_the_same_ports() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let managers = ["m:1".to_owned(), "n:1".to_owned()];
        assert_eq!(read(&path, &managers, true), Ok(None));
        let indexers = vec![Listed { address: "a:1".to_owned(), id: Some(Uuid::nil()) }];
        let kept = Kept { managers: managers.to_vec(), tls: true, time: 7, indexers };
        write(folder.path(), &kept).unwrap();
        let some = ["n:1".to_owned(), "o:1".to_owned()];
        assert_eq!(read(&path, &some, true), Ok(Some(kept)));
        assert!(read(&path, &some, false).unwrap_err().contains("useSSL"));
        assert!(read(&path, &some[1..], true).unwrap_err().contains("m:1, n:1"));
        fs::write(&path, "[").unwrap();
        assert!(read(&path, &some, true).unwrap_err().contains("damaged"));
    }

    #[test]
    fn the_state_is_shown_before_the_first_answer_and_the_list_is_that_of_before() {
        let folder = tempfile::tempdir().unwrap();
        let indexers = vec![Listed { address: "a:1".to_owned(), id: None }];
        let kept = Kept { managers: vec!["m:1".to_owned()], tls: false, time: 7, indexers };
        write(folder.path(), &kept).unwrap();
        let board = StatusBoard::default();
        let (discovery, servers) = Discovery::open(parts(folder.path(), &board)).unwrap();
        assert_eq!(servers.borrow()[0].address, "a:1");
        let shown = board.discovery("g").unwrap();
        assert_eq!((shown.indexers, shown.last_answer), (vec!["a:1".to_owned()], 0));
        assert_eq!((shown.managers, discovery.kept), (vec!["m:1".to_owned()], kept));
    }

    #[test]
    fn reasons_that_differ_in_numbers_are_the_same_and_an_old_version_is_named() {
        let told = |seconds| without_numbers(&format!("the clock differs by {seconds} s"));
        assert_eq!(told(312), told(7));
        assert_ne!(told(312), without_numbers("refused"));
        let old = explained("it answers 404: not found".to_owned());
        assert!(old.ends_with("(its version has no indexer discovery)"), "{old}");
        assert_eq!(explained("it answers 403: no".to_owned()), "it answers 403: no");
    }

    fn parts(directory: &Path, board: &StatusBoard) -> Parts {
        let outputs = "[tcpout]\ndefaultGroup = g\n[tcpout:g]\nindexerDiscovery = d\ntoken = t\n\
                       [indexer_discovery:d]\nmanager_uri = m:1\n";
        let layers = Layers::builtin().with(Layer::SystemLocal, "outputs", outputs);
        let group = Arc::clone(&Outputs::read(&layers.effective("outputs")).unwrap().groups[0]);
        let compiler = Arc::new(Compiler::new(Arc::new(Knowledge::new(layers))));
        Parts {
            directory: directory.to_owned(),
            guid: "guid".to_owned(),
            site: None,
            rules: Arc::new(IndexerRules::open(compiler, &group.name, directory)),
            board: board.clone(),
            clock: Arc::new(runtime::SystemClock),
            group,
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
