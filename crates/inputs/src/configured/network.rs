//! Stanzas of inputs that listen.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use model::IndexName;

use super::stanza::Keys;
use super::{ForwarderPort, HttpToken};
use crate::settings;
use crate::tcp::{Framing, TcpInput};
use crate::udp::UdpInput;
use crate::{HostNames, RemoteHost};

/// `[tcp://<port>]`, at all addresses of the machine, `[tcp://<address>:<port>]` at one, or
/// `[tcp://<host>:<port>]` for a host that is not an address: at all, from that host alone.
/// `[tcp-ssl://<port>]` and `[tcp-ssl:<port>]` have the same forms.
pub(super) fn tcp(
    keys: &mut Keys<'_>,
    (rest, tls): (&str, bool),
    host: &Arc<str>,
    names: &HostNames,
) -> Option<(SocketAddr, TcpInput)> {
    let (address, only_from) = place(keys, rest)?;
    let sourcetype = keys.shared(&settings::SOURCETYPE);
    let framing = match sourcetype.as_deref() {
        Some("syslog") => Framing::Syslog,
        _ => Framing::Lines,
    };
    let mut input = TcpInput::new(keys.index(), framing);
    input.source = keys.shared(&settings::SOURCE);
    input.sourcetype = sourcetype;
    (input.host, input.names) = host_of(keys, host, names);
    input.only_from = only_from;
    input.tls = tls;
    match keys.get(&settings::MAX_SOCKETS) {
        0 => {}
        most => input.max_connections = most,
    }
    Some((address, input))
}

/// `[udp://<port>]`, with the same forms as [`tcp`].
pub(super) fn udp(
    keys: &mut Keys<'_>,
    rest: &str,
    host: &Arc<str>,
    names: &HostNames,
) -> Option<(SocketAddr, UdpInput)> {
    let (address, only_from) = place(keys, rest)?;
    let (fixed, names) = host_of(keys, host, names);
    let input = UdpInput {
        index: keys.index(),
        source: keys.shared(&settings::SOURCE),
        sourcetype: keys.shared(&settings::SOURCETYPE),
        host: fixed,
        names,
        only_from,
        receive_buffer: keys.get(&settings::RECEIVE_BUFFER),
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

/// `[splunktcp://<port>]`, `[splunktcp-ssl://<port>]` and `[splunktcp-ssl:<port>]`, with the same forms as
/// [`tcp`].
pub(super) fn forwarders(
    keys: &mut Keys<'_>,
    rest: &str,
    tls: bool,
) -> Option<(SocketAddr, ForwarderPort)> {
    let (address, only_from) = place(keys, rest)?;
    Some((address, ForwarderPort { tls, only_from }))
}

/// Returns the address that a stanza listens on, and the hosts that may send to it.
fn place(keys: &mut Keys<'_>, rest: &str) -> Option<(SocketAddr, Option<RemoteHost>)> {
    let rest = rest.trim();
    let only_from = keys.get(&settings::RESTRICT_TO_HOST).filter(|host| !host.is_empty());
    let anywhere = |port: u16| SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    if let Ok(port) = rest.strip_prefix(':').unwrap_or(rest).parse::<u16>() {
        return Some((anywhere(port), only_from.as_deref().map(RemoteHost::new)));
    }
    let parts = rest.rsplit_once(':');
    let host = parts.and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
    match (host, &only_from) {
        (Some((host, port)), Some(only)) if host == only => {
            Some((anywhere(port), Some(RemoteHost::new(host))))
        }
        (Some(_), Some(_)) => {
            let expected = "the host before the port in the name of the stanza";
            keys.wrong(&settings::RESTRICT_TO_HOST, expected);
            None
        }
        (Some((host, port)), None) => match rest.parse() {
            Ok(address) => Some((address, None)),
            Err(_) if is_host_name(host) => Some((anywhere(port), Some(RemoteHost::new(host)))),
            Err(_) => wrong_place(keys),
        },
        (None, _) => wrong_place(keys),
    }
}

fn wrong_place<T>(keys: &mut Keys<'_>) -> Option<T> {
    let expected = "a port, an address of this machine and a port, or a sender's name and a port, \
                    after ://";
    keys.wrong_name("port", expected);
    None
}

/// Whether a text may be the name of a host, and not half of an address.
fn is_host_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    text.chars().all(plain) && text.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// `[http://<name>]`; a stanza without a token is not an input yet.
pub(super) fn http(keys: &mut Keys<'_>, name: &str) -> Option<HttpToken> {
    let token = keys.get(&settings::TOKEN)?;
    let mut indexes = Vec::new();
    for name in keys.get(&settings::INDEXES) {
        match IndexName::new(&name) {
            Ok(index) => indexes.push(index),
            Err(error) => keys.refused(&settings::INDEXES, error.to_string()),
        }
    }
    Some(HttpToken {
        name: name.to_owned(),
        token,
        index: keys.index(),
        indexes,
        sourcetype: keys.shared(&settings::SOURCETYPE).map(|text| text.to_string()),
        source: keys.shared(&settings::SOURCE).map(|text| text.to_string()),
        host: keys.host().map(|host| host.to_string()),
        use_ack: keys.get(&settings::USE_ACK),
        query_string_auth: keys.get_or(&settings::QUERY_STRING_AUTH, "http"),
        disabled: keys.get(&settings::DISABLED),
    })
}
