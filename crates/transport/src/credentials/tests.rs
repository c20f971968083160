//! Credentials of a cluster: created, read, damaged, expired.

use runtime::{ManualClock, SystemClock};

use super::*;

/// Credentials with another certificate of the same CA, issued at another time.
pub(crate) fn made_at(directory: &Path, now: EventTime) -> Credentials {
    Credentials::create(directory, &ManualClock::new(now)).unwrap()
}

/// Two sets of credentials of one cluster: issued `now`, and expired.
pub(crate) fn with_expired(directory: &Path, now: EventTime) -> (Credentials, Credentials) {
    let old = EventTime(now.0 - 12 * 365 * 86_400_000_000);
    let good = made_at(directory, now);
    let ca_key = KeyPair::generate().unwrap();
    let mut ca = params(&[], "Karst cluster", old).unwrap();
    ca.not_after = rcgen::date_time_ymd(2100, 1, 1);
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let ca_pem = ca.self_signed(&ca_key).unwrap().pem();
    let issuer = Issuer::new(ca, ca_key);
    let set = |now: EventTime| {
        let (certificate, key) = signed(&issuer, now).unwrap();
        Credentials {
            directory: good.directory.clone(),
            cluster: good.cluster,
            secret: good.secret.clone(),
            ca: CertificateDer::from_pem_slice(ca_pem.as_bytes()).unwrap(),
            certificate: CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap(),
            key: PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
        }
    };
    (set(now), set(old))
}

#[test]
fn credentials_are_written_once_and_read_again() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cluster");
    let made = Credentials::create(&path, &SystemClock).unwrap();
    let read = Credentials::open(&path, &SystemClock).unwrap();
    assert_eq!((made.cluster(), made.secret()), (read.cluster(), read.secret()));
    for (name, mode) in [(KEY, 0o600), (SECRET, 0o600), (CERTIFICATE, 0o644)] {
        let is = fs::metadata(path.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(is, mode, "{name}");
    }
    let error = Credentials::create(&path, &SystemClock).unwrap_err();
    assert!(matches!(error, Error::Exists { .. }), "{error}");
    assert_eq!(Credentials::open(&path, &SystemClock).unwrap().secret(), made.secret());
}

#[test]
fn what_is_wrong_with_credentials_is_said_with_the_file() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let made = Credentials::create(dir.path(), &SystemClock).unwrap();
    Credentials::create(other.path(), &SystemClock).unwrap();
    let said = |clock: &dyn Clock| Credentials::open(dir.path(), clock).unwrap_err().to_string();
    let later = EventTime(SystemClock.now().0 + 11 * 366 * 86_400_000_000);
    let error = said(&ManualClock::new(later));
    assert!(error.contains("cert.pem: the certificate has expired"), "{error}");

    let with = |name: &str, content: &[u8], expected: &str| {
        let path = dir.path().join(name);
        let before = fs::read(&path).unwrap();
        fs::write(&path, content).unwrap();
        let error = said(&SystemClock);
        fs::write(&path, before).unwrap();
        assert!(error.contains(expected) && error.contains(name), "{name}: {error}");
    };
    let theirs = |name: &str| fs::read(other.path().join(name)).unwrap();
    with(CERTIFICATE, &theirs(CERTIFICATE), "is not one of this cluster's CA");
    with(CERTIFICATE, b"no certificate", "the file is damaged");
    with(KEY, b"no key", "the file is damaged");
    with(SECRET, b"short\n", "less than 16 characters");
    with(CLUSTER, b"{}", "the file is damaged");
    let key = fs::read(dir.path().join(KEY)).unwrap();
    fs::write(dir.path().join(KEY), theirs(KEY)).unwrap();
    let error = said(&SystemClock);
    assert!(error.contains("does not match its key"), "{error}");
    fs::write(dir.path().join(KEY), key).unwrap();
    fs::remove_file(dir.path().join(SECRET)).unwrap();
    let error = said(&SystemClock);
    assert!(error.contains("secret: the file is missing"), "{error}");
    assert!(!format!("{made:?}").contains(made.secret()));
}
