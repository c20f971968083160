//! Requests to a server's management API (of the deployment server, and of indexer discovery), each with a
//! connection of its own, because requests are rare: one in 30 seconds or more, unless they fail.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::outputs::Endpoint;
use crate::tls;

/// Maximum size of an answer other than an app, in bytes.
const MAX_ANSWER: usize = 4 << 20;
/// Maximum length of a displayed error, in bytes.
const MAX_ERROR: usize = 1_000;

trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// A request of the deployment server's protocol, or of indexer discovery.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) path: &'a str,
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) body: Vec<u8>,
}

/// Sends a request. An answer with a status other than 200 is an error with its text.
async fn send(endpoint: &Endpoint, asked: Asked<'_>) -> Result<Response<Incoming>, String> {
    let server = &endpoint.server;
    let tls = tls::prepare(server).map_err(text)?;
    let connect = async {
        let tcp = TcpStream::connect(&server.address).await.map_err(text)?;
        let stream: Box<dyn Duplex> = match tls {
            None => Box::new(tcp),
            Some(tls) => {
                let connected = tls.connector.connect(tls.name.clone(), tcp).await;
                Box::new(connected.map_err(|error| {
                    format!("TLS: {error}; with a server without TLS, its URI begins with http://")
                })?)
            }
        };
        http1::handshake(TokioIo::new(stream)).await.map_err(text)
    };
    let (mut sender, connection) = timed(endpoint.connect_timeout, "connecting", connect).await?;
    // Ends with the request: the answer holds the other half of the connection.
    drop(runtime::detached(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to a management API ended");
        }
    }));
    let mut request = Request::builder()
        .method(asked.method)
        .uri(asked.path)
        .header(header::HOST, &server.address)
        .header(header::ACCEPT, "application/json")
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::USER_AGENT, concat!("karst-forwarder/", env!("CARGO_PKG_VERSION")));
    for (name, value) in asked.headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(Bytes::from(asked.body))).map_err(text)?;
    let answer = async { sender.send_request(request).await.map_err(text) };
    let answer = timed(endpoint.recv_timeout, "the answer", answer).await?;
    if answer.status() == StatusCode::OK {
        return Ok(answer);
    }
    let status = answer.status();
    let body = read(endpoint, answer, MAX_ANSWER).await.unwrap_or_default();
    Err(format!("it answers {}: {}", status.as_u16(), reason(&body)))
}

/// Extracts the text of an error.
fn reason(body: &[u8]) -> String {
    let json: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let told = json.as_ref().and_then(|json| json.pointer("/messages/0/text")?.as_str());
    let text = told.map_or_else(|| String::from_utf8_lossy(body).into_owned(), str::to_owned);
    text.chars().filter(|c| !c.is_control()).take(MAX_ERROR).collect()
}

async fn read(
    endpoint: &Endpoint,
    answer: Response<Incoming>,
    most: usize,
) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    pieces(endpoint, answer, most as u64, |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    })
    .await?;
    Ok(bytes)
}

/// Passes the pieces of a body to a function.
async fn pieces(
    endpoint: &Endpoint,
    answer: Response<Incoming>,
    most: u64,
    mut take: impl FnMut(&[u8]) -> Result<(), String>,
) -> Result<(), String> {
    let mut body = answer.into_body();
    let mut left = most;
    loop {
        let frame = async { body.frame().await.transpose().map_err(text) };
        let Some(frame) = timed(endpoint.recv_timeout, "the rest of the answer", frame).await?
        else {
            return Ok(());
        };
        let Some(piece) = frame.data_ref() else { continue };
        left = left
            .checked_sub(piece.len() as u64)
            .ok_or_else(|| format!("its answer has more than {most} bytes"))?;
        take(piece)?;
    }
}

/// Sends a request. Returns the body of the answer, and the header with its proof.
pub(crate) async fn ask(
    endpoint: &Endpoint,
    asked: Asked<'_>,
    header: &str,
) -> Result<(Vec<u8>, String), String> {
    let answer = send(endpoint, asked).await?;
    let proof = answer.headers().get(header).and_then(|value| value.to_str().ok());
    let proof = proof.unwrap_or_default().to_owned();
    Ok((read(endpoint, answer, MAX_ANSWER).await?, proof))
}

/// Writes the body of an answer to a file, up to a maximum size.
pub(crate) async fn download(
    endpoint: &Endpoint,
    asked: Asked<'_>,
    most: u64,
    to: &Path,
) -> Result<(), String> {
    let answer = send(endpoint, asked).await?;
    let fail = |error: std::io::Error| format!("cannot write {}: {error}", to.display());
    let mut file = File::create(to).map_err(fail)?;
    pieces(endpoint, answer, most, |piece| file.write_all(piece).map_err(fail)).await
}

async fn timed<T>(
    limit: Duration,
    what: &str,
    work: impl Future<Output = Result<T, String>>,
) -> Result<T, String> {
    tokio::time::timeout(limit, work)
        .await
        .map_err(|_| format!("{what} took longer than {} s", limit.as_secs()))?
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_shown_as_the_server_says_it() {
        let json = br#"{"messages":[{"type":"FATAL","text":"no key"}]}"#;
        assert_eq!(reason(json), "no key");
        assert_eq!(reason(b"<html>\nproxy"), "<html>proxy");
        assert_eq!(reason(&b"x".repeat(5_000)).len(), MAX_ERROR);
    }
}
