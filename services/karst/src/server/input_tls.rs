//! TLS of inputs (`[tcp-ssl://...]`, `--syslog-tls`): the certificate and CA of `[SSL]` in `inputs.conf`, or
//! the certificate of the server.
//!
//! Guarantees: files that cannot be used prevent the start if the administrator names them. If an app names
//! them, inputs with TLS refuse connections; none of them is read without encryption.

use std::path::Path;
use std::sync::Arc;

use ::inputs::configured::{Configured, TlsFile, TlsSettings};
use ::inputs::tls::{Decrypted, Handshake, Opened};
use anyhow::{Context, Result};
use conf::{Effective, Layers, Place};
use futures::future::BoxFuture;
use knowledge::Knowledge;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::handshake;
use super::tls::Certificates;

/// Advice for senders that do not use TLS.
const ADVICE: &str = "send over TLS, or to a port without it ([tcp://<port>], --syslog-tcp)";

/// TLS of inputs.
#[derive(Default)]
pub(crate) struct InputTls {
    acceptor: Option<TlsAcceptor>,
    /// The certificate of `[SSL]`.
    certificates: Option<Arc<Certificates>>,
}

impl InputTls {
    /// Reads the files of `[SSL]`, if there is an input with TLS: one that is disabled may be enabled while
    /// the server runs. `own` is the certificate of the server.
    ///
    /// # Errors
    /// A setting of the administrator, or its file, cannot be used, and an input with TLS is enabled.
    pub(crate) fn open(
        inputs: &Configured,
        knowledge: &Knowledge,
        own: Option<&Arc<Certificates>>,
    ) -> Result<Self> {
        let conf = knowledge.conf("inputs");
        let is_enabled = inputs.tcp.iter().any(|(_, input)| input.tls);
        let exists = conf.stanzas.iter().any(|stanza| stanza.name.starts_with("tcp-ssl:"));
        let Some(own) = own.filter(|_| is_enabled || exists) else { return Ok(Self::default()) };
        let opened = read(&conf).and_then(|settings| Self::of(&settings, own));
        match opened {
            Ok(tls) => Ok(tls),
            Err(failure) if is_enabled && !failure.is_of_app(knowledge.layers()) => {
                Err(failure.error)
            }
            Err(Failure { error, .. }) => {
                tracing::error!("{error:#}; inputs with TLS refuse all connections");
                Ok(Self::default())
            }
        }
    }

    fn of(settings: &TlsSettings, own: &Arc<Certificates>) -> Result<Self, Failure> {
        let certificates = match &settings.certificate {
            Some(file) => {
                let read = Certificates::of_file(&file.path);
                Some(read.map_err(|error| Failure::of_file(file, "serverCert", error))?)
            }
            None => None,
        };
        for warning in &settings.warnings {
            tracing::warn!("{warning}");
        }
        let own = certificates.as_ref().unwrap_or(own);
        let client_ca = settings.client_ca.as_ref();
        let failed = |error| match client_ca {
            Some(file) => Failure::of_file(file, "sslRootCAPath", error),
            None => Failure { places: Vec::new(), error },
        };
        let client_cas = client_ca.map(|file| roots(&file.path)).transpose().map_err(failed)?;
        let acceptor = own.acceptor_of_inputs(client_cas).map_err(failed)?;
        Ok(Self { acceptor: Some(acceptor), certificates })
    }

    /// The certificate of `[SSL]`, if it names one.
    pub(crate) fn certificates(&self) -> Option<Arc<Certificates>> {
        self.certificates.clone()
    }

    /// The handshake for the inputs.
    pub(crate) fn handshake(&self) -> Option<Handshake> {
        let acceptor = self.acceptor.clone()?;
        let handshake = move |socket: TcpStream| -> BoxFuture<'static, Opened> {
            let acceptor = acceptor.clone();
            Box::pin(async move {
                let stream = handshake::accept(&acceptor, socket, ADVICE).await?;
                Ok(stream.map(|stream| Box::new(stream) as Decrypted))
            })
        };
        Some(Arc::new(handshake))
    }
}

/// Why TLS cannot be set up.
#[derive(Debug)]
struct Failure {
    /// The places of the settings that are the reason.
    places: Vec<Option<Place>>,
    error: anyhow::Error,
}

impl Failure {
    fn of_file(file: &TlsFile, setting: &str, error: anyhow::Error) -> Self {
        let place = file.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
        let error = error.context(format!("{place}[SSL] {setting}"));
        Self { places: vec![file.place.clone()], error }
    }

    /// Whether only settings of apps are the reason.
    fn is_of_app(&self, layers: &Layers) -> bool {
        let is_of_app =
            |place: &Option<Place>| place.as_ref().is_some_and(|place| layers.is_of_app(place));
        !self.places.is_empty() && self.places.iter().all(is_of_app)
    }
}

fn read(conf: &Effective) -> Result<TlsSettings, Failure> {
    TlsSettings::read(conf).map_err(|errors| {
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let places = errors.into_iter().map(|error| match error {
            ::inputs::Error::Setting(invalid) => invalid.place,
            _ => None,
        });
        Failure { places: places.collect(), error: anyhow::anyhow!("{}", texts.join("\n")) }
    })
}

/// The certificates of a CA's file.
fn roots(path: &Path) -> Result<RootCertStore> {
    let unreadable = || format!("{} is not a PEM file with CA certificates", path.display());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).with_context(unreadable)? {
        roots.add(certificate.with_context(unreadable)?).with_context(unreadable)?;
    }
    anyhow::ensure!(!roots.is_empty(), unreadable());
    Ok(roots)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::Layer;

    use super::*;

    #[test]
    fn a_mistake_is_of_the_file_that_has_the_setting() {
        let of_app = |system: &str, app: &str| {
            let layers = Layers::builtin()
                .with(Layer::AppLocal("a".to_owned()), "inputs", app)
                .with(Layer::SystemLocal, "inputs", system);
            read(&layers.effective("inputs")).unwrap_err().is_of_app(&layers)
        };
        let required = "[SSL]\nrequireClientCert = 1\n";
        assert!(of_app("[SSL]\nserverCert = /a.pem\n", required));
        assert!(!of_app(required, "[SSL]\nserverCert = /a.pem\n"));
    }
}
