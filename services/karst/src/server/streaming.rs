//! Splunk's streamed input over HTTP: a request with `X-Splunk-Input-Mode: streaming` and no length,
//! whose body is everything until the sender ends the connection.
//!
//! This is not valid HTTP. The bytes of a connection are therefore inspected up to the end of its
//! first header; the body of such a request is re-encoded as chunked, and all other connections are
//! passed through.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Maximum header size that is inspected; a longer one is not streamed input.
const MAX_HEAD: usize = 64 << 10;
/// Read size in bytes.
const PIECE: usize = 16 << 10;

/// The detected mode of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// The first header is incomplete.
    Head,
    /// Bytes are passed through.
    Plain,
    /// Bytes are re-encoded as chunks.
    Chunks,
    /// The sender has finished; the response is still to be written.
    Ended,
}

/// A connection with a streamed body, presented as a regular one.
#[derive(Debug)]
pub(crate) struct Streaming<I> {
    inner: I,
    mode: Mode,
    /// Bytes read and not passed on yet.
    held: Vec<u8>,
    /// Number of bytes that have been passed on.
    passed: usize,
}

impl<I> Streaming<I> {
    pub(crate) fn new(inner: I) -> Self {
        Self { inner, mode: Mode::Head, held: Vec::new(), passed: 0 }
    }

    /// Inspects the first header, and determines the mode once it is complete.
    fn look(&mut self) {
        // TLS on a plain port, for example, has no header to wait for: the HTTP server refuses it at once.
        if self.held.first().is_some_and(|first| !begins_request(*first)) {
            self.mode = Mode::Plain;
            return;
        }
        let Some(end) = end_of_head(&self.held) else {
            if self.held.len() >= MAX_HEAD {
                self.mode = Mode::Plain;
            }
            return;
        };
        if is_streamed(&self.held[..end]) {
            self.mode = Mode::Chunks;
            let body = self.held.split_off(end);
            // Before the empty line that ends the head.
            self.held.truncate(end - 2);
            self.held.extend_from_slice(b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
            push_chunk(&mut self.held, &body);
        } else {
            self.mode = Mode::Plain;
        }
    }
}

/// Whether a request may begin with this byte: a method, or an empty line that is left over.
fn begins_request(first: u8) -> bool {
    first.is_ascii_graphic() || matches!(first, b'\r' | b'\n')
}

fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

fn is_streamed(head: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(head) else { return false };
    let mut streaming = false;
    for line in text.split("\r\n").skip(1) {
        let Some((name, value)) = line.split_once(':') else { continue };
        let (name, value) = (name.trim(), value.trim());
        if name.eq_ignore_ascii_case("content-length")
            || name.eq_ignore_ascii_case("transfer-encoding")
        {
            return false;
        }
        streaming |= name.eq_ignore_ascii_case("x-splunk-input-mode")
            && value.eq_ignore_ascii_case("streaming");
    }
    streaming
}

/// An empty chunk would end the body.
fn push_chunk(out: &mut Vec<u8>, bytes: &[u8]) {
    if !bytes.is_empty() {
        out.extend_from_slice(format!("{:x}\r\n", bytes.len()).as_bytes());
        out.extend_from_slice(bytes);
        out.extend_from_slice(b"\r\n");
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Streaming<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            if this.mode != Mode::Head && this.passed < this.held.len() {
                let left = &this.held[this.passed..];
                let count = left.len().min(buffer.remaining());
                buffer.put_slice(&left[..count]);
                this.passed += count;
                return Poll::Ready(Ok(()));
            }
            match this.mode {
                Mode::Plain => return Pin::new(&mut this.inner).poll_read(context, buffer),
                // Do not report the end of the connection: the request would be dropped together
                // with events that are being accepted.
                Mode::Ended => return Poll::Pending,
                Mode::Head | Mode::Chunks => {}
            }
            let mut piece = [0_u8; PIECE];
            let mut read = ReadBuf::new(&mut piece);
            let outcome = ready!(Pin::new(&mut this.inner).poll_read(context, &mut read));
            let bytes = read.filled();
            if this.mode == Mode::Head {
                outcome?;
                this.held.extend_from_slice(bytes);
                if bytes.is_empty() {
                    // Not even a complete header: the HTTP server reports the error.
                    this.mode = Mode::Plain;
                } else {
                    this.look();
                }
                continue;
            }
            this.held.clear();
            this.passed = 0;
            // A broken connection also ends the body.
            if outcome.is_err() || bytes.is_empty() {
                this.held.extend_from_slice(b"0\r\n\r\n");
                this.mode = Mode::Ended;
            } else {
                push_chunk(&mut this.held, bytes);
            }
        }
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Streaming<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    const HEAD: &str = "POST /services/receivers/stream?index=main HTTP/1.1\r\nHost: x\r\n";

    async fn passed(sent: &str, count: usize) -> String {
        let (mut client, server) = duplex(1 << 20);
        client.write_all(sent.as_bytes()).await.unwrap();
        drop(client);
        let mut bytes = vec![0; count];
        Streaming::new(server).read_exact(&mut bytes).await.unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[tokio::test]
    async fn a_body_until_the_end_of_the_connection_becomes_chunks() {
        let sent = format!("{HEAD}X-Splunk-Input-Mode: Streaming\r\n\r\nHello\r\n");
        let expected = format!(
            "{HEAD}X-Splunk-Input-Mode: Streaming\r\nTransfer-Encoding: chunked\r\n\
             Connection: close\r\n\r\n7\r\nHello\r\n\r\n0\r\n\r\n"
        );
        assert_eq!(passed(&sent, expected.len()).await, expected);
    }

    #[tokio::test]
    async fn the_beginning_of_tls_is_not_held_until_a_header_ends() {
        let (mut client, server) = duplex(1 << 10);
        let hello = [0x16, 3, 1, 2, 0];
        client.write_all(&hello).await.unwrap();
        let mut bytes = [0; 5];
        // The client waits for an answer, and keeps its connection open.
        Streaming::new(server).read_exact(&mut bytes).await.unwrap();
        assert_eq!(bytes, hello);
    }

    #[tokio::test]
    async fn every_other_request_passes_as_it_is() {
        let with_length =
            format!("{HEAD}X-Splunk-Input-Mode: streaming\r\nContent-Length: 2\r\n\r\nhi");
        for sent in [format!("{HEAD}\r\n"), with_length, "PRI * HT".to_owned()] {
            assert_eq!(passed(&sent, sent.len()).await, sent);
        }
    }
}
