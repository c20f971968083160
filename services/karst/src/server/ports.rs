//! All ports of the server, bound before anything is opened or written: if a port is in use, the
//! start fails without changes.

use std::net::SocketAddr;

use ::inputs::configured::{self, Bound, Configured};
use anyhow::{Context, Result};
use tokio::net::TcpListener;

use super::forwarding;
use super::roles::Roles;
use crate::config::ServerOptions;

/// The service of an HTTP port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Hec,
    Otlp,
    Elastic,
    Loki,
    Management,
    Web,
    /// Probes of orchestrators; it is not among the HTTP ports, since it outlives them.
    Health,
}

impl Role {
    /// Whether it serves REST: clients may send bodies that end with the connection.
    pub(crate) fn is_rest(self) -> bool {
        matches!(self, Self::Management | Self::Web)
    }
}

/// A port for HTTP.
#[derive(Debug)]
pub(crate) struct HttpPort {
    pub(crate) name: &'static str,
    pub(crate) role: Role,
    pub(crate) tls: bool,
    pub(crate) listener: TcpListener,
}

/// The command line's port for forwarders.
#[derive(Debug)]
pub(crate) struct BoundForwarderPort {
    pub(crate) tls: bool,
    pub(crate) listener: TcpListener,
}

/// All ports, bound but not serving yet.
#[derive(Debug)]
pub(crate) struct Ports {
    pub(crate) http: Vec<HttpPort>,
    pub(crate) forwarders: Vec<BoundForwarderPort>,
    pub(crate) inputs: Bound,
    pub(crate) health: Option<TcpListener>,
    /// Whether a port for forwarders of `inputs.conf`, or another input, uses TLS.
    inputs_need_tls: bool,
}

impl Ports {
    /// Binds the ports of the command line and `inputs.conf`.
    ///
    /// # Errors
    /// If a port is in use, or not permitted.
    pub(crate) async fn bind(
        options: &ServerOptions,
        roles: Roles,
        inputs: &Configured,
    ) -> Result<Self> {
        // First: probes may ask from now on.
        let health = match options.health_address {
            Some(address) => Some(bind("health", address).await?),
            None => None,
        };
        let mut http = Vec::new();
        let wanted = http_addresses(options).into_iter().filter(|(_, role, ..)| roles.serve(*role));
        for (name, role, tls, address) in wanted {
            let listener = bind(name, address).await?;
            http.push(HttpPort { name, role, tls, listener });
        }
        let mut forwarders = Vec::new();
        if let Some((address, tls)) = forwarding::address(options).filter(|_| roles.indexer) {
            let listener = bind("forwarders", address).await?;
            forwarders.push(BoundForwarderPort { tls, listener });
        }
        let inputs_need_tls = inputs.forwarders.iter().any(|(_, port)| port.tls)
            || inputs.tcp.iter().any(|(_, input)| input.tls);
        let inputs = configured::bind(inputs).await?;
        Ok(Self { http, forwarders, inputs, health, inputs_need_tls })
    }

    /// Whether any of them uses TLS.
    pub(crate) fn need_tls(&self) -> bool {
        let http = self.http.iter().any(|port| port.tls);
        http || self.inputs_need_tls || self.forwarders.iter().any(|port| port.tls)
    }
}

type Wanted = (&'static str, Role, bool, SocketAddr);

fn http_addresses(options: &ServerOptions) -> Vec<Wanted> {
    let hec = |address: SocketAddr| options.hec_tls.at(address);
    let web = |address: SocketAddr| options.web_tls.at(address);
    let management = |_: SocketAddr| !options.management_plain;
    let fixed: [(_, _, &dyn Fn(SocketAddr) -> bool, _); 7] = [
        ("HEC", Role::Hec, &hec, Some(options.hec_address)),
        ("OTLP/gRPC", Role::Otlp, &hec, options.otlp_grpc),
        ("OTLP/HTTP", Role::Otlp, &hec, options.otlp_http),
        ("elastic", Role::Elastic, &hec, options.elasticsearch),
        ("Loki", Role::Loki, &hec, options.loki),
        ("management", Role::Management, &management, Some(options.management_address)),
        ("web", Role::Web, &web, Some(options.web_address)),
    ];
    fixed
        .into_iter()
        .filter_map(|(name, role, tls, address)| address.map(|at| (name, role, tls(at), at)))
        .collect()
}

async fn bind(name: &'static str, address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on {address} for {name}; is another server running there?")
    })
}
