//! The client side of a connection.

use std::io;
use std::net::SocketAddr;

use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tonic::codegen::http::Uri;
use tonic::transport::{Channel, Endpoint};
use tower::service_fn;

use crate::error::{Result, io_reason};
use crate::hello::{self, Failed};
use crate::socket::Socket;
use crate::{Error, Transport, tls};

impl Transport {
    /// A channel to another process, which connects when it is used, and reconnects when the connection is
    /// lost. The address is `<host>:<port>`; a scheme before it is ignored.
    ///
    /// # Errors
    /// [`Error::Address`] if the address is invalid.
    pub fn channel(&self, address: &str) -> Result<Channel> {
        let place = place(address)?.to_owned();
        let invalid = |error: tonic::transport::Error| Error::Address {
            address: address.to_owned(),
            reason: error.to_string(),
        };
        let settings = &self.settings;
        let (stream, connection) = settings.window_bytes;
        let endpoint = Endpoint::from_shared(format!("http://{place}"))
            .map_err(invalid)?
            .http2_keep_alive_interval(settings.probe)
            .keep_alive_timeout(settings.silence)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(stream)
            .initial_connection_window_size(connection)
            .http2_max_header_list_size(settings.header_bytes);
        let own = self.clone();
        Ok(endpoint.connect_with_connector_lazy(service_fn(move |_: Uri| {
            let (own, place) = (own.clone(), place.clone());
            async move { own.connect(&place).await.map(TokioIo::new) }
        })))
    }

    /// Connects within the time limit.
    async fn connect(&self, address: &str) -> Result<Socket> {
        let limit = self.settings.connect;
        match tokio::time::timeout(limit, Box::pin(self.open(address))).await {
            Ok(connected) => connected,
            Err(_) => {
                let reason = format!("no connection within {} s", limit.as_secs_f32());
                Err(Error::Unreachable { address: address.to_owned(), reason })
            }
        }
    }

    async fn open(&self, address: &str) -> Result<Socket> {
        let refused = |reason: &str| Error::Refused {
            address: address.to_owned(),
            reason: reason.to_owned(),
        };
        let unreachable = |error: io::Error| Error::Unreachable {
            address: address.to_owned(),
            reason: io_reason(&error),
        };
        let stream = self.reach(address).await?;
        // Requests are small and latency matters.
        let _ = stream.set_nodelay(true);
        let mut socket = match &self.tls {
            None => Socket::Plain(stream),
            Some(tls) => match tls.connector.connect(tls.name.clone(), stream).await {
                Ok(stream) => Socket::Tls(Box::new(stream.into())),
                Err(error) if tls::is_plain(&error) => {
                    let reason =
                        "it answers without TLS: start it with the credentials of the cluster";
                    return Err(refused(reason));
                }
                Err(error) => {
                    return Err(match tls::refusal_of_server(&error) {
                        Some(reason) => refused(&reason),
                        None => unreachable(error),
                    });
                }
            },
        };
        let binding = socket.binding().map_err(unreachable)?;
        match hello::greet(&mut socket, &self.secret, &self.versions, &binding).await {
            Ok(_) => Ok(socket),
            Err(Failed::Refused(_, reason)) => Err(refused(&reason)),
            Err(Failed::Garbage) if self.tls.is_none() => Err(refused(
                "it does not answer as a process without credentials does: start this process with the \
                 credentials of its cluster",
            )),
            Err(Failed::Garbage) => {
                Err(refused("it is not a process of a cluster: correct the address"))
            }
            // In TLS 1.3, the server checks the client's certificate after the handshake of the client.
            Err(Failed::Io(error)) => Err(match tls::refusal(&error) {
                Some(reason) => refused(&reason),
                None => unreachable(error),
            }),
        }
    }

    /// Connects to one of the IP addresses of an address.
    async fn reach(&self, address: &str) -> Result<TcpStream> {
        let unreachable =
            |reason: String| Error::Unreachable { address: address.to_owned(), reason };
        let found = tokio::net::lookup_host(address).await;
        let found: Vec<SocketAddr> =
            found.map_err(|error| unreachable(error.to_string()))?.collect();
        let mut reason = "the name has no address".to_owned();
        for place in found {
            if self.tls.is_none() && !place.ip().is_loopback() {
                reason = "without the credentials of a cluster, processes connect only within one machine \
                          (127.0.0.1)"
                    .to_owned();
                continue;
            }
            match TcpStream::connect(place).await {
                Ok(stream) => return Ok(stream),
                Err(error) => reason = io_reason(&error),
            }
        }
        Err(unreachable(reason))
    }
}

/// An address without its scheme.
fn place(address: &str) -> Result<&str> {
    let invalid =
        |reason: &str| Error::Address { address: address.to_owned(), reason: reason.to_owned() };
    let place = address
        .strip_prefix("https://")
        .or_else(|| address.strip_prefix("http://"))
        .unwrap_or(address)
        .trim_end_matches('/');
    let (host, port) = place.rsplit_once(':').ok_or_else(|| invalid("it must be <host>:<port>"))?;
    if host.is_empty() || host.contains(['/', ' ', '@']) {
        return Err(invalid("it must be <host>:<port>"));
    }
    match port.parse::<u16>() {
        Ok(1..) => Ok(place),
        _ => Err(invalid("the port must be from 1 to 65535")),
    }
}
