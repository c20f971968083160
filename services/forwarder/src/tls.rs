//! Encrypted connections to indexers.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use tokio_rustls::TlsConnector;

use crate::Error;
use crate::outputs::{Server, TlsSettings};

/// The encryption of a connection, and the expected name.
#[derive(Clone)]
pub(crate) struct Tls {
    pub(crate) connector: TlsConnector,
    pub(crate) name: ServerName<'static>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Prepares the TLS configuration for a server.
///
/// # Errors
/// If the trusted certificates cannot be read, or the name is invalid.
pub(crate) fn prepare(server: &Server) -> Result<Option<Tls>, Error> {
    let Some(settings) = &server.tls else { return Ok(None) };
    with(server, &trust(settings, &server.address)?)
}

/// Reads the trusted certificates of a server or a group.
///
/// # Errors
/// If they cannot be read.
pub(crate) fn trust(settings: &TlsSettings, of: &str) -> Result<Arc<ClientConfig>, Error> {
    let fail = |reason| Error::setting(format!("TLS of {of}"), reason);
    config(settings).map(Arc::new).map_err(fail)
}

/// The encryption for a server with the certificates that are trusted; `None` if the server has none.
///
/// # Errors
/// If the name is invalid.
pub(crate) fn with(server: &Server, trust: &Arc<ClientConfig>) -> Result<Option<Tls>, Error> {
    let Some(settings) = &server.tls else { return Ok(None) };
    let host = server.address.rsplit_once(':').map_or(&*server.address, |(host, _)| host);
    let name = settings.name.clone().unwrap_or_else(|| host.trim_matches(['[', ']']).to_owned());
    let name = ServerName::try_from(name)
        .map_err(|error| Error::setting(&server.address, error.to_string()))?;
    Ok(Some(Tls { connector: TlsConnector::from(Arc::clone(trust)), name }))
}

fn config(settings: &TlsSettings) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let Some(path) = &settings.root else {
        let any = Arc::new(NoCertificateVerification(provider));
        let builder = builder.dangerous().with_custom_certificate_verifier(any);
        return Ok(builder.with_no_client_auth());
    };
    let fail = |error: &dyn std::fmt::Display| format!("sslRootCAPath {}: {error}", path.display());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| fail(&error))? {
        let certificate = certificate.map_err(|error| fail(&error))?;
        roots.add(certificate).map_err(|error| fail(&error))?;
    }
    if roots.is_empty() {
        return Err(fail(
            &"the file contains no certificate in PEM (-----BEGIN CERTIFICATE-----; those that OpenSSL \
              writes as TRUSTED CERTIFICATE are not read)",
        ));
    }
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Why a connection with TLS failed, with what helps.
pub(crate) fn reason(error: &std::io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let Some(rustls::Error::InvalidCertificate(why)) = inner else { return error.to_string() };
    let clock = "or set the clock of this machine if it is wrong";
    let text = match why {
        CertificateError::ExpiredContext { time, not_after } => {
            let ago = days(time.as_secs().saturating_sub(not_after.as_secs()));
            format!("it expired {ago} ago: replace it at the indexer, {clock}")
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            let left = days(not_before.as_secs().saturating_sub(time.as_secs()));
            format!("it is valid only in {left}: replace it at the indexer, {clock}")
        }
        CertificateError::UnknownIssuer => {
            "UnknownIssuer: the file of sslRootCAPath has no certificate of the CA that signed it"
                .to_owned()
        }
        _ => return error.to_string(),
    };
    format!("invalid peer certificate: {text}")
}

/// A time in words that change once a day.
fn days(seconds: u64) -> String {
    match seconds / 86_400 {
        0 => "less than a day".to_owned(),
        1 => "1 day".to_owned(),
        days => format!("{days} days"),
    }
}

/// Accepts any certificate: encryption without authentication, as `sslVerifyServerCert = false` requires.
#[derive(Debug)]
struct NoCertificateVerification(Arc<CryptoProvider>);

impl ServerCertVerifier for NoCertificateVerification {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_file_of_roots_without_certificates_is_refused_with_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let key = b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        for content in [&b""[..], b"\x30\x82\x01\x0a", key] {
            let path = folder.path().join("ca.der");
            std::fs::write(&path, content).unwrap();
            let settings = TlsSettings { root: Some(path), name: None };
            let error = trust(&settings, "g").unwrap_err().to_string();
            assert!(error.contains("sslRootCAPath") && error.contains("ca.der"), "{error}");
            assert!(error.contains("contains no certificate"), "{error}");
        }
    }

    #[test]
    fn a_certificate_that_is_refused_is_told_with_what_helps() {
        let at = |days: u64| UnixTime::since_unix_epoch(Duration::from_secs(days * 86_400));
        let said = |why: CertificateError| {
            reason(&std::io::Error::other(rustls::Error::InvalidCertificate(why)))
        };
        let expired = CertificateError::ExpiredContext { time: at(40), not_after: at(11) };
        assert!(said(expired).contains("it expired 29 days ago: replace it at the indexer"));
        let early = CertificateError::NotValidYetContext { time: at(10), not_before: at(11) };
        assert!(said(early).contains("it is valid only in 1 day: "));
        assert!(said(CertificateError::UnknownIssuer).contains("UnknownIssuer: the file of ssl"));
        assert_eq!(reason(&std::io::Error::other("reset")), "reset");
    }
}
