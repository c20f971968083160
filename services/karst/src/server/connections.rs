//! Limits of connections: total, per address, and reserved ones.
//!
//! Guarantees: never more than the limit over all HTTP ports; one address never exceeds its share;
//! half of the reserved ones are for this machine only, half also for the management port, so that
//! a flood on any port does not lock out operators.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use metrics::{counter, gauge};
use parking_lot::Mutex;
use runtime::metrics as names;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::http_conf::HttpServer;

/// Minimum interval between log lines about refused connections; all are counted.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// Why a connection is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// `maxSockets` are open.
    Full,
    /// The address has reached `maxSocketsPerClient`.
    Client,
}

impl Refusal {
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Full => "maxSockets",
            Self::Client => "maxSocketsPerClient",
        }
    }
}

/// The limit that a connection counts against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Share {
    General,
    Management,
    Local,
}

#[derive(Debug)]
struct Limits {
    general: usize,
    management: usize,
    local: usize,
    per_client: usize,
}

#[derive(Debug, Default)]
struct Open {
    general: usize,
    management: usize,
    local: usize,
    clients: HashMap<IpAddr, usize>,
    told: Option<Instant>,
}

/// The connections of all HTTP ports; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Connections {
    limits: Arc<Limits>,
    open: Arc<Mutex<Open>>,
    /// Limits concurrent requests.
    requests: Arc<Semaphore>,
}

/// An open connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct Connection {
    of: Connections,
    client: IpAddr,
    share: Share,
}

impl Connections {
    pub(crate) fn new(settings: &HttpServer, descriptors: u64) -> Self {
        let all = settings.sockets(descriptors).max(2);
        let reserved = settings.reserved_sockets.min(all / 2);
        let management = reserved / 2;
        let general = all - reserved;
        let per_client = match settings.max_sockets_per_client {
            0 => (general / 2).max(1),
            given => given,
        };
        let limits = Limits { general, management, local: reserved - management, per_client };
        tracing::info!(maxSockets = all, per_client, reserved, "connections at a time");
        Self {
            limits: Arc::new(limits),
            open: Arc::default(),
            requests: Arc::new(Semaphore::new(settings.requests().min(Semaphore::MAX_PERMITS))),
        }
    }

    /// Admits a connection, or returns the reason of refusal. `management`: whether it is on the
    /// management port.
    pub(crate) fn admit(&self, peer: IpAddr, management: bool) -> Result<Connection, Refusal> {
        let client = client_of(peer);
        let limits = &self.limits;
        let mut open = self.open.lock();
        let of_client = open.clients.get(&client).copied().unwrap_or(0);
        let local = client.is_loopback();
        // Reserved connections are in addition to a client's share.
        let share = if open.general < limits.general && of_client < limits.per_client {
            open.general += 1;
            Share::General
        } else if (management || local) && open.management < limits.management {
            open.management += 1;
            Share::Management
        } else if local && open.local < limits.local {
            open.local += 1;
            Share::Local
        } else if of_client >= limits.per_client {
            return Err(Refusal::Client);
        } else {
            return Err(Refusal::Full);
        };
        *open.clients.entry(client).or_default() += 1;
        gauge!(names::HTTP_CONNECTIONS).increment(1.0);
        Ok(Connection { of: self.clone(), client, share })
    }

    /// Counts a refused connection, and logs at intervals.
    pub(crate) fn refused(&self, peer: IpAddr, refusal: Refusal) {
        counter!(names::HTTP_REFUSED, "reason" => refusal.label()).increment(1);
        let mut open = self.open.lock();
        if open.told.is_none_or(|told| told.elapsed() >= TOLD_EVERY) {
            open.told = Some(Instant::now());
            let setting = refusal.label();
            tracing::warn!(%peer, "connection refused: [httpServer] {setting} reached");
        }
    }

    /// Whether four fifths of the connections are in use, so that idle ones should be closed early.
    pub(crate) fn is_busy(&self) -> bool {
        let open = self.open.lock();
        open.general * 5 >= self.limits.general * 4
    }

    /// A permit for a request; `None` if `maxThreads` are being served.
    pub(crate) fn request(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.requests).try_acquire_owned().ok()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut open = self.of.open.lock();
        match self.share {
            Share::General => open.general -= 1,
            Share::Management => open.management -= 1,
            Share::Local => open.local -= 1,
        }
        if let Some(count) = open.clients.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                open.clients.remove(&self.client);
            }
        }
        gauge!(names::HTTP_CONNECTIONS).decrement(1.0);
    }
}

/// The address that identifies a client; for IPv6 the /64 prefix, which belongs to one client.
fn client_of(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            let network = u128::from(address) >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from(network))
        }
        address => address,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const LOCAL: &str = "127.0.0.1";

    fn connections(all: usize, per_client: usize, reserved: usize) -> Connections {
        let settings = HttpServer {
            max_sockets: all,
            max_sockets_per_client: per_client,
            reserved_sockets: reserved,
            ..HttpServer::default()
        };
        Connections::new(&settings, 0)
    }

    /// Opens connections until one is refused.
    fn fill(to: &Connections, peer: &str, management: bool) -> (Vec<Connection>, Refusal) {
        let mut open = Vec::new();
        loop {
            match to.admit(peer.parse().unwrap(), management) {
                Ok(connection) => open.push(connection),
                Err(refusal) => return (open, refusal),
            }
        }
    }

    #[test]
    fn one_address_gets_its_share_and_others_the_rest() {
        let connections = connections(20, 6, 4);
        let (first, refusal) = fill(&connections, "10.0.0.1", false);
        assert_eq!((first.len(), refusal), (6, Refusal::Client));
        let (second, _) = fill(&connections, "10.0.0.2", false);
        let (third, refusal) = fill(&connections, "10.0.0.3", false);
        assert_eq!((second.len(), third.len(), refusal), (6, 4, Refusal::Full));
    }

    #[test]
    fn a_flood_leaves_management_and_this_machine_their_reserve() {
        let connections = connections(20, 100, 4);
        let (flood, _) = fill(&connections, "10.0.0.1", false);
        let (managing, _) = fill(&connections, "10.0.0.2", true);
        let (local, _) = fill(&connections, LOCAL, false);
        assert_eq!((flood.len(), managing.len(), local.len()), (16, 2, 2));
    }

    #[test]
    fn a_flood_of_the_management_port_leaves_this_machine_its_reserve() {
        let connections = connections(20, 100, 4);
        let (flood, _) = fill(&connections, "10.0.0.1", true);
        assert_eq!((flood.len(), fill(&connections, LOCAL, true).0.len()), (18, 2));
    }

    #[test]
    fn what_is_closed_can_be_opened_again() {
        let connections = connections(10, 100, 0);
        for _ in 0..3 {
            assert_eq!(fill(&connections, "10.0.0.1", false).0.len(), 10);
        }
        assert!(connections.open.lock().clients.is_empty());
    }

    #[test]
    fn addresses_of_one_ipv6_network_are_one_client() {
        let connections = connections(20, 3, 0);
        let _first = fill(&connections, "2001:db8::1", false);
        let second = connections.admit("2001:db8::2".parse().unwrap(), false);
        assert_eq!(second.unwrap_err(), Refusal::Client);
        assert!(connections.admit("2001:db8:0:1::2".parse().unwrap(), false).is_ok());
    }

    #[test]
    fn idle_connections_are_in_the_way_when_four_fifths_are_taken() {
        let connections = connections(10, 100, 0);
        let address: IpAddr = "10.0.0.1".parse().unwrap();
        let mut open: Vec<_> = (0..7).map(|_| connections.admit(address, false).unwrap()).collect();
        assert!(!connections.is_busy());
        open.push(connections.admit(address, false).unwrap());
        assert!(connections.is_busy());
    }
}
