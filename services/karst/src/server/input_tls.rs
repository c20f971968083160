//! TLS of inputs (`[tcp-ssl://...]`, `--syslog-tls`): the certificate and CA of `[SSL]` in `inputs.conf`, or
//! the certificate of the server.
//!
//! Guarantees: files that cannot be used prevent the start if the administrator names them. If an app names
//! them, inputs with TLS refuse connections; none of them is read without encryption.

use std::path::Path;
use std::sync::Arc;

use ::inputs::configured::{Configured, TlsSettings};
use ::inputs::tls::{Decrypted, Handshake, Opened};
use anyhow::{Context, Result};
use futures::future::BoxFuture;
use knowledge::Knowledge;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::handshake;
use super::tls::Certificates;

/// For senders that do not use TLS.
const ADVICE: &str = "send over TLS, or to a port without it ([tcp://<port>], --syslog-tcp)";

/// TLS of inputs.
#[derive(Default)]
pub(crate) struct InputTls {
    acceptor: Option<TlsAcceptor>,
    /// The certificate of `[SSL]`.
    certificates: Option<Arc<Certificates>>,
}

impl InputTls {
    /// Reads the files of `[SSL]`, if an input uses TLS. `own` is the certificate of the server.
    ///
    /// # Errors
    /// The administrator's stanza or its files cannot be used.
    pub(crate) fn open(
        inputs: &Configured,
        knowledge: &Knowledge,
        own: Option<&Arc<Certificates>>,
    ) -> Result<Self> {
        let is_used = inputs.tcp.iter().any(|(_, input)| input.tls);
        let Some(own) = own.filter(|_| is_used) else { return Ok(Self::default()) };
        let conf = knowledge.conf("inputs");
        let stanza = conf.stanza("SSL");
        let opened = read(&conf).and_then(|settings| Self::of(&settings, own));
        match opened {
            Ok(tls) => Ok(tls),
            Err(error) if stanza.is_some_and(|one| knowledge.layers().is_of_app(&one.place)) => {
                tracing::error!("{error:#}; inputs with TLS refuse all connections");
                Ok(Self::default())
            }
            Err(error) => Err(error),
        }
    }

    fn of(settings: &TlsSettings, own: &Arc<Certificates>) -> Result<Self> {
        let place = settings.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
        let certificates = match &settings.certificate {
            Some(path) => {
                let read = Certificates::of_file(path);
                Some(read.with_context(|| format!("{place}[SSL] serverCert"))?)
            }
            None => None,
        };
        let roots = match &settings.client_ca {
            Some(path) => {
                let read = roots(path);
                Some(read.with_context(|| format!("{place}[SSL] sslRootCAPath"))?)
            }
            None => None,
        };
        for warning in &settings.warnings {
            tracing::warn!("{warning}");
        }
        let acceptor = certificates.as_ref().unwrap_or(own).acceptor_of_inputs(roots)?;
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

fn read(conf: &conf::Effective) -> Result<TlsSettings> {
    TlsSettings::read(conf).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        anyhow::anyhow!("{}", errors.join("\n"))
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
