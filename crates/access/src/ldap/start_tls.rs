//! The StartTLS request (RFC 4511, section 4.14), sent before anything else.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The extended request, with message id 1.
const REQUEST: &[u8] = b"\x30\x1d\x02\x01\x01\x77\x18\x80\x161.3.6.1.4.1.1466.20037";
/// Longest response.
const MOST: usize = 64 << 10;

const SEQUENCE: u8 = 0x30;
const EXTENDED_RESPONSE: u8 = 0x78;

/// Requests StartTLS. Reads exactly the response: bytes after it belong to the handshake.
///
/// # Errors
/// The directory refuses; the error has its reason.
pub(super) async fn ask(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> io::Result<()> {
    stream.write_all(REQUEST).await?;
    stream.flush().await?;
    if stream.read_u8().await? != SEQUENCE {
        return Err(unexpected());
    }
    let length = read_length(stream).await?;
    let mut message = vec![0; length];
    stream.read_exact(&mut message).await?;
    let (code, text) = outcome(&message).ok_or_else(unexpected)?;
    if code == 0 {
        return Ok(());
    }
    let text = String::from_utf8_lossy(text);
    Err(io::Error::other(format!("the directory refuses StartTLS (result code {code}: {text})")))
}

fn unexpected() -> io::Error {
    io::Error::other("the response is not LDAP")
}

async fn read_length(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<usize> {
    let first = stream.read_u8().await?;
    let mut length = usize::from(first);
    if first & 0x80 != 0 {
        length = 0;
        for _ in 0..first & 0x7f {
            length = (length << 8) | usize::from(stream.read_u8().await?);
            if length > MOST {
                return Err(unexpected());
            }
        }
    }
    Ok(length)
}

/// Result code and diagnostic message of an extended response.
fn outcome(message: &[u8]) -> Option<(u8, &[u8])> {
    let (_, _, rest) = element(message)?;
    let (tag, response, _) = element(rest)?;
    let (_, code, rest) = element(response)?;
    let (_, _, rest) = element(rest)?;
    let (_, text, _) = element(rest)?;
    (tag == EXTENDED_RESPONSE).then_some((*code.last()?, text))
}

/// The first BER element: its tag, its content, and the rest.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, mut rest) = rest.split_first()?;
    let mut length = usize::from(first);
    if first & 0x80 != 0 {
        let (digits, behind) = rest.split_at_checked(usize::from(first & 0x7f))?;
        length = digits.iter().try_fold(0_usize, |length, digit| {
            Some(length.checked_mul(256)? + usize::from(*digit))
        })?;
        rest = behind;
    }
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::duplex;

    use super::*;

    async fn answered(answer: &[u8]) -> io::Result<()> {
        let (mut client, mut server) = duplex(1 << 10);
        server.write_all(answer).await.unwrap();
        drop(server.shutdown().await);
        ask(&mut client).await
    }

    #[tokio::test]
    async fn a_directory_agrees_or_gives_its_reason() {
        answered(b"\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\x00\x04\x00\x04\x00").await.unwrap();
        let long = b"\x30\x84\x00\x00\x00\x0c\x02\x01\x01\x78\x07\x0a\x01\x00\x04\x00\x04\x00";
        answered(long).await.unwrap();
        let refusal = b"\x30\x0e\x02\x01\x01\x78\x09\x0a\x01\x02\x04\x00\x04\x02no";
        let refused = answered(refusal).await.unwrap_err().to_string();
        assert!(refused.contains("refuses StartTLS (result code 2: no)"), "{refused}");
    }

    #[tokio::test]
    async fn other_responses_are_errors() {
        for answer in [
            &b"HTTP/1.1 400 Bad Request"[..],
            b"\x30\x84\xff\xff\xff\xff",
            b"\x30\x02\x02\x01",
            b"\x30\x03\x02\x05\x01",
            b"\x30",
            b"",
        ] {
            assert!(answered(answer).await.is_err(), "{answer:?}");
        }
    }
}
