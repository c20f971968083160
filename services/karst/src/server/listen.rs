//! Ports: HEC, management, web, and where they are on OTLP and Elasticsearch; plain or TLS; HTTP/1
//! and HTTP/2 on each.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result};
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
use super::streaming::Streaming;
use super::tls;
use crate::config::ServerOptions;

/// A client that does not finish its TLS handshake in this time is let go.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// What listens where.
#[derive(Debug)]
pub(crate) struct Listeners(Vec<(&'static str, String)>);

impl Listeners {
    /// Tells the operator that everything is up.
    pub(crate) fn announce(&self) {
        println!("karst is ready");
        for (name, url) in &self.0 {
            println!("  {name:<11} {url}");
        }
        tracing::info!("ready");
    }
}

pub(crate) async fn start(
    options: &ServerOptions,
    karst: &Karst,
    shutdown: &Shutdown,
) -> Result<Listeners> {
    let needs_tls = options.hec_tls || options.web_tls || !options.management_plain;
    let tls = needs_tls.then(|| tls::acceptor(options)).transpose()?;
    let acceptor = |wanted: bool| tls.clone().filter(|_| wanted);
    let receivers = api::Receivers::new(karst.state.clone())?;
    let hec = receivers.hec();
    let rest = api::rest_router(karst.state.clone());
    let streams = |wanted: bool| acceptor(wanted).as_ref().map(tls::without_tickets);
    let rest_ports = [
        ("management", options.management_address, streams(!options.management_plain)),
        ("web", options.web_address, streams(options.web_tls)),
    ];
    let mut event_ports = vec![("HEC", options.hec_address, hec)];
    let otlp = [("OTLP/gRPC", options.otlp_grpc), ("OTLP/HTTP", options.otlp_http)];
    for (name, address) in otlp {
        event_ports.extend(address.map(|address| (name, address, receivers.otlp())));
    }
    let elastic = receivers.elasticsearch(&options.elasticsearch_version);
    event_ports.extend(options.elasticsearch.map(|address| ("elastic", address, elastic)));
    let mut listening = Vec::new();
    for (name, address, service) in event_ports {
        let tls = acceptor(options.hec_tls);
        let listener = bind(name, address, tls.is_some(), &mut listening).await?;
        shutdown.spawn(accept(listener, tls, service, false, shutdown.clone()));
    }
    for (name, address, tls) in rest_ports {
        let listener = bind(name, address, tls.is_some(), &mut listening).await?;
        shutdown.spawn(accept(listener, tls, rest.clone(), true, shutdown.clone()));
    }
    Ok(Listeners(listening))
}

async fn bind(
    name: &'static str,
    address: SocketAddr,
    tls: bool,
    listening: &mut Vec<(&'static str, String)>,
) -> Result<TcpListener> {
    let listener = TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on {address} for {name}; is another server running there?")
    })?;
    let scheme = if tls { "https" } else { "http" };
    listening.push((name, format!("{scheme}://{}", listener.local_addr()?)));
    Ok(listener)
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
