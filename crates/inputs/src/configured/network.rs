//! Stanzas of inputs that listen.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use model::IndexName;

use super::HttpToken;
use super::stanza::Keys;
use crate::HostNames;
use crate::settings;
use crate::tcp::{Framing, TcpInput};
use crate::udp::UdpInput;

/// `[tcp://<port>]`, at all addresses of the machine, or `[tcp://<address>:<port>]` at one.
pub(super) fn tcp(
    keys: &mut Keys<'_>,
    rest: &str,
    host: &Arc<str>,
    names: &HostNames,
) -> Option<(SocketAddr, TcpInput)> {
    let address = address(keys, rest)?;
    let sourcetype = keys.shared(&settings::SOURCETYPE);
    let framing = match sourcetype.as_deref() {
        Some("syslog") => Framing::Syslog,
        _ => Framing::Lines,
    };
    let mut input = TcpInput::new(keys.index(), framing);
    input.source = keys.shared(&settings::SOURCE);
    input.sourcetype = sourcetype;
    (input.host, input.names) = host_of(keys, host, names);
    match keys.get(&settings::MAX_SOCKETS) {
        0 => {}
        most => input.max_connections = most,
    }
    Some((address, input))
}

/// `[udp://<port>]`, at all addresses of the machine, or `[udp://<address>:<port>]` at one.
pub(super) fn udp(
    keys: &mut Keys<'_>,
    rest: &str,
    host: &Arc<str>,
    names: &HostNames,
) -> Option<(SocketAddr, UdpInput)> {
    let address = address(keys, rest)?;
    let (fixed, names) = host_of(keys, host, names);
    let input = UdpInput {
        index: keys.index(),
        source: keys.shared(&settings::SOURCE),
        sourcetype: keys.shared(&settings::SOURCETYPE),
        host: fixed,
        names,
    };
    Some((address, input))
}

/// `connection_host = none`: the `host` setting, or this machine; else the sender tells, by its
/// address (`ip`) or the name that belongs to it (`dns`).
fn host_of(
    keys: &mut Keys<'_>,
    machine: &Arc<str>,
    names: &HostNames,
) -> (Option<Arc<str>>, Option<HostNames>) {
    match keys.get(&settings::CONNECTION_HOST).as_str() {
        "none" => (Some(keys.host().unwrap_or_else(|| Arc::clone(machine))), None),
        "dns" => (None, Some(names.clone())),
        _ => (None, None),
    }
}

fn address(keys: &mut Keys<'_>, rest: &str) -> Option<SocketAddr> {
    let rest = rest.trim();
    if let Ok(port) = rest.strip_prefix(':').unwrap_or(rest).parse::<u16>() {
        return Some((Ipv4Addr::UNSPECIFIED, port).into());
    }
    let address = rest.parse().ok();
    if address.is_none() {
        keys.wrong_name("port", "a port, or an address of this machine and a port, after ://");
    }
    address
}

/// `[http://<name>]`; a stanza without a token is not an input yet.
pub(super) fn http(keys: &mut Keys<'_>, name: &str) -> Option<HttpToken> {
    let token = keys.get(&settings::TOKEN)?;
    let mut indexes = Vec::new();
    for name in keys.get(&settings::INDEXES) {
        match IndexName::new(&name) {
            Ok(index) => indexes.push(index),
            Err(error) => keys.wrong(&settings::INDEXES, error.to_string()),
        }
    }
    Some(HttpToken {
        name: name.to_owned(),
        token,
        index: keys.index(),
        indexes,
        sourcetype: keys.get(&settings::SOURCETYPE),
        source: keys.get(&settings::SOURCE),
        host: keys.host().map(|host| host.to_string()),
        use_ack: keys.get(&settings::USE_ACK),
        disabled: keys.get(&settings::DISABLED),
    })
}
