//! Ports: HEC, management, web, and, if enabled, OTLP, Elasticsearch and Loki; plain or TLS;
//! HTTP/1 and HTTP/2 on each.

use anyhow::Result;
use api::Receivers;
use tokio_rustls::TlsAcceptor;

use super::assemble::Karst;
use super::gateway::{Gateway, Progress};
use super::other_heads::{self, OtherHeads};
use super::ports::{HttpPort, Role};
use super::roles::{self, Roles};
use super::serving::{Port, Serving, Tls};
use super::tls;
use crate::config::ServerOptions;

/// The listening ports.
#[derive(Debug)]
pub(crate) struct Listeners {
    urls: Vec<(&'static str, String)>,
    doors: Vec<(Role, Gateway)>,
}

impl Listeners {
    /// Starts serving requests.
    pub(crate) fn open(
        &self,
        options: &ServerOptions,
        roles: Roles,
        karst: &Karst,
        receivers: &Receivers,
        heads: Option<OtherHeads>,
    ) {
        let rest = api::rest_router(karst.state.clone());
        for (role, door) in &self.doors {
            match role {
                Role::Hec => door.open(receivers.hec()),
                Role::Otlp => door.open(receivers.otlp()),
                Role::Elastic => {
                    door.open(receivers.elasticsearch(&options.elasticsearch_version));
                }
                Role::Loki => door.open(receivers.loki()),
                Role::Health => {}
                Role::Management | Role::Web => {
                    let rest = roles::limited(roles, rest.clone());
                    match &heads {
                        Some(heads) => door.open(other_heads::passing_on(heads.clone(), rest)),
                        None => door.open(rest),
                    }
                }
            }
        }
    }

    /// Prints that the server is ready.
    pub(crate) fn announce(&self) {
        println!("karst is ready");
        for (name, url) in &self.urls {
            println!("  {name:<11} {url}");
        }
        tracing::info!("ready");
    }
}

/// Accepts connections on every port; until [`Listeners::open`] the response is that the server is
/// starting.
///
/// # Errors
/// If a port has no address.
pub(crate) fn start(
    ports: Vec<HttpPort>,
    tls: Option<&TlsAcceptor>,
    progress: &Progress,
    serving: &Serving,
) -> Result<Listeners> {
    let mut listeners = Listeners { urls: Vec::new(), doors: Vec::new() };
    for HttpPort { name, role, tls: wanted, listener } in ports {
        let scheme = if wanted { "https" } else { "http" };
        listeners.urls.push((name, format!("{scheme}://{}", listener.local_addr()?)));
        let door = Gateway::new(role, progress.clone());
        listeners.doors.push((role, door.clone()));
        let tls = tls.filter(|_| wanted);
        let tls =
            tls.map(|tls| if role.is_rest() { tls::without_tickets(tls) } else { tls.clone() });
        let port = Port { name, role, tls: tls.map(Tls) };
        serving.shutdown.spawn(serving.clone().accept(listener, port, door));
    }
    Ok(listeners)
}
