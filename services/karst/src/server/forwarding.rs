//! The ports for forwarders: the one of the command line, and those of `inputs.conf` (`[splunktcp://...]`).

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ::inputs::configured::{Configured, ForwarderListener, ForwarderPort, ServeForwarders};
use ::inputs::tcp::Signals;
use anyhow::Result;
use ingest::Ingest;
use ingest::forwarded::{Doors, RulesLimit, converse};
use runtime::{Shutdown, metrics as names};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::assemble::Karst;
use super::handshake;
use super::ports::BoundForwarderPort;
use crate::config::ServerOptions;

/// Advice for forwarders that do not use TLS.
const ADVICE: &str = "set useSSL = true or sslRootCAPath in the outputs.conf of the forwarder";
/// Maximum frame size: a batch with the longest event.
const MAX_FRAME: usize = 72 << 20;

/// Serves forwarders: on the port of the command line at once, and on those of `inputs.conf` through the
/// returned function.
///
/// # Errors
/// If a port has no address.
pub(crate) fn start(
    ports: Vec<BoundForwarderPort>,
    tls: Option<&TlsAcceptor>,
    options: &ServerOptions,
    karst: &Karst,
    shutdown: &Shutdown,
) -> Result<ServeForwarders> {
    let indexes = Arc::clone(&karst.state.indexes);
    let indexer = uuid::Uuid::parse_str(&karst.state.info.guid).unwrap_or_default();
    let doors = Doors {
        indexer: model::IndexerId(indexer),
        name: karst.state.info.server_name.as_str().into(),
        token: options.forwarding_token.as_deref().map(Into::into),
        has_index: Arc::new(move |index| indexes.contains(index)),
        max_frame: MAX_FRAME,
        rules: RulesLimit::default(),
    };
    let (tls, ingest) = (tls.cloned(), Arc::clone(&karst.ingest));
    let serve: ServeForwarders = Arc::new(move |port: ForwarderListener| {
        let services = ForwarderServices {
            tls: tls.clone(),
            ingest: Arc::clone(&ingest),
            doors: doors.clone(),
        };
        port.signals.accepting.clone().spawn(services.accept(port));
    });
    for BoundForwarderPort { tls: encrypted, listener } in ports {
        let scheme = if encrypted { "tls" } else { "tcp" };
        println!("  forwarders  {scheme}://{}", listener.local_addr()?);
        serve(ForwarderListener {
            listener: Arc::new(listener),
            ports: vec![ForwarderPort { tls: encrypted, only_from: None }],
            signals: Signals { accepting: shutdown.clone(), connections: shutdown.clone() },
        });
    }
    Ok(serve)
}

/// The address of the command line's port for forwarders, and whether it uses TLS.
pub(crate) fn address(options: &ServerOptions) -> Option<(SocketAddr, bool)> {
    options.forwarding_address.map(|address| (address, options.forwarding_tls))
}

/// The ports at which every forwarder may connect, and whether they use TLS: that of the command line, which
/// is the first one, and those of `inputs.conf`.
///
/// # Errors
/// If a port has no address.
pub(crate) fn open_ports(
    bound: &[BoundForwarderPort],
    inputs: &Configured,
) -> Result<Vec<(SocketAddr, bool)>> {
    let mut open = Vec::new();
    for BoundForwarderPort { tls, listener } in bound {
        open.push((listener.local_addr()?, *tls));
    }
    let unrestricted = inputs.forwarders.iter().filter(|(_, port)| port.only_from.is_none());
    open.extend(unrestricted.map(|(address, port)| (*address, port.tls)));
    Ok(open)
}

/// The address to list instead of those of these ports. It leads to the port of the command line: without
/// that port, it is ignored, because the variable may be set for processes of all roles.
pub(crate) fn instead<'a>(
    options: &'a ServerOptions,
    open: &[(SocketAddr, bool)],
) -> Option<&'a str> {
    let address = options.forwarding_advertise.as_deref()?;
    if options.forwarding_address.is_some() {
        return Some(address);
    }
    if !open.is_empty() {
        tracing::warn!(
            address,
            "--forwarding-advertise is ignored without --forwarding-address: forwarders get the addresses \
             of the ports of inputs.conf"
        );
    }
    None
}

/// The addresses of these ports for the list of the cluster, or the only one that forwarders are to use,
/// which leads to the first port. A port at all addresses of the machine is listed at the host of the
/// cluster's address, and one at a loopback address only if the cluster is at such an address, too.
pub(crate) fn advertised(
    open: &[(SocketAddr, bool)],
    instead: Option<&str>,
    cluster_address: &str,
) -> Vec<peers::ForwarderPort> {
    if let Some(address) = instead {
        let port = |(_, tls): &(SocketAddr, bool)| peers::ForwarderPort {
            address: address.into(),
            tls: *tls,
        };
        return open.iter().take(1).map(port).collect();
    }
    let host = cluster_address.rsplit_once(':').map_or(cluster_address, |(host, _)| host);
    let known = |(bound, tls): &(SocketAddr, bool)| {
        let address = match bound.ip() {
            ip if ip.is_unspecified() => format!("{host}:{}", bound.port()),
            ip if ip.is_loopback() && !is_loopback(host) => return None,
            _ => bound.to_string(),
        };
        Some(peers::ForwarderPort { address, tls: *tls })
    };
    open.iter().filter_map(known).collect()
}

fn is_loopback(host: &str) -> bool {
    let ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
}

/// The services behind a port.
struct ForwarderServices {
    tls: Option<TlsAcceptor>,
    ingest: Arc<Ingest>,
    doors: Doors,
}

impl ForwarderServices {
    async fn accept(self, port: ForwarderListener) {
        let ForwarderListener { listener, ports, signals } = port;
        let ports: Arc<[ForwarderPort]> = ports.into();
        loop {
            let accepted = tokio::select! {
                () = signals.accepting.stopped() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((socket, peer)) => {
                    // Acknowledgements are small and urgent.
                    let _ = socket.set_nodelay(true);
                    let (tls, doors) = (self.tls.clone(), self.doors.clone());
                    let (ingest, until) = (Arc::clone(&self.ingest), signals.connections.clone());
                    let ports = Arc::clone(&ports);
                    signals.connections.spawn(async move {
                        let Some(port) = port_for(&ports, peer).await else {
                            let refused = names::INGEST_REFUSED;
                            metrics::counter!(refused, "reason" => "host").increment(1);
                            tracing::warn!(%peer, "the input is restricted to another host");
                            return;
                        };
                        let tls = tls.filter(|_| port.tls);
                        if let Err(reason) = serve(ingest, doors, socket, tls, peer, until).await {
                            tracing::warn!(%peer, reason, "a forwarder's connection ended");
                        }
                    });
                }
                Err(error) => {
                    // Usually too many open files: wait instead of spinning.
                    tracing::warn!(%error, "cannot accept a forwarder's connection");
                    if !signals.accepting.sleep(Duration::from_millis(100)).await {
                        return;
                    }
                }
            }
        }
    }
}

async fn port_for(ports: &[ForwarderPort], peer: SocketAddr) -> Option<&ForwarderPort> {
    for port in ports {
        let allowed = match &port.only_from {
            None => true,
            Some(host) => host.is_at(peer.ip()).await,
        };
        if allowed {
            return Some(port);
        }
    }
    None
}

async fn serve(
    ingest: Arc<Ingest>,
    doors: Doors,
    socket: TcpStream,
    tls: Option<TlsAcceptor>,
    peer: SocketAddr,
    shutdown: Shutdown,
) -> Result<(), String> {
    let Some(tls) = tls else { return converse(ingest, doors, socket, peer, shutdown).await };
    let Some(stream) = handshake::accept(&tls, socket, ADVICE).await? else { return Ok(()) };
    converse(ingest, doors, stream, peer, shutdown).await
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::config::{Arguments, Command};

    #[test]
    fn ports_are_listed_at_the_host_of_the_cluster_or_at_the_advertised_address() {
        let open = [(at("0.0.0.0:9997"), false), (at("[::]:9998"), true)];
        let addresses = |instead, cluster| {
            let all = advertised(&open, instead, cluster).into_iter();
            all.map(|port| (port.address, port.tls)).collect::<Vec<_>>()
        };
        let at_host = [("10.0.0.7:9997".to_owned(), false), ("10.0.0.7:9998".to_owned(), true)];
        assert_eq!(addresses(None, "10.0.0.7:9887"), at_host);
        assert_eq!(addresses(None, "[fd00::7]:9887")[0].0, "[fd00::7]:9997");
        let outside = [("idx-0.example.com:19997".to_owned(), false)];
        assert_eq!(addresses(Some("idx-0.example.com:19997"), "10.0.0.7:9887"), outside);
        assert!(advertised(&[], Some("idx-0.example.com:19997"), "10.0.0.7:9887").is_empty());
    }

    #[test]
    fn a_port_at_one_address_is_listed_there_if_others_reach_it() {
        let open = [
            (at("127.0.0.1:9996"), false),
            (at("192.168.1.7:9997"), false),
            (at("[fd00::7]:9998"), true),
        ];
        let addresses = |cluster| {
            let all = advertised(&open, None, cluster).into_iter();
            all.map(|port| port.address).collect::<Vec<_>>()
        };
        assert_eq!(addresses("10.0.0.7:9887"), ["192.168.1.7:9997", "[fd00::7]:9998"]);
        for local in ["127.0.0.1:9887", "[::1]:9887", "localhost:9887"] {
            assert_eq!(addresses(local)[0], "127.0.0.1:9996");
        }
    }

    #[test]
    fn only_the_port_of_the_command_line_is_advertised_elsewhere() {
        let advertise = ["karst", "server", "--forwarding-advertise", "indexer-0:9997"];
        let port = ["--forwarding-address", "0.0.0.0:9997"];
        let open = [(at("0.0.0.0:9997"), false)];
        let instead = |arguments: &[&str]| {
            let arguments = Arguments::try_parse_from(arguments).unwrap();
            let Command::Server(options) = arguments.command else { panic!() };
            instead(&options, &open).map(str::to_owned)
        };
        assert_eq!(instead(&advertise), None);
        let both = [&advertise[..], &port[..]].concat();
        assert_eq!(instead(&both), Some("indexer-0:9997".to_owned()));
    }

    fn at(address: &str) -> SocketAddr {
        address.parse().unwrap()
    }
}
