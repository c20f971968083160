//! The sender of a request, as far as the connection and the headers identify it.

use std::net::{IpAddr, SocketAddr};

use ::audit::{Digest, Record};
use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderMap, header};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// Proxies whose `X-Forwarded-For` is believed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proxies(Vec<(IpAddr, u8)>);

impl Proxies {
    /// Addresses and networks with commas between them: `10.0.0.5, 192.168.0.0/16`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let network = |part: &str| {
            let (address, bits) = part.split_once('/').unwrap_or((part, ""));
            let address: IpAddr = address.parse().ok()?;
            let most = if address.is_ipv4() { 32 } else { 128 };
            let bits = if bits.is_empty() { most } else { bits.parse().ok()? };
            (bits <= most).then_some((address, bits))
        };
        parts.map(network).collect::<Option<_>>().map(Self)
    }

    fn has(&self, address: IpAddr) -> bool {
        let same = |(network, bits): &(IpAddr, u8)| match (network, address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                let shift = 32 - u32::from(*bits);
                (a.to_bits() ^ b.to_bits()).checked_shr(shift).unwrap_or(0) == 0
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => {
                let shift = 128 - u32::from(*bits);
                (a.to_bits() ^ b.to_bits()).checked_shr(shift).unwrap_or(0) == 0
            }
            _ => false,
        };
        self.0.iter().any(same)
    }

    /// The address of the client: the nearest that is no proxy of ours.
    fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        let mut client = peer;
        let lines = headers.get_all("x-forwarded-for").iter().filter_map(|line| line.to_str().ok());
        let hops: Vec<&str> = lines.flat_map(|line| line.split(',')).map(str::trim).collect();
        for hop in hops.iter().rev() {
            let Ok(address) = hop.parse::<IpAddr>() else { break };
            if !self.has(client) {
                break;
            }
            client = address.to_canonical();
        }
        client
    }
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Client {
    /// The address; `None` within the server.
    pub(super) address: Option<String>,
    /// The authentication scheme.
    pub(super) scheme: Option<&'static str>,
    /// The name it gives, with a password.
    pub(super) name: Option<String>,
    /// An identifier of the key, which does not reveal it.
    pub(super) key: Option<String>,
}

impl Client {
    pub(super) fn of(request: &Request, proxies: &Proxies) -> Self {
        let headers = request.headers();
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
        let address = peer.map(|peer| proxies.client(peer.0.ip(), headers).to_string());
        let credentials = headers.get(header::AUTHORIZATION).and_then(|v| v.to_str().ok());
        let Some((scheme, rest)) = credentials.map(|c| c.split_once(' ').unwrap_or((c, ""))) else {
            let cookie =
                crate::cookies::cookie_sessions(headers).next().map(|(_, key)| recognisable(&key));
            let scheme = cookie.is_some().then_some("cookie");
            return Self { address, scheme, key: cookie, name: None };
        };
        let rest = rest.trim();
        match scheme.to_ascii_lowercase().as_str() {
            "basic" => {
                let decoded = BASE64_STANDARD.decode(rest).ok();
                let text = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
                let name = text.and_then(|text| Some(text.split_once(':')?.0.to_owned()));
                Self { address, scheme: Some("basic"), name, key: None }
            }
            "splunk" => {
                Self { address, scheme: Some("session"), name: None, key: Some(recognisable(rest)) }
            }
            "bearer" => {
                Self { address, scheme: Some("bearer"), name: None, key: Some(recognisable(rest)) }
            }
            _ => Self { address, scheme: Some("unknown"), name: None, key: None },
        }
    }

    /// Adds from where it came, and how it said who it is.
    pub(super) fn fields(&self, record: Record) -> Record {
        record.with_some("clientip", self.address.as_ref()).with_some("auth", self.scheme)
    }
}

/// The first digits of a key's hash.
pub(super) fn recognisable(key: &str) -> String {
    Digest::sha256(key.as_bytes()).short()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_believed_from_proxies_only_and_up_to_the_first_stranger() {
        let proxies = Proxies::parse("10.0.0.0/8, ::1").unwrap();
        let client = |peer: &str, forwarded: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("x-forwarded-for", forwarded.parse().unwrap());
            proxies.client(peer.parse().unwrap(), &headers).to_string()
        };
        assert_eq!(client("192.0.2.1", "198.51.100.7"), "192.0.2.1");
        assert_eq!(client("10.1.2.3", "198.51.100.7"), "198.51.100.7");
        assert_eq!(client("::1", "203.0.113.9, 198.51.100.7, 10.0.0.9"), "198.51.100.7");
        assert_eq!(client("::ffff:10.1.2.3", "198.51.100.7"), "198.51.100.7");
        assert_eq!(client("10.1.2.3", "nonsense"), "10.1.2.3");
    }

    #[test]
    fn networks_are_addresses_with_a_number_of_bits() {
        assert!(
            ["10.0.0.1", "10.0.0.0/33", "x", "::1/129"]
                .map(Proxies::parse)
                .iter()
                .filter(|p| p.is_some())
                .count()
                == 1
        );
        assert!(Proxies::parse("0.0.0.0/0").unwrap().has("203.0.113.9".parse().unwrap()));
        assert_eq!(Proxies::parse(" "), Some(Proxies::default()));
    }
}
