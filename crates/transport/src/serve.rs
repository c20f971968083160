//! The server side of a connection.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http2::Builder;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use metrics::{counter, gauge};
use runtime::{Shutdown, metrics as names};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::service::Routes;
use tower::ServiceExt;

use crate::error::Result;
use crate::hello::{self, Failed};
use crate::socket::Socket;
use crate::{Error, Transport, tls};

/// Pause after a failed accept, usually because of too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The process at the other end of a connection; an extension of its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    /// The version of the messages that both sides support.
    pub version: u16,
}

impl Transport {
    /// Serves processes of the cluster until shutdown.
    ///
    /// # Errors
    /// [`Error::Address`] if there are no credentials and other machines can reach the listener.
    pub async fn serve(
        &self,
        listener: TcpListener,
        routes: Routes,
        shutdown: &Shutdown,
    ) -> Result<()> {
        self.check(&listener)?;
        let routes = routes.prepare();
        let places = Arc::new(Semaphore::new(self.settings.connections));
        loop {
            let accepted = tokio::select! {
                () = shutdown.stopped() => return Ok(()),
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, address)) => {
                    let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                        refused("connections");
                        continue;
                    };
                    let serving = self.clone().connection(
                        (stream, address),
                        place,
                        routes.clone(),
                        shutdown.clone(),
                    );
                    shutdown.spawn(serving);
                }
                Err(error) => {
                    refused("accept");
                    tracing::warn!(%error, "cannot accept a connection of the cluster");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn check(&self, listener: &TcpListener) -> Result<()> {
        let address = listener.local_addr().map_err(|error| Error::Address {
            address: String::new(),
            reason: error.to_string(),
        })?;
        if self.tls.is_none() && !address.ip().is_loopback() {
            let reason = "without the credentials of a cluster, processes listen only on 127.0.0.1: see karst \
                          cluster init";
            return Err(Error::Address { address: address.to_string(), reason: reason.to_owned() });
        }
        Ok(())
    }

    async fn connection(
        self,
        (stream, address): (TcpStream, SocketAddr),
        _place: OwnedSemaphorePermit,
        routes: Routes,
        shutdown: Shutdown,
    ) {
        let greeting = Box::pin(self.admit(stream));
        let greeted = tokio::select! {
            () = shutdown.stopped() => return,
            greeted = tokio::time::timeout(self.settings.handshake, greeting) => greeted,
        };
        match greeted {
            Ok(Ok((socket, version))) => {
                let peer = Peer { address, version };
                gauge!(names::TRANSPORT_CONNECTIONS).increment(1.0);
                Box::pin(self.talk(socket, peer, routes, shutdown)).await;
                gauge!(names::TRANSPORT_CONNECTIONS).decrement(1.0);
            }
            Ok(Err(Failed::Refused(label, reason))) => {
                refused(label);
                tracing::warn!(%address, reason, "a connection of another process is refused");
            }
            Ok(Err(Failed::Garbage)) => refused("garbage"),
            Ok(Err(Failed::Io(error))) => {
                refused("connection");
                tracing::debug!(%address, %error, "a connection has ended in its handshake");
            }
            Err(_) => refused("timeout"),
        }
    }

    /// Does the TLS handshake and the greeting.
    async fn admit(&self, stream: TcpStream) -> std::result::Result<(Socket, u16), Failed> {
        let _ = stream.set_nodelay(true);
        let mut stream = stream;
        if !self.is_expected(&stream).await? {
            let reason = match &self.tls {
                Some(_) => {
                    "it requires TLS: start this process with the credentials of its cluster"
                }
                None => "it has no credentials, and expects no TLS",
            };
            hello::dismiss(&mut stream, reason).await?;
            return Err(Failed::Garbage);
        }
        let mut socket = match &self.tls {
            None => Socket::Plain(stream),
            Some(tls) => match tls.acceptor.accept(stream).await {
                Ok(stream) => Socket::Tls(Box::new(stream.into())),
                Err(error) if tls::is_plain(&error) => return Err(Failed::Garbage),
                Err(error) => {
                    return Err(match tls::refusal(&error) {
                        Some(reason) => Failed::Refused("certificate", reason),
                        None => Failed::Io(error),
                    });
                }
            },
        };
        let binding = socket.binding()?;
        let version = hello::answer(&mut socket, &self.secret, &self.versions, &binding).await?;
        Ok((socket, version))
    }

    /// Whether a client begins with TLS if TLS is used, or else with a greeting.
    async fn is_expected(&self, stream: &TcpStream) -> std::io::Result<bool> {
        let mut first = [0];
        if stream.peek(&mut first).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(hello::begins(first[0]) == self.tls.is_none())
    }

    async fn talk(self, socket: Socket, peer: Peer, routes: Routes, shutdown: Shutdown) {
        let settings = &self.settings;
        let (stream, whole) = settings.window_bytes;
        let mut builder = Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .keep_alive_interval(settings.probe)
            .keep_alive_timeout(settings.silence)
            .max_concurrent_streams(settings.streams)
            .max_header_list_size(settings.header_bytes)
            .initial_stream_window_size(stream)
            .initial_connection_window_size(whole);
        let service = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(peer);
            routes.clone().oneshot(request)
        });
        let connection = builder.serve_connection(TokioIo::new(socket), service);
        tokio::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = shutdown.stopped() => {
                connection.as_mut().graceful_shutdown();
                // Endless streams, such as feeds, are aborted after this time.
                let Ok(ended) = tokio::time::timeout(settings.farewell, connection).await else {
                    return;
                };
                ended
            }
        };
        if let Err(error) = ended {
            tracing::debug!(peer = %peer.address, %error, "a connection has ended");
        }
    }
}

fn refused(reason: &'static str) {
    counter!(names::TRANSPORT_REFUSED, "reason" => reason).increment(1);
}
