//! TLS between processes: version 1.3, certificates of the cluster's CA on both sides, one fixed name.

use std::io;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::version::TLS13;
use rustls::{AlertDescription, CertificateError, ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::Credentials;
use crate::credentials::NAME;
use crate::error::Result;

/// Both sides of TLS.
#[derive(Clone)]
pub(crate) struct Tls {
    pub(crate) connector: TlsConnector,
    pub(crate) acceptor: TlsAcceptor,
    pub(crate) name: ServerName<'static>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    pub(crate) fn new(credentials: &Credentials) -> Result<Self> {
        let unusable = |error: &dyn std::error::Error| credentials.unusable(&error.to_string());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let roots = Arc::new(roots(credentials.ca()).map_err(|error| unusable(&error))?);
        let (chain, key) = (vec![credentials.certificate().clone()], credentials.key());

        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_protocol_versions(&[&TLS13]).map_err(|e| unusable(&e))?;
        let mut client = builder
            .with_root_certificates(Arc::clone(&roots))
            .with_client_auth_cert(chain.clone(), key.clone_key())
            .map_err(|error| unusable(&error))?;
        client.alpn_protocols = vec![b"h2".to_vec()];

        let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider));
        let verifier = verifier.build().map_err(|error| unusable(&error))?;
        let builder = ServerConfig::builder_with_provider(provider);
        let builder = builder.with_protocol_versions(&[&TLS13]).map_err(|e| unusable(&e))?;
        let mut server = builder
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key)
            .map_err(|error| unusable(&error))?;
        server.alpn_protocols = vec![b"h2".to_vec()];

        let name = ServerName::try_from(NAME).map_err(|error| unusable(&error))?;
        Ok(Self {
            connector: TlsConnector::from(Arc::new(client)),
            acceptor: TlsAcceptor::from(Arc::new(server)),
            name,
        })
    }
}

fn roots(ca: &CertificateDer<'static>) -> std::result::Result<RootCertStore, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add(ca.clone())?;
    Ok(roots)
}

/// Checks a certificate as other processes do; the reason if they refuse it.
pub(crate) fn check(
    ca: &CertificateDer<'static>,
    certificate: &CertificateDer<'static>,
    key: &PrivateKeyDer<'static>,
    seconds: u64,
) -> std::result::Result<(), String> {
    use rustls::client::danger::ServerCertVerifier;
    use rustls::pki_types::UnixTime;

    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let roots = roots(ca).map_err(|error| format!("the CA is invalid: {error}"))?;
    let verifier =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let verifier = verifier.build().map_err(|error| format!("the CA is invalid: {error}"))?;
    let name = ServerName::try_from(NAME).map_err(|error| error.to_string())?;
    let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
    if let Err(error) = verifier.verify_server_cert(certificate, &[], &name, &[], now) {
        return Err(match &error {
            rustls::Error::InvalidCertificate(cause) => {
                of_certificate(cause).unwrap_or_else(|| error.to_string())
            }
            _ => error.to_string(),
        });
    }
    rustls::sign::CertifiedKey::from_der(vec![certificate.clone()], key.clone_key(), &provider)
        .map(|_| ())
        .map_err(|error| format!("it does not fit to its key: {error}"))
}

fn of_certificate(cause: &CertificateError) -> Option<String> {
    let text = match cause {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the certificate has expired"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the certificate is not valid yet: check the clocks"
        }
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "the certificate is not one of this cluster's CA"
        }
        _ => return None,
    };
    Some(text.to_owned())
}

/// What a failure of TLS means, for the side that has met it; `None` if it is another failure.
pub(crate) fn refusal(error: &io::Error) -> Option<String> {
    let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    Some(match error {
        rustls::Error::InvalidCertificate(cause) => {
            let cause = of_certificate(cause).unwrap_or_else(|| error.to_string());
            format!("{cause} (of the other process): use the credentials of one cluster on all processes")
        }
        rustls::Error::AlertReceived(AlertDescription::CertificateRequired) => {
            "it requires a certificate of the cluster: start this process with the cluster's credentials"
                .to_owned()
        }
        rustls::Error::AlertReceived(AlertDescription::CertificateExpired) => {
            "the certificate of this process has expired: replace the cluster's credentials".to_owned()
        }
        rustls::Error::AlertReceived(
            AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::DecryptError,
        ) => "the certificate of this process is of another cluster: use the credentials of one cluster on \
              all processes"
            .to_owned(),
        rustls::Error::NoCertificatesPresented => {
            "no certificate: a process of the cluster has to show one".to_owned()
        }
        _ => return None,
    })
}

/// Whether the other side does not speak TLS.
pub(crate) fn is_plain(error: &io::Error) -> bool {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    matches!(cause, Some(rustls::Error::InvalidMessage(_)))
}
