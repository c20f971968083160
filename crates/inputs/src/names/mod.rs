//! Names of machines by their addresses (`connection_host = dns`).
//!
//! `/etc/hosts` first, then a PTR question to the name servers of `/etc/resolv.conf`; other sources
//! of names (LDAP, mDNS) are not asked. Asking never holds events up: whoever wants a name gets what
//! is known, and a lookup in the background finds out the rest. Guarantees: a bounded number of
//! lookups at a time and of names in memory; what is found and what is not found is asked again
//! after a while; without a name, the address is the host.

mod message;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use foldhash::HashMap;
use runtime::metrics as names;
use tokio::net::UdpSocket;
use tokio::sync::{Semaphore, watch};

/// Addresses that are remembered; more empty the memory of what is out of date, then all of it.
const KNOWN: usize = 10_000;
/// How long a name counts.
const FOUND: Duration = Duration::from_secs(600);
/// How long there is no name.
const NOT_FOUND: Duration = Duration::from_secs(60);
/// Lookups at the same time; addresses beyond wait for their turn.
const LOOKUPS: usize = 16;
/// How long a name server has for an answer, and how often all are asked.
const PATIENCE: Duration = Duration::from_secs(2);
const ROUNDS: usize = 2;
/// Name servers that are asked, as resolvers do.
const SERVERS: usize = 3;

/// What is known of an address.
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
    slots: Semaphore,
}

/// See the module; a clone shares everything.
#[derive(Clone)]
pub struct HostNames(Arc<Shared>);

impl fmt::Debug for HostNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostNames").field("known", &self.lock().len()).finish_non_exhaustive()
    }
}

impl Default for HostNames {
    fn default() -> Self {
        Self::of_files("/etc/hosts", "/etc/resolv.conf")
    }
}

impl HostNames {
    /// Names by other files than those of the system. They are read at every lookup.
    #[must_use]
    pub fn of_files(hosts: impl Into<PathBuf>, resolver: impl Into<PathBuf>) -> Self {
        Self(Arc::new(Shared {
            hosts: hosts.into(),
            resolver: resolver.into(),
            known: Mutex::default(),
            slots: Semaphore::new(LOOKUPS),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, Known>> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The name as far as it is known now, else the address. Must be called inside tokio: what is
    /// not known is looked up in the background. A name that is out of date counts until the new
    /// lookup ends.
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
        let mut all = self.lock();
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
        tokio::spawn(self.clone().look_up(address, end));
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
        self.lock().insert(address, known);
        // Nobody may wait.
        let _ = end.send(true);
    }

    async fn find(&self, address: IpAddr) -> Option<String> {
        let hosts = tokio::fs::read_to_string(&self.0.hosts).await.unwrap_or_default();
        if let Some(name) = in_hosts(&hosts, address) {
            return Some(name);
        }
        let resolver = tokio::fs::read_to_string(&self.0.resolver).await.unwrap_or_default();
        let servers = name_servers(&resolver);
        for _ in 0..ROUNDS {
            for server in &servers {
                match tokio::time::timeout(PATIENCE, question(*server, address)).await {
                    Ok(Ok(answer)) => return answer,
                    Ok(Err(error)) => {
                        tracing::debug!(%server, %error, "a name server cannot be asked");
                    }
                    Err(_) => tracing::debug!(%server, "a name server does not answer"),
                }
            }
        }
        None
    }
}

/// The first name of an address in a hosts file.
fn in_hosts(text: &str, address: IpAddr) -> Option<String> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let mut of_lines = lines.map(str::split_whitespace);
    of_lines.find_map(|mut words| {
        let own: IpAddr = words.next()?.parse().ok()?;
        let name = words.next().filter(|name| message::is_host_name(name))?;
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

/// Asks one server; `None`: there is no name.
async fn question(server: SocketAddr, address: IpAddr) -> std::io::Result<Option<String>> {
    let from: SocketAddr = match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (std::net::Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(from).await?;
    socket.connect(server).await?;
    // Answers to a port and a number that nobody can guess.
    let [high, low, ..] = *uuid::Uuid::new_v4().as_bytes();
    let id = u16::from_be_bytes([high, low]);
    socket.send(&message::question(id, address)).await?;
    let mut buffer = [0; 4096];
    loop {
        let length = socket.recv(&mut buffer).await?;
        match message::answer(&buffer[..length], id) {
            message::Answer::Name(name) => return Ok(Some(name)),
            message::Answer::NoName => return Ok(None),
            message::Answer::Failed(code) => {
                return Err(std::io::Error::other(format!("it answers with error {code}")));
            }
            message::Answer::Other => {}
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_secs(20);

    /// A name server that knows one answer, and counts questions.
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
            server(|question| message::tests::reply(question, "edge.example.com")).await;
        let (_folder, names) = names_of("", &resolver);
        let address = "192.0.2.7".parse().unwrap();
        assert_eq!(&*names.host(address), "192.0.2.7");
        assert_eq!(&*names.host_within(address, WAIT).await, "edge.example.com");
        assert_eq!(&*names.host(address), "edge.example.com");
        assert_eq!(*counted.borrow(), 1);
    }

    #[tokio::test]
    async fn without_a_name_the_address_is_the_host() {
        let (resolver, counted) = server(message::tests::no_name).await;
        let (_folder, names) = names_of("", &resolver);
        let address = "192.0.2.8".parse().unwrap();
        assert_eq!(&*names.host_within(address, WAIT).await, "192.0.2.8");
        assert_eq!(&*names.host_within(address, WAIT).await, "192.0.2.8");
        assert_eq!(*counted.borrow(), 1);
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
