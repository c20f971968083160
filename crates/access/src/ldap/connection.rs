//! Connects to a directory: without TLS, with LDAPS, or with StartTLS.

use std::io;
use std::os::unix::net;
use std::sync::Arc;

use ldap3::{Ldap, LdapConnAsync, LdapConnSettings, StdStream};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;

use super::{Encryption, LdapDirectory, LdapSettings, start_tls};
use crate::Error;

impl LdapDirectory {
    pub(super) async fn connect(&self) -> Result<Ldap, Error> {
        let address = (self.settings.host.as_str(), self.settings.port);
        let connected = TcpStream::connect(address).await;
        let mut stream = connected.map_err(|error| self.trouble("cannot connect to", &error))?;
        if self.settings.encryption == Encryption::StartTls {
            let agreed = start_tls::ask(&mut stream).await;
            agreed.map_err(|error| self.trouble("no TLS with", &error))?;
        }
        let (stream, url) = match &self.tls {
            None => {
                let stream = stream.into_std();
                let stream = stream.map_err(|error| self.trouble("cannot read from", &error))?;
                (StdStream::Tcp(stream), "ldap://directory")
            }
            Some(tls) => {
                let stream = self.encrypted(tls, stream).await;
                let stream =
                    stream.map_err(|error| self.trouble("no TLS with", &explained(&error)))?;
                (StdStream::Unix(stream), "ldapi:///")
            }
        };
        let settings = LdapConnSettings::new().set_std_stream(stream);
        let opened = LdapConnAsync::with_settings(settings, url).await;
        let (connection, ldap) =
            opened.map_err(|error| self.trouble("cannot read from", &error))?;
        runtime::detached(async move {
            if let Err(error) = connection.drive().await {
                tracing::debug!(%error, "connection to the directory ended");
            }
        });
        Ok(ldap)
    }

    fn trouble(&self, what: &str, error: &dyn std::fmt::Display) -> Error {
        let LdapSettings { host, port, .. } = &self.settings;
        self.failed(format!("{what} {host}:{port}: {error}"))
    }

    /// A local stream that is tunneled to the directory through TLS.
    async fn encrypted(
        &self,
        tls: &Arc<ClientConfig>,
        stream: TcpStream,
    ) -> io::Result<net::UnixStream> {
        let name = ServerName::try_from(self.settings.host.clone());
        let name = name.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let mut far = TlsConnector::from(Arc::clone(tls)).connect(name, stream).await?;
        let (ours, theirs) = net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let mut near = UnixStream::from_std(ours)?;
        // Ends when either side does.
        runtime::detached(async move { tokio::io::copy_bidirectional(&mut near, &mut far).await });
        Ok(theirs)
    }
}

/// A failed handshake, with a hint how to fix it.
fn explained(error: &io::Error) -> String {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    let is_plain = matches!(cause, Some(rustls::Error::InvalidMessage(_)))
        || error.kind() == io::ErrorKind::UnexpectedEof;
    if matches!(cause, Some(rustls::Error::InvalidCertificate(_))) {
        format!(
            "{error}: caCertFile must have the certificate of the authority that signed the directory's \
             certificate, and host must be a name in that certificate"
        )
    } else if is_plain {
        format!("{error}: the port may not use TLS; try startTLS in place of SSLEnabled")
    } else {
        error.to_string()
    }
}

/// A TLS configuration that trusts only `caCertFile`, or the system certificates.
pub(super) fn trusting(settings: &LdapSettings) -> Result<Arc<ClientConfig>, Error> {
    let fail = |reason: String| Error::Provider { name: settings.name.clone(), reason };
    let mut roots = RootCertStore::empty();
    match &settings.certificates {
        Some(pem) => {
            for certificate in CertificateDer::pem_slice_iter(pem) {
                let certificate = certificate.map_err(|e| fail(format!("caCertFile: {e}")))?;
                roots.add(certificate).map_err(|e| fail(format!("caCertFile: {e}")))?;
            }
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| fail(error.to_string()))?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}
