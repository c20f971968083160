//! The greeting at the beginning of a connection, after TLS and before HTTP/2.
//!
//! ```text
//! client: "karst/c1", oldest and newest version, cluster, proof
//! server: "karst/s1", version (0: refused), proof, length of the reason, reason
//! ```
//!
//! A proof is the HMAC-SHA-256, keyed by the cluster's secret, of the side, the cluster, and a key that TLS
//! derives for this connection only. Numbers are big-endian.

use std::ops::RangeInclusive;

use ring::hmac;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use uuid::Uuid;

const CLIENT: &[u8; 8] = b"karst/c1";
const SERVER: &[u8; 8] = b"karst/s1";
const CLIENT_BYTES: usize = 8 + 2 + 2 + 16 + 32;
const SERVER_BYTES: usize = 8 + 2 + 32 + 2;
/// Maximum length of the reason of a refusal.
const REASON: usize = 1_000;
/// Maximum number of bytes read from a dismissed client.
const DISMISSED: u64 = 64 << 10;

pub(crate) const WRONG_SECRET: &str =
    "the cluster's secret is wrong: copy the file \"secret\" of the cluster's credentials";

/// Secret bytes shared by the two sides of one connection.
pub(crate) type Binding = [u8; 32];

/// The cluster and its secret.
pub(crate) struct Secret {
    cluster: Uuid,
    key: hmac::Key,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secret").field("cluster", &self.cluster).finish_non_exhaustive()
    }
}

impl Secret {
    pub(crate) fn new(cluster: Uuid, secret: &str) -> Self {
        Self { cluster, key: hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()) }
    }

    /// The value of processes without credentials.
    pub(crate) fn none() -> Self {
        Self::new(Uuid::nil(), "")
    }

    fn message(&self, side: &[u8], binding: &Binding) -> Vec<u8> {
        [side, self.cluster.as_bytes(), binding].concat()
    }

    fn prove(&self, side: &[u8], binding: &Binding) -> [u8; 32] {
        let tag = hmac::sign(&self.key, &self.message(side, binding));
        let mut proof = [0; 32];
        proof.copy_from_slice(tag.as_ref());
        proof
    }

    /// Verifies a proof in constant time.
    fn verify(&self, side: &[u8], binding: &Binding, proof: &[u8]) -> bool {
        hmac::verify(&self.key, &self.message(side, binding), proof).is_ok()
    }
}

/// Why a greeting failed.
#[derive(Debug)]
pub(crate) enum Failed {
    /// One side refuses the other: the label of the metric, and the message.
    Refused(&'static str, String),
    /// Not a greeting.
    Garbage,
    Io(std::io::Error),
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

/// Sends the greeting of a client; returns the common version.
pub(crate) async fn greet<S>(
    socket: &mut S,
    secret: &Secret,
    versions: &RangeInclusive<u16>,
    binding: &Binding,
) -> Result<u16, Failed>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut hello = Vec::with_capacity(CLIENT_BYTES);
    hello.extend_from_slice(CLIENT);
    hello.extend_from_slice(&versions.start().to_be_bytes());
    hello.extend_from_slice(&versions.end().to_be_bytes());
    hello.extend_from_slice(secret.cluster.as_bytes());
    hello.extend_from_slice(&secret.prove(CLIENT, binding));
    socket.write_all(&hello).await?;
    socket.flush().await?;

    let mut magic = [0; 8];
    socket.read_exact(&mut magic[..1]).await?;
    // Data that is not a greeting may be shorter than a greeting.
    if magic[0] != SERVER[0] {
        return Err(Failed::Garbage);
    }
    socket.read_exact(&mut magic[1..]).await?;
    if &magic != SERVER {
        return Err(Failed::Garbage);
    }
    let version = socket.read_u16().await?;
    let mut proof = [0; 32];
    socket.read_exact(&mut proof).await?;
    let length = usize::from(socket.read_u16().await?).min(REASON);
    let mut reason = vec![0; length];
    socket.read_exact(&mut reason).await?;
    if version == 0 {
        return Err(Failed::Refused("refused", printable(&reason)));
    }
    if !secret.verify(SERVER, binding, &proof) {
        return Err(Failed::Refused("secret", WRONG_SECRET.to_owned()));
    }
    if !versions.contains(&version) {
        let (oldest, newest) = (versions.start(), versions.end());
        let reason =
            format!("it wants version {version}, this release speaks {oldest} to {newest}");
        return Err(Failed::Refused("version", reason));
    }
    Ok(version)
}

/// Answers the greeting of a client; returns the common version.
pub(crate) async fn answer<S>(
    socket: &mut S,
    secret: &Secret,
    versions: &RangeInclusive<u16>,
    binding: &Binding,
) -> Result<u16, Failed>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut hello = [0; CLIENT_BYTES];
    socket.read_exact(&mut hello[..CLIENT.len()]).await?;
    if !hello.starts_with(CLIENT) {
        return Err(Failed::Garbage);
    }
    socket.read_exact(&mut hello[CLIENT.len()..]).await?;
    let judged = judge(&hello, secret, versions, binding);
    let (version, reason) = match &judged {
        Ok(version) => (*version, ""),
        Err((_, reason)) => (0, reason.as_str()),
    };
    let proof = if version == 0 { [0; 32] } else { secret.prove(SERVER, binding) };
    say(socket, version, proof, reason).await?;
    judged.map_err(|(label, reason)| Failed::Refused(label, reason))
}

async fn say<S>(socket: &mut S, version: u16, proof: [u8; 32], reason: &str) -> std::io::Result<()>
where
    S: AsyncWrite + Unpin,
{
    let reason = &reason.as_bytes()[..reason.len().min(REASON)];
    let mut answer = Vec::with_capacity(SERVER_BYTES + reason.len());
    answer.extend_from_slice(SERVER);
    answer.extend_from_slice(&version.to_be_bytes());
    answer.extend_from_slice(&proof);
    answer.extend_from_slice(&u16::try_from(reason.len()).unwrap_or(0).to_be_bytes());
    answer.extend_from_slice(reason);
    socket.write_all(&answer).await?;
    socket.flush().await
}

/// Whether the first byte of a client is that of a greeting.
pub(crate) fn begins(first: u8) -> bool {
    first == CLIENT[0]
}

/// Refuses a client without TLS, or a client with TLS if this side has none.
pub(crate) async fn dismiss<S>(socket: &mut S, reason: &str) -> std::io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    say(socket, 0, [0; 32], reason).await?;
    socket.shutdown().await?;
    // If bytes were left unread, the system would reset the connection and discard the answer.
    let mut rest = socket.take(DISMISSED);
    tokio::io::copy(&mut rest, &mut tokio::io::sink()).await.map(|_| ())
}

fn judge(
    hello: &[u8; CLIENT_BYTES],
    secret: &Secret,
    versions: &RangeInclusive<u16>,
    binding: &Binding,
) -> Result<u16, (&'static str, String)> {
    let number = |at: usize| u16::from_be_bytes([hello[at], hello[at + 1]]);
    let (oldest, newest) = (number(8), number(10));
    if hello[12..28] != *secret.cluster.as_bytes() {
        // The ID of the cluster is not secret, but foreign processes need not learn it.
        let reason = "it is a process of another cluster: use the credentials of its cluster, or correct the \
                      address";
        return Err(("cluster", reason.to_owned()));
    }
    if !secret.verify(CLIENT, binding, &hello[28..]) {
        return Err(("secret", WRONG_SECRET.to_owned()));
    }
    let version = newest.min(*versions.end());
    if version < oldest || version < *versions.start() {
        let (own_oldest, own_newest) = (versions.start(), versions.end());
        let reason = format!(
            "its release speaks versions {own_oldest} to {own_newest} of the messages between processes, and \
             this one {oldest} to {newest}: update one release at a time"
        );
        return Err(("version", reason));
    }
    Ok(version)
}

/// The text of another process, without control characters, which could change a terminal.
fn printable(text: &[u8]) -> String {
    String::from_utf8_lossy(text).chars().filter(|c| !c.is_control()).collect()
}
