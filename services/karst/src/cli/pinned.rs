//! TLS to the server of a data directory: its certificate is the one in a file of this machine.
//!
//! A certificate of `--tls-cert` is trusted independent of its names, issuer and age: the file identifies the
//! server, as the key in `known_hosts` does for SSH.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, SignatureScheme};

/// A client that accepts the first certificate of a PEM file, and no other.
///
/// # Errors
/// The file cannot be read, or has no certificate.
pub(super) fn trusting_only(path: &Path) -> Result<ClientConfig> {
    let verifier = Arc::new(Only::read(path)?);
    let provider = Arc::clone(&verifier.provider);
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .context("cannot set up TLS")?;
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    let mut config = builder.with_no_client_auth();
    // The protocols that the client offers without a custom configuration: a refusal reaches it while it
    // uploads.
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

#[derive(Debug)]
struct Only {
    certificate: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl Only {
    fn read(path: &Path) -> Result<Self> {
        let certificate = CertificateDer::from_pem_file(path)
            .with_context(|| format!("cannot read the certificate in {}", path.display()))?;
        Ok(Self { certificate, provider: Arc::new(rustls::crypto::ring::default_provider()) })
    }
}

impl ServerCertVerifier for Only {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if certificate[..] == self.certificate[..] {
            return Ok(ServerCertVerified::assertion());
        }
        let refused = CertificateError::ApplicationVerificationFailure;
        Err(rustls::Error::InvalidCertificate(refused))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

    use super::*;

    /// A certificate that cannot be verified here: it is issued by an unknown CA for another name.
    fn certificate() -> String {
        let mut params = CertificateParams::new(vec!["logs.example".to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
    }

    #[test]
    fn the_certificate_of_the_file_is_trusted_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server.pem");
        let [known, other] = [certificate(), certificate()];
        std::fs::write(&path, &known).unwrap();
        let only = Only::read(&path).unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(4_000_000_000));
        let accepts = |pem: &str| {
            let shown = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
            only.verify_server_cert(&shown, &[], &name, &[], now).is_ok()
        };
        assert!(accepts(&known));
        assert!(!accepts(&other));
        assert!(trusting_only(&path).is_ok());
        assert!(trusting_only(&folder.path().join("none.pem")).is_err());
    }
}
