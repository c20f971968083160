//! Indexer discovery: forwarders ask which indexers they can send to.
//!
//! ```text
//! POST /services/indexer_discovery    DiscoveryRequest, signed "discovery"
//!   200                               DiscoveredIndexers, signed "indexers"
//! ```
//!
//! The key is that of this feature or the token that forwarders send to indexers; both messages are signed as
//! those of the deployment server. Which indexers there are is told by the caller.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use conf::{Layers, Reader};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::proof::Key;
use crate::server::check_time;
use crate::settings::{DISCOVERY_KEY, DiscoverySettings, Settings};

/// The version of these messages.
pub const DISCOVERY_VERSION: u32 = 1;

const DISCOVERY: &str = "discovery";
const INDEXERS: &str = "indexers";
/// Interval between the requests of a forwarder, if there are few forwarders.
const INTERVAL: u64 = 30;
/// Interval in seconds at which the processes of the cluster are asked whether they answer.
const ASK: u64 = 10;
/// Maximum length in bytes of a name sent by a forwarder.
const MAX_NAME: usize = 256;
/// Maximum number of forwarders that are counted.
const MAX_FORWARDERS: usize = 100_000;

/// The request of a forwarder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoveryRequest {
    /// [`DISCOVERY_VERSION`] of the forwarder.
    pub version: u32,
    /// Seconds of Unix time.
    pub time: u64,
    /// A random number of this message, which the answer repeats.
    pub nonce: String,
    /// The identity of the forwarder.
    pub guid: String,
}

/// A port of an indexer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReceivingPort {
    /// `host:port`.
    pub address: String,
    /// Whether it requires TLS.
    pub tls: bool,
}

/// An indexer that receives from forwarders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReceivingIndexer {
    /// Its identity, which it also says to forwarders that connect.
    #[serde(default)]
    pub id: String,
    /// Its server name.
    pub name: String,
    /// Its site.
    pub site: String,
    /// Its ports for forwarders.
    pub ports: Vec<ReceivingPort>,
    /// Whether it answers other processes. One that does not may only be slow.
    #[serde(default = "yes")]
    pub answers: bool,
}

const fn yes() -> bool {
    true
}

/// The answer to a forwarder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoveredIndexers {
    /// [`DISCOVERY_VERSION`] of the server.
    pub version: u32,
    /// The number of the forwarder's message.
    pub nonce: String,
    /// Seconds until the forwarder asks again.
    pub interval: u64,
    /// The indexers.
    pub indexers: Vec<ReceivingIndexer>,
}

impl DiscoveryRequest {
    /// The message as JSON, and its proof.
    ///
    /// # Errors
    /// If the message cannot be written as JSON.
    pub fn signed(&self, key: &Key) -> Result<(Vec<u8>, String), Error> {
        signed(self, DISCOVERY, key)
    }
}

impl DiscoveredIndexers {
    /// Parses and verifies the answer to a message.
    ///
    /// # Errors
    /// If the answer is not signed with the key, or belongs to another message.
    pub fn verified(body: &[u8], proof: &str, nonce: &str, key: &Key) -> Result<Self, Error> {
        if !key.verify(INDEXERS, body, proof) {
            return Err(Error::DiscoveryProof);
        }
        let answer: Self = parsed(body)?;
        if answer.nonce != nonce {
            return Err(Error::Request("it is the answer to another request".to_owned()));
        }
        Ok(answer)
    }
}

fn signed(message: &impl Serialize, purpose: &str, key: &Key) -> Result<(Vec<u8>, String), Error> {
    let body = serde_json::to_vec(message).map_err(|error| Error::Request(error.to_string()))?;
    let proof = key.sign(purpose, &body);
    Ok((body, proof))
}

fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(body).map_err(|error| Error::Request(error.to_string()))
}

/// The side of the server. The clock is an argument.
#[derive(Debug)]
pub struct IndexerDiscovery {
    key: Option<Key>,
    polling_rate: u64,
    clock_difference: Duration,
    /// The time of the last request of each forwarder, in seconds of Unix time.
    seen: Mutex<HashMap<String, u64>>,
    silent: Mutex<Silent>,
}

/// The processes that did not answer.
#[derive(Debug, Default)]
struct Silent {
    /// When they were last asked, in seconds of Unix time.
    asked: u64,
    ids: Arc<[String]>,
}

impl IndexerDiscovery {
    /// Reads the settings. `token` is the one that forwarders send to indexers; it is the key if no other is
    /// set.
    ///
    /// # Errors
    /// If a value is invalid.
    pub fn read(layers: &Layers, token: Option<&str>) -> Result<Self, Error> {
        let conf = layers.effective("server");
        let own = Reader::new(&conf, "indexer_discovery").get(&DISCOVERY_KEY)?;
        Ok(Self {
            key: own.as_deref().or(token).and_then(Key::of),
            polling_rate: DiscoverySettings::read(layers)?.polling_rate,
            clock_difference: Settings::read(layers)?.clock_difference,
            seen: Mutex::default(),
            silent: Mutex::default(),
        })
    }

    /// Checks that a request is from a forwarder with the key. `now` is in seconds of Unix time.
    ///
    /// # Errors
    /// If it is not, or there is no key.
    pub fn check(&self, body: &[u8], proof: &str, now: u64) -> Result<DiscoveryRequest, Error> {
        let key = self.key.as_ref().ok_or(Error::NoDiscoveryKey)?;
        if !key.verify(DISCOVERY, body, proof) {
            return Err(Error::DiscoveryProof);
        }
        let request: DiscoveryRequest = parsed(body)?;
        if request.version != DISCOVERY_VERSION {
            let theirs = request.version;
            let text =
                format!("it has version {theirs}, and this server takes {DISCOVERY_VERSION}");
            return Err(Error::Request(text));
        }
        if [&request.guid, &request.nonce].iter().any(|text| !(1..=MAX_NAME).contains(&text.len()))
        {
            let text = format!("guid and nonce have to be texts of 1 to {MAX_NAME} bytes");
            return Err(Error::Request(text));
        }
        check_time(request.time, now, self.clock_difference)?;
        Ok(request)
    }

    /// The answer to a checked request, and its proof.
    ///
    /// # Errors
    /// If the answer cannot be written as JSON.
    pub fn answer(
        &self,
        request: &DiscoveryRequest,
        indexers: Vec<ReceivingIndexer>,
        now: u64,
    ) -> Result<(Vec<u8>, String), Error> {
        let key = self.key.as_ref().ok_or(Error::NoDiscoveryKey)?;
        let answer = DiscoveredIndexers {
            version: DISCOVERY_VERSION,
            nonce: request.nonce.clone(),
            interval: self.interval(&request.guid, now),
            indexers,
        };
        signed(&answer, INDEXERS, key)
    }

    /// Whether the caller is to ask the processes of the cluster now, and to report those that do not answer:
    /// one caller in `ASK` seconds, however many requests there are. The others use the last report.
    #[must_use]
    pub fn is_to_ask(&self, now: u64) -> bool {
        let mut silent = self.silent.lock();
        let is_due = now.abs_diff(silent.asked) >= ASK;
        if is_due {
            silent.asked = now;
        }
        is_due
    }

    /// Takes the report of the processes that do not answer.
    pub fn report_silent(&self, ids: Vec<String>) {
        self.silent.lock().ids = ids.into();
    }

    /// The processes that did not answer when they were last asked.
    #[must_use]
    pub fn silent(&self) -> Arc<[String]> {
        Arc::clone(&self.silent.lock().ids)
    }

    /// Seconds until a forwarder asks again: it counts as one more until it has been silent for three times
    /// as long.
    fn interval(&self, guid: &str, now: u64) -> u64 {
        let mut seen = self.seen.lock();
        let of = |forwarders: usize| INTERVAL + forwarders as u64 / self.polling_rate;
        let silence = 3 * of(seen.len());
        seen.retain(|_, last| now.saturating_sub(*last) <= silence);
        if seen.len() < MAX_FORWARDERS || seen.contains_key(guid) {
            seen.insert(guid.to_owned(), now);
        }
        of(seen.len())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::Layer;

    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn request() -> DiscoveryRequest {
        let (nonce, guid) = ("n".to_owned(), "g".to_owned());
        DiscoveryRequest { version: DISCOVERY_VERSION, time: NOW, nonce, guid }
    }

    fn discovery(server: &str, token: Option<&str>) -> IndexerDiscovery {
        let layers = Layers::builtin().with(Layer::SystemLocal, "server", server);
        IndexerDiscovery::read(&layers, token).unwrap()
    }

    fn said<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn who_has_the_key_gets_the_indexers_and_nobody_can_answer_in_place_of_the_server() {
        let server = discovery("[indexer_discovery]\npass4SymmKey = one\n", Some("token"));
        let (key, other) = (Key::of("one").unwrap(), Key::of("token").unwrap());
        let (body, proof) = request().signed(&key).unwrap();
        let checked = server.check(&body, &proof, NOW).unwrap();
        let port = ReceivingPort { address: "a:9997".to_owned(), tls: false };
        let (id, name, site) = ("i".to_owned(), "a".to_owned(), "site1".to_owned());
        let indexer = ReceivingIndexer { id, name, site, ports: vec![port], answers: true };
        let (answer, answered) = server.answer(&checked, vec![indexer.clone()], NOW).unwrap();
        let read = DiscoveredIndexers::verified(&answer, &answered, "n", &key).unwrap();
        assert_eq!((read.indexers, read.interval), (vec![indexer], 30));
        let verified = |proof: &str, nonce, key| {
            said(DiscoveredIndexers::verified(&answer, proof, nonce, key))
        };
        assert!(verified(&answered, "m", &key).contains("another request"));
        assert!(verified(&answered, "n", &other).contains("not signed"));
        assert!(verified(&key.sign(DISCOVERY, &answer), "n", &key).contains("not signed"));
        let (body, proof) = request().signed(&other).unwrap();
        assert!(said(server.check(&body, &proof, NOW)).contains("not signed"));
    }

    #[test]
    fn requests_without_a_key_late_or_unreadable_are_refused() {
        let key = Key::of("token").unwrap();
        let (body, proof) = request().signed(&key).unwrap();
        assert!(said(discovery("", None).check(&body, &proof, NOW)).contains("has no key"));
        let server = discovery("", Some("token"));
        assert!(server.check(&body, &proof, NOW).is_ok());
        assert!(said(server.check(&body, &proof, NOW + 301)).contains("clock"));
        let later = DiscoveryRequest { version: 2, ..request() };
        let unnamed = DiscoveryRequest { guid: String::new(), ..request() };
        for (request, part) in [(later, "version 2"), (unnamed, "guid and nonce")] {
            let (body, proof) = request.signed(&key).unwrap();
            assert!(said(server.check(&body, &proof, NOW)).contains(part));
        }
        let proof = key.sign(DISCOVERY, b"{");
        assert!(said(server.check(b"{", &proof, NOW)).contains("EOF"));
    }

    #[test]
    fn however_many_requests_there_are_the_cluster_is_asked_once_in_a_while() {
        let server = discovery("", Some("token"));
        let asked = (0..100).filter(|n| server.is_to_ask(NOW + n / 50)).count();
        assert_eq!((asked, server.silent().len()), (1, 0));
        server.report_silent(vec!["a".to_owned()]);
        assert!(!server.is_to_ask(NOW + ASK - 1) && server.is_to_ask(NOW + ASK));
        assert_eq!(*server.silent(), ["a".to_owned()]);
    }

    #[test]
    fn more_forwarders_ask_less_often_until_they_are_silent() {
        let server = discovery("[indexer_discovery]\npolling_rate = 2\n", None);
        let intervals: Vec<u64> =
            (0..40).map(|n| server.interval(&format!("forwarder-{n}"), NOW)).collect();
        assert_eq!((intervals[0], intervals[39]), (30, 50));
        assert_eq!(server.interval("forwarder-7", NOW + 20), 50, "it is counted once");
        assert_eq!(server.interval("forwarder-7", NOW + 200), 30, "the others are gone");
    }
}
