//! Host names of senders by their addresses (`connection_host = dns`).
//!
//! `/etc/hosts` first, then a PTR question to the name servers of `/etc/resolv.conf`; other sources
//! of names (LDAP, mDNS) are not asked. Asking never holds events up: whoever wants a name gets what
//! is known, and a lookup in the background finds out the rest. Guarantees: a bounded number of
//! lookups at a time and of names in memory; what is found and what is not found is asked again
//! after a while; without a name, the address is the host. The questions themselves are left to
//! hickory's resolver; what is remembered is here, so that a name counts until there is a newer one.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use foldhash::HashMap;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts, ServerOrderingStrategy,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::{Name, RData};
use parking_lot::Mutex;
use runtime::metrics as names;
use tokio::sync::{Semaphore, watch};

/// Maximum number of cached addresses; above it, expired ones are removed, then all of them.
const KNOWN: usize = 10_000;
/// TTL of a name.
const FOUND: Duration = Duration::from_secs(600);
/// TTL of negative entries.
const NOT_FOUND: Duration = Duration::from_secs(60);
/// Lookups at the same time; addresses beyond wait for their turn.
const LOOKUPS: usize = 16;
/// Longest name.
const LONGEST: usize = 253;
/// Time-out of a request to a name server, and number of attempts.
const PATIENCE: Duration = Duration::from_secs(2);
const ROUNDS: usize = 2;
/// Name servers that are asked, as resolvers do.
const SERVERS: usize = 3;

/// The cache entry of an address.
#[derive(Debug, Clone)]
struct Known {
    /// The name, or the address as text.
    host: Arc<str>,
    until: Instant,
    /// Follows a lookup; its value is whether it has ended.
    lookup: Option<watch::Receiver<bool>>,
}

struct Shared {
    hosts: PathBuf,
    resolver: PathBuf,
    known: Mutex<HashMap<IpAddr, Known>>,
    /// The resolver, and the text of the resolver's file that it was created from.
    asker: Mutex<Option<(String, TokioResolver)>>,
    slots: Semaphore,
}

/// See the module; a clone shares everything.
#[derive(Clone)]
pub struct HostNames(Arc<Shared>);

impl fmt::Debug for HostNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostNames")
            .field("known", &self.0.known.lock().len())
            .finish_non_exhaustive()
    }
}

impl Default for HostNames {
    fn default() -> Self {
        Self::of_files("/etc/hosts", "/etc/resolv.conf")
    }
}

impl HostNames {
    /// Creates names that use other files than those of the system. The files are read at every lookup.
    #[must_use]
    pub fn of_files(hosts: impl Into<PathBuf>, resolver: impl Into<PathBuf>) -> Self {
        Self(Arc::new(Shared {
            hosts: hosts.into(),
            resolver: resolver.into(),
            known: Mutex::default(),
            asker: Mutex::default(),
            slots: Semaphore::new(LOOKUPS),
        }))
    }

    /// Returns the cached name, otherwise the address. Must be called inside tokio: unknown addresses are
    /// looked up in the background. An expired name is used until the new lookup ends.
    #[must_use]
    pub fn host(&self, address: IpAddr) -> Arc<str> {
        self.ask(address).host
    }

    /// The name, waiting up to `wait` where it is being looked up.
    pub async fn host_within(&self, address: IpAddr, wait: Duration) -> Arc<str> {
        let known = self.ask(address);
        let Some(mut lookup) = known.lookup else { return known.host };
        // A lookup that takes longer, or has died, leaves the address.
        let ended = tokio::time::timeout(wait, lookup.wait_for(|ended| *ended)).await;
        if ended.is_err() { known.host } else { self.ask(address).host }
    }

    fn ask(&self, address: IpAddr) -> Known {
        let address = address.to_canonical();
        let now = Instant::now();
        let mut all = self.0.known.lock();
        if let Some(known) = all.get(&address)
            && (known.lookup.is_some() || known.until > now)
        {
            return known.clone();
        }
        if all.len() >= KNOWN {
            all.retain(|_, known| known.until > now);
            if all.len() >= KNOWN {
                all.clear();
            }
        }
        let host = all.get(&address).map(|known| Arc::clone(&known.host));
        let host = host.unwrap_or_else(|| address.to_string().into());
        let (end, lookup) = watch::channel(false);
        let known = Known { host, until: now + NOT_FOUND, lookup: Some(lookup) };
        all.insert(address, known.clone());
        drop(all);
        runtime::detached(self.clone().look_up(address, end));
        known
    }

    async fn look_up(self, address: IpAddr, end: watch::Sender<bool>) {
        let found = match self.0.slots.acquire().await {
            Ok(_slot) => self.find(address).await,
            Err(_) => None,
        };
        let outcome = if found.is_some() { "found" } else { "not_found" };
        metrics::counter!(names::HOST_LOOKUPS, "outcome" => outcome).increment(1);
        let lasts = if found.is_some() { FOUND } else { NOT_FOUND };
        let host = found.unwrap_or_else(|| address.to_string()).into();
        let known = Known { host, until: Instant::now() + lasts, lookup: None };
        self.0.known.lock().insert(address, known);
        // Nobody may wait.
        let _ = end.send(true);
    }

    async fn find(&self, address: IpAddr) -> Option<String> {
        let hosts = tokio::fs::read_to_string(&self.0.hosts).await.unwrap_or_default();
        if let Some(name) = in_hosts(&hosts, address) {
            return Some(name);
        }
        let resolver = tokio::fs::read_to_string(&self.0.resolver).await.unwrap_or_default();
        let asker = self.asker(resolver)?;
        match asker.reverse_lookup(Name::from(address)).await {
            Ok(found) => found.answers().iter().find_map(|record| match &record.data {
                RData::PTR(name) => host_name(&name.0),
                _ => None,
            }),
            Err(error) if error.is_no_records_found() => None,
            Err(error) => {
                tracing::debug!(%address, %error, "no name server knows the name");
                None
            }
        }
    }

    /// The resolver by this text of its file.
    fn asker(&self, text: String) -> Option<TokioResolver> {
        let mut asker = self.0.asker.lock();
        if let Some((known, asker)) = asker.as_ref()
            && *known == text
        {
            return Some(asker.clone());
        }
        match resolver(&text) {
            Ok(made) => Some(asker.insert((text, made)).1.clone()),
            Err(error) => {
                tracing::warn!(path = %self.0.resolver.display(), %error, "names cannot be asked for");
                None
            }
        }
    }
}

/// Creates a resolver without a cache and hosts files: names are cached above it, and hosts files are read
/// before.
fn resolver(text: &str) -> Result<TokioResolver, hickory_resolver::net::NetError> {
    let servers = name_servers(text).into_iter().map(|server| {
        let mut config = NameServerConfig::udp_and_tcp(server.ip());
        config.connections.iter_mut().for_each(|connection| connection.port = server.port());
        config
    });
    let config = ResolverConfig::from_parts(None, Vec::new(), servers.collect());
    let mut options = ResolverOpts::default();
    options.timeout = PATIENCE;
    options.attempts = ROUNDS;
    options.cache_size = 0;
    options.use_hosts_file = ResolveHosts::Never;
    options.server_ordering_strategy = ServerOrderingStrategy::UserProvidedOrder;
    let builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
    builder.with_options(options).build()
}

/// A name as senders write it, if it is one of a machine.
fn host_name(name: &Name) -> Option<String> {
    let text = name.to_ascii();
    let text = text.strip_suffix('.').unwrap_or(&text);
    is_host_name(text).then(|| text.to_owned())
}

/// Whether a text may be the name of a machine.
fn is_host_name(name: &str) -> bool {
    let usual = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    !name.is_empty() && name.len() <= LONGEST && name.bytes().all(usual)
}

/// Returns the first name of an address in a hosts file, which takes precedence (the resolver's own parser of
/// such files keeps no order).
fn in_hosts(text: &str, address: IpAddr) -> Option<String> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let mut of_lines = lines.map(str::split_whitespace);
    of_lines.find_map(|mut words| {
        let own: IpAddr = words.next()?.parse().ok()?;
        let name = words.next().filter(|name| is_host_name(name))?;
        (own == address).then(|| name.to_owned())
    })
}

/// The `nameserver` lines of a resolver's file, where a port may follow the address; the machine
/// itself if there are none.
fn name_servers(text: &str) -> Vec<SocketAddr> {
    let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let servers = words.filter_map(|words| match words[..] {
        ["nameserver", server, ..] => {
            let plain = || server.parse::<IpAddr>().ok().map(|address| (address, 53).into());
            server.parse().ok().or_else(plain)
        }
        _ => None,
    });
    let servers: Vec<SocketAddr> = servers.take(SERVERS).collect();
    if servers.is_empty() { vec![(Ipv4Addr::LOCALHOST, 53).into()] } else { servers }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use hickory_resolver::proto::op::{Message, OpCode, ResponseCode};
    use hickory_resolver::proto::rr::Record;
    use hickory_resolver::proto::rr::rdata::PTR;
    use tokio::net::UdpSocket;

    use super::*;

    const WAIT: Duration = Duration::from_secs(20);

    /// A name server with one answer that counts its requests.
    async fn server(
        reply: impl Fn(&[u8]) -> Vec<u8> + Send + 'static,
    ) -> (String, watch::Receiver<u64>) {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let resolver = format!("search x\nnameserver {}\n", socket.local_addr().unwrap());
        let (count, counted) = watch::channel(0);
        tokio::spawn(async move {
            let mut buffer = [0; 512];
            while let Ok((length, peer)) = socket.recv_from(&mut buffer).await {
                count.send_modify(|count| *count += 1);
                socket.send_to(&reply(&buffer[..length]), peer).await.unwrap();
            }
        });
        (resolver, counted)
    }

    /// Returns a response with a name, or one that says that there is none.
    fn reply(question: &[u8], name: Option<&str>) -> Vec<u8> {
        let question = Message::from_vec(question).unwrap();
        let mut answer = Message::response(question.metadata.id, OpCode::Query);
        let query = question.queries[0].clone();
        let asked = query.name().clone();
        answer.add_query(query);
        match name {
            Some(name) => {
                let name = PTR(Name::from_ascii(name).unwrap());
                answer.add_answer(Record::from_rdata(asked, 60, RData::PTR(name)));
            }
            None => answer.metadata.response_code = ResponseCode::NXDomain,
        }
        answer.to_vec().unwrap()
    }

    fn names_of(hosts: &str, resolver: &str) -> (tempfile::TempDir, HostNames) {
        let folder = tempfile::tempdir().unwrap();
        let paths = [folder.path().join("hosts"), folder.path().join("resolv.conf")];
        std::fs::write(&paths[0], hosts).unwrap();
        std::fs::write(&paths[1], resolver).unwrap();
        let [hosts, resolver] = paths;
        (folder, HostNames::of_files(hosts, resolver))
    }

    #[tokio::test]
    async fn names_are_in_the_hosts_file() {
        let hosts = "# 10.0.0.1 no\n10.0.0.1 web-1.example.com web-1 # first\n::1 six\n";
        let (_folder, names) = names_of(hosts, "");
        for (address, name) in [("10.0.0.1", "web-1.example.com"), ("::1", "six")] {
            assert_eq!(&*names.host_within(address.parse().unwrap(), WAIT).await, name);
        }
        // The same machine over a socket of both families.
        let mapped = "::ffff:10.0.0.1".parse().unwrap();
        assert_eq!(&*names.host_within(mapped, WAIT).await, "web-1.example.com");
    }

    #[tokio::test]
    async fn a_name_server_is_asked_once_and_nobody_waits_for_it() {
        let (resolver, counted) =
            server(|question| reply(question, Some("edge.example.com."))).await;
        let (_folder, names) = names_of("", &resolver);
        let address = "192.0.2.7".parse().unwrap();
        assert_eq!(&*names.host(address), "192.0.2.7");
        assert_eq!(&*names.host_within(address, WAIT).await, "edge.example.com");
        assert_eq!(&*names.host(address), "edge.example.com");
        assert_eq!(*counted.borrow(), 1);
    }

    #[tokio::test]
    async fn without_a_name_the_address_is_the_host() {
        let (resolver, counted) = server(|question| reply(question, None)).await;
        let (_folder, names) = names_of("", &resolver);
        let address = "192.0.2.8".parse().unwrap();
        assert_eq!(&*names.host_within(address, WAIT).await, "192.0.2.8");
        assert_eq!(&*names.host_within(address, WAIT).await, "192.0.2.8");
        assert_eq!(*counted.borrow(), 1);
    }

    #[tokio::test]
    async fn an_answer_that_is_no_name_of_a_machine_is_none() {
        let (resolver, _) = server(|question| reply(question, Some("a b\\;rm.example."))).await;
        let (_folder, names) = names_of("", &resolver);
        let address = "2001:db8::7".parse().unwrap();
        assert_eq!(&*names.host_within(address, WAIT).await, "2001:db8::7");
    }

    #[tokio::test]
    async fn a_changed_resolver_file_counts_from_the_next_lookup() {
        let (_folder, names) = names_of("", "nameserver 127.0.0.1:1\n");
        let gone = "192.0.2.9".parse().unwrap();
        assert_eq!(&*names.host_within(gone, WAIT).await, "192.0.2.9");
        let (resolver, _) = server(|question| reply(question, Some("new.example."))).await;
        std::fs::write(&names.0.resolver, resolver).unwrap();
        let address = "192.0.2.10".parse().unwrap();
        assert_eq!(&*names.host_within(address, WAIT).await, "new.example");
    }

    #[test]
    fn servers_are_those_of_the_resolver() {
        let text = "nameserver 10.0.0.2\nnameserver ::1\n;nameserver 10.0.0.3\noptions x";
        assert_eq!(
            name_servers(text),
            ["10.0.0.2:53".parse().unwrap(), "[::1]:53".parse().unwrap()]
        );
        assert_eq!(name_servers(""), ["127.0.0.1:53".parse().unwrap()]);
    }
}
