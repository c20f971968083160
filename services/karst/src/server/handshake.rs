//! The TLS handshake of connections that are not HTTP, and why it fails, for the log.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::wrong_scheme::{First, first};

/// Time-out of the handshake.
const LIMIT: Duration = Duration::from_secs(10);

/// Performs the handshake; `advice` is for senders that do not use TLS. `None`: the sender has closed the
/// connection without a byte.
///
/// # Errors
/// Why it fails.
pub(crate) async fn accept(
    tls: &TlsAcceptor,
    socket: TcpStream,
    advice: &str,
) -> Result<Option<TlsStream<TcpStream>>, String> {
    let accepting = async {
        match first(&socket).await {
            First::Gone => Ok(None),
            First::Plain => Err(format!("TLS handshake: the sender does not use TLS: {advice}")),
            First::Tls => tls.accept(socket).await.map(Some).map_err(|error| reason(&error)),
        }
    };
    match tokio::time::timeout(LIMIT, accepting).await {
        Ok(accepted) => accepted,
        Err(_) => Err("TLS handshake timed out".to_owned()),
    }
}

fn reason(error: &io::Error) -> String {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    match cause {
        Some(rustls::Error::NoCertificatesPresented) => {
            "TLS handshake: the sender presented no certificate, which requireClientCert of inputs.conf [SSL] \
             requires"
                .to_owned()
        }
        Some(rustls::Error::InvalidCertificate(_)) => format!(
            "TLS handshake: {error}; the sender's certificate must be valid and signed by sslRootCAPath of \
             inputs.conf [SSL]"
        ),
        Some(rustls::Error::AlertReceived(_)) => format!(
            "TLS handshake: {error}, sent by the sender; check that it trusts this certificate and its names"
        ),
        _ => format!("TLS handshake: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_the_sender_has_to_do() {
        let told =
            |error: rustls::Error| reason(&io::Error::new(io::ErrorKind::InvalidData, error));
        let none = told(rustls::Error::NoCertificatesPresented);
        assert!(none.contains("requireClientCert"), "{none}");
        let unknown = rustls::CertificateError::UnknownIssuer;
        let unknown = told(rustls::Error::InvalidCertificate(unknown));
        assert!(unknown.contains("signed by sslRootCAPath"), "{unknown}");
        let alert = told(rustls::Error::AlertReceived(rustls::AlertDescription::UnknownCA));
        assert!(alert.contains("check that it trusts"), "{alert}");
    }
}
