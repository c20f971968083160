//! Serves a connection: admission, TLS or plain, requests, time-outs.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use api::Control;
use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use metrics::counter;
use runtime::Shutdown;
use runtime::metrics as names;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tower::Service;

use super::access_log::{AccessLog, Accessed};
use super::bodies::{Outcome, Patience, ReadOut, Timed};
use super::connections::{Connection, Connections};
use super::conversation::{Conversation, Held, Watched};
use super::descriptors;
use super::http_conf::HttpServer;
use super::ports::Role;
use super::requests::{self, Measured};
use super::streaming::Streaming;
use super::wrong_scheme::{self, First};

/// Time for the last responses of a closing connection.
const FAREWELL: Duration = Duration::from_secs(5);
/// Pause after a failed accept, usually because of too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A port and its role.
#[derive(Debug, Clone)]
pub(crate) struct Port {
    pub(crate) name: &'static str,
    pub(crate) role: Role,
    pub(crate) tls: Option<Tls>,
}

/// TLS of a port; a wrapper because the rustls type has no `Debug`.
#[derive(Clone)]
pub(crate) struct Tls(pub(crate) TlsAcceptor);

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

/// State shared by all ports.
#[derive(Debug, Clone)]
pub(crate) struct Serving {
    pub(crate) settings: Arc<HttpServer>,
    pub(crate) connections: Connections,
    pub(crate) shutdown: Shutdown,
    pub(crate) control: Control,
    /// Requests of REST, whatever the port.
    pub(crate) access: AccessLog,
}

/// State of one connection.
#[derive(Debug, Clone)]
struct Context {
    serving: Serving,
    port: Arc<Port>,
    peer: SocketAddr,
    conversation: Conversation,
}

impl Serving {
    pub(crate) fn new(settings: HttpServer, shutdown: &Shutdown, control: &Control) -> Self {
        let connections = Connections::new(&settings, descriptors::limit());
        let (shutdown, control) = (shutdown.clone(), control.clone());
        let access = AccessLog::default();
        Self { settings: Arc::new(settings), connections, shutdown, control, access }
    }

    /// Serves a listener until the process stops.
    pub(crate) async fn accept<S>(self, listener: TcpListener, port: Port, service: S)
    where
        S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send,
    {
        let port = Arc::new(port);
        loop {
            let accepted = tokio::select! {
                () = self.shutdown.stopped() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((socket, peer)) => self.admit(socket, peer, &port, &service),
                Err(error) => {
                    counter!(names::HTTP_REFUSED, "reason" => "accept").increment(1);
                    tracing::warn!(%error, port = port.name, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn admit<S>(&self, socket: TcpStream, peer: SocketAddr, port: &Arc<Port>, service: &S)
    where
        S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send,
    {
        let management = port.role == Role::Management;
        let connection = match self.connections.admit(peer.ip(), management) {
            Ok(connection) => connection,
            Err(refusal) => {
                self.connections.refused(peer.ip(), refusal);
                if port.tls.is_none() {
                    wrong_scheme::say_busy(socket, refusal.label());
                }
                return;
            }
        };
        // Acknowledgements are small and urgent.
        let _ = socket.set_nodelay(true);
        let context = Context {
            serving: self.clone(),
            port: Arc::clone(port),
            peer,
            conversation: Conversation::new(),
        };
        self.shutdown.spawn(context.serve(socket, connection, service.clone()));
    }
}

impl Context {
    async fn serve<S>(self, socket: TcpStream, connection: Connection, service: S)
    where
        S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send,
    {
        let _connection = connection;
        let Some(Tls(tls)) = self.port.tls.clone() else {
            return self.begin(socket, service).await;
        };
        let peer = self.peer;
        let handshake = async {
            if wrong_scheme::first(&socket).await == First::Plain {
                return Ok(Err(socket));
            }
            tls.accept(socket).await.map(Ok)
        };
        match tokio::time::timeout(self.serving.settings.timeouts.handshake, handshake).await {
            Ok(Ok(Ok(stream))) => self.begin(stream, service).await,
            Ok(Ok(Err(plain))) => {
                let redirects = self.port.role == Role::Web;
                self.converse(TokioIo::new(plain), wrong_scheme::service(redirects)).await;
            }
            Ok(Err(error)) => tracing::debug!(%peer, %error, "TLS handshake failed"),
            Err(_) => {
                counter!(names::HTTP_TIMEOUTS, "reason" => "handshakeTimeout").increment(1);
                tracing::debug!(%peer, "TLS handshake timed out");
            }
        }
    }

    async fn begin<I, S>(self, io: I, service: S)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send,
    {
        let io = Watched::new(io, self.conversation.clone());
        if self.port.role.is_rest() {
            self.converse(TokioIo::new(Streaming::new(io)), service).await;
        } else {
            self.converse(TokioIo::new(io), service).await;
        }
    }

    async fn converse<I, S>(self, io: I, service: S)
    where
        I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
        S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
        S::Future: Send,
    {
        let (peer, serving) = (self.peer, self.serving.clone());
        let conversation = self.conversation.clone();
        let builder = builder(&serving.settings);
        let answering = tower::service_fn(move |request: hyper::Request<Incoming>| {
            self.clone().call(service.clone(), request)
        });
        let answering = TowerToHyperService::new(answering);
        let connection = builder.serve_connection_with_upgrades(io, answering);
        tokio::pin!(connection);
        let timeouts = &serving.settings.timeouts;
        let cause = tokio::select! {
            result = connection.as_mut() => {
                if let Err(error) = result {
                    tracing::debug!(%peer, %error, "connection ended");
                }
                return;
            }
            () = serving.shutdown.stopped() => None,
            cause = conversation.overdue(timeouts, || serving.connections.is_busy()) => Some(cause),
        };
        connection.as_mut().graceful_shutdown();
        let Some(cause) = cause else {
            let _ = connection.await;
            return;
        };
        counter!(names::HTTP_TIMEOUTS, "reason" => cause.setting()).increment(1);
        tracing::debug!(%peer, "connection closed: [httpServer] {}", cause.setting());
        // Requests in progress are answered; connections that do not end in time are closed.
        let _ = tokio::time::timeout(FAREWELL, connection).await;
    }

    fn call<S>(
        self,
        mut service: S,
        request: hyper::Request<Incoming>,
    ) -> impl Future<Output = Result<hyper::Response<Held<Sent>>, Infallible>> + Send
    where
        S: Service<Request, Response = Response, Error = Infallible> + Send,
        S::Future: Send,
    {
        let multiplexed = request.version() == hyper::Version::HTTP_2;
        let talking = self.conversation.request(multiplexed);
        let measured = Measured::begin(self.port.name, request.uri().path());
        let accessed = self.accessed(&request);
        let form = requests::ErrorForm::of(self.port.role, request.uri().path());
        let control = self.serving.control.clone();
        let room = self.serving.connections.request();
        let outcome = Outcome::default();
        let patience = self.patience(request.uri().path());
        let (parts, body) = request.into_parts();
        let head = hyper::Request::from_parts(parts, ());
        let body = Timed::new(body, patience, outcome.clone());
        let body = ReadOut::new(body, &head, room.is_some(), &self.serving.shutdown);
        let mut request = head.map(|()| axum::body::Body::new(body));
        request.extensions_mut().insert(ConnectInfo(self.peer));
        request.extensions_mut().insert(api::Arrival {
            tls: self.port.tls.is_some(),
            web: self.port.role == Role::Web,
        });
        async move {
            let response = match &room {
                Some(_) => service.call(request).await?,
                None => requests::too_many(form),
            };
            let mut response = requests::in_time(response, &outcome, multiplexed, form);
            if control.leaves() && !multiplexed {
                requests::end_connection(&mut response);
            }
            measured.end(response.status());
            let response = match accessed {
                Some(accessed) => accessed.answered(response),
                None => response,
            };
            let sent = Sent { _talking: talking, _room: room };
            Ok(response.map(|body| Held::new(body, sent)))
        }
    }

    /// Begins the event of a request in the access log; `None` for requests that are not logged.
    fn accessed(&self, request: &hyper::Request<Incoming>) -> Option<Accessed> {
        let is_logged = self.port.role.is_rest() && requests::is_logged(request.uri().path());
        is_logged.then(|| self.serving.access.begin(request, self.peer.ip())).flatten()
    }

    fn patience(&self, path: &str) -> Patience {
        let timeouts = &self.serving.settings.timeouts;
        if path.trim_end_matches('/').ends_with("/receivers/stream") {
            Patience::of_stream(timeouts)
        } else {
            Patience::new(timeouts)
        }
    }
}

/// Values that are dropped when a response is sent.
#[derive(Debug)]
struct Sent {
    _talking: super::conversation::Request,
    _room: Option<tokio::sync::OwnedSemaphorePermit>,
}

fn builder(settings: &HttpServer) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    // The time-outs of headers are those of the connection, which distinguishes slow from idle ones.
    builder.http1().header_read_timeout(None).max_buf_size(settings.max_head_bytes);
    let http2 = &settings.http2;
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(http2.max_streams)
        .max_header_list_size(http2.max_header_list_bytes)
        .max_pending_accept_reset_streams(http2.max_resets)
        .keep_alive_interval(http2.ping_interval)
        .keep_alive_timeout(http2.ping_timeout);
    builder
}
