//! `outputs.conf`: the destinations of events.
//!
//! `[tcpout]` has defaults for all groups, `[tcpout:<group>]` is a group of indexers with load balancing,
//! `[tcpout-server://host:port]` has settings of a single indexer. Every group gets every event that is
//! routed to it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use conf::{Effective, Key, Reader, Setting};
use knowledge::Pattern;
use uuid::Uuid;

use crate::{Error, settings};

/// The encryption of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    /// Trusted certificates; `None` if the server's certificate is not verified.
    pub root: Option<PathBuf>,
    /// Name in the server's certificate, if it differs from the name in `server`.
    pub name: Option<String>,
}

/// An indexer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// `host:port`.
    pub address: String,
    /// `None` for plain TCP.
    pub tls: Option<TlsSettings>,
    /// The identity of an indexer, if the cluster has named it.
    pub(crate) id: Option<Uuid>,
}

/// What a URI has to be.
pub(crate) const URI: &str = "host:port, with https:// or http:// or not";

/// A server's management API, and the limits of requests to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) server: Server,
    pub(crate) connect_timeout: Duration,
    pub(crate) recv_timeout: Duration,
}

/// The address in a URI (`host:port`, with `https://` or without, or with `http://`), and whether connections
/// are not encrypted (`http://`). `None` if it is not such a URI.
pub(crate) fn address_of(uri: &str) -> Option<(String, bool)> {
    let (is_plain, address) = match uri.split_once("://") {
        Some(("http", rest)) => (true, rest),
        Some(("https", rest)) => (false, rest),
        None => (false, uri),
        Some(_) => return None,
    };
    let address = address.trim_end_matches('/');
    let (host, port) = address.rsplit_once(':')?;
    let is_valid = !host.is_empty() && port.parse::<u16>().is_ok() && !address.contains('/');
    is_valid.then(|| (address.to_owned(), is_plain))
}

/// Where the indexers of a group are asked for (`[indexer_discovery:<name>]`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiscoverySettings {
    /// Processes of the cluster; the first one that answers counts.
    pub(crate) managers: Vec<Endpoint>,
    /// The secret from which the key is derived.
    pub(crate) secret: String,
}

/// A group of indexers. Sizes are bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: Arc<str>,
    /// The indexers; none if they are asked for.
    pub servers: Vec<Server>,
    /// Where they are asked for.
    pub(crate) discovery: Option<DiscoverySettings>,
    /// The encryption of connections to indexers that are asked for.
    pub(crate) tls: Option<TlsSettings>,
    /// Interval after which another indexer becomes the target (`autoLBFrequency`).
    pub lb_frequency: Duration,
    /// Amount of text after which another indexer becomes the target; zero for no limit (`autoLBVolume`).
    pub lb_volume: u64,
    /// Maximum size in memory of data that waits for the queue on disk; an indexer may have three times as
    /// much unacknowledged (`maxQueueSize`).
    pub max_queue_size: usize,
    /// Maximum size of the queue on disk, per pipeline set (`persistentQueueSize`).
    pub persistent_queue_size: u64,
    /// Whether batches are compressed on disk and on the network (`compressed`).
    pub compressed: bool,
    /// Time after which new events are dropped if the queue is full; `None` if inputs wait
    /// (`dropEventsOnQueueFull`).
    pub drop_on_queue_full: Option<Duration>,
    /// Time for which batches that an indexer may have received are kept for it (`deadIndexerTimeout`).
    pub dead_indexer_timeout: Duration,
    /// Time limit for connecting (`connectionTimeout`).
    pub connection_timeout: Duration,
    /// Maximum time without data from an indexer (`readTimeout`).
    pub read_timeout: Duration,
    /// Interval between heartbeats on an idle connection (`heartbeatFrequency`).
    pub heartbeat: Duration,
    /// The token required by the indexers (`token`).
    pub token: String,
}

/// Selects the forwarded indexes: the last matching filter decides.
#[derive(Debug, Clone, Default)]
pub struct IndexFilter(Vec<(bool, Pattern)>);

impl IndexFilter {
    /// Whether events of the index are forwarded.
    #[must_use]
    pub fn allows(&self, index: &str) -> bool {
        let whole = |pattern: &Pattern| {
            pattern.find_at(index, 0).is_some_and(|(start, end)| start == 0 && end == index.len())
        };
        self.0.iter().rev().find(|(_, pattern)| whole(pattern)).is_none_or(|(allow, _)| *allow)
    }
}

/// The settings of `outputs.conf`.
#[derive(Debug, Clone)]
pub struct Outputs {
    /// The groups, by name.
    pub groups: Vec<Arc<Group>>,
    /// Groups for events that no input routes (`defaultGroup`), as positions in `groups`.
    pub default_groups: Vec<usize>,
    /// Selects the forwarded indexes.
    pub filter: IndexFilter,
}

/// The stanza with defaults for all groups.
const GENERAL: &str = "tcpout";
/// The beginning of stanzas of indexer discovery.
const DISCOVERY: &str = "indexer_discovery:";

impl Outputs {
    /// Reads the settings.
    ///
    /// # Errors
    /// The first error, with file and line.
    pub fn read(conf: &Effective) -> Result<Self, Error> {
        let mut groups = Vec::new();
        for stanza in &conf.stanzas {
            let Some(name) = stanza.name.strip_prefix("tcpout:") else { continue };
            let values = Values(Reader::new(conf, &stanza.name).or(GENERAL));
            if !values.0.get(&settings::DISABLED)? {
                groups.push(Arc::new(values.group(name)?));
            }
        }
        let general = Values(Reader::new(conf, GENERAL));
        let default_groups = match general.0.entry(&settings::DEFAULT_GROUP.setting) {
            None => Vec::new(),
            Some(entry) => {
                let names = groups_named(&groups, &entry.value);
                names.map_err(|reason| Error::setting(&entry.place, reason))?
            }
        };
        if groups.is_empty() {
            let reason = "there is no group: add [tcpout:<name>] with server = host:port";
            return Err(Error::setting("outputs.conf", reason));
        }
        Ok(Self { groups, default_groups, filter: general.filter()? })
    }

    /// Warnings about settings without effect, except for unknown and unused ones.
    #[must_use]
    pub fn warnings(conf: &Effective) -> Vec<String> {
        let mut warnings = Vec::new();
        for stanza in &conf.stanzas {
            let begins = ["tcpout", DISCOVERY].iter().any(|begin| stanza.name.starts_with(begin));
            let ours = begins || stanza.name == "default";
            if !ours {
                let place = &stanza.place;
                warnings.push(format!("{place}: [{}] has no effect here", stanza.name));
                continue;
            }
            for entry in &stanza.entries {
                let (place, key) = (&entry.place, settings::USE_ACK);
                if entry.key == key.name() && key.value(&entry.value) == Some(false) {
                    warnings
                        .push(format!("{place}: batches are acknowledged regardless of useACK"));
                }
            }
        }
        warnings
    }
}

fn is_filter(key: &str) -> bool {
    let Some(rest) = key.strip_prefix(settings::FILTER.prefix()) else { return false };
    let number = rest.strip_suffix(".whitelist").or_else(|| rest.strip_suffix(".blacklist"));
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

/// The positions of the groups in a list of names.
pub(crate) fn groups_named(groups: &[Arc<Group>], names: &str) -> Result<Vec<usize>, String> {
    let mut found = Vec::new();
    for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let Some(place) = groups.iter().position(|group| *group.name == *name) else {
            return Err(format!("there is no [tcpout:{name}] in outputs.conf"));
        };
        if !found.contains(&place) {
            found.push(place);
        }
    }
    Ok(found)
}

/// A stanza completed by `[tcpout]` and `[default]`.
struct Values<'a>(Reader<'a>);

impl Values<'_> {
    fn size(&self, key: &Key<String>) -> Result<u64, Error> {
        let text = match self.0.get(key)? {
            auto if auto == "auto" => key.default_value(),
            text => text,
        };
        Ok(conf::size(&text).unwrap_or(u64::MAX))
    }

    fn group(&self, name: &str) -> Result<Group, Error> {
        let place = format!("[tcpout:{name}]");
        let mut list = Vec::new();
        for address in self.0.get(&settings::SERVER)? {
            let port = address.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
            if port.is_none() {
                let reason = format!("server = {address}: expected host:port");
                return Err(Error::setting(&place, reason));
            }
            list.push(Server { tls: self.tls(&address)?, address, id: None });
        }
        let of = &self.0;
        let token = of.get(&settings::TOKEN)?.unwrap_or_default();
        let discovery = self.discovery(&token)?;
        match (list.is_empty(), discovery.is_some()) {
            (true, false) => {
                let reason = "it has no server = host:port, ..., and no indexerDiscovery = <name>";
                return Err(Error::setting(place, reason));
            }
            (false, true) => {
                let reason = "it has server and indexerDiscovery: remove one of them";
                return Err(Error::setting(place, reason));
            }
            _ => {}
        }
        // No server has this name, so these are the settings of the group.
        let tls = if discovery.is_some() { self.tls("")? } else { None };
        let max_queue_size = usize::try_from(self.size(&settings::MAX_QUEUE_SIZE)?);
        let patience = u64::try_from(of.get(&settings::DROP_ON_QUEUE_FULL)?).unwrap_or(0);
        Ok(Group {
            name: name.into(),
            servers: list,
            tls,
            discovery,
            lb_frequency: of.get(&settings::LB_FREQUENCY)?.max(Duration::from_millis(100)),
            lb_volume: self.size(&settings::LB_VOLUME)?,
            max_queue_size: max_queue_size.unwrap_or(usize::MAX).clamp(64 << 10, 1 << 30),
            persistent_queue_size: self.size(&settings::PERSISTENT_QUEUE_SIZE)?.max(1 << 20),
            compressed: of.get(&settings::COMPRESSED)?,
            drop_on_queue_full: (patience > 0).then(|| Duration::from_secs(patience)),
            dead_indexer_timeout: of.get(&settings::DEAD_INDEXER_TIMEOUT)?,
            connection_timeout: of.get(&settings::CONNECTION_TIMEOUT)?,
            read_timeout: of.get(&settings::READ_TIMEOUT)?,
            heartbeat: of.get(&settings::HEARTBEAT)?.max(Duration::from_secs(1)),
            token,
        })
    }

    /// Where the indexers are asked for; without a secret of its own, the key is the token.
    fn discovery(&self, token: &str) -> Result<Option<DiscoverySettings>, Error> {
        let Some(name) = self.0.get(&settings::INDEXER_DISCOVERY)? else { return Ok(None) };
        let stanza = format!("{DISCOVERY}{name}");
        if self.0.conf.stanza(&stanza).is_none() {
            let reason = format!("there is no [{stanza}] in outputs.conf");
            return Err(self.0.refused(&settings::INDEXER_DISCOVERY.setting, reason).into());
        }
        let own = Reader::new(self.0.conf, &stanza);
        let mut uris = own.get(&settings::MANAGER_URI)?;
        let is_old = uris.is_empty();
        if is_old {
            uris = own.get(&settings::MASTER_URI)?;
        }
        let wrong = || match is_old && !uris.is_empty() {
            true => own.wrong(&settings::MASTER_URI, URI),
            false => own.wrong(&settings::MANAGER_URI, URI),
        };
        let mut managers = Vec::new();
        for uri in &uris {
            let (address, is_plain) = address_of(uri).ok_or_else(wrong)?;
            // The answers are signed, and no request has a secret: the certificate does not matter.
            let tls = (!is_plain).then_some(TlsSettings { root: None, name: None });
            managers.push(Endpoint {
                server: Server { address, tls, id: None },
                connect_timeout: own.get(&settings::CXN_TIMEOUT)?,
                recv_timeout: own.get(&settings::RCV_TIMEOUT)?,
            });
        }
        if managers.is_empty() {
            return Err(wrong().into());
        }
        let secret = own.get(&settings::DISCOVERY_KEY)?.unwrap_or_else(|| token.to_owned());
        if secret.trim().is_empty() {
            let reason = "it needs pass4SymmKey, or the group token = ...: the secret that the processes at \
                          manager_uri have, too";
            return Err(Error::setting(format!("[{stanza}]"), reason));
        }
        Ok(Some(DiscoverySettings { managers, secret }))
    }

    /// Settings of the server have precedence over those of its group.
    fn tls(&self, address: &str) -> Result<Option<TlsSettings>, Error> {
        let name = format!("tcpout-server://{address}");
        let stanza = self.0.conf.stanza(&name);
        let special = Reader::new(self.0.conf, &name).or(GENERAL);
        let of = |key: &Setting| {
            let has = stanza.is_some_and(|stanza| stanza.get(key.name).is_some());
            if has { special } else { self.0 }
        };
        let root = of(&settings::ROOT_CA.setting).get(&settings::ROOT_CA)?;
        let wanted = of(&settings::USE_SSL.setting).get(&settings::USE_SSL)?;
        if !wanted.unwrap_or(root.is_some()) {
            return Ok(None);
        }
        let verify = of(&settings::VERIFY.setting).get(&settings::VERIFY)?;
        let verify = verify.unwrap_or(root.is_some());
        if verify && root.is_none() {
            let reason = "sslVerifyServerCert needs sslRootCAPath, a file of trusted certificates";
            return Err(Error::setting(format!("[{}]", self.0.name), reason));
        }
        let name = of(&settings::COMMON_NAME.setting).get(&settings::COMMON_NAME)?;
        Ok(Some(TlsSettings { root: root.filter(|_| verify).map(PathBuf::from), name }))
    }

    fn filter(&self) -> Result<IndexFilter, Error> {
        if self.0.get(&settings::FILTER_DISABLE)? {
            return Ok(IndexFilter::default());
        }
        let mut filters = BTreeMap::new();
        for stanza in ["default", GENERAL] {
            let entries = self.0.conf.stanza(stanza).map_or(&[][..], |stanza| &stanza.entries);
            for entry in entries.iter().filter(|entry| is_filter(&entry.key)) {
                let mut parts = entry.key.split('.').skip(1);
                let number = parts.next().and_then(|number| number.parse::<u32>().ok());
                let allow = parts.next() == Some("whitelist");
                filters.insert((number, !allow), (allow, entry));
            }
        }
        let compiled = filters.into_values().map(|(allow, entry)| {
            let pattern = Pattern::compile(&format!("^(?:{})$", entry.value));
            let pattern = pattern.map_err(|reason| Error::setting(&entry.place, reason))?;
            Ok((allow, pattern))
        });
        Ok(IndexFilter(compiled.collect::<Result<_, Error>>()?))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::{Layer, Layers};

    use super::*;

    fn effective(text: &str) -> Effective {
        Layers::builtin().with(Layer::SystemLocal, "outputs", text).effective("outputs")
    }

    #[test]
    fn groups_take_what_they_do_not_say_from_tcpout() {
        let conf = effective(
            "[tcpout]\ndefaultGroup = a, b\nautoLBFrequency = 5\npersistentQueueSize = 2GB\n\
             [tcpout:a]\nserver = one:9997, two:9998\nautoLBVolume = 500KB\n\
             [tcpout:b]\nserver = three:9997\nautoLBFrequency = 1m\ndropEventsOnQueueFull = 30\n",
        );
        let outputs = Outputs::read(&conf).unwrap();
        let [a, b] = &outputs.groups[..] else { panic!("two groups") };
        assert_eq!(outputs.default_groups, [0, 1]);
        assert_eq!((a.servers.len(), a.lb_frequency.as_secs(), a.lb_volume), (2, 5, 512_000));
        assert_eq!((b.lb_frequency.as_secs(), b.persistent_queue_size), (60, 2 << 30));
        assert_eq!(b.drop_on_queue_full, Some(Duration::from_secs(30)));
        assert_eq!(Outputs::warnings(&conf), Vec::<String>::new());
    }

    #[test]
    fn tls_may_be_set_for_one_server() {
        let conf = effective(
            "[tcpout:a]\nserver = one:1, two:2\n[tcpout-server://two:2]\nuseSSL = true\n\
             sslRootCAPath = /ca.pem\nsslCommonNameToCheck = karst\n",
        );
        let outputs = Outputs::read(&conf).unwrap();
        let servers = &outputs.groups[0].servers;
        let tls = TlsSettings { root: Some("/ca.pem".into()), name: Some("karst".to_owned()) };
        assert_eq!((&servers[0].tls, &servers[1].tls), (&None, &Some(tls)));
    }

    #[test]
    fn a_group_may_ask_for_its_indexers() {
        let read = |stanza: &str| {
            let text = format!(
                "[tcpout:a]\nindexerDiscovery = prod\nuseSSL = 1\ntoken = t\n\
                 [indexer_discovery:prod]\n{stanza}\n"
            );
            let conf = effective(&text);
            assert_eq!(Outputs::warnings(&conf), Vec::<String>::new());
            let group = Outputs::read(&conf).unwrap().groups.remove(0);
            let discovery = group.discovery.clone().unwrap();
            let managers = discovery.managers.iter().map(|manager| {
                let server = &manager.server;
                (server.address.clone(), server.tls.is_some(), manager.recv_timeout.as_secs())
            });
            assert_eq!((group.servers.len(), group.tls.is_some()), (0, true));
            (managers.collect::<Vec<_>>(), discovery.secret)
        };
        let cp = |n: u8, tls, wait| (format!("cp-{n}:8089"), tls, wait);
        let both = "manager_uri = https://cp-1:8089, http://cp-2:8089\npass4SymmKey = k\n\
                    rcv_timeout = 5\nmaster_uri = old:1";
        let expected = vec![cp(1, true, 5), cp(2, false, 5)];
        assert_eq!(read(both), (expected, "k".to_owned()));
        let old = read("master_uri = cp-1:8089");
        assert_eq!(old, (vec![cp(1, true, 30)], "t".to_owned()));
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let cases = [
            ("[tcpout:a]\nserver = nowhere", "expected host:port"),
            ("[tcpout:a]", "no server"),
            ("[tcpout]\nx = 1", "no group"),
            ("[tcpout:a]\nindexerDiscovery = x", "there is no [indexer_discovery:x]"),
            (
                "[tcpout:a]\nindexerDiscovery = x\nserver = b:1\ntoken = t\n\
                 [indexer_discovery:x]\nmanager_uri = b:1",
                "remove one of them",
            ),
            (
                "[tcpout:a]\nindexerDiscovery = x\n[indexer_discovery:x]\nmanager_uri = b",
                "expected host:port, with",
            ),
            (
                "[tcpout:a]\nindexerDiscovery = x\n[indexer_discovery:x]\nmanager_uri = b:1",
                "needs pass4SymmKey",
            ),
            ("[tcpout]\ndefaultGroup = z\n[tcpout:a]\nserver = b:1", "outputs.conf:2: there is no"),
            (
                "[tcpout:a]\nserver = b:1\nautoLBFrequency = often",
                "outputs.conf:3: [tcpout:a] autoLBFreq",
            ),
            ("[tcpout:a]\nserver = b:1\nsslVerifyServerCert = 1\nuseSSL = 1", "sslRootCAPath"),
        ];
        for (text, part) in cases {
            let error = Outputs::read(&effective(text)).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        let warnings = Outputs::warnings(&effective("[tcpout:a]\nuseACK = 0\n[x]"));
        assert!(warnings[0].contains("outputs.conf:2: batches are acknowledged"), "{warnings:?}");
        assert!(warnings[1].contains("[x] has no effect here"), "{warnings:?}");
    }

    #[test]
    fn the_last_index_filter_that_matches_decides() {
        let conf = effective(
            "[tcpout]\nforwardedindex.0.whitelist = .*\nforwardedindex.1.blacklist = _.*\n\
             forwardedindex.2.whitelist = _(audit|internal)\n[tcpout:a]\nserver = b:1",
        );
        let filter = Outputs::read(&conf).unwrap().filter;
        let allowed = ["main", "_audit", "_metrics"].map(|index| filter.allows(index));
        assert_eq!(allowed, [true, true, false]);
        assert!(IndexFilter::default().allows("_metrics"));
    }
}
