//! Connections of inputs with TLS. The program performs the handshake: it has the certificates.

use std::fmt;
use std::io;
use std::sync::Arc;

use bytes::BytesMut;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::TcpStream;

/// The text of a connection with TLS.
pub type Decrypted = Box<dyn AsyncRead + Send + Unpin>;

/// The result of a handshake: `None` if the sender has closed the connection without a byte; the reason if it
/// fails.
pub type Opened = Result<Option<Decrypted>, String>;

/// Performs the handshake of a connection, within its own time limit.
pub type Handshake = Arc<dyn Fn(TcpStream) -> BoxFuture<'static, Opened> + Send + Sync>;

/// Why there is no handshake: without a port with TLS, a start does not look for certificates.
const NOT_SET_UP: &str =
    "the server has not set up TLS for inputs; its log says why, otherwise restart it";

/// A connection that is read.
pub(crate) enum Socket {
    Plain(TcpStream),
    Tls(Decrypted),
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain(_) => "Plain",
            Self::Tls(_) => "Tls",
        })
    }
}

/// Makes a connection readable; `None` if the sender has closed it before the handshake. An input with TLS
/// never reads a connection without it.
///
/// # Errors
/// Why the connection is refused.
pub(crate) async fn open(
    socket: TcpStream,
    tls: bool,
    handshake: Option<Handshake>,
) -> Result<Option<Socket>, String> {
    match handshake {
        _ if !tls => Ok(Some(Socket::Plain(socket))),
        Some(handshake) => Ok(handshake(socket).await?.map(Socket::Tls)),
        None => Err(NOT_SET_UP.to_owned()),
    }
}

impl Socket {
    /// Waits for bytes, and adds them to a chunk; their number, 0 at the end.
    ///
    /// # Errors
    /// The connection is broken.
    pub(crate) async fn read(&mut self, chunk: &mut BytesMut) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read_buf(chunk).await,
            Self::Tls(socket) => match socket.read_buf(chunk).await {
                // Many senders close the connection without the message of TLS that announces it.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
                read => read,
            },
        }
    }

    /// Adds the bytes that have arrived to a chunk, without waiting.
    ///
    /// # Errors
    /// As [`Socket::read`], and [`io::ErrorKind::WouldBlock`] if there are none.
    pub(crate) fn try_read(&mut self, chunk: &mut BytesMut) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.try_read_buf(chunk),
            Self::Tls(socket) => {
                let read = socket.read_buf(chunk).now_or_never();
                read.unwrap_or_else(|| Err(io::ErrorKind::WouldBlock.into()))
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::{AsyncWriteExt, duplex};
    use tokio::net::TcpListener;

    use super::*;

    async fn connection() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (listener.accept().await.unwrap().0, client)
    }

    #[tokio::test]
    async fn an_input_with_tls_never_reads_a_connection_without_it() {
        let (socket, _client) = connection().await;
        let reason = open(socket, true, None).await.unwrap_err();
        assert!(reason.contains("not set up TLS"), "{reason}");
        let refuses: Handshake = Arc::new(|_| -> BoxFuture<'static, Opened> {
            Box::pin(async { Err("no".to_owned()) })
        });
        let (socket, _client) = connection().await;
        assert_eq!(open(socket, true, Some(Arc::clone(&refuses))).await.unwrap_err(), "no");
        let (socket, _client) = connection().await;
        let opened = open(socket, false, Some(refuses)).await;
        assert!(matches!(opened, Ok(Some(Socket::Plain(_)))), "{opened:?}");
    }

    #[tokio::test]
    async fn what_has_arrived_is_read_without_waiting() {
        let (here, mut there) = duplex(64);
        let mut socket = Socket::Tls(Box::new(here));
        let mut chunk = BytesMut::with_capacity(64);
        let none = socket.try_read(&mut chunk).unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::WouldBlock);
        there.write_all(b"one").await.unwrap();
        assert_eq!(socket.read(&mut chunk).await.unwrap(), 3);
        there.write_all(b"two").await.unwrap();
        assert_eq!(socket.try_read(&mut chunk).unwrap(), 3);
        drop(there);
        assert_eq!(socket.read(&mut chunk).await.unwrap(), 0);
        assert_eq!(&chunk[..], b"onetwo");
    }
}
