//! The credentials of a cluster, with which its processes authenticate to each other. All processes have
//! the same.
//!
//! ```text
//! cluster.json  the cluster's ID
//! ca.pem        the CA; its key is discarded, so that no further certificate can be issued
//! cert.pem      the certificate of all processes, with one fixed name
//! key.pem       its key
//! secret        the cluster's secret
//! ```
//!
//! To replace them, create new ones and stop all processes.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use jiff::ToSpan;
use model::EventTime;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use runtime::Clock;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Error;
use crate::certificate::{self, NAME};
use crate::error::Result;

/// Lifetime of the certificates in years.
const YEARS: i32 = 10;
/// Minimum length of a secret in characters.
const MIN_SECRET: usize = 16;

const CLUSTER: &str = "cluster.json";
const CA: &str = "ca.pem";
const CERTIFICATE: &str = "cert.pem";
const KEY: &str = "key.pem";
const SECRET: &str = "secret";
/// The last one is written last: it shows that all exist.
const FILES: [&str; 5] = [CA, CERTIFICATE, KEY, SECRET, CLUSTER];

#[derive(Debug, Serialize, Deserialize)]
struct Cluster {
    id: Uuid,
}

/// The credentials of a cluster.
pub struct Credentials {
    directory: PathBuf,
    cluster: Uuid,
    secret: String,
    ca: CertificateDer<'static>,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").field("cluster", &self.cluster).finish_non_exhaustive()
    }
}

impl Credentials {
    /// Writes the credentials of a new cluster into a directory, which is created if it does not exist.
    ///
    /// # Errors
    /// [`Error::Exists`] if one of the files exists, [`Error::File`] if one cannot be written.
    pub fn create(directory: &Path, clock: &dyn Clock) -> Result<Self> {
        for name in FILES {
            let path = directory.join(name);
            if path.exists() {
                return Err(Error::Exists { path });
            }
        }
        let failed = |reason: String| Error::File { path: directory.to_owned(), reason };
        make_directory(directory).map_err(|error| failed(error.to_string()))?;
        let cluster = runtime::random::uuid();
        let (ca, certificate, key) = issue(cluster, clock.now()).map_err(failed)?;
        let secret =
            format!("{}{}", runtime::random::uuid().simple(), runtime::random::uuid().simple());
        let id = serde_json::to_string(&Cluster { id: cluster }).unwrap_or_default();
        let contents = [ca, certificate, key, format!("{secret}\n"), format!("{id}\n")];
        for (name, content) in FILES.into_iter().zip(contents) {
            let mode = if matches!(name, KEY | SECRET) { 0o600 } else { 0o644 };
            write(&directory.join(name), content.as_bytes(), mode)?;
        }
        Self::open(directory, clock)
    }

    /// Reads the credentials of this process's cluster.
    ///
    /// # Errors
    /// [`Error::File`] if a file is missing or damaged, [`Error::Certificate`] if the certificate has
    /// expired, was not issued by the CA, or does not match its key.
    pub fn open(directory: &Path, clock: &dyn Clock) -> Result<Self> {
        let damaged =
            |name: &str, reason: String| Error::File { path: directory.join(name), reason };
        let text = read(&directory.join(CLUSTER))?;
        let cluster: Cluster = serde_json::from_str(&text)
            .map_err(|error| damaged(CLUSTER, format!("the file is damaged: {error}")))?;
        let secret = read(&directory.join(SECRET))?.trim().to_owned();
        if secret.chars().count() < MIN_SECRET {
            let reason = format!("the secret has less than {MIN_SECRET} characters");
            return Err(damaged(SECRET, reason));
        }
        let pem = |name: &str| read(&directory.join(name));
        let damaged_pem = |name: &str| {
            let path = directory.join(name);
            move |error: rustls::pki_types::pem::Error| Error::File {
                path,
                reason: format!("the file is damaged: {error}"),
            }
        };
        let ca = CertificateDer::from_pem_slice(pem(CA)?.as_bytes()).map_err(damaged_pem(CA))?;
        let certificate = CertificateDer::from_pem_slice(pem(CERTIFICATE)?.as_bytes());
        let certificate = certificate.map_err(damaged_pem(CERTIFICATE))?;
        let key = PrivateKeyDer::from_pem_slice(pem(KEY)?.as_bytes()).map_err(damaged_pem(KEY))?;
        let seconds = u64::try_from(clock.now().0 / 1_000_000).unwrap_or(0);
        certificate::check(&ca, &certificate, &key, seconds)
            .map_err(|reason| Error::Certificate { path: directory.join(CERTIFICATE), reason })?;
        let directory = directory.to_owned();
        Ok(Self { directory, cluster: cluster.id, secret, ca, certificate, key })
    }

    /// The cluster's ID.
    #[must_use]
    pub fn cluster(&self) -> Uuid {
        self.cluster
    }

    /// The cluster's secret, from which the keys for signatures and encryption in all processes are
    /// derived.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.secret
    }

    pub(crate) fn ca(&self) -> &CertificateDer<'static> {
        &self.ca
    }

    pub(crate) fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    pub(crate) fn key(&self) -> PrivateKeyDer<'static> {
        self.key.clone_key()
    }

    pub(crate) fn unusable(&self, reason: &str) -> Error {
        Error::Certificate { path: self.directory.clone(), reason: reason.to_owned() }
    }
}

/// CA, certificate and key of a new cluster, in PEM format.
fn issue(cluster: Uuid, now: EventTime) -> std::result::Result<(String, String, String), String> {
    let failed = |error: rcgen::Error| format!("cannot make a certificate: {error}");
    let mut ca = params(&[], &format!("Karst cluster {cluster}"), now)?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let ca_key = KeyPair::generate().map_err(failed)?;
    let ca_pem = ca.self_signed(&ca_key).map_err(failed)?.pem();
    let issuer = Issuer::new(ca, ca_key);
    let (certificate, key) = signed(&issuer, now)?;
    Ok((ca_pem, certificate, key))
}

/// A certificate for processes and its key, in PEM format.
fn signed(
    issuer: &Issuer<'_, KeyPair>,
    now: EventTime,
) -> std::result::Result<(String, String), String> {
    let failed = |error: rcgen::Error| format!("cannot make a certificate: {error}");
    let mut params = params(&[NAME], "Karst process", now)?;
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate().map_err(failed)?;
    let signed = params.signed_by(&key, issuer).map_err(failed)?;
    Ok((signed.pem(), key.serialize_pem()))
}

fn params(
    names: &[&str],
    common_name: &str,
    now: EventTime,
) -> std::result::Result<CertificateParams, String> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).map_err(|error| error.to_string())?;
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, common_name);
    subject.push(DnType::OrganizationName, "Karst");
    params.distinguished_name = subject;
    let time = jiff::Timestamp::from_microsecond(now.0)
        .map_err(|error| format!("the clock is wrong: {error}"))?;
    let today = time.to_zoned(jiff::tz::TimeZone::UTC).date();
    let midnight = |date: jiff::civil::Date| {
        let (month, day) = (date.month().unsigned_abs(), date.day().unsigned_abs());
        rcgen::date_time_ymd(i32::from(date.year()), month, day)
    };
    // One day early, because clocks of other machines may be behind.
    params.not_before = midnight(today.saturating_sub(1.day()));
    params.not_after = midnight(today.saturating_add(YEARS.years()));
    Ok(params)
}

fn make_directory(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn write(path: &Path, content: &[u8], mode: u32) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::AlreadyExists => Error::Exists { path: path.to_owned() },
        _ => Error::File { path: path.to_owned(), reason: error.to_string() },
    };
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(mode).open(path).map_err(failed)?;
    file.write_all(content).map_err(failed)?;
    file.sync_all().map_err(failed)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| {
        let reason = match error.kind() {
            ErrorKind::NotFound => "the file is missing".to_owned(),
            _ => format!("cannot be read: {error}"),
        };
        Error::File { path: path.to_owned(), reason }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests;
