//! The sender that an input is restricted to (`restrictToHost`): an address, or a name that is looked up.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time-out of looking up the name; a sender is refused meanwhile.
const LOOK_UP: Duration = Duration::from_secs(3);
/// Time for which the addresses of a name are cached for datagrams, so that not every datagram needs a
/// lookup.
const FRESH: Duration = Duration::from_secs(60);

/// A host that may send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteHost(Arc<str>);

impl RemoteHost {
    /// A host by its name or address.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// Its name or address.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether an address is the host's, as of now.
    pub async fn is_at(&self, address: IpAddr) -> bool {
        self.addresses().await.contains(&address.to_canonical())
    }

    /// Its addresses; none if the name is unknown.
    async fn addresses(&self) -> Vec<IpAddr> {
        if let Ok(address) = self.0.parse::<IpAddr>() {
            return vec![address.to_canonical()];
        }
        let found = tokio::net::lookup_host((&*self.0, 0));
        match tokio::time::timeout(LOOK_UP, found).await {
            Ok(Ok(found)) => found.map(|address| address.ip().to_canonical()).collect(),
            Ok(Err(_)) | Err(_) => Vec::new(),
        }
    }
}

/// The hosts that may send datagrams.
#[derive(Debug)]
pub(crate) struct Senders {
    only: Option<RemoteHost>,
    addresses: Vec<IpAddr>,
    looked_up: Option<Instant>,
}

impl Senders {
    pub(crate) fn new(only: Option<RemoteHost>) -> Self {
        Self { only, addresses: Vec::new(), looked_up: None }
    }

    /// Looks the name up when that is due.
    pub(crate) async fn refresh(&mut self) {
        let Some(only) = &self.only else { return };
        if self.looked_up.is_some_and(|at| at.elapsed() < FRESH) {
            return;
        }
        self.addresses = only.addresses().await;
        self.looked_up = Some(Instant::now());
    }

    pub(crate) fn allow(&self, address: IpAddr) -> bool {
        self.only.is_none() || self.addresses.contains(&address.to_canonical())
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    #[tokio::test]
    async fn a_host_is_known_by_its_name_and_by_its_address() {
        let here = IpAddr::from(Ipv4Addr::LOCALHOST);
        let other = IpAddr::from(Ipv4Addr::new(192, 0, 2, 1));
        for name in ["localhost", "127.0.0.1"] {
            let host = RemoteHost::new(name);
            assert!(host.is_at(here).await && !host.is_at(other).await, "{name}");
        }
        let mapped = IpAddr::from(Ipv4Addr::LOCALHOST.to_ipv6_mapped());
        assert!(RemoteHost::new("127.0.0.1").is_at(mapped).await);
        assert!(!RemoteHost::new("no.such.host.invalid").is_at(here).await);
        let mut senders = Senders::new(Some(RemoteHost::new("127.0.0.1")));
        senders.refresh().await;
        assert!(senders.allow(here) && !senders.allow(Ipv6Addr::LOCALHOST.into()));
        assert!(Senders::new(None).allow(other));
    }
}
