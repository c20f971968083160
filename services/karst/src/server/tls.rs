//! Certificates: the operator's, or one the server signs itself and keeps.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use super::assemble::host_name;
use super::identity::write_once;
use crate::config::ServerOptions;

/// TLS by the configured certificate, or by one made at the first start.
pub(crate) fn acceptor(options: &ServerOptions) -> Result<TlsAcceptor> {
    let (certificate, key) = match (&options.tls_cert, &options.tls_key) {
        (Some(certificate), Some(key)) => (certificate.clone(), key.clone()),
        _ => self_signed(&options.data.data_dir)?,
    };
    let unreadable = |path: &Path| format!("{} is not what TLS needs", path.display());
    let chain = CertificateDer::pem_file_iter(&certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .with_context(|| unreadable(&certificate))?;
    let key = PrivateKeyDer::from_pem_file(&key).with_context(|| unreadable(&key))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .context("certificate and key do not fit together")?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// The same, without tickets for later connections. A sender of streamed input reads nothing: were there
/// bytes it has not read when it closes, its system would break the connection off and throw away what is
/// still on the way.
pub(crate) fn without_tickets(tls: &TlsAcceptor) -> TlsAcceptor {
    let mut config = tls.config().as_ref().clone();
    config.send_tls13_tickets = 0;
    TlsAcceptor::from(Arc::new(config))
}

fn self_signed(data_dir: &Path) -> Result<(PathBuf, PathBuf)> {
    let folder = data_dir.join("auth");
    let (certificate, key) = (folder.join("server.pem"), folder.join("server.key"));
    if !certificate.exists() || !key.exists() {
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
        let host = host_name();
        if !names.contains(&host) {
            names.push(host);
        }
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(names).context("cannot make a certificate")?;
        write_once(&key, signing_key.serialize_pem().as_bytes(), 0o600)?;
        write_once(&certificate, cert.pem().as_bytes(), 0o644)?;
    }
    Ok((certificate, key))
}
