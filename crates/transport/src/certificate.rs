//! The certificate of the processes of a cluster: its name, and its validity.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{CertificateError, RootCertStore};

/// The name in the certificate, which clients expect whatever address they connect to.
pub(crate) const NAME: &str = "process.cluster.karst.internal";

pub(crate) fn roots(ca: &CertificateDer<'static>) -> Result<RootCertStore, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add(ca.clone())?;
    Ok(roots)
}

/// Checks a certificate like other processes do; returns the reason if they would refuse it.
pub(crate) fn check(
    ca: &CertificateDer<'static>,
    certificate: &CertificateDer<'static>,
    key: &PrivateKeyDer<'static>,
    seconds: u64,
) -> Result<(), String> {
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
        .map_err(|error| format!("it does not match its key: {error}"))
}

/// A description of a certificate error; `None` if the text of the error is best.
pub(crate) fn of_certificate(cause: &CertificateError) -> Option<String> {
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
