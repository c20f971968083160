//! Encrypted connections to indexers.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
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
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
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
