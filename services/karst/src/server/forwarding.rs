//! The ports for forwarders: the one of the command line, and those of `inputs.conf`.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use ingest::Ingest;
use ingest::forwarded::{Doors, converse};
use knowledge::Knowledge;
use runtime::Shutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::assemble::Karst;
use super::ports::ForwarderPort;
use crate::config::ServerOptions;

/// Time-out of the TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Maximum frame size: a batch with the longest event.
const MAX_FRAME: usize = 72 << 20;

/// Serves forwarders on the ports.
///
/// # Errors
/// If a port has no address.
pub(crate) fn start(
    ports: Vec<ForwarderPort>,
    tls: Option<&TlsAcceptor>,
    options: &ServerOptions,
    karst: &Karst,
    shutdown: &Shutdown,
) -> Result<()> {
    let indexes = Arc::clone(&karst.state.indexes);
    let indexer = uuid::Uuid::parse_str(&karst.state.info.guid).unwrap_or_default();
    let doors = Doors {
        indexer: model::IndexerId(indexer),
        name: karst.state.info.server_name.as_str().into(),
        token: options.forwarding_token.as_deref().map(Into::into),
        has_index: Arc::new(move |index| indexes.contains(index)),
        max_frame: MAX_FRAME,
    };
    for ForwarderPort { tls: encrypted, listener } in ports {
        let tls = tls.filter(|_| encrypted).cloned();
        let scheme = if encrypted { "tls" } else { "tcp" };
        println!("  forwarders  {scheme}://{}", listener.local_addr()?);
        let (ingest, doors) = (Arc::clone(&karst.ingest), doors.clone());
        shutdown.spawn(accept(listener, tls, ingest, doors, shutdown.clone()));
    }
    Ok(())
}

/// The addresses of the ports for forwarders, and whether they use TLS.
///
/// # Errors
/// If a stanza of `inputs.conf` has no port.
pub(crate) fn addresses(
    options: &ServerOptions,
    knowledge: &Knowledge,
) -> Result<Vec<(SocketAddr, bool)>> {
    let given = options.forwarding_address.map(|address| (address, options.forwarding_tls));
    let mut ports: Vec<_> = given.into_iter().collect();
    ports.extend(configured(knowledge)?);
    Ok(ports)
}

/// `[splunktcp://...]` and `[splunktcp-ssl://...]` of `inputs.conf`: a port, or an address and a port.
fn configured(knowledge: &Knowledge) -> Result<Vec<(SocketAddr, bool)>> {
    let mut ports = Vec::new();
    for stanza in &knowledge.conf("inputs").stanzas {
        let plain = stanza.name.strip_prefix("splunktcp://").map(|rest| (rest, false));
        let tls = stanza.name.strip_prefix("splunktcp-ssl://").map(|rest| (rest, true));
        let Some((rest, encrypted)) = plain.or(tls) else { continue };
        if inputs::configured::is_disabled(stanza) {
            continue;
        }
        let rest = rest.trim();
        let port = rest.strip_prefix(':').unwrap_or(rest).parse::<u16>();
        let anywhere = |port| SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
        let address = port.ok().map(anywhere).or_else(|| rest.parse().ok());
        let Some(address) = address else {
            let text = format!(
                "{}: [{}] needs a port, or an address and a port",
                stanza.place, stanza.name
            );
            anyhow::ensure!(knowledge.layers().is_of_app(&stanza.place), "{text}");
            tracing::warn!("{text}; the app's input is ignored");
            continue;
        };
        ports.push((address, encrypted));
    }
    Ok(ports)
}

async fn accept(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    ingest: Arc<Ingest>,
    doors: Doors,
    shutdown: Shutdown,
) {
    loop {
        let accepted = tokio::select! {
            () = shutdown.stopped() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((socket, peer)) => {
                // Acknowledgements are small and urgent.
                let _ = socket.set_nodelay(true);
                let (tls, doors) = (tls.clone(), doors.clone());
                let (ingest, until) = (Arc::clone(&ingest), shutdown.clone());
                shutdown.spawn(async move {
                    if let Err(reason) = serve(ingest, doors, socket, tls, peer, until).await {
                        tracing::warn!(%peer, reason, "a forwarder's connection ended");
                    }
                });
            }
            Err(error) => {
                // Usually too many open files: wait instead of spinning.
                tracing::warn!(%error, "cannot accept a forwarder's connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
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
    match tokio::time::timeout(HANDSHAKE, tls.accept(socket)).await {
        Ok(Ok(stream)) => converse(ingest, doors, stream, peer, shutdown).await,
        Ok(Err(error)) => Err(format!("TLS handshake: {error}")),
        Err(_) => Err("TLS handshake timed out".to_owned()),
    }
}
