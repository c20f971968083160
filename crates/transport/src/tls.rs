//! TLS between processes: version 1.3, certificates of the cluster's CA on both sides, one fixed name.

use std::io;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::server::WebPkiClientVerifier;
use rustls::version::TLS13;
use rustls::{AlertDescription, CertificateError, ClientConfig, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::Credentials;
use crate::certificate::{NAME, of_certificate, roots};
use crate::error::Result;

/// The TLS configurations of both sides.
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

/// The meaning of a TLS failure, for the side that sees it; `None` for other failures.
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
            "no certificate: a process of the cluster must present one".to_owned()
        }
        _ => return None,
    })
}

/// Like [`refusal`], for the client. Other ports of Karst have certificates of other CAs.
pub(crate) fn refusal_of_server(error: &io::Error) -> Option<String> {
    let reason = refusal(error)?;
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    let is_other_ca = matches!(
        cause,
        Some(rustls::Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature
        ))
    );
    let address = "unless the address is not a cluster address (--cluster-address, port 9887)";
    Some(if is_other_ca { format!("{reason}, {address}") } else { reason })
}

/// Whether the other side does not speak TLS.
pub(crate) fn is_plain(error: &io::Error) -> bool {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    matches!(cause, Some(rustls::Error::InvalidMessage(_)))
}
