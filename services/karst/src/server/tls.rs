//! TLS: the configured certificate, reloaded when it changes, or a self-signed one that the server
//! renews. Open connections keep their certificate; new ones get the newest.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use parking_lot::{Mutex, RwLock};
use rcgen::KeyPair;
use runtime::health::{CERTIFICATE, Severity};
use runtime::{Clock, Health, Shutdown, SystemClock, metrics as names};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{RootCertStore, ServerConfig};
use tokio::signal::unix::Signal;
use tokio_rustls::TlsAcceptor;

use super::assemble::host_name;
use super::certificate::{self, Validity};
use super::identity::write_once;
use crate::config::ServerOptions;

/// Interval of checking the files.
const LOOK: Duration = Duration::from_secs(60);
const DAY: i64 = 86_400;

/// The certificate of all TLS ports.
#[derive(Debug)]
pub(crate) struct Certificates {
    certificate: PathBuf,
    key: PathBuf,
    /// The names of the one the server signs itself; the operator's is left alone.
    own: Option<Vec<String>>,
    provider: Arc<CryptoProvider>,
    current: RwLock<Arc<CertifiedKey>>,
    /// The contents of the files as last read.
    seen: Mutex<Vec<u8>>,
}

impl Certificates {
    /// Reads the configured certificate, or the server's own below `data`, which is made or renewed
    /// first where that is due.
    ///
    /// # Errors
    /// The files cannot be read or written, or are not valid for TLS.
    pub(crate) fn open(options: &ServerOptions, data: &Path) -> Result<Arc<Self>> {
        let (certificate, key, own) = match (&options.tls_cert, &options.tls_key) {
            (Some(certificate), Some(key)) => (certificate.clone(), key.clone(), None),
            _ => {
                let folder = data.join("auth");
                fs::create_dir_all(&folder)
                    .with_context(|| format!("cannot create {}", folder.display()))?;
                let names = certificate::names(&host_name(), &listening(options));
                (folder.join("server.pem"), folder.join("server.key"), Some(names))
            }
        };
        // The CLI may run in another directory.
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        let (certificate, key) = (absolute(certificate), absolute(key));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        if let Some(names) = &own {
            renew_at_start((&certificate, &key), names, now(), &provider)?;
        }
        let current = RwLock::new(Arc::new(read(&certificate, &key, &provider)?));
        let seen = Mutex::new(files(&certificate, &key));
        Ok(Arc::new(Self { certificate, key, own, provider, current, seen }))
    }

    /// Reads a certificate and its key from one file of the administrator.
    ///
    /// # Errors
    /// The file cannot be read, or is not valid for TLS.
    pub(crate) fn of_file(path: &Path) -> Result<Arc<Self>> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let current = RwLock::new(Arc::new(read(&path, &path, &provider)?));
        let seen = Mutex::new(files(&path, &path));
        let (certificate, key) = (path.clone(), path);
        Ok(Arc::new(Self { certificate, key, own: None, provider, current, seen }))
    }

    /// The path of the certificate.
    pub(crate) fn path(&self) -> &Path {
        &self.certificate
    }

    /// The TLS of a port.
    ///
    /// # Errors
    /// TLS cannot be set up.
    pub(crate) fn acceptor(self: &Arc<Self>) -> Result<TlsAcceptor> {
        let mut config = self.config(WebPkiClientVerifier::no_client_auth())?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    /// The TLS of inputs: without protocols of HTTP, and without tickets, for the reason of
    /// [`without_tickets`]. Clients must present a certificate that one of the CAs has signed, if there are
    /// any.
    ///
    /// # Errors
    /// TLS cannot be set up.
    pub(crate) fn acceptor_of_inputs(
        self: &Arc<Self>,
        client_cas: Option<RootCertStore>,
    ) -> Result<TlsAcceptor> {
        let verifier = match client_cas {
            Some(cas) => {
                let (cas, provider) = (Arc::new(cas), Arc::clone(&self.provider));
                WebPkiClientVerifier::builder_with_provider(cas, provider).build()?
            }
            None => WebPkiClientVerifier::no_client_auth(),
        };
        let mut config = self.config(verifier)?;
        config.send_tls13_tickets = 0;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    /// TLS with this certificate, for the clients that the verifier accepts.
    fn config(self: &Arc<Self>, clients: Arc<dyn ClientCertVerifier>) -> Result<ServerConfig> {
        let resolver = Arc::clone(self) as Arc<dyn ResolvesServerCert>;
        let builder = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()?;
        Ok(builder.with_client_cert_verifier(clients).with_cert_resolver(resolver))
    }

    /// Renews the server's own certificate in time, and follows changes of its files and of another
    /// certificate: every minute, and at once on SIGHUP.
    pub(crate) async fn keep(
        self: Arc<Self>,
        other: Option<Arc<Self>>,
        health: Health,
        mut hangups: Signal,
        shutdown: Shutdown,
    ) {
        let all: Arc<[Arc<Self>]> = std::iter::once(self).chain(other).collect();
        let mut told: Option<String> = None;
        loop {
            let certificates = Arc::clone(&all);
            let looked = tokio::task::spawn_blocking(move || look_at(&certificates, now())).await;
            let looked = looked.unwrap_or_else(|error| Err(error.into()));
            let warning = looked.unwrap_or_else(|error| Some(format!("{error:#}")));
            match &warning {
                None => health.clear(CERTIFICATE),
                Some(warning) => {
                    // The condition is logged when it begins; this is another cause of it.
                    if told.as_ref().is_some_and(|told| told != warning) {
                        tracing::warn!(condition = CERTIFICATE, "{warning}");
                    }
                    health.set(CERTIFICATE, Severity::Warning, warning.as_str());
                }
            }
            told = warning;
            tokio::select! {
                () = shutdown.stopped() => return,
                () = tokio::time::sleep(LOOK) => {}
                _ = hangups.recv() => tracing::info!("SIGHUP: looking for new certificates"),
            }
        }
    }

    /// Renews and reloads the certificate if necessary; returns a warning if the one in use is not valid, or
    /// expires soon.
    fn look(&self, now: i64) -> Result<Option<String>> {
        let kept = match self.reload(now) {
            Ok(()) => return Ok(self.warning(now)),
            Err(error) => format!("{error:#}; the previous certificate stays in use"),
        };
        match self.warning(now) {
            Some(warning) => bail!("{kept}: {warning}"),
            None => bail!(kept),
        }
    }

    fn reload(&self, now: i64) -> Result<()> {
        if let Some(names) = &self.own {
            renew_if_due(&self.certificate, &self.key, names, now)?;
        }
        let files = files(&self.certificate, &self.key);
        if *self.seen.lock() == files {
            return Ok(());
        }
        let new = Arc::new(read(&self.certificate, &self.key, &self.provider)?);
        // Read again at the next look, until it is valid.
        let is_early = validity(&new).is_some_and(|new| now < new.begin);
        if is_early && self.validity().is_some_and(|current| current.contains(now)) {
            bail!(self.describe(validity(&new), now).unwrap_or_default());
        }
        *self.current.write() = new;
        *self.seen.lock() = files;
        tracing::info!(path = %self.certificate.display(), "a new certificate is in use");
        Ok(())
    }

    /// When the certificate in use is valid.
    fn validity(&self) -> Option<Validity> {
        validity(&self.current.read())
    }

    fn warning(&self, now: i64) -> Option<String> {
        self.describe(self.validity(), now)
    }

    /// Says why a certificate with these times is not valid, or that it expires soon.
    fn describe(&self, times: Option<Validity>, now: i64) -> Option<String> {
        let Validity { begin, end } = times?;
        let path = self.certificate.display();
        if now < begin {
            let from = jiff::Timestamp::from_second(begin).ok()?;
            return Some(format!(
                "the certificate {path} is valid only from {from} on: replace it, or set the clock of this \
                 machine if it is wrong"
            ));
        }
        let days = (end - now).div_euclid(DAY);
        (days < certificate::RENEWAL_DAYS).then(|| match days {
            _ if end <= now => format!("the certificate {path} has expired; replace it"),
            0 => format!("the certificate {path} expires in less than a day; replace it"),
            1 => format!("the certificate {path} expires in 1 day; replace it"),
            _ => format!("the certificate {path} expires in {days} days; replace it"),
        })
    }
}

/// When the certificate of a key is valid.
fn validity(certified: &CertifiedKey) -> Option<Validity> {
    certificate::validity(certified.cert.first()?)
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.current.read()))
    }
}

/// Renews and reloads all certificates if necessary; returns a warning if one is not valid or expires soon.
fn look_at(all: &[Arc<Certificates>], now: i64) -> Result<Option<String>> {
    let looked: Vec<_> = all.iter().map(|one| one.look(now)).collect();
    if let Some(end) = all.iter().filter_map(|one| one.validity()).map(|times| times.end).min() {
        #[allow(clippy::cast_precision_loss)]
        metrics::gauge!(names::CERTIFICATE_END).set(end as f64);
    }
    let mut soon = None;
    for one in looked {
        soon = soon.or(one?);
    }
    Ok(soon)
}

/// Returns the acceptor without session tickets. A sender of streamed input reads nothing: if there were
/// unread bytes when it closes the connection, its system would reset the connection and discard the data in
/// flight.
pub(crate) fn without_tickets(tls: &TlsAcceptor) -> TlsAcceptor {
    let mut config = tls.config().as_ref().clone();
    config.send_tls13_tickets = 0;
    TlsAcceptor::from(Arc::new(config))
}

fn now() -> i64 {
    SystemClock.now().0 / 1_000_000
}

fn listening(options: &ServerOptions) -> Vec<IpAddr> {
    let mut all = vec![options.management_address, options.web_address, options.hec_address];
    let inputs = [options.otlp_grpc, options.otlp_http, options.elasticsearch, options.loki];
    all.extend(inputs.iter().flatten());
    all.extend(options.forwarding_address);
    all.extend(&options.syslog.syslog_tls);
    all.iter().map(std::net::SocketAddr::ip).collect()
}

/// Returns the content of both files; empty if they cannot be read, because loading them reports a better
/// error.
fn files(certificate: &Path, key: &Path) -> Vec<u8> {
    [certificate, key].iter().flat_map(|path| fs::read(path).unwrap_or_default()).collect()
}

fn read(certificate: &Path, key: &Path, provider: &CryptoProvider) -> Result<CertifiedKey> {
    let unreadable = |path: &Path| format!("{} is not valid for TLS", path.display());
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(in_words)
        .with_context(|| unreadable(certificate))?;
    anyhow::ensure!(!chain.is_empty(), "{}: it contains no certificate", unreadable(certificate));
    let private = PrivateKeyDer::from_pem_file(key).map_err(in_words).with_context(|| {
        let is_encrypted = fs::read_to_string(key).is_ok_and(|text| text.contains("ENCRYPTED"));
        let hint = if is_encrypted { ": its private key is encrypted; decrypt it" } else { "" };
        format!("{}{hint}", unreadable(key))
    })?;
    CertifiedKey::from_der(chain, private, provider).with_context(|| {
        format!(
            "{} does not match its key {}: `openssl x509 -noout -pubkey` of the first and `openssl pkey \
             -pubout` of the second have to write the same",
            certificate.display(),
            key.display()
        )
    })
}

/// The error without the bytes of markers as numbers.
fn in_words(error: pem::Error) -> anyhow::Error {
    match error {
        pem::Error::MissingSectionEnd { end_marker } => {
            let marker = String::from_utf8_lossy(&end_marker);
            anyhow!("the file is cut off: the line -----END {marker}----- is missing")
        }
        pem::Error::IllegalSectionStart { line } => {
            anyhow!("no start of a section: {}", String::from_utf8_lossy(&line))
        }
        error => error.into(),
    }
}

/// Creates or renews the self-signed certificate if necessary. The key is kept. A file that is not valid is
/// kept beside the new one.
fn renew_if_due(certificate: &Path, key: &Path, names: &[String], now: i64) -> Result<()> {
    let end = CertificateDer::from_pem_file(certificate).ok();
    let end = end.and_then(|der| certificate::not_after(&der));
    let left = end.map(|end| (end - now).div_euclid(DAY));
    // Earlier releases made them for ever. More than a lifetime is also left of one that is not valid yet,
    // because the clock was ahead when it was made.
    let sane = certificate::RENEWAL_DAYS..=i64::from(certificate::LIFETIME_DAYS);
    let pair = fs::read_to_string(key).ok().and_then(|pem| KeyPair::from_pem(&pem).ok());
    if pair.is_some() && left.is_some_and(|left| sane.contains(&left)) {
        return Ok(());
    }
    let pair = match pair {
        Some(pair) => pair,
        None => {
            set_aside(key, "private key")?;
            let pair = KeyPair::generate().context("cannot make a key")?;
            write_once(key, pair.serialize_pem().as_bytes(), 0o600)?;
            pair
        }
    };
    let today = jiff::Timestamp::from_second(now).context("the clock is wrong")?;
    let today = today.to_zoned(jiff::tz::TimeZone::UTC).date();
    let pem = certificate::self_signed(names.to_vec(), &pair, today)?;
    if end.is_none() {
        set_aside(certificate, "certificate")?;
    }
    write_once(certificate, pem.as_bytes(), 0o644)?;
    tracing::info!(path = %certificate.display(), "the server has created a self-signed certificate");
    Ok(())
}

/// The same at the start. On a full disk, a certificate that can be used stays in use; it is renewed once
/// there is space.
fn renew_at_start(
    (certificate, key): (&Path, &Path),
    names: &[String],
    now: i64,
    provider: &CryptoProvider,
) -> Result<()> {
    let Err(error) = renew_if_due(certificate, key, names, now) else { return Ok(()) };
    if !runtime::store::is_full(&*error) || read(certificate, key, provider).is_err() {
        return Err(error);
    }
    tracing::warn!("the certificate of the server is not renewed yet: {error:#}");
    Ok(())
}

/// Renames a damaged file to `<name>.damaged`, and logs that; does nothing if there is no file.
fn set_aside(path: &Path, what: &str) -> Result<()> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".damaged");
    let aside = PathBuf::from(aside);
    match fs::rename(path, &aside) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        renamed => renamed.with_context(|| format!("cannot rename {}", path.display()))?,
    }
    tracing::warn!(
        path = %path.display(), aside = %aside.display(),
        "the {what} of the server is damaged; the file is kept, and a new one is created"
    );
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const NOW: i64 = 1_790_000_000;

    fn served(certificates: &Certificates) -> Vec<u8> {
        certificates.current.read().cert[0].to_vec()
    }

    fn own(folder: &Path, now: i64) -> Certificates {
        let (certificate, key) = (folder.join("server.pem"), folder.join("server.key"));
        let names = vec!["localhost".to_owned()];
        renew_if_due(&certificate, &key, &names, now).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let current = RwLock::new(Arc::new(read(&certificate, &key, &provider).unwrap()));
        let seen = Mutex::new(files(&certificate, &key));
        Certificates { certificate, key, own: Some(names), provider, current, seen }
    }

    #[test]
    fn the_own_certificate_is_renewed_in_its_last_month_with_the_same_key() {
        let dir = tempfile::tempdir().unwrap();
        let certificates = own(dir.path(), NOW);
        let (first, key) =
            (served(&certificates), fs::read(dir.path().join("server.key")).unwrap());
        let late = i64::from(certificate::LIFETIME_DAYS) - certificate::RENEWAL_DAYS;
        assert_eq!(certificates.look(NOW + (late - 2) * DAY).unwrap(), None);
        assert_eq!(served(&certificates), first);
        assert_eq!(certificates.look(NOW + (late + 2) * DAY).unwrap(), None);
        assert_ne!(served(&certificates), first);
        assert_eq!(fs::read(dir.path().join("server.key")).unwrap(), key);
    }

    #[test]
    fn the_operators_certificate_is_read_again_when_it_changes_and_never_written() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut certificates = own(dir.path(), NOW);
        certificates.own = None;
        let first = served(&certificates);
        let far = NOW + 390 * DAY;
        let warning = certificates.look(far).unwrap().unwrap();
        assert!(warning.contains("expires in"), "{warning}");
        assert_eq!(served(&certificates), first);
        let newer = own(other.path(), far);
        for name in ["server.pem", "server.key"] {
            fs::copy(other.path().join(name), dir.path().join(name)).unwrap();
        }
        assert_eq!(certificates.look(far).unwrap(), None);
        assert_eq!(served(&certificates), served(&newer));
    }

    #[test]
    fn a_damaged_certificate_is_kept_beside_the_new_one() {
        let dir = tempfile::tempdir().unwrap();
        own(dir.path(), NOW);
        let [certificate, key] = ["server.pem", "server.key"].map(|name| dir.path().join(name));
        let kept = |name: &str| fs::read_to_string(dir.path().join(name)).ok();
        assert_eq!(kept("server.pem.damaged"), None);
        let same_key = fs::read(&key).unwrap();
        fs::write(&certificate, "half a fi").unwrap();
        own(dir.path(), NOW);
        assert_eq!(kept("server.pem.damaged").unwrap(), "half a fi");
        assert_eq!((fs::read(&key).unwrap(), kept("server.key.damaged")), (same_key, None));
        fs::write(&key, "half a k").unwrap();
        own(dir.path(), NOW);
        assert_eq!(kept("server.key.damaged").unwrap(), "half a k");
    }

    #[test]
    fn a_certificate_that_a_full_disk_keeps_from_its_renewal_stays_in_use() {
        // The draft is written through the link.
        if !Path::new("/dev/full").exists() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let first = served(&own(dir.path(), NOW));
        let [certificate, key, draft] =
            ["server.pem", "server.key", "server.new"].map(|name| dir.path().join(name));
        std::os::unix::fs::symlink("/dev/full", draft).unwrap();
        let provider = rustls::crypto::ring::default_provider();
        let late = NOW + i64::from(certificate::LIFETIME_DAYS) * DAY;
        let renew =
            || renew_at_start((&certificate, &key), &["localhost".to_owned()], late, &provider);
        renew().unwrap();
        assert_eq!(read(&certificate, &key, &provider).unwrap().cert[0].to_vec(), first);
        fs::remove_file(&key).unwrap();
        renew().unwrap_err();
    }

    #[test]
    fn the_days_until_a_certificate_ends_are_counted_in_words() {
        let dir = tempfile::tempdir().unwrap();
        let mut certificates = own(dir.path(), NOW);
        certificates.own = None;
        let end = certificates.validity().unwrap().end;
        let told = |left: i64| certificates.warning(end - left).unwrap();
        assert!(told(2 * DAY).contains(" expires in 2 days; "));
        assert!(told(DAY).contains(" expires in 1 day; "));
        assert!(told(DAY - 1).contains(" expires in less than a day; "));
        assert!(told(0).contains(" has expired; "));
    }

    #[test]
    fn an_own_certificate_that_is_not_valid_yet_is_renewed() {
        let dir = tempfile::tempdir().unwrap();
        let certificates = own(dir.path(), NOW);
        for now in [NOW - 2 * DAY, NOW - 60 * DAY] {
            assert_eq!(certificates.look(now).unwrap(), None);
            assert!(certificates.validity().unwrap().contains(now), "{now}");
        }
    }

    #[test]
    fn a_certificate_that_is_not_yet_valid_waits_while_the_old_one_is() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut certificates = own(dir.path(), NOW);
        certificates.own = None;
        let first = served(&certificates);
        let later = NOW + 60 * DAY;
        let newer = own(other.path(), later);
        for name in ["server.pem", "server.key"] {
            fs::copy(other.path().join(name), dir.path().join(name)).unwrap();
        }
        let error = certificates.look(NOW).unwrap_err().to_string();
        assert!(error.contains("is valid only from 20"), "{error}");
        assert!(error.contains("the previous certificate stays in use"), "{error}");
        assert_eq!(served(&certificates), first);
        assert_eq!(certificates.look(later).unwrap(), None);
        assert_eq!(served(&certificates), served(&newer));
        // An expired one is of no use to clients either.
        let end = certificates.validity().unwrap().end;
        let newest = own(other.path(), end + 100 * DAY);
        for name in ["server.pem", "server.key"] {
            fs::copy(other.path().join(name), dir.path().join(name)).unwrap();
        }
        let warning = certificates.look(end).unwrap().unwrap();
        assert!(warning.contains("is valid only from 20"), "{warning}");
        assert_eq!(served(&certificates), served(&newest));
    }

    #[test]
    fn an_expired_certificate_is_named_beside_a_replacement_that_does_not_fit() {
        let dir = tempfile::tempdir().unwrap();
        let mut certificates = own(dir.path(), NOW);
        certificates.own = None;
        let pem = dir.path().join("server.pem");
        let whole = fs::read_to_string(&pem).unwrap();
        fs::write(&pem, &whole[..whole.len() / 2]).unwrap();
        let error = certificates.look(NOW + 400 * DAY).unwrap_err().to_string();
        assert!(error.contains("the line -----END CERTIFICATE----- is missing"), "{error}");
        assert!(error.contains("server.pem has expired"), "{error}");
        fs::write(&pem, whole).unwrap();
        let key = KeyPair::generate().unwrap().serialize_pem();
        fs::write(dir.path().join("server.key"), key).unwrap();
        let error = certificates.look(NOW).unwrap_err().to_string();
        assert!(error.contains("does not match its key /"), "{error}");
    }

    #[test]
    fn a_certificate_that_does_not_fit_leaves_the_old_one_in_use() {
        let dir = tempfile::tempdir().unwrap();
        let mut certificates = own(dir.path(), NOW);
        certificates.own = None;
        let first = served(&certificates);
        fs::write(dir.path().join("server.pem"), "half a fi").unwrap();
        let error = certificates.look(NOW).unwrap_err().to_string();
        assert!(error.contains("is not valid for TLS"), "{error}");
        assert_eq!(served(&certificates), first);
    }
}
