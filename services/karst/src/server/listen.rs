//! Ports: HEC, management, web, and where they are on OTLP and Elasticsearch; plain or TLS; HTTP/1
//! and HTTP/2 on each.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use runtime::Shutdown;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tower::Service;

use super::assemble::Karst;
use super::gateway::{Gateway, Progress};
use super::ports::{HttpPort, Role};
use super::streaming::Streaming;
use super::tls;
use crate::config::ServerOptions;

/// A client that does not finish its TLS handshake in this time is let go.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// What listens where.
#[derive(Debug)]
pub(crate) struct Listeners {
    urls: Vec<(&'static str, String)>,
    doors: Vec<(Role, Gateway)>,
}

impl Listeners {
    /// Lets requests in.
    ///
    /// # Errors
    /// A setting of the inputs over HTTP is not valid.
    pub(crate) fn open(&self, options: &ServerOptions, karst: &Karst) -> Result<()> {
        let receivers = api::Receivers::new(karst.state.clone())?;
        let rest = api::rest_router(karst.state.clone());
        for (role, door) in &self.doors {
            match role {
                Role::Hec => door.open(receivers.hec()),
                Role::Otlp => door.open(receivers.otlp()),
                Role::Elastic => {
                    door.open(receivers.elasticsearch(&options.elasticsearch_version));
                }
                Role::Rest => door.open(rest.clone()),
            }
        }
        Ok(())
    }

    /// Tells the operator that everything is up.
    pub(crate) fn announce(&self) {
        println!("karst is ready");
        for (name, url) in &self.urls {
            println!("  {name:<11} {url}");
        }
        tracing::info!("ready");
    }
}

/// Answers at every port, until [`Listeners::open`] that the server is starting.
///
/// # Errors
/// A port has no address.
pub(crate) fn start(
    ports: Vec<HttpPort>,
    tls: Option<&TlsAcceptor>,
    progress: &Progress,
    shutdown: &Shutdown,
) -> Result<Listeners> {
    let mut listeners = Listeners { urls: Vec::new(), doors: Vec::new() };
    for HttpPort { name, role, tls: wanted, listener } in ports {
        let scheme = if wanted { "https" } else { "http" };
        listeners.urls.push((name, format!("{scheme}://{}", listener.local_addr()?)));
        let door = Gateway::new(progress.clone());
        listeners.doors.push((role, door.clone()));
        let streams = role == Role::Rest;
        let tls = tls.filter(|_| wanted);
        let tls = tls.map(|tls| if streams { tls::without_tickets(tls) } else { tls.clone() });
        shutdown.spawn(accept(listener, tls, door, streams, shutdown.clone()));
    }
    Ok(listeners)
}

/// Serves a listener. `streams`: clients may send bodies that end with the connection.
async fn accept<S>(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    service: S,
    streams: bool,
    shutdown: Shutdown,
) where
    S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    loop {
        let accepted = tokio::select! {
            () = shutdown.stopped() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((socket, peer)) => {
                // Acknowledgements are small and waited for.
                let _ = socket.set_nodelay(true);
                let connection =
                    serve(socket, peer, tls.clone(), service.clone(), streams, shutdown.clone());
                shutdown.spawn(connection);
            }
            Err(error) => {
                // Too many open files, mostly: wait for some to close rather than spin.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn serve<S>(
    socket: TcpStream,
    peer: SocketAddr,
    tls: Option<TlsAcceptor>,
    service: S,
    streams: bool,
    shutdown: Shutdown,
) where
    S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    match tls {
        None => begin(socket, peer, service, streams, shutdown).await,
        Some(tls) => match tokio::time::timeout(HANDSHAKE, tls.accept(socket)).await {
            Ok(Ok(stream)) => begin(stream, peer, service, streams, shutdown).await,
            Ok(Err(error)) => tracing::debug!(%peer, %error, "TLS handshake failed"),
            Err(_) => tracing::debug!(%peer, "TLS handshake timed out"),
        },
    }
}

async fn begin<I, S>(io: I, peer: SocketAddr, service: S, streams: bool, shutdown: Shutdown)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    if streams {
        converse(TokioIo::new(Streaming::new(io)), peer, service, shutdown).await;
    } else {
        converse(TokioIo::new(io), peer, service, shutdown).await;
    }
}

async fn converse<I, S>(io: I, peer: SocketAddr, service: S, shutdown: Shutdown)
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
    S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    let service = tower::service_fn(move |request: hyper::Request<Incoming>| {
        call(service.clone(), peer, request)
    });
    let builder = Builder::new(TokioExecutor::new());
    let connection = builder.serve_connection_with_upgrades(io, TowerToHyperService::new(service));
    tokio::pin!(connection);
    tokio::select! {
        result = connection.as_mut() => {
            if let Err(error) = result {
                tracing::debug!(%peer, %error, "connection ended");
            }
        }
        () = shutdown.stopped() => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

fn call<S>(
    mut service: S,
    peer: SocketAddr,
    request: hyper::Request<Incoming>,
) -> impl Future<Output = Result<Response, Infallible>> + Send
where
    S: Service<Request, Response = Response, Error = Infallible> + Send,
    S::Future: Send,
{
    let mut request = request.map(axum::body::Body::new);
    request.extensions_mut().insert(ConnectInfo(peer));
    service.call(request)
}
